// The verbs that look at the store and its history, go back in it, and erase from it; a part of
// ../table.ts.

import type { Command } from '../call/command.ts'
import {
  atOption,
  authorOptions,
  colourOption,
  dryRunOption,
  pointForms,
  selectingAuthorOptions,
  yesOption,
} from '../call/options.ts'

const maybePath = { name: 'path', optional: true }
const oneCommit =
  'The result is one new commit, which can itself be undone. A memory that cannot be changed ' +
  'back is left unchanged and listed; the exit code is then 4.'

const consoleCommand: Command = {
  name: 'console',
  summary: 'Show the store in a browser of this machine',
  positionals: [],
  options: [
    { name: 'port', value: 'number', summary: 'The port; else one that is free' },
    { name: 'read-only', summary: 'Refuse every change' },
    { name: 'no-open', summary: 'Print the address, and open no browser' },
    ...authorOptions.filter(({ name }) => name === 'actor' || name === 'session'),
  ],
  notes: [
    'Prints one line with the address, which lets one tab in, once, within a minute; with ' +
      '--no-open or without a desktop, open it yourself. `Open another tab` of the page makes ' +
      'another. It listens on 127.0.0.1 alone. With --port, bookmarks remain valid.',
    'Lock in the page, 15 minutes without use, Ctrl-C and SIGTERM close the store, empty the ' +
      'pages, and end it. A reader or an auditor sees what the role may see.',
  ],
  run: async (...call) => (await import('../commands/console.ts')).openInBrowser(...call),
}

const logCommand: Command = {
  name: 'log',
  aliases: ['history'],
  summary: 'Show the versions, newest first, at or below a path',
  positionals: [maybePath],
  options: [
    { name: 'oneline', summary: 'One line per version' },
    { name: 'patch', short: 'p', summary: 'Include the patch of each version' },
    { name: 'follow', summary: 'Those of the memory that is at the path now, across renames' },
    { name: 'limit', short: 'n', value: 'number', summary: 'At most this many' },
    { name: 'skip', value: 'number', summary: 'Leave out this many first' },
    {
      name: 'after',
      value: 'version',
      summary: 'Continue after this one, the `next_page` of --json',
    },
    { name: 'reverse', summary: 'Oldest first; --limit counts from there' },
    { name: 'actor', value: 'id', summary: 'Only those of this actor' },
    { name: 'session', value: 'id', summary: 'Only those of this session' },
    {
      name: 'operation',
      value: 'operation',
      choices: ['created', 'modified', 'deleted'],
      summary: 'Only this operation',
    },
    { name: 'redacted', summary: 'Only redacted versions' },
    { name: 'since', value: 'time', summary: 'Nothing older: 36h, 7d, 2026-01-31, or RFC 3339' },
    { name: 'until', value: 'time', summary: 'Nothing newer' },
    colourOption,
  ],
  notes: [
    'On a terminal it is shown in a pager, and the first versions appear immediately. A ' +
      'redacted version no longer has a path, so that only a log without a path shows it. If ' +
      'a memory has moved from the path, the log names the new one.',
  ],
  run: async (...call) => (await import('../commands/log.ts')).log(...call),
}

const restoreCommand: Command = {
  name: 'restore',
  summary: 'Restore an earlier state of one memory, also after it was deleted',
  positionals: [{ name: 'path-or-memory' }],
  options: [
    {
      name: 'to',
      value: 'point',
      summary: 'One of its versions, or a time; else its last state, if it is deleted',
    },
    dryRunOption,
    colourOption,
    ...authorOptions,
  ],
  notes: [
    'The memory keeps its id and gets a new version. A path means the memory that is there, or ' +
      `else the one that was there last. ${pointForms}`,
  ],
  run: async (...call) => (await import('../commands/rollback.ts')).restore(...call),
}

