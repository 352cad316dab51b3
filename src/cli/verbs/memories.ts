// The verbs that read and write memories; a part of ../table.ts.

import type { Command, Option } from '../call/command.ts'
import {
  atOption,
  authorOptions,
  colourOption,
  contentOptions,
  pointForms,
} from '../call/options.ts'

const path = { name: 'path' }
const maybePath = { name: 'path', optional: true }
const dash = { name: '-', optional: true }
const dashNote = 'With -, the text comes from standard input.'
const diskOption: Option = {
  name: 'allow-disk-temp',
  summary: 'Accept a plaintext file on disk if RAM is no option',
}

const searchCommand: Command = {
  name: 'search',
  aliases: ['grep'],
  summary: 'Find memories by what they say, the best first, with the line that matches',
  positionals: [{ name: 'word', repeated: true }],
  options: [
    { name: 'path', value: 'path', summary: 'Only memories at or below it' },
    { name: 'fuzzy', summary: 'Words that differ by a few letters match too' },
    { name: 'whole-words', summary: 'Words that only begin with those given do not match' },
    { name: 'regex', short: 'E', summary: 'A regular expression of JavaScript, line by line' },
    atOption,
    { name: 'all-versions', summary: 'Every version, not only the newest' },
    {
      name: 'limit',
      short: 'n',
      value: 'number',
      summary: 'At most this many, up to 100',
    },
    { name: 'after', value: 'cursor', summary: 'Go on after the `next_page` of --json' },
    colourOption,
  ],
  notes: [
    'Case and accents do not matter, and paths are searched too. Memories with all words come ' +
      'before those with some. Where a script has no spaces, any part of a text is found. A ' +
      'regular expression is matched without regard to case, for at most two seconds.',
    pointForms,
  ],
  run: async (...call) => (await import('../commands/search.ts')).search(...call),
}

