// `device card|add|list|role|rename|remove`: manages the devices that may read and write the store.
// A card travels over untrusted channels, so the user confirms its fingerprint before anything is
// changed. The store decides what each change means.

import { formatDeviceCard, parseDeviceCard } from '../../../format/device-card.ts'
import { checkRole, type Role } from '../../../format/directory.ts'
import { formatId } from '../../../format/id.ts'
import { withIdentityFile } from '../../../home/identity-file.ts'
import { pageJson, type Wire } from '../../../operations/wire.ts'
import type { Device } from '../../../store/devices/devices.ts'
import type { ResidualAccess } from '../../../store/devices/residual-access.ts'
import type { MemoryStore } from '../../../store/memory-store.ts'
import { devicesOfTrail, type ListedDevice } from '../../../store/report/access-events.ts'
import { visible } from '../../../text/visible.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
} from '../../call/command.ts'
import {
  authorOf,
  deviceNameOf,
  deviceNameOption,
  memberOptions,
  yesOption,
} from '../../call/options.ts'
import { readPlainFile, readPlainInput, writeNewFile } from '../../machine/files.ts'
import { needHistory } from '../../store/granted.ts'
import { resolveNamed } from '../../store/named.ts'
import { auditHere, withStore, withStoreOrTrail } from '../../store/open-store.ts'
import { inkOf } from '../../terminal/ink.ts'
import { withProgress } from '../../terminal/progress.ts'
import { askYes, canAsk } from '../../terminal/prompt.ts'
import { deviceText } from '../../text/device-text.ts'
import { endedLines, endsGrantsJson, warnOfEnding } from '../../text/ending-grants.ts'
import {
  joinAddress,
  onlineOptions,
  pendingPart,
  rekeyedJson,
  rekeyedLines,
  residualAccessJson,
  withoutContents,
} from '../../text/members.ts'
import { idColumn, tableText } from '../../text/table.ts'
import { ageFormat, agoFormat, type TimeFormat } from '../../text/times.ts'
import { wire } from '../../text/wire.ts'
import { countText } from '../../text/words.ts'

export const epochNote: string =
  'The store gets new keys, which protect everything written from then on. Earlier content ' +
  'remains readable to everyone who could read it; the answer tells how much that is.'

export const onlineNote: string =
  'It syncs first, and is at the remote for members (`remote set-membership`) when it is done; ' +
  'without a remote it is made here alone.'

export const commands: readonly Command[] = [
  {
    name: 'device card',
    summary: 'Print what an owner needs to add this machine',
    options: {
      ...deviceNameOption,
      '--out <file>': 'Write it to this new file instead',
    },
    notes: [
      'Creates the identity of this machine if it is missing. The card holds public keys and the ' +
        'name only; comparing the fingerprint shows whether it was replaced in transit.',
    ],
    run: deviceCard,
  },
  {
    name: 'device add',
    summary: 'Add the machine of a device card',
    usage: '<card-file>',
    options: {
      '--role <owner|writer|reader|auditor>': 'What the device may do; else writer',
      '--fingerprint <dev_…>':
        'What the machine itself shows; refuses any other card, and does not ask',
      ...yesOption,
      ...memberOptions,
    },
    notes: [
      'With - the card comes from standard input. An owner may do everything; a writer reads and ' +
        'writes; a reader reads; an auditor verifies and lists who did what when, and sees no ' +
        'contents and no paths. Only an owner adds devices.',
      onlineNote,
    ],
    run: deviceAdd,
  },
  {
    name: 'device list',
    summary: 'List the devices of the store, removed ones too',
    notes: [
      'A removed device still reads earlier contents, in every copy of the store; --json has the ' +
        'numbers. An auditor sees names, roles and times; only members can tell which redactions ' +
        'a device has not confirmed, and what a removed one still reads.',
    ],
    run: deviceList,
  },
  {
    name: 'device role',
    summary: 'Give a device another role',
    usage: '<device> <role>',
    options: { ...yesOption, ...memberOptions },
    notes: [
      `${epochNote} The grants of a device that may give none any more end for good, also if it ` +
        'gets its role back: on a terminal they are listed, and you are asked.',
    ],
    run: deviceRole,
  },
  {
    name: 'device rename',
    summary: 'Give a device a name, for people',
    usage: '<device> <name>',
    options: memberOptions,
    notes: [
      'Up to 64 characters, sealed like everything else. Names are for people and identify ' +
        'nothing: several devices may have the same one. The fingerprint identifies a device.',
    ],
    run: deviceRename,
  },
]

