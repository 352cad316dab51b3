// The verbs that make a store and look after it; a part of ../table.ts.

import type { Command, Option } from '../call/command.ts'
import { authorOptions, deviceNameOption, noGuardOption } from '../call/options.ts'

/** A change of the settings has no reason. */
const settingsOptions = authorOptions.filter(({ name }) => name !== 'reason')
const allowedFileOption: Option = {
  name: 'file',
  value: 'file',
  summary: 'The file that holds the text, instead of its hash',
}

export const careCommands: readonly Command[] = [
  {
    name: 'init',
    summary: 'Create a store and the identity of this machine',
    positionals: [],
    options: [
      { name: 'no-passphrase', summary: 'Set none; only the recovery key lets machines join' },
      deviceNameOption,
      { name: 'new', summary: 'Create one although the store that was here no longer exists' },
      noGuardOption,
      {
        name: 'actor',
        value: 'id',
        summary: 'The user to record as the founder; else the login name',
      },
    ],
    notes: [
      'Asks for a passphrase on a terminal, or takes it from the file that ' +
        'GITLOCKET_PASSPHRASE_FILE names; otherwise none is set. Prints the recovery key, once. ' +
        'If a store exists already, nothing is changed. If one existed and was removed, this ' +
        'names it and tells you how to get it back.',
      'To get a store that a remote holds, use `join`.',
    ],
    run: async (...call) => (await import('../commands/init.ts')).init(...call),
  },
  {
    name: 'recover',
    summary: 'Enrol this machine in an existing store',
    positionals: [],
    options: [deviceNameOption],
    notes: [
      'Takes the recovery key from the file that GITLOCKET_RECOVERY_KEY_FILE names, or the ' +
        'passphrase from GITLOCKET_PASSPHRASE_FILE; else asks. A passphrase makes the machine a ' +
        'writer, the recovery key an owner.',
    ],
    run: async (...call) => (await import('../commands/recover.ts')).recover(...call),
  },
  {
    name: 'status',
    summary: 'Show the store, this device, the words of the head, remotes, sizes and limits',
    positionals: [],
    options: [],
    notes: ['For an auditor, what the trail shows, which it verifies: no settings and no sizes.'],
    run: async (context) => (await import('../commands/status.ts')).status(context),
  },
  {
    name: 'settings',
    summary: 'Show or change the settings of the store',
    positionals: [],
    options: [
      { name: 'name', value: 'text', summary: 'Its name' },
      { name: 'description', value: 'text', summary: 'Its purpose' },
      { name: 'content-limit', value: 'bytes', summary: 'The largest size of a memory' },
      { name: 'memory-limit', value: 'number', summary: 'The largest number of memories' },
      {
        name: 'guard',
        value: 'on|off',
        choices: ['on', 'off'],
        summary: 'On: refuse texts that hold private keys, tokens or card numbers',
      },
      ...settingsOptions,
    ],
    notes: [
      'Only an owner changes settings. They are encrypted, and every device of the store obeys ' +
        'them. Their history cannot be redacted: put no secrets into names and descriptions. The ' +
        'guard refuses those that it knows there too, and in the ids of actors and sessions.',
    ],
    run: async (...call) => (await import('../commands/settings.ts')).settings(...call),
  },
  {
    name: 'guard allow',
    summary: 'Let one exact text through that the guard takes for a secret',
    positionals: [{ name: 'sha256', optional: true }],
    options: [allowedFileOption, ...settingsOptions],
    notes: [
      'A refusal names the SHA-256 of the text. Every device of the store then accepts this ' +
        'text as a memory; one that differs in a byte is refused, and so is the same text as a ' +
        'path or a reason. Only an owner decides this: an agent has no tool for it, and a key ' +
        'of a server no request.',
      'The hash is kept in the encrypted settings, whose history cannot be redacted. The hash ' +
        'of a text that can be guessed, such as a short password alone, gives it away to ' +
        'anyone who can read the store.',
    ],
    run: async (...call) => (await import('../commands/guard.ts')).guardAllow(...call),
  },
  {
    name: 'guard revoke',
    summary: 'No longer let a text through; a memory that holds it keeps it',
    positionals: [{ name: 'sha256', optional: true }],
    options: [allowedFileOption, ...settingsOptions],
    notes: [
      'Settings are not merged. If two owners change them before they sync, one of the two ' +
        'changes holds as a whole, and the other is lost, even if it is a revocation. `sync` ' +
        'reports it on both devices: check `guard list` then, and repeat the lost change.',
    ],
    run: async (...call) => (await import('../commands/guard.ts')).guardRevoke(...call),
  },
  {
    name: 'guard list',
    summary: 'List the texts that the guard lets through, by SHA-256',
    positionals: [],
    options: [],
    run: async (context) => (await import('../commands/guard.ts')).guardList(context),
  },
  {
    name: 'doctor',
    summary: 'Check the setup, and say how to fix it',
    positionals: [],
    options: [
      { name: 'repair', summary: 'Repair damaged and missing files from intact data' },
      { name: 'from', value: 'where', summary: 'With --repair: take missing objects from there' },
      { name: 'dry-run', summary: 'With --repair: show what would be done' },
    ],
    notes: [
      'Also counts unreachable objects, which interrupted syncs and lost races leave behind; for ' +
        'that it packs the journal and reads every commit and tree. Only `git gc --prune=now` ' +
        'removes them, while no process has the store open.',
      'The exit code is that of the first failure.',
      '--repair reads packs, loose objects, the journal and refs, and rewrites what it can read, ' +
        'once the history verifies from its first commit on. --from names a remote, its ' +
        'address, the directory of a backup, or another clone; without it no remote is ' +
        'contacted. Work that was never sent is kept. Damaged files are moved to ' +
        'gitlocket/damaged in the store, and a later repair reads them again; a redaction erases ' +
        'them. Losses are listed: the exit code is then 11, or 12 if this device ' +
        'has verified later changes. A sound store is not touched.',
    ],
    run: async (...call) => (await import('../commands/doctor.ts')).doctor(...call),
  },
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
    run: async (...call) => (await import('../commands/status.ts')).verify(...call),
  },
  {
    name: 'compact',
    summary: 'Merge all packs and loose objects into one pack',
    positionals: [],
    options: [],
    notes: [
      'Other processes can read and write during it. Also erases what earlier redactions could ' +
        'not erase. Ctrl-C leaves the packs unchanged.',
    ],
    run: async (context) => (await import('../commands/compact.ts')).compact(context),
  },
]