export const memoryCommands: readonly Command[] = [
  {
    name: 'view',
    summary: 'Show a memory or a directory as an agent sees it',
    positionals: [maybePath],
    options: [
      { name: 'range', value: 'first:last', summary: 'Only these lines, as 10:20 or 10:' },
      atOption,
    ],
    run: async (...call) => (await import('../commands/view.ts')).view(...call),
  },
  {
    name: 'ls',
    aliases: ['list'],
    summary: 'List a directory, including hidden names',
    positionals: [maybePath],
    options: [
      { name: 'recursive', short: 'R', summary: 'Every memory below it, by its path' },
      { name: 'long', short: 'l', summary: 'With sizes' },
      atOption,
    ],
    run: async (...call) => (await import('../commands/read.ts')).ls(...call),
  },
  {
    name: 'cat',
    summary: 'Print the content of a memory, byte for byte',
    positionals: [path],
    options: [atOption],
    run: async (...call) => (await import('../commands/read.ts')).cat(...call),
  },
  searchCommand,
  {
    name: 'create',
    summary: 'Create a memory',
    positionals: [path, dash],
    options: [...contentOptions, diskOption, ...authorOptions],
    notes: [`${dashNote} Without a text it opens your editor, on a terminal, as \`edit\` does.`],
    run: async (...call) => (await import('../commands/write.ts')).create(...call),
  },
  {
    name: 'write',
    summary: 'Make a memory hold a text, whether there is one yet or not',
    positionals: [path, dash],
    options: [...contentOptions, ...authorOptions],
    notes: [dashNote],
    run: async (...call) => (await import('../commands/write.ts')).write(...call),
  },
  {
    name: 'append',
    summary: 'Add lines at the end of a memory, which is created if missing',
    positionals: [path, dash],
    options: [...contentOptions, ...authorOptions],
    notes: [
      `${dashNote} The text begins on a line of its own, and the memory ends in a newline ` +
        'afterwards if it did before.',
    ],
    run: async (...call) => (await import('../commands/write.ts')).append(...call),
  },
  {
    name: 'str-replace',
    summary: 'Replace a text that occurs once in a memory',
    positionals: [path],
    options: [
      { name: 'old', value: 'text', summary: 'The text to replace' },
      { name: 'new', value: 'text', summary: 'The replacement; if omitted, the text is deleted' },
      { name: 'old-file', value: 'file', summary: 'Take the text to replace from a file' },
      { name: 'new-file', value: 'file', summary: 'Take the replacement from a file' },
      ...authorOptions,
    ],
    run: async (...call) => (await import('../commands/write.ts')).strReplace(...call),
  },
  {
    name: 'insert',
    summary: 'Insert text after a line of a memory',
    positionals: [path, dash],
    options: [
      { name: 'line', value: 'number', summary: 'The line before it; 0 is the beginning' },
      ...contentOptions,
      ...authorOptions,
    ],
    run: async (...call) => (await import('../commands/write.ts')).insert(...call),
  },
  {
    name: 'edit',
    summary: 'Edit a memory in your editor',
    positionals: [path],
    options: [diskOption, ...authorOptions],
    notes: [
      'The text is in a file that only you can read, on a file system in RAM, and the file is ' +
        'removed however the editor ends. An editor that keeps swap, undo or backup files ' +
        'elsewhere writes plaintext there: turn that off for such files.',
      'Concurrent edits by others are merged by lines. If they changed the same lines, you can ' +
        'open both on a terminal; otherwise nothing is saved, the exit code is 4, and your text ' +
        'is on standard output.',
      'On a terminal a path without a memory gets one, unless the text is left empty.',
    ],
    run: async (...call) => (await import('../commands/edit.ts')).edit(...call),
  },
  {
    name: 'rm',
    destroys: true,
    summary: 'Delete a memory, or a directory with everything below it',
    positionals: [path],
    options: [
      { name: 'recursive', short: 'r', summary: 'Accepted, as by rm; a directory needs none' },
      ...authorOptions,
    ],
    run: async (...call) => (await import('../commands/write.ts')).rm(...call),
  },
  {
    name: 'mv',
    summary: 'Rename a memory or a directory',
    positionals: [path, { name: 'new-path' }],
    options: authorOptions,
    run: async (...call) => (await import('../commands/write.ts')).mv(...call),
  },
  {
    name: 'export',
    summary: 'Write memories as plain files into a directory',
    positionals: [{ name: 'directory' }],
    options: [
      { name: 'from', value: 'path', summary: 'Only memories at or below this path' },
      { name: 'force', summary: 'Write into a directory that is not empty' },
      atOption,
      {
        name: 'with-config',
        summary: 'Write configuration of other programs too, such as .envrc or .vscode',
      },
      { name: 'skip-unsafe', summary: 'Leave out what cannot safely be a file, such as .git' },
      { name: 'dry-run', summary: 'Show what would be done' },
    ],
    notes: [
      'Agents choose the names of memories. What git would take for a repository is never ' +
        'written, counted together with what the directory holds already. What programs run or ' +
        'load merely because the directory is entered, opened or pushed, which is any name that ' +
        'begins with a dot and a few others, needs --with-config; plain notes such as .draft.md ' +
        'do not. Without these options the command lists such names and writes nothing.',
    ],
    run: async (...call) => (await import('../commands/export.ts')).exportStore(...call),
  },
  {
    name: 'import',
    summary: 'Create memories from files and from other memories of agents, one commit each',
    positionals: [{ name: 'source', optional: true }],
    options: [
      {
        name: 'from',
        value: 'kind',
        choices: ['claude-code', 'markdown', 'basic-memory', 'mcp-memory', 'memory-stores'],
        summary: 'What the source is; else plain files, all that there are',
      },
      { name: 'to', value: 'path', summary: 'Import below this path; for a single file, its path' },
      {
        name: 'on-conflict',
        value: 'what',
        choices: ['fail', 'skip', 'overwrite'],
        summary: 'What to do if a path has another text; else fail, before anything is changed',
      },
      {
        name: 'skip-unsuitable',
        summary: 'Leave out what cannot be a memory, such as pictures, and list it',
      },
      { name: 'url', value: 'address', summary: 'The server of a store; else that of Anthropic' },
      { name: 'dry-run', summary: 'Show what would be done' },
      ...authorOptions,
    ],
    notes: [
      'The source is a directory or a file, and for memory-stores the id of a store; claude-code ' +
        'and basic-memory know one by default. It is only read, and links in it are not ' +
        'followed. docs/IMPORT.md lists what each one brings.',
      'A memory that has the text already is left unchanged, so that an import can be repeated. ' +
        'Each import is a session, unless --session names one: `rollback --session` takes it back.',
    ],
    run: async (...call) => (await import('../commands/import.ts')).importMemories(...call),
  },
  {
    name: 'tool',
    summary: 'Run commands of the memory tool, for an agent in any language',
    positionals: [],
    options: [
      { name: 'stream', summary: 'One input and one answer a line, until the input ends' },
      { name: 'read-only', summary: 'Refuse every command but view' },
      ...authorOptions,
    ],
    notes: [
      'Takes the input of the memory tool, as the model wrote it, as JSON from standard input: ' +
        '{"command": "view", "path": "/memories"}. Answers on one line with the content of the ' +
        'tool result: {"content": "…", "is_error": false}. What the tool refuses is an answer, ' +
        'too, and the exit code is 0.',
      'With --stream the store is kept open, and lines are run in their order: the answer comes ' +
        'when the change is durable. The end of the input, Ctrl-C and SIGTERM end it; a command ' +
        'that is being run is still answered.',
    ],
    run: async (...call) => (await import('../commands/tool.ts')).tool(...call),
  },
]
