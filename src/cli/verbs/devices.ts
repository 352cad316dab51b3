// The verbs about who may read and write, and what auditors do; a part of ../table.ts.

import { csvColumns } from '../../api/report-csv.ts'
import type { Command } from '../call/command.ts'
import { authorOptions, deviceNameOption, onlyOption, yesOption } from '../call/options.ts'

/** A keyring record has no field for a reason. */
const actingOptions = [onlyOption, ...authorOptions.filter(({ name }) => name !== 'reason')]
const epochNote =
  'The store gets new keys, which protect everything written from then on. Earlier content ' +
  'remains readable to everyone who could read it; the answer tells how much that is.'

const onlineNote =
  'It syncs first, and is at the remote for members (`remote set-membership`) when it is done; ' +
  'without a remote it is made here alone.'

const columnsText = Object.entries(csvColumns)
  .map(([name, meaning]) => `${name} (${meaning})`)
  .join(', ')

const reportNotes: readonly string[] = [
  'A member verifies the whole history and searches for redacted content, as `verify --absence` ' +
    'does; an auditor verifies the trail. No report names a path or holds a content. Names, ' +
    'actors and sessions are plaintext in it; the file is 0600. Without --out it is written ' +
    'to standard output, unsigned.',
  '--since and --until select writes, changes of access and redactions, by the clocks of the ' +
    'devices that wrote them; devices are listed whole.',
  `The columns of csv: ${columnsText}. A cell that a spreadsheet would take for a formula begins ` +
    'with an apostrophe.',
]

export const deviceCommands: readonly Command[] = [
  {
    name: 'device card',
    summary: 'Print what an owner needs to add this machine',
    positionals: [],
    options: [
      deviceNameOption,
      { name: 'out', value: 'file', summary: 'Write it to this new file instead' },
    ],
    notes: [
      'Creates the identity of this machine if it is missing. The card holds public keys and the ' +
        'name only; comparing the fingerprint shows whether it was replaced in transit.',
    ],
    run: async (...call) => (await import('../commands/device.ts')).deviceCard(...call),
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
      onlineNote,
    ],
    run: async (...call) => (await import('../commands/device.ts')).deviceAdd(...call),
  },
  {
    name: 'device list',
    summary: 'List the devices of the store, removed ones too',
    positionals: [],
    options: [],
    notes: [
      'An auditor sees names, roles and times. What a device may still have of redactions, and ' +
        'what a removed one still reads, only members can tell.',
    ],
    run: async (context) => (await import('../commands/device.ts')).deviceList(context),
  },
  {
    name: 'device role',
    summary: 'Give a device another role',
    positionals: [{ name: 'device' }, { name: 'role' }],
    options: actingOptions,
    notes: [epochNote],
    run: async (...call) => (await import('../commands/device.ts')).deviceRole(...call),
  },
  {
    name: 'device rename',
    summary: 'Give a device a name, for people',
    positionals: [{ name: 'device' }, { name: 'name' }],
    options: actingOptions,
    notes: [
      'Up to 64 characters, sealed like everything else. Names are for people and identify ' +
        'nothing: several devices may have the same one. The fingerprint identifies a device.',
    ],
    run: async (...call) => (await import('../commands/device.ts')).deviceRename(...call),
  },
  {
    name: 'device remove',
    destroys: true,
    summary: 'Remove devices permanently',
    positionals: [{ name: 'device', repeated: true }],
    options: [
      {
        name: 'rotate-secrets',
        summary: 'Replace the passphrase and the recovery keys, which its user may know, too',
      },
      {
        name: 'when-online',
        summary: 'If the remote is out of reach, leave it to the next sync that reaches it',
      },
      yesOption,
      ...actingOptions,
    ],
    notes: [
      onlineNote,
      `${epochNote} A removed device never returns; its machine can make a new identity, with ` +
        'which anyone who knows the passphrase or a recovery key joins again.',
    ],
    run: async (...call) => (await import('../commands/device.ts')).deviceRemove(...call),
  },
]

export const auditCommands: readonly Command[] = [
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
        'device that was removed in the meantime, are listed first, once they were accepted.',
    ],
    run: async (...call) => (await import('../commands/audit.ts')).audit(...call),
  },
  {
    name: 'report',
    summary: 'Write a signed report: devices, writes, redactions and checks',
    positionals: [],
    options: [
      {
        name: 'out',
        value: 'file',
        summary: 'The file to write; its signature is written next to it, as .sig',
      },
      {
        name: 'format',
        value: 'format',
        choices: ['html', 'csv', 'json'],
        summary: 'What to write; else html, a page that needs no other file',
      },
      {
        name: 'since',
        value: 'time',
        summary: 'Nothing older: 36h, 7d, 2026-01-31, or RFC 3339',
      },
      { name: 'until', value: 'time', summary: 'Nothing newer' },
      {
        name: 'certificate',
        value: 'file',
        summary: 'The certificate of a redaction, verified first; may be repeated',
      },
      { name: 'force', summary: 'Replace the file and its signature' },
    ],
    notes: reportNotes,
    run: async (...call) => (await import('../commands/report.ts')).report(...call),
  },
  {
    name: 'report verify',
    summary: 'Verify the signature of a report, with or without a key of the store',
    positionals: [{ name: 'file' }],
    options: [
      {
        name: 'signature',
        value: 'file',
        summary: 'The signature; else the one next to the file, as .sig',
      },
      {
        name: 'device',
        value: 'dev_…',
        summary: 'Compare with this one only: dev_…, "ssh-ed25519 …", or a file with one of them',
      },
    ],
    notes: [
      'Compares the signer with the devices in the verified history of the store here. With ' +
        '--device no store is needed. Without both, or if the device was removed, it shows who ' +
        'signed, which proves nothing: the exit code is 4 then.',
      '`ssh-keygen -Y verify -n gitlocket-report -f <signers> -I device -s <file>.sig < <file>` ' +
        'verifies it too; `<signers>` is a file with a line of `device` and the key, as this ' +
        'prints it.',
    ],
    run: async (...call) => (await import('../commands/report.ts')).reportVerify(...call),
  },
]