function deviceCard(context: Context, input: Input): Promise<Answer> {
  return withIdentityFile(context.environment, async (identity) => {
    const name = deviceNameOf(context, input)
    const card = formatDeviceCard(identity, { name })
    const deviceId = formatId('device', identity.deviceId)
    const file = input.text('out')
    if (file !== undefined) writeNewFile('the device card', file, card)
    return {
      text: file === undefined ? card : `Wrote the device card to ${file}\n`,
      json: { device_id: deviceId, name, card, file: file ?? null },
      note:
        `Name: ${name === '' ? 'none' : name}\nFingerprint: ${deviceId}\n` +
        'An owner adds this machine with `gitlocket device add`, and compares the fingerprint.',
    }
  })
}

async function deviceAdd(context: Context, input: Input): Promise<Answer> {
  const role = checkRole(input.text('role') ?? 'writer')
  const author = authorOf(context, input)
  const card = await readCard(input.argument(0))
  const { deviceId: id, name } = parseDeviceCard(card)
  const deviceId = formatId('device', id)
  const fingerprint = input.text('fingerprint')
  return withStore(context, async (store) => {
    if (fingerprint === undefined) await compare(context, input, { deviceId, name }, role)
    const added = await store.as(author).devices.add(card, role, {
      fingerprint: fingerprint ?? deviceId,
      ...onlineOptions(context, input),
    })
    const status = await store.status()
    return {
      ...pendingPart(added),
      text: [
        `Added ${deviceText(deviceId, name)} as ${role}`,
        '',
        ...accessLines[role === 'auditor' ? 'auditor' : 'member'],
        '',
        `It joins with: gitlocket join '${joinAddress(status)}'`,
        '',
      ].join('\n'),
      json: {
        device_id: deviceId,
        name,
        role,
        commit: added.commit ?? null,
        address: status.address,
      },
    }
  })
}

/** What a device can do with every copy of the store that has a keyring with its entry. */
const accessLines: Readonly<Record<'member' | 'auditor', readonly string[]>> = {
  member: ['It can open every copy of the store that has this change, with earlier content.'],
  auditor: [
    'It can verify every copy of the store that has this change, and list who did what when in it,',
    'from the first commit on. It reads no contents, paths, settings or reasons of changes, not',
    'even old ones.',
  ],
}

async function deviceList(context: Context, input: Input): Promise<Answer> {
  const devices = await withStoreOrTrail<readonly ListedDevice[]>(
    context,
    async (store) => {
      needHistory(store)
      return readDevices(context, store)
    },
    async () => devicesOfTrail(await auditHere(context)),
  )
  const age = ageFormat(context)
  const text = tableText(context, inkOf(context, input), devices, [
    {
      head: 'NAME',
      cell: ({ name }) => (name === '' ? '(no name)' : name),
      exact: ({ name }) => name,
      cut: 'end',
      weight: 2,
    },
    { head: 'ROLE', cell: ({ role }) => role },
    { head: 'ADDED', cell: ({ added }) => age(added.time) },
    { head: 'WROTE', cell: ({ lastRecord: last }) => (last === undefined ? '' : age(last)) },
    {
      head: 'REMOVED',
      cell: () => '',
      exact: ({ removed }) => (removed === undefined ? '' : age(removed.time)),
    },
    {
      head: 'NOTE',
      cell: (device) => [...removalNotes(device, context), ...notesOf(device, age)].join('; '),
      exact: (device) => notesOf(device, age).join('; '),
      cut: 'end',
      weight: 3,
    },
    idColumn(({ deviceId }) => deviceId),
  ])
  return { text, inked: true, json: pageJson(devices.map(deviceJson)), paged: true }
}

function deviceRole(context: Context, input: Input): Promise<Answer> {
  const role = checkRole(input.argument(1))
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const devices = await readDevices(context, store)
    const deviceId = resolveDevice(devices, input.argument(0))
    const names = new Map(devices.map((device) => [device.deviceId, device.name]))
    const ends = await store.grants.endedBy({ roles: new Map([[deviceId, role]]) })
    if (ends.length > 0 && !input.flag('yes') && canAsk(context)) {
      warnOfEnding(context, ends, names)
      const question = `Make ${deviceText(deviceId, names.get(deviceId))} ${role}?`
      if (!(await askYes(context, question))) throw cancelled()
    }
    const changed = await store
      .as(author)
      .devices.changeRole(deviceId, role, onlineOptions(context, input))
    const done = changed.commit === undefined ? 'is already' : 'is now'
    const known = devices.find((device) => device.deviceId === deviceId)
    const before = known?.role ?? role
    const isNowMember = before === 'auditor' && role !== before
    const lines = [
      `${deviceText(deviceId, known?.name)} ${done} ${role}`,
      ...rekeyedLines(changed, 'That device', withoutContents),
      ...endedLines(context, changed.endsGrants, names),
      ...(isNowMember ? ['', ...accessLines.member] : []),
      '',
    ]
    const ended = { ends_grants: endsGrantsJson(changed.endsGrants) }
    const json = { device_id: deviceId, role, ...rekeyedJson(changed), ...ended }
    return { text: lines.join('\n'), json, ...pendingPart(changed) }
  })
}

