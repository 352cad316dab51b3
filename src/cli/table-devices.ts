// The verbs about who may read and write, and what auditors do; a part of table.ts.

import type { Command } from './command.ts'
import { authorOptions } from './options.ts'

/** A keyring record has no field for a reason. */
const actingOptions = authorOptions.filter(({ name }) => name !== 'reason')
const yesOption = { name: 'yes', summary: 'Do not ask' }
const epochNote =
  'A new epoch of keys begins, which protects what is written from then on. What was written ' +
  'before stays readable to everyone who could read it; the answer says how much that is.'

export const deviceCommands: readonly Command[] = [
  {
    name: 'device card',
    summary: 'Print what an owner needs to add this machine',
    positionals: [],
    options: [{ name: 'out', value: 'file', summary: 'Write it to this new file instead' }],
    notes: [
      'Creates the identity of this machine if there is none. The card holds public keys only; ' +
        'comparing the fingerprint shows whether it was replaced in transit.',
    ],
    run: async (...call) => (await import('./commands/device.ts')).deviceCard(...call),
  },
  {
    name: 'device add',
    summary: 'Add the machine of a device card',
    positionals: [{ name: 'card-file' }],
    options: [
      {
        name: 'role',
        value: 'role',
        choices: ['owner', 'writer', 'reader', 'auditor'],
        summary: 'What the device may do; else writer',
      },
      {
        name: 'fingerprint',
        value: 'dev_…',
        summary: 'What the machine itself shows; refuses any other card, and does not ask',
      },
      yesOption,
      ...actingOptions,
    ],
    notes: [
      'With - the card comes from standard input. An owner may do everything; a writer reads and ' +
        'writes; a reader reads; an auditor verifies and lists who did what when, and sees no ' +
        'contents and no paths. Only an owner adds devices.',
    ],
    run: async (...call) => (await import('./commands/device.ts')).deviceAdd(...call),
  },
  {
    name: 'device list',
    summary: 'List the devices of the store, removed ones too',
    positionals: [],
    options: [],
    run: async (context) => (await import('./commands/device.ts')).deviceList(context),
  },
  {
    name: 'device role',
    summary: 'Give a device another role',
    positionals: [{ name: 'device' }, { name: 'role' }],
    options: actingOptions,
    notes: [epochNote],
    run: async (...call) => (await import('./commands/device.ts')).deviceRole(...call),
  },
  {
    name: 'device rename',
    summary: 'Give a device a name, for people',
    positionals: [{ name: 'device' }, { name: 'name' }],
    options: actingOptions,
    notes: [
      'Up to 64 characters, sealed like everything else. The fingerprint identifies a device.',
    ],
    run: async (...call) => (await import('./commands/device.ts')).deviceRename(...call),
  },
  {
    name: 'device remove',
    summary: 'Remove devices permanently',
    positionals: [{ name: 'device', repeated: true }],
    options: [
      {
        name: 'rotate-secrets',
        summary: 'Replace the passphrase and the recovery keys, which its user may know, too',
      },
      yesOption,
      ...actingOptions,
    ],
    notes: [
      `${epochNote} A removed device never returns; its machine can make a new identity, with ` +
        'which whoever knows the passphrase or a recovery key joins again.',
    ],
    run: async (...call) => (await import('./commands/device.ts')).deviceRemove(...call),
  },
  {
    name: 'audit',
    summary: 'Verify the trail and list who did what when, newest first, without contents',
    positionals: [],
    options: [
      { name: 'limit', short: 'n', value: 'number', summary: 'List at most this many commits' },
      { name: 'device', value: 'dev_…', summary: 'List only those of this device' },
      { name: 'actor', value: 'id', summary: 'List only those of this actor' },
      { name: 'session', value: 'id', summary: 'List only those of this session' },
      { name: 'since', value: 'time', summary: 'Nothing older: 36h, 7d, 2026-01-31, or RFC 3339' },
      { name: 'until', value: 'time', summary: 'Nothing newer' },
      { name: 'accept-rolled-back', summary: 'Accept an older state, and list what it leaves out' },
    ],
    notes: [
      'The task of an auditor; other devices may run it as well. Every record, signature, change ' +
        'of keys and file name is verified, from the first commit on; texts and paths are not ' +
        'read. `join` makes a clone on the machine of an auditor and `sync` keeps it current; a ' +
        'copy made with `git clone --bare` works too.',
      'Records that were verified here and that the members have left out since, as those of a ' +
        'device that was removed meanwhile, are listed first, once they were accepted.',
    ],
    run: async (...call) => (await import('./commands/audit.ts')).audit(...call),
  },
]
