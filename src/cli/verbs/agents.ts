// The verbs that give agents the memory: agent programs, and a model itself; a part of ../table.ts.

import type { Command } from '../call/command.ts'
import { dryRunOption } from '../call/options.ts'

export const agentCommands: readonly Command[] = [
  {
    name: 'setup',
    summary: 'Connect claude-code, claude-desktop, cursor or vscode to the store',
    positionals: [{ name: 'program' }],
    options: [
      {
        name: 'scope',
        value: 'user|project',
        choices: ['user', 'project'],
        summary: 'For all projects of this user, or for the one in this directory; else user',
      },
      { name: 'url', value: 'address', summary: 'The /mcp of a server, instead of this store' },
      { name: 'write', summary: 'Change the file of the program, and check the connection' },
      dryRunOption,
      { name: 'hooks', summary: 'For claude-code: show the memories when a session begins' },
    ],
    notes: [
      'Prints what to run, or what to add to which file. --write adds it: all else in the file ' +
        'is kept, and a file that cannot be extended is refused. --dry-run shows the lines that ' +
        'would be new.',
      'For one user the file gets absolute paths. The files of a project are for others too: ' +
        'they get the bare command `gitlocket`, which each of them installs. No file gets a ' +
        'key: for --url the program takes it from GITLOCKET_API_KEY, or asks.',
      '--hooks adds a hook that lists the memories at the start of each session, and gives its ' +
        'id to what the session writes: `gitlocket rollback --session` takes it back.',
    ],
    run: async (...call) => (await import('../commands/setup.ts')).setup(...call),
  },
  {
    name: 'hook session-start',
    summary: 'List the memories for an agent program whose session begins',
    positionals: [],
    options: [],
    notes: [
      'For `setup claude-code --hooks`. Takes the session report of Claude Code, as JSON on ' +
        'standard input, and answers in its form. It exits with 0 whatever happens.',
    ],
    run: async (context) => (await import('../commands/hook.ts')).sessionStart(context),
  },
  {
    name: 'mcp',
    summary: 'Give the store to a client of the Model Context Protocol, such as Claude Code',
    positionals: [],
    options: [
      { name: 'read-only', summary: 'Refuse all that would write' },
      { name: 'path', value: 'path', summary: 'Only this directory: nothing outside it is seen' },
      {
        name: 'session',
        value: 'id',
        summary: 'The session to record; else one that is named after the client',
      },
      { name: 'sync', value: 'interval', summary: 'Sync with all remotes, such as 5m' },
    ],
    notes: [
      'The client starts it, and speaks with it on standard input and output; docs/MCP.md ' +
        'shows how to set up a client. Each run is a session, as `gitlocket log` shows: ' +
        '`gitlocket rollback --session` takes back what it wrote. Problems go to standard error.',
      'With --sync it also syncs once at the start and once at the end. A remote that fails does ' +
        'not keep it from working.',
    ],
    run: async (...call) => (await import('../commands/mcp.ts')).mcp(...call),
  },
]
