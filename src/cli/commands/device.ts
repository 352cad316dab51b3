// `device card|add|list|role|rename|remove`: manages the devices that may read and write the store.
// A card travels over untrusted channels, so the user confirms its fingerprint before anything is
// changed. The store decides what each change means.

import { pageJson, type Wire } from '../../api/wire.ts'
import { StoreError } from '../../errors.ts'
import { formatDeviceCard, parseDeviceCard } from '../../format/device-card.ts'
import { checkRole, type Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import { withIdentityFile } from '../../home/identity-file.ts'
import type { Audit } from '../../store/audit/audit.ts'
import type { DevicesRemoved, SecretsReplaced } from '../../store/devices/device-changes.ts'
import type { Device } from '../../store/devices/devices.ts'
import type { Secrets } from '../../store/devices/secrets.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { listReportedDevices, type ReportedDevice } from '../../store/report/access-events.ts'
import { visible } from '../../text/visible.ts'
import { CommandError } from '../call/command-error.ts'
import type { Answer, Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { authorOf, deviceNameOf } from '../call/options.ts'
import { readPlainFile, readPlainInput, writeNewFile } from '../machine/files.ts'
import { getNewPassphrase } from '../machine/secrets.ts'
import { auditHere, withStore, withStoreOrTrail } from '../store/open-store.ts'
import { withProgress } from '../terminal/progress.ts'
import { askYes, canAsk } from '../terminal/prompt.ts'
import { deviceText } from '../text/device-text.ts'
import { joinAddress, memberOptions, pendingPart } from '../text/members.ts'
import {
  rekeyedJson,
  rekeyedLines,
  residualAccessJson,
  residualAccessLines,
  withoutContents,
} from '../text/rekeyed.ts'
import { countText } from '../text/sizes.ts'
import { timeAgo } from '../text/times.ts'
import { wire } from '../text/wire.ts'

const PREFIX = 'dev_'
const ID_DIGITS = 26
const SHORTEST = 4

export function deviceCard(context: Context, input: Input): Promise<Answer> {
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

export async function deviceAdd(context: Context, input: Input): Promise<Answer> {
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
      ...memberOptions(context, input),
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

export async function deviceList(context: Context): Promise<Answer> {
  const devices = await withStoreOrTrail<readonly ListedDevice[]>(
    context,
    (store) => readDevices(context, store),
    async () => devicesOfTrail(await auditHere(context)),
  )
  return {
    text: devices.flatMap((device) => deviceLines(device, context.clock())).join(''),
    json: pageJson(devices.map(deviceJson)),
    paged: true,
  }
}

export function deviceRole(context: Context, input: Input): Promise<Answer> {
  const role = checkRole(input.argument(1))
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const devices = await readDevices(context, store)
    const deviceId = resolveDevice(devices, input.argument(0))
    const changed = await store
      .as(author)
      .devices.changeRole(deviceId, role, memberOptions(context, input))
    const done = changed.commit === undefined ? 'is already' : 'is now'
    const known = devices.find((device) => device.deviceId === deviceId)
    const before = known?.role ?? role
    const isNowMember = before === 'auditor' && role !== before
    const lines = [
      `${deviceText(deviceId, known?.name)} ${done} ${role}`,
      ...rekeyedLines(changed, 'It', withoutContents),
      ...(isNowMember ? ['', ...accessLines.member] : []),
      '',
    ]
    const json = { device_id: deviceId, role, ...rekeyedJson(changed) }
    return { text: lines.join('\n'), json, ...pendingPart(changed) }
  })
}

export function deviceRemove(context: Context, input: Input): Promise<Answer> {
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const devices = await readDevices(context, store)
    const deviceIds = input.arguments(0).map((typed) => resolveDevice(devices, typed))
    const names = new Map(devices.map(({ deviceId, name }) => [deviceId, name]))
    const listed = deviceIds.map((id) => deviceText(id, names.get(id))).join(', ')
    await agreeToRemove(context, input, listed)
    const replaced = await secretsToReplace(context, input, (await store.status()).secrets)
    const whenOnline = input.flag('when-online')
    const online = { ...memberOptions(context, input), whenOnline }
    const changed = await store.as(author).devices.remove(deviceIds, { ...replaced, ...online })
    if (changed.waits) return waitingAnswer(listed, deviceIds, replaced)
    const who = deviceIds.length === 1 ? 'It' : 'They'
    const lines = [`Removed ${listed}`, ...rekeyedLines(changed, who), ...secretLines(changed), '']
    const { knownSecrets, recoveryKey = null } = changed
    const secrets = wire({ knownSecrets: wire({ ...knownSecrets }), recoveryKey })
    const json = { removed: deviceIds, waiting: [], ...rekeyedJson(changed), ...secrets }
    return { text: lines.join('\n'), json, ...pendingPart(changed) }
  })
}

/** New secrets are not kept until then: they would have to be stored. */
function waitingAnswer(
  listed: string,
  waiting: readonly string[],
  replaced: SecretsReplaced,
): Answer {
  const secrets =
    Object.keys(replaced).length === 0
      ? ''
      : 'The passphrase and the recovery keys are not replaced: once the remote can be reached, ' +
        'sync, then run `gitlocket key passwd` and `gitlocket key recovery`.\n'
  return {
    text:
      `The remote cannot be reached: the next sync that does removes ${listed}\n` +
      `Until then it reads and writes as before.\n${secrets}`,
    json: { removed: [], waiting },
  }
}

export function deviceRename(context: Context, input: Input): Promise<Answer> {
  const author = authorOf(context, input)
  const name = input.argument(1)
  return withStore(context, async (store) => {
    const deviceId = resolveDevice(await readDevices(context, store), input.argument(0))
    const online = memberOptions(context, input)
    const changed = await store.as(author).devices.rename(deviceId, name, online)
    const { commit } = changed
    return {
      ...pendingPart(changed),
      text: `${deviceId} is named ${name}\n`,
      json: { device_id: deviceId, name, commit: commit ?? null },
    }
  })
}