const rollbackCommand: Command = {
  name: 'rollback',
  destroys: true,
  aliases: ['undo'],
  summary: 'Restore all memories as of a point in time, or undo what an actor or a session wrote',
  positionals: [],
  options: [
    { name: 'to', value: 'point', summary: 'The point in time' },
    { name: 'path', value: 'path', summary: 'With --to: only memories now or then at or below it' },
    { name: 'actor', value: 'id', summary: 'Undo what this actor wrote' },
    { name: 'session', value: 'id', summary: 'Undo what this session wrote' },
    { name: 'since', value: 'time', summary: 'Undo nothing older' },
    { name: 'until', value: 'time', summary: 'Undo nothing newer' },
    dryRunOption,
    yesOption,
    colourOption,
    ...selectingAuthorOptions,
  ],
  notes: [
    'Undoing puts every memory into the state that it would have without those versions. Later ' +
      'edits by others are kept: if they touch other lines, the two are merged; where they touch ' +
      'the same lines, the memory is left unchanged.',
    `${oneCommit} Asks on a terminal. ${pointForms}`,
  ],
  run: async (...call) => (await import('../commands/rollback.ts')).rollback(...call),
}

const redactCommand: Command = {
  name: 'redact',
  destroys: true,
  summary: 'Erase versions from the history permanently, such as a leaked secret',
  positionals: [{ name: 'version', optional: true, repeated: true }],
  options: [
    { name: 'memory', value: 'path-or-id', summary: 'All versions of this memory' },
    { name: 'path', value: 'path', summary: 'Those at or below this path' },
    { name: 'actor', value: 'id', summary: 'Those of this actor' },
    { name: 'session', value: 'id', summary: 'Those of this session' },
    { name: 'matching', value: 'regex', summary: 'Those that match it in text, path or reason' },
    { name: 'matching-file', value: 'file', summary: 'The same, with the pattern in one line' },
    { name: 'literal', summary: 'The pattern is plain text, not a regular expression' },
    { name: 'ignore-case', short: 'i', summary: 'The pattern matches in either case' },
    { name: 'before', value: 'time', summary: 'Those written before this time' },
    {
      name: 'reason-code',
      value: 'code',
      choices: ['unspecified', 'leaked_secret', 'personal_data', 'legal', 'poisoned', 'retention'],
      summary: 'The reason; kept in the record permanently',
    },
    { name: 'with-copies', summary: 'Also those with the same text, and those written on them' },
    { name: 'overwrite', summary: 'First replace the text in memories that hold it now' },
    { name: 'delete', summary: 'First delete memories that hold such a text now' },
    { name: 'keep-current', summary: 'Leave out the current versions of memories' },
    { name: 'certificate', value: 'file', summary: 'Write the signed certificate, as JSON' },
    { name: 'prove', summary: 'Afterwards search everything stored for the redacted versions' },
    dryRunOption,
    yesOption,
    ...selectingAuthorOptions.filter(({ name }) => name !== 'reason'),
  ],
  notes: [
    'All conditions that are given must hold. Content, path, hash, size and reason of the ' +
      'versions are erased from every file of this store; that a version existed, who made it, ' +
      'when, and the signature of the device remain and still verify.',
    'Commits from the first of these versions on get new ids. Other clones, hosts and backups ' +
      'keep the old objects until they take over this history and forget the old one; the ' +
      'certificate lists the ids to report. The settings of the store cannot be redacted.',
    'Versions that remain and may repeat an erased text are counted, and --with-copies redacts ' +
      'them too: those with the same text, and those written on an erased version, with a ' +
      'pattern if it matches them. Given with versions that are redacted already, it redacts ' +
      'what another clone wrote on them before it knew of that; `sync` and `verify --absence` ' +
      'name such versions.',
    'A pattern is a JavaScript regular expression, in which ^ and $ match at lines. Arguments ' +
      'are visible in the process list: put a secret into a file for --matching-file. With ' +
      '--literal, an accented letter matches whether it is one code point or two.',
    '--overwrite replaces what matches, or else the whole text, by [redacted]. The version that ' +
      '--delete makes is redacted with the others, since it names the path.',
    'Asks on a terminal; elsewhere it needs --yes. Redacted versions are left out, so that ' +
      'the same command may run again. Ctrl-C leaves the old state or the new, and reports which.',
  ],
  run: async (...call) => (await import('../commands/redact.ts')).redact(...call),
}

