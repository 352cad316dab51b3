// The verbs about who may read and write, and what auditors do; a part of table.ts.

import type { Command } from './command.ts'
import { authorOptions } from './options.ts'

/** A keyring record has no room for a reason. */
const actingOptions = authorOptions.filter(({ name }) => name !== 'reason')
const yesOption = { name: 'yes', summary: 'Do not ask' }
const epochNote =
  'A new epoch of keys begins, which protects what is written from then on. What was written ' +
  'before stays readable to whoever could read it; the answer says how much that is.'

export const deviceCommands: readonly Command[] = [
  {
    name: 'device card',
    summary: 'Print what an owner needs to add this machine',
    positionals: [],
    options: [{ name: 'out', value: 'file', summary: 'Write it to this new file instead' }],
    notes: [
      'Makes the identity of this machine if there is none. The card holds public keys alone; ' +
        'what matters is that nobody replaces it on its way, which the fingerprint shows.',
    ],
    run: async (...call) => (await import('./commands/device.ts')).deviceCard(...call),
  },
  {
    name: 'device add',
    summary: 'Add the machine whose card this is',
    positionals: [{ name: 'card-file' }],
    options: [
      {
        name: 'role',
        value: 'role',
        choices: ['owner', 'writer', 'reader', 'auditor'],
        summary: 'What it may do; else writer',
      },
      {
        name: 'fingerprint',
        value: 'dev_…',
        summary: 'What the machine itself shows; refuses any other, and does not ask',
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
    name: 'device remove',
    summary: 'Take the access of devices, for good',
    positionals: [{ name: 'device', repeated: true }],
    options: [yesOption, ...actingOptions],
    notes: [`${epochNote} A removed device never returns; its machine can make a new identity.`],
    run: async (...call) => (await import('./commands/device.ts')).deviceRemove(...call),
  },
  {
    name: 'audit',
    summary: 'Verify the trail and list who did what when, newest first, without contents',
    positionals: [],
    options: [
      { name: 'limit', short: 'n', value: 'number', summary: 'List no more than so many commits' },
      { name: 'device', value: 'dev_…', summary: 'List only those of this device' },
      { name: 'actor', value: 'id', summary: 'List only those of this actor' },
      { name: 'session', value: 'id', summary: 'List only those of this session' },
      { name: 'since', value: 'time', summary: 'Not older: 36h, 7d, 2026-01-31, or RFC 3339' },
      { name: 'until', value: 'time', summary: 'Not newer' },
      { name: 'accept-rolled-back', summary: 'Accept an older state that was restored on purpose' },
    ],
    notes: [
      'What an auditor is for; other devices may look as well. Every record, signature, change ' +
        'of keys and name of a file is verified, from the first commit on; texts and paths are ' +
        'not read. `join` makes a clone on the machine of an auditor and `sync` keeps it ' +
        'current; a copy made with `git clone --bare` will do, too.',
    ],
    run: async (...call) => (await import('./commands/audit.ts')).audit(...call),
  },
]
