// The verbs of the command line, in the order of help. The code of a verb is loaded when it runs,
// so that help and typing errors stay fast.

import type { Command } from './command.ts'
import { atOption, authorOptions, contentOptions, yesOption } from './options.ts'
import { deviceCommands } from './table-devices.ts'
import { historyCommands } from './table-history.ts'
import { syncCommands } from './table-sync.ts'

const path = { name: 'path' }
const maybePath = { name: 'path', optional: true }
const dash = { name: '-', optional: true }

export const commands: readonly Command[] = [
  {
    name: 'init',
    summary: 'Create a store and the identity of this machine',
    positionals: [],
    options: [
      { name: 'no-passphrase', summary: 'Set none; only the recovery key lets machines join' },
      { name: 'guard', summary: 'Refuse texts that hold private keys, tokens or card numbers' },
      {
        name: 'actor',
        value: 'id',
        summary: 'The user to record as the founder; else the login name',
      },
    ],
    notes: [
      'Asks for a passphrase on a terminal, or takes it from the file that ' +
        'GITLOCKET_PASSPHRASE_FILE names; else there is none. Prints the recovery key, once. ' +
        'If a store exists already, nothing is changed.',
      'To get a store that a remote holds, use `join`.',
    ],
    run: async (...call) => (await import('./commands/init.ts')).init(...call),
  },
  {
    name: 'recover',
    summary: 'Enrol this machine in an existing store',
    positionals: [],
    options: [],
    notes: [
      'Takes the recovery key from the file that GITLOCKET_RECOVERY_KEY_FILE names, or the ' +
        'passphrase from GITLOCKET_PASSPHRASE_FILE; else asks. A passphrase makes the machine a ' +
        'writer, the recovery key an owner.',
    ],
    run: async (context) => (await import('./commands/recover.ts')).recover(context),
  },
  {
    name: 'status',
    summary: 'Show the store, this device, the words of the head, remotes, sizes and limits',
    positionals: [],
    options: [],
    run: async (context) => (await import('./commands/status.ts')).status(context),
  },
  {
    name: 'view',
    summary: 'Show a memory or a directory as an agent sees it',
    positionals: [maybePath],
    options: [
      { name: 'range', value: 'first:last', summary: 'Only these lines, as 10:20 or 10:' },
      atOption,
    ],
    run: async (...call) => (await import('./commands/view.ts')).view(...call),
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
    run: async (...call) => (await import('./commands/read.ts')).ls(...call),
  },
  {
    name: 'cat',
    summary: 'Print the content of a memory, byte for byte',
    positionals: [path],
    options: [atOption],
    run: async (...call) => (await import('./commands/read.ts')).cat(...call),
  },
  {
    name: 'create',
    summary: 'Create a memory',
    positionals: [path, dash],
    options: [...contentOptions, ...authorOptions],
    notes: ['With -, the text comes from standard input.'],
    run: async (...call) => (await import('./commands/write.ts')).create(...call),
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
    run: async (...call) => (await import('./commands/write.ts')).strReplace(...call),
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
    run: async (...call) => (await import('./commands/write.ts')).insert(...call),
  },
  {
    name: 'edit',
    summary: 'Edit a memory in your editor',
    positionals: [path],
    options: [
      { name: 'allow-disk-temp', summary: 'Accept a plaintext file on disk if RAM is no option' },
      ...authorOptions,
    ],
    notes: [
      'The text is in a file that only you can read, on a file system in RAM, and the file is ' +
        'removed however the editor ends. An editor that keeps swap, undo or backup files ' +
        'elsewhere writes plaintext there: turn that off for such files.',
    ],
    run: async (...call) => (await import('./commands/edit.ts')).edit(...call),
  },
  {
    name: 'rm',
    summary: 'Delete a memory, or a directory with everything below it',
    positionals: [path],
    options: [
      { name: 'recursive', short: 'r', summary: 'Accepted, as by rm; a directory needs none' },
      ...authorOptions,
    ],
    run: async (...call) => (await import('./commands/write.ts')).rm(...call),
  },
  {
    name: 'mv',
    summary: 'Rename a memory or a directory',
    positionals: [path, { name: 'new-path' }],
    options: authorOptions,
    run: async (...call) => (await import('./commands/write.ts')).mv(...call),
  },
  ...historyCommands,
  {
    name: 'verify',
    summary: 'Verify every commit from the first one on',
    positionals: [],
    options: [
      { name: 'absence', summary: 'Also search everything stored for redacted versions' },
      {
        name: 'certificate',
        value: 'file',
        summary: 'With --absence: also for the objects of this certificate, once it is verified',
      },
      { name: 'accept-rolled-back', summary: 'Accept an older state that was restored on purpose' },
    ],
    notes: [
      '--absence opens every object, reachable or not, every journal and every cache, and exits ' +
        'with 11 if something is left of a redacted version, or if a version was written on one ' +
        'by a device that did not know of the redaction and may hold its text.',
    ],
    run: async (...call) => (await import('./commands/status.ts')).verify(...call),
  },
  {
    name: 'compact',
    summary: 'Merge all packs and loose objects into one pack',
    positionals: [],
    options: [],
    notes: [
      'Other processes can read and write meanwhile. Also erases what earlier redactions could ' +
        'not erase. Ctrl-C leaves the packs unchanged.',
    ],
    run: async (context) => (await import('./commands/compact.ts')).compact(context),
  },
  {
    name: 'settings',
    summary: 'Show or change the settings of the store',
    positionals: [],
    options: [
      { name: 'name', value: 'text', summary: 'Its name' },
      { name: 'description', value: 'text', summary: 'What it is for' },
      { name: 'content-limit', value: 'bytes', summary: 'The largest size of a memory' },
      { name: 'memory-limit', value: 'number', summary: 'The largest number of memories' },
      {
        name: 'guard',
        value: 'on|off',
        choices: ['on', 'off'],
        summary: 'On: refuse texts that hold private keys, tokens or card numbers',
      },
      ...authorOptions.filter(({ name }) => name !== 'reason'),
    ],
    notes: [
      'Only an owner changes settings. They are encrypted, and every device of the store obeys ' +
        'them. Their history cannot be redacted: put no secrets into names and descriptions. The ' +
        'guard refuses those that it knows there too, and in the ids of actors and sessions.',
    ],
    run: async (...call) => (await import('./commands/settings.ts')).settings(...call),
  },
  {
    name: 'doctor',
    summary: 'Check the setup, and say how to fix it',
    positionals: [],
    options: [
      { name: 'repair', summary: 'Repair damaged and missing files from what is intact' },
      { name: 'from', value: 'where', summary: 'With --repair: take what is missing from there' },
      { name: 'dry-run', summary: 'With --repair: show what would be done' },
      { name: 'leaks', summary: 'Search everything that a scratch store writes for plaintext' },
    ],
    notes: [
      'Also counts unreachable objects, which interrupted syncs and lost races leave behind; for ' +
        'that it packs the journal and reads every commit and tree. Only `git gc --prune=now` ' +
        'removes them, while no process has the store open.',
      'The exit code is that of the first failure. --leaks creates a store in a temporary ' +
        'directory, writes canaries into contents, paths, reasons, sessions, actors and keys, ' +
        'searches every file and object for them, and exits with 11 if it finds one.',
      '--repair reads packs, loose objects, the journal and refs, and rewrites what is readable, ' +
        'once the history verifies from its first commit on. --from names a remote, its ' +
        'address, the directory of a backup, or another clone; without it no remote is ' +
        'contacted. Work that was never sent is kept. Damaged files are moved to ' +
        'gitlocket/damaged in the store, and a later repair reads them again; a redaction erases ' +
        'them. What is lost is listed: the exit code is then 11, or 12 if the anchor names a ' +
        'later record. A sound store is not touched.',
    ],
    run: async (...call) => (await import('./commands/doctor.ts')).doctor(...call),
  },
  ...syncCommands,
  ...deviceCommands,
  {
    name: 'key show',
    summary: 'Show the public keys of this machine',
    positionals: [],
    options: [
      { name: 'allowed-signers', summary: "Print lines for git's gpg.ssh.allowedSignersFile" },
    ],
    run: async (...call) => (await import('./commands/key.ts')).keyShow(...call),
  },
  {
    name: 'key passwd',
    summary: 'Set, change or remove the passphrase',
    positionals: [],
    options: [
      { name: 'remove', summary: 'Remove the passphrase' },
      yesOption,
      ...authorOptions.filter(({ name }) => name !== 'reason'),
    ],
    notes: [
      'Takes it from the file that GITLOCKET_NEW_PASSPHRASE_FILE names; else asks. A new epoch ' +
        'of keys begins, so the old passphrase opens nothing that is written from then on; it ' +
        'still opens what was written before, and the answer says how much that is. --remove ' +
        'asks on a terminal, and needs --yes elsewhere.',
    ],
    run: async (...call) => (await import('./commands/key.ts')).keyPasswd(...call),
  },
  {
    name: 'key recovery',
    summary: 'Create a new recovery key, after which the old ones open nothing new',
    positionals: [],
    options: [
      { name: 'keep-old', summary: 'Keep the recovery keys that exist; no new epoch' },
      yesOption,
      ...authorOptions.filter(({ name }) => name !== 'reason'),
    ],
    notes: [
      'The key is printed once. A new epoch of keys begins, so the old recovery keys open ' +
        'nothing that is written from then on; they still open what was written before. Asks on ' +
        'a terminal, and needs --yes elsewhere, but for --keep-old.',
    ],
    run: async (...call) => (await import('./commands/key.ts')).keyRecovery(...call),
  },
  {
    name: 'key rotate',
    summary: 'Begin a new epoch of keys, after a key has leaked',
    positionals: [],
    options: [
      { name: 'reseal', summary: 'Seal live memories and settings again under the new keys' },
      ...authorOptions.filter(({ name }) => name !== 'reason'),
    ],
    notes: [
      'Nobody loses access: remove a device or replace a secret to take it. With --reseal each ' +
        'live memory gets a new version with the same content, which the leaked keys do not ' +
        'open, and which merges, expire, redact --before and undo do not take for a change.',
    ],
    run: async (...call) => (await import('./commands/key.ts')).keyRotate(...call),
  },
  {
    name: 'key quota',
    summary: 'Set how many active devices the passphrase may have admitted',
    positionals: [{ name: 'devices' }],
    options: authorOptions.filter(({ name }) => name !== 'reason'),
    notes: [
      'Devices that an owner or a recovery key has added do not count. A new store allows 32; 0 ' +
        'ends joining by passphrase.',
    ],
    run: async (...call) => (await import('./commands/key.ts')).keyQuota(...call),
  },
  {
    name: 'key operator',
    summary: 'Print a new operator secret, which can recover many stores',
    positionals: [],
    options: [],
    notes: [
      'For those who run many stores: each store has a recovery key that follows from it and the ' +
        "store's id, so that nothing in the stores shows that they have one operator. A key that " +
        'leaked or was replaced does not come back: `key recovery` takes the next of 16.',
    ],
    run: async () => (await import('./commands/key.ts')).keyOperator(),
  },
  {
    name: 'export',
    summary: 'Write memories as plain files into a directory',
    positionals: [{ name: 'directory' }],
    options: [
      { name: 'from', value: 'path', summary: 'Only what is at or below this path' },
      { name: 'force', summary: 'Write into a directory that is not empty' },
      atOption,
      { name: 'skip-unsafe', summary: 'Leave out what cannot safely be a file, such as .git' },
      { name: 'dry-run', summary: 'Show what would be done' },
    ],
    run: async (...call) => (await import('./commands/export.ts')).exportStore(...call),
  },
  {
    name: 'import',
    summary: 'Create memories from plain text files, one commit each',
    positionals: [{ name: 'directory-or-file' }],
    options: [
      { name: 'to', value: 'path', summary: 'Import below this path; for a single file, its path' },
      {
        name: 'on-conflict',
        value: 'what',
        choices: ['fail', 'skip', 'overwrite'],
        summary: 'What to do if a path is taken; else fail, before anything is changed',
      },
      { name: 'dry-run', summary: 'Show what would be done' },
      ...authorOptions,
    ],
    notes: ['Symbolic links are not followed. Files that are not UTF-8 text are refused.'],
    run: async (...call) => (await import('./commands/import.ts')).importFiles(...call),
  },
]