function deviceRename(context: Context, input: Input): Promise<Answer> {
  const author = authorOf(context, input)
  const name = input.argument(1)
  return withStore(context, async (store) => {
    const deviceId = resolveDevice(await readDevices(context, store), input.argument(0))
    const online = onlineOptions(context, input)
    const changed = await store.as(author).devices.rename(deviceId, name, online)
    const { commit } = changed
    return {
      ...pendingPart(changed),
      text: `${deviceId} is named ${name}\n`,
      json: { device_id: deviceId, name, commit: commit ?? null },
    }
  })
}

async function readCard(file: string): Promise<string> {
  return file === '-' ? readPlainInput() : readPlainFile('the device card', file)
}

/** A card could be anyone's, so the user compares its fingerprint with that of the machine. */
async function compare(
  context: Context,
  input: Input,
  { deviceId, name }: Pick<Device, 'deviceId' | 'name'>,
  role: Role,
): Promise<void> {
  if (input.flag('yes')) return
  if (!canAsk(context) || input.argument(0) === '-') {
    throw new CommandError(
      'invalid_input',
      `The card is of ${deviceText(deviceId, name)}, and there is no terminal to confirm that on`,
      'Give the fingerprint that the machine shows with --fingerprint; --yes trusts the card',
    )
  }
  process.stderr.write(
    `The card is of  ${visible(deviceText(deviceId, name))}\n\n` +
      '`gitlocket device card` on that machine shows its fingerprint. If they are not the same,\n' +
      'the card was replaced in transit.\n\n',
  )
  if (await askYes(context, `Are they the same, and should it be added as ${role}?`)) return
  throw cancelled()
}

export function cancelled(): CommandError {
  const hint = '--yes does it without asking'
  return new CommandError('cancelled', 'Cancelled; nothing was changed', hint)
}

export function readDevices(context: Context, store: MemoryStore): Promise<readonly Device[]> {
  return withProgress(context, 'Reading the history', (options) => store.devices.list(options))
}

/** The full id of a device given by its name, its fingerprint or a beginning of that. */
export function resolveDevice(devices: readonly Device[], typed: string): string {
  // The name of a removed device may be another one's now.
  const named = devices.map(({ deviceId, name, removed }) => {
    return { id: deviceId, name: removed === undefined ? name : '' }
  })
  return resolveNamed(named, typed, { kind: 'device', list: 'gitlocket device list' })
}

function removalNotes({ removed }: ListedDevice, context: Context): readonly string[] {
  return removed === undefined ? [] : [`removed ${agoFormat(context)(removed.time)}`]
}

/** What an owner may have to act on. */
function notesOf(device: ListedDevice, age: TimeFormat): readonly string[] {
  const { isThis, isForked, removed, residualAccess } = device
  return [
    ...(isThis ? ['this machine'] : []),
    ...(isForked === true && removed === undefined ? ['cloned, can no longer write'] : []),
    ...unconfirmedNotes(device, age),
    ...(residualAccess === undefined ? [] : [residualText(residualAccess)]),
  ]
}

/** The redactions that its copy may not have applied, as far as records show. */
function unconfirmedNotes(
  { unacknowledged = [], canAcknowledge }: ListedDevice,
  age: TimeFormat,
): readonly string[] {
  const [first] = unacknowledged
  if (first === undefined) return []
  const count = countText(unacknowledged.length, 'redaction', 'redactions')
  if (canAcknowledge !== true) return [`cannot confirm ${count}`]
  return [`${count} unconfirmed since ${age(first.time)}`]
}

/** What a removed device still reads, in every copy of the store. */
function residualText({ commitsWithContents, memories }: ResidualAccess): string {
  if (commitsWithContents === 0) return 'still reads who did what when'
  const commits = countText(commitsWithContents, 'commit', 'commits')
  return `still reads ${commits}, ${countText(memories, 'memory', 'memories')}`
}

function deviceJson(device: ListedDevice): Wire {
  const { deviceId, name, role, admittedBy, added, removed, lastRecord, canAcknowledge } = device
  return wire({
    type: 'device',
    id: deviceId,
    name,
    role,
    admittedBy,
    active: removed === undefined,
    thisDevice: device.isThis,
    forked: device.isForked,
    addedAt: added.time,
    addedCommit: added.commit,
    removedAt: removed?.time,
    removedCommit: removed?.commit,
    lastRecordAt: lastRecord,
    redactionsUnacknowledged: device.unacknowledged?.map(({ commit, time }) => {
      return wire({ commit, redactedAt: time })
    }),
    canAcknowledge,
    residualAccess: residualAccessJson(device.residualAccess),
  })
}
