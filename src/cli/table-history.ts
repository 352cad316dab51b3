// The verbs that look at the history, go back in it, and erase from it; a part of table.ts.

import type { Command } from './command.ts'
import {
  atOption,
  authorOptions,
  colourOption,
  dryRunOption,
  pointForms,
  selectingAuthorOptions,
} from './options.ts'

const maybePath = { name: 'path', optional: true }
const oneCommit =
  'The answer is one new commit, which can itself be taken back. What cannot be taken back is ' +
  'left as it is and listed; the exit code is then 4.'

const logCommand: Command = {
  name: 'log',
  aliases: ['history'],
  summary: 'Show the versions, newest first, at or below a path',
  positionals: [maybePath],
  options: [
    { name: 'oneline', summary: 'One line for each' },
    { name: 'patch', short: 'p', summary: 'With what each changed' },
    { name: 'follow', summary: 'Those of the memory that is at the path now, across renames' },
    { name: 'limit', short: 'n', value: 'number', summary: 'No more than so many' },
    { name: 'skip', value: 'number', summary: 'Leave out so many first' },
    { name: 'after', value: 'version', summary: 'Go on after this one, the `next` of --json' },
    { name: 'reverse', summary: 'Oldest first; --limit counts from there' },
    { name: 'actor', value: 'id', summary: 'Only those of this actor' },
    { name: 'session', value: 'id', summary: 'Only those of this session' },
    {
      name: 'operation',
      value: 'operation',
      choices: ['created', 'modified', 'deleted'],
      summary: 'Only these',
    },
    { name: 'redacted', summary: 'Only those that were redacted' },
    { name: 'since', value: 'time', summary: 'Not older: 36h, 7d, 2026-01-31, or RFC 3339' },
    { name: 'until', value: 'time', summary: 'Not newer' },
    colourOption,
  ],
  notes: [
    'On a terminal a pager shows it, and the first versions appear at once. A redacted version ' +
      'has no path any more, so that only a log without a path shows it.',
  ],
  run: async (...call) => (await import('./commands/log.ts')).log(...call),
}

const restoreCommand: Command = {
  name: 'restore',
  summary: 'Put one memory back to what it was, also after it was deleted',
  positionals: [{ name: 'path-or-memory' }],
  options: [
    { name: 'to', value: 'point', summary: 'What to go back to: one of its versions, or a time' },
    dryRunOption,
    colourOption,
    ...authorOptions,
  ],
  notes: [
    'The memory keeps its id and gets a new version. A path means the memory that is there, or ' +
      `else the one that was there last. ${pointForms}`,
  ],
  run: async (...call) => (await import('./commands/rollback.ts')).restore(...call),
}

const rollbackCommand: Command = {
  name: 'rollback',
  aliases: ['undo'],
  summary: 'Put all memories back to a point in time, or undo what an actor or a session wrote',
  positionals: [],
  options: [
    { name: 'to', value: 'point', summary: 'The point in time' },
    { name: 'path', value: 'path', summary: 'With --to: only what is, or was, at or below it' },
    { name: 'actor', value: 'id', summary: 'Undo what this actor wrote' },
    { name: 'session', value: 'id', summary: 'Undo what this session wrote' },
    { name: 'since', value: 'time', summary: 'Undo: nothing older' },
    { name: 'until', value: 'time', summary: 'Undo: nothing newer' },
    dryRunOption,
    { name: 'yes', short: 'y', summary: 'Do not ask' },
    colourOption,
    ...selectingAuthorOptions,
  ],
  notes: [
    'Undoing puts every memory into the state that it would have without those versions. Later ' +
      'edits by others stay: where they touch other lines, the two are merged; where they touch ' +
      'the same lines, the memory is left as it is.',
    `${oneCommit} Asks on a terminal. ${pointForms}`,
  ],
  run: async (...call) => (await import('./commands/rollback.ts')).rollback(...call),
}