/** What replaces the secrets that a removed device's user may know: asked for on a terminal. */
async function secretsToReplace(
  context: Context,
  input: Input,
  { passphrases, recoveryKeys }: Secrets,
): Promise<SecretsReplaced> {
  const known = describeSecrets({ passphrases, recoveryKeys })
  const wants =
    input.flag('rotate-secrets') ||
    (known !== '' &&
      !input.flag('yes') &&
      canAsk(context) &&
      (await askYes(context, `Its user may know ${known}. Replace them too?`)))
  if (!wants) return {}
  return {
    ...(passphrases > 0 && { passphrase: await getNewPassphrase(context) }),
    ...(recoveryKeys > 0 && { recoveryKey: true }),
  }
}

/** What still lets a removed device's user in, and the new recovery key. */
function secretLines({ knownSecrets, recoveryKey }: DevicesRemoved): readonly string[] {
  const known = describeSecrets(knownSecrets)
  return [
    ...(known === ''
      ? []
      : [
          '',
          `Anyone who used it may know ${known}, with which a new device joins.`,
          'Replace them: `gitlocket key passwd`, `gitlocket key recovery`.',
        ]),
    ...(recoveryKey === undefined
      ? []
      : [
          '',
          'Recovery key, shown this once. Write it down and keep it away from this machine:',
          '',
          `  ${recoveryKey}`,
        ]),
  ]
}

function describeSecrets({ passphrases, recoveryKeys }: Secrets): string {
  const parts = [
    ...(passphrases > 0 ? [passphrases === 1 ? 'the passphrase' : 'a passphrase'] : []),
    ...(recoveryKeys > 0 ? [recoveryKeys === 1 ? 'the recovery key' : 'a recovery key'] : []),
  ]
  return parts.join(' and ')
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

async function agreeToRemove(context: Context, input: Input, listed: string): Promise<void> {
  if (input.flag('yes') || !canAsk(context)) return
  const question = `Remove ${listed}? A removed device never returns.`
  if (await askYes(context, question)) return
  throw cancelled()
}

function cancelled(): CommandError {
  const hint = '--yes does it without asking'
  return new CommandError('cancelled', 'Cancelled; nothing was changed', hint)
}

function readDevices(context: Context, store: MemoryStore): Promise<readonly Device[]> {
  const { signal } = context.interrupts
  return withProgress(context, 'Reading the history', (progress) =>
    store.devices.list({ progress, signal }),
  )
}

/** The full id of a device given by its fingerprint or an unambiguous beginning of it. */
function resolveDevice(devices: readonly Device[], typed: string): string {
  const digits = typed.startsWith(PREFIX) ? typed.slice(PREFIX.length) : typed
  if (digits.length === ID_DIGITS) return PREFIX + digits
  const found = devices.filter(({ deviceId }) => deviceId.startsWith(PREFIX + digits))
  const [first] = found
  if (digits.length >= SHORTEST && found.length === 1 && first !== undefined) return first.deviceId
  throw new StoreError(
    'invalid_input',
    `A device is named by its fingerprint, or by at least ${SHORTEST} digits that only it has; ` +
      '`gitlocket device list` shows them',
  )
}

/** What an auditor can know of a device, and what members know in addition. */
type ListedDevice = Pick<Device, keyof ReportedDevice | 'isThis'> & Partial<Device>

function devicesOfTrail({ entries, deviceId: own }: Audit): readonly ListedDevice[] {
  return listReportedDevices(entries).map((device) => {
    const { deviceId, name, role, added, removed, lastRecord } = device
    return { deviceId, name, role, added, removed, lastRecord, isThis: deviceId === own }
  })
}

function deviceLines(device: ListedDevice, now: number): string[] {
  const { deviceId, role, added, removed, lastRecord, residualAccess } = device
  const marks = [
    ...(device.isThis ? ['this machine'] : []),
    ...(device.isForked === true && removed === undefined
      ? ['cloned: it can no longer write']
      : []),
  ]
  const note = marks.length === 0 ? '' : ` (${marks.join('; ')})`
  const name = device.name === '' ? '' : `, ${device.name}`
  const state = (removed === undefined ? role : `removed, was ${role}`) + name
  const last =
    lastRecord === undefined ? 'has written nothing' : `wrote ${timeAgo(lastRecord, now)}`
  const removal = removed === undefined ? '' : `, removed ${timeAgo(removed.time, now)}`
  const residual = residualAccess === undefined ? [] : residualAccessLines(residualAccess)
  return [
    `${deviceId}  ${state}${note}\n`,
    `  added ${timeAgo(added.time, now)}${removal}, ${last}\n`,
    ...unacknowledgedLines(device, now),
    ...(residual.length === 0 ? [] : ['  still reads, in every copy of the store:\n']),
    ...residual.map((line) => `  ${line}\n`),
  ]
}

/** The redactions that its copy may not have applied, as far as records show. */
function unacknowledgedLines(device: ListedDevice, now: number): string[] {
  const { unacknowledged = [], canAcknowledge } = device
  const [first] = unacknowledged
  if (first === undefined) return []
  const count = countText(unacknowledged.length, 'redaction', 'redactions')
  const since = unacknowledged.length === 1 ? 'of' : 'the first of'
  const which = `${count}, ${since} ${timeAgo(first.time, now)}`
  if (canAcknowledge === true)
    return [`  has not taken over ${which}, as far as its records show\n`]
  return [`  may not write, so that it cannot be known whether it has taken over ${which}\n`]
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