const certificateCommand: Command = {
  name: 'certificate verify',
  summary: 'Verify the certificate of a redaction, with or without a key of the store',
  positionals: [{ name: 'file' }],
  options: [
    {
      name: 'key',
      value: 'key',
      summary: 'Compare with this key only: dev_…, "ssh-ed25519 …", or a file with one of them',
    },
  ],
  notes: [
    'Compares it with the history of the store here, as a member or an auditor: the redaction ' +
      'must be in it, and the signer must have been an owner then. With --key no store is ' +
      'needed, and it shows only that this device signed it.',
    'Without a store, an identity and --key it shows what the certificate states, and that the ' +
      'key which it names signed it. That proves nothing, as anybody can make one: the exit code ' +
      'is 4 then.',
  ],
  run: async (...call) => (await import('../commands/certificate.ts')).certificateVerify(...call),
}

export const historyCommands: readonly Command[] = [
  consoleCommand,
  logCommand,
  {
    name: 'show',
    summary: 'Show a version with its content, and the inputs of a merge',
    positionals: [{ name: 'version-or-path' }],
    options: [colourOption],
    notes: [
      'A version is named by its id, or by the first digits of it. A path means the newest ' +
        'version of the memory that is there, or else of the one that was there last.',
    ],
    run: async (...call) => (await import('../commands/log.ts')).show(...call),
  },
  {
    name: 'diff',
    summary: 'Compare a version with the one before it or with another, or two points in time',
    positionals: [
      { name: 'version-or-path', optional: true },
      { name: 'version-or-path', optional: true },
    ],
    options: [
      { name: 'from', value: 'point', summary: 'Compare all memories, or those below a path' },
      { name: 'to', value: 'point', summary: 'With --from: the other point; else now' },
      { name: 'stat', summary: 'With --from: the number of changed lines per memory' },
      { name: 'name-only', summary: 'With --from: paths only' },
      colourOption,
    ],
    notes: [
      'A path means the newest version of the memory there; with --from, everything below it. A ' +
        'time before the first commit means the empty store.',
      '`git apply` accepts the patch. A memory that is redacted at one of two points appears as ' +
        `new or deleted, and is named before the patch. ${pointForms}`,
    ],
    run: async (...call) => (await import('../commands/diff.ts')).diff(...call),
  },
  {
    name: 'blame',
    summary: 'Show which version each line came from, and who wrote it',
    positionals: [{ name: 'path-or-memory' }],
    options: [atOption, colourOption],
    notes: ['A line that may be older, because a version was redacted, is marked with ?.'],
    run: async (...call) => (await import('../commands/blame.ts')).blame(...call),
  },
]

export const undoCommands: readonly Command[] = [restoreCommand, rollbackCommand]

export const eraseCommands: readonly Command[] = [
  redactCommand,
  certificateCommand,
  {
    name: 'expire',
    destroys: true,
    summary: 'Delete memories that were not changed or read for some time',
    positionals: [],
    options: [
      { name: 'unchanged', value: 'duration', summary: 'Not changed for this long, such as 90d' },
      { name: 'unread', value: 'duration', summary: 'Not read on this device for this long' },
      { name: 'path', value: 'path', summary: 'Only at or below this path' },
      {
        name: 'redact-older',
        value: 'duration',
        summary: 'Also erase permanently versions older than this that are not current',
      },
      dryRunOption,
      yesOption,
      ...authorOptions,
    ],
    notes: [
      'Asks on a terminal; elsewhere it needs --yes. Deleting is an ordinary change: `restore` ' +
        'and `rollback` undo it. Erasing, with --redact-older only, cannot be undone.',
    ],
    run: async (...call) => (await import('../commands/expire.ts')).expire(...call),
  },
]