const redactCommand: Command = {
  name: 'redact',
  summary: 'Erase versions from the history for good, such as a secret that leaked',
  positionals: [{ name: 'version', optional: true, repeated: true }],
  options: [
    { name: 'memory', value: 'path-or-id', summary: 'All versions of this memory' },
    { name: 'path', value: 'path', summary: 'Those at or below this path' },
    { name: 'actor', value: 'id', summary: 'Those of this actor' },
    { name: 'session', value: 'id', summary: 'Those of this session' },
    { name: 'matching', value: 'regex', summary: 'Those with it in text, path or reason' },
    { name: 'matching-file', value: 'file', summary: 'The same; the file holds it in one line' },
    { name: 'literal', summary: 'The pattern is plain text, not a regular expression' },
    { name: 'ignore-case', short: 'i', summary: 'The pattern matches in either case' },
    { name: 'before', value: 'time', summary: 'Those written before then' },
    {
      name: 'reason-code',
      value: 'code',
      choices: ['unspecified', 'leaked_secret', 'personal_data', 'legal', 'poisoned', 'retention'],
      summary: 'Why; stays in the record for ever',
    },
    { name: 'overwrite', summary: 'Memories that hold such a text now: replace it first' },
    { name: 'delete', summary: 'Memories that hold such a text now: delete them first' },
    { name: 'keep-current', summary: 'Leave out what memories hold now' },
    { name: 'certificate', value: 'file', summary: 'Write the signed certificate, as JSON' },
    { name: 'prove', summary: 'Search all that is stored for what was redacted, afterwards' },
    dryRunOption,
    { name: 'yes', short: 'y', summary: 'Do not ask' },
    ...selectingAuthorOptions.filter(({ name }) => name !== 'reason'),
  ],
  notes: [
    'All conditions that are given must hold. Content, path, hash, size and reason of the ' +
      'versions go, from every file of this store; that there was a version, who made it, when, ' +
      'and the signature of the device stay and still verify.',
    'Commits from the first of these versions on get new ids. Other clones, hosts and backups ' +
      'keep the old objects until they take over this history and forget the old one; the ' +
      'certificate lists the ids to report. The settings of the store cannot be redacted.',
    'A pattern is a JavaScript regular expression, in which ^ and $ match at lines. Arguments ' +
      'show in the list of processes: put a secret into a file for --matching-file.',
    '--overwrite replaces what matches, or else the whole text, by [redacted]. The version that ' +
      '--delete makes is redacted with the others, since it names the path.',
    'Asks on a terminal; elsewhere it needs --yes. What was redacted before is left out, so that ' +
      'the same command may run again. Ctrl-C leaves the old state or the new one, and says which.',
  ],
  run: async (...call) => (await import('./commands/redact.ts')).redact(...call),
}

/** In the order of help. */
export const historyCommands: readonly Command[] = [
  logCommand,
  {
    name: 'show',
    summary: 'Show a version with its content, and what a merge made it of',
    positionals: [{ name: 'version' }],
    options: [colourOption],
    notes: ['A version is named by its id, or by the first digits of it.'],
    run: async (...call) => (await import('./commands/log.ts')).show(...call),
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
      { name: 'to', value: 'point', summary: 'With --from; else with what is now' },
      { name: 'stat', summary: 'With --from: how many lines of which memories' },
      { name: 'name-only', summary: 'With --from: paths only' },
      colourOption,
    ],
    notes: [
      'A path stands for the newest version of the memory there; with --from, for all below it.',
      'The patch is one that `git apply` takes. What is redacted at one of two points looks new ' +
        `or deleted there, and is named in front. ${pointForms}`,
    ],
    run: async (...call) => (await import('./commands/diff.ts')).diff(...call),
  },
  {
    name: 'blame',
    summary: 'Show which version each line came from, and who wrote it',
    positionals: [{ name: 'path-or-memory' }],
    options: [atOption, colourOption],
    notes: ['A line after whose version one was redacted is marked with ?: it may be older.'],
    run: async (...call) => (await import('./commands/blame.ts')).blame(...call),
  },
  restoreCommand,
  rollbackCommand,
  redactCommand,
  {
    name: 'expire',
    summary: 'Delete what has not been changed or read for a time',
    positionals: [],
    options: [
      { name: 'unchanged', value: 'duration', summary: 'Not changed for so long, such as 90d' },
      { name: 'unread', value: 'duration', summary: 'Not read on this device for so long' },
      { name: 'path', value: 'path', summary: 'Only at or below this path' },
      {
        name: 'redact-older',
        value: 'duration',
        summary: 'Also erase, for good, versions older than so long that are not current',
      },
      dryRunOption,
      { name: 'yes', short: 'y', summary: 'Do not ask before erasing' },
      ...authorOptions,
    ],
    notes: [
      'Deleting is an ordinary change: `restore` and `rollback` take it back. Erasing is not: it ' +
        'happens with --redact-older only, which asks on a terminal and needs --yes elsewhere.',
    ],
    run: async (...call) => (await import('./commands/expire.ts')).expire(...call),
  },
]
