// The verb for clients of the Model Context Protocol; a part of table.ts.

import type { Command } from './command.ts'

export const mcpCommands: readonly Command[] = [
  {
    name: 'mcp',
    summary: 'Give the store to a client of the Model Context Protocol, such as Claude Code',
    positionals: [],
    options: [
      { name: 'read-only', summary: 'Refuse all that would write' },
      { name: 'path', value: 'path', summary: 'Only this directory: nothing beside it is seen' },
      {
        name: 'session',
        value: 'id',
        summary: 'The session to record; else one that is named after the client',
      },
      { name: 'sync', value: 'interval', summary: 'Sync with all remotes, such as 5m' },
      { name: 'no-guard', summary: 'Let texts through in which there seems to be a secret' },
    ],
    notes: [
      'The client starts it, and speaks with it on standard input and output; docs/MCP.md says ' +
        'how a client is told to. Each run is a session, as `gitlocket log` shows: `gitlocket ' +
        'rollback --session` takes back what it wrote. Problems go to standard error.',
      'With --sync it also syncs once at the start and once at the end. A remote that fails does ' +
        'not keep it from working.',
    ],
    run: async (...call) => (await import('./commands/mcp.ts')).mcp(...call),
  },
]
