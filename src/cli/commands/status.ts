// `status`: the state of the store; for an auditor, who cannot open it, the verified trail.

import { StoreError } from '../../errors.ts'
import { timestamp, type Wire } from '../../operations/wire.ts'
import type { Audit } from '../../store/audit/audit.ts'
import { listRemotes } from '../../store/clone-remotes.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { listReportedDevices } from '../../store/report/access-events.ts'
import type { StoreStatus } from '../../store/store-report.ts'
import type { RemoteStatus } from '../../store/sync/remote-state.ts'
import type { Answer, Command, Context } from '../call/command.ts'
import { cacheBytes } from '../machine/disk-usage.ts'
import { auditHere, withStoreOrTrail } from '../store/open-store.ts'
import { exitCodeOf, headJson } from '../terminal/output.ts'
import { deviceText, namesInTrail } from '../text/device-text.ts'
import { joinAddress } from '../text/members.ts'
import { erasedText, reclaimableJson, repeatedText } from '../text/reclaimable.ts'
import { findRolledBack, rolledBackLines } from '../text/rolled-back.ts'
import { clockText, timeFormat } from '../text/times.ts'
import { wire } from '../text/wire.ts'
import { countText, numberText, sizeText } from '../text/words.ts'
import { packedBytes, storageJson } from './compact.ts'
import { guardText, settingsJson } from './settings.ts'

export const commands: readonly Command[] = [
  {
    name: 'status',
    summary: 'Show the store, this device, the words of the head, remotes, sizes and limits',
    notes: ['For an auditor, what the trail shows, which it verifies: no settings and no sizes.'],
    run: status,
  },
]

function status(context: Context): Promise<Answer> {
  const asMember = async (store: MemoryStore): Promise<Answer> => {
    const found = await store.status()
    return { text: statusText(context, found), json: statusJson(context, found) }
  }
  return withStoreOrTrail(context, asMember, () => statusOfTrail(context)).catch((error: unknown) =>
    statusOfRolledBack(context, error),
  )
}

/** The two heads to compare with another machine: nothing else of the store can be believed. */
function statusOfRolledBack({ environment, exactTimes }: Context, error: unknown): Answer {
  const found = findRolledBack(error)
  if (found === undefined) throw error
  const store = environment.storeDirectory
  const lines = rolledBackLines(found, timeFormat({ exactTimes }))
  return {
    text: [`Store      ${store}`, 'State      rolled back, or replaced', ...lines, ''].join('\n'),
    json: {
      store,
      state: 'rolled_back',
      verified: headJson(found.verified),
      present: headJson(found.present),
    },
    failures: [new StoreError('rolled_back', 'The store is older than this device has seen it')],
    exitCode: exitCodeOf(error),
  }
}

function statusText(context: Context, found: StoreStatus): string {
  const { storage, settings } = found
  const { journalFrames, journalBytes, packs, purgePending } = storage
  const unpacked = countText(journalFrames, 'commit', 'commits')
  const { contentBytes, memories } = settings.limits
  const archived =
    settings.archivedAt === undefined
      ? []
      : [`Archived   ${timeFormat(context)(settings.archivedAt)}`]
  const clock =
    found.clockLeap === undefined
      ? []
      : [`Clock      ${clockText(found.clockLeap, timeFormat(context))}`]
  return [
    `Store      ${context.environment.storeDirectory}`,
    `Id         ${found.storeId}`,
    `Name       ${settings.name}`,
    `Device     ${deviceText(found.deviceId, found.deviceName)}, ${found.role ?? 'removed'}`,
    `Memories   ${numberText(found.memories)}, ${sizeText(found.contentBytes)}`,
    `History    ${countText(found.commits, 'commit', 'commits')}, head ${found.head}`,
    `Words      ${found.headFingerprint.join(' ')}`,
    `Members    ${found.keyringFingerprint.join(' ')}`,
    `Address    ${joinAddress(found)}`,
    ...remoteLines(found.remotes),
    ...memberLines(found),
    `Keys       replaced ${countText(found.epochs - 1, 'time', 'times')}`,
    `Limits     ${numberText(contentBytes)} bytes per memory, ` +
      `${numberText(memories)} memories`,
    `Guard      ${guardText(settings)}`,
    `Packs      ${packs.length}, ${sizeText(packedBytes(storage))}`,
    `Journal    ${unpacked} not packed yet, ${sizeText(journalBytes)}`,
    `Caches     ${sizeText(cacheBytes(context.environment))}, sealed`,
    `To free    ${repeatedText(found.reclaimable) ?? 'nothing; `gitlocket doctor` looks closer'}`,
    ...(purgePending === 0 ? [] : [`To erase   ${erasedText(purgePending, found.reclaimable)}`]),
    ...clock,
    ...archived,
    '',
  ].join('\n')
}

/** The remotes as this device knows them; contacts none. */
function remoteLines(remotes: readonly RemoteStatus[]): readonly string[] {
  if (remotes.length === 0) return ['Remotes    none; `gitlocket remote add` names one']
  return remotes.map((remote, index) => {
    return `${(index === 0 ? 'Remotes' : '').padEnd(11)}${remoteText(remote)}`
  })
}

/** Changes of devices and keys that have not reached their remote. */
function memberLines(found: StoreStatus): readonly string[] {
  const { remotes, membershipRemote: name, membershipPending, waitingRemovals } = found
  const remote = name ?? 'none chosen; `gitlocket remote set-membership` does'
  return [
    ...(remotes.length > 1 ? [`Changes    of devices and keys go to ${remote}`] : []),
    ...(membershipPending
      ? ['Pending    a change of devices or keys; `gitlocket sync` sends it']
      : []),
    ...(waitingRemovals.length > 0
      ? [`To remove  ${waitingRemovals.join(', ')}, with the next sync that reaches the remote`]
      : []),
  ]
}

function remoteText({ name, unsent, evidence }: RemoteStatus): string {
  const kept = evidence === undefined ? '' : `; ${evidence} keeps the refused pack`
  if (unsent === undefined) return `${name}: not synced yet${kept}`
  if (unsent === 0) return `${name}: nothing to send${kept}`
  return `${name}: ${countText(unsent, 'commit', 'commits')} not sent yet${kept}`
}

function clockJson(leap: StoreStatus['clockLeap']): Readonly<Record<string, string>> | null {
  if (leap === undefined) return null
  return { clock: timestamp(leap.clock), newest_record: timestamp(leap.newest) }
}

function statusJson(context: Context, found: StoreStatus): Wire {
  const { storeId, deviceId, role, memories, commits, head, headFingerprint, epochs } = found
  const { address, keyringFingerprint } = found
  return wire({
    store: context.environment.storeDirectory,
    storeId,
    ...settingsJson(found.settings),
    deviceId,
    deviceName: found.deviceName,
    role,
    memories,
    sizeBytes: found.contentBytes,
    commits,
    head,
    headFingerprint,
    address,
    keyringFingerprint,
    remotes: found.remotes.map(({ name, url, unsent, evidence }) =>
      wire({ name, url, unsentCommits: unsent, evidence }),
    ),
    membershipRemote: found.membershipRemote,
    membershipPending: found.membershipPending,
    waitingRemovals: found.waitingRemovals,
    epochs,
    clockLeap: clockJson(found.clockLeap),
    storage: {
      ...storageJson(found.storage),
      cache_bytes: cacheBytes(context.environment),
      reclaimable: reclaimableJson(found.reclaimable),
    },
  })
}

type Remotes = Awaited<ReturnType<typeof listRemotes>>

async function statusOfTrail(context: Context): Promise<Answer> {
  const { storeDirectory } = context.environment
  const found = await auditHere(context)
  const remotes = await listRemotes(storeDirectory)
  const devices = listReportedDevices(found.entries)
  const removed = devices.filter((device) => device.removed !== undefined).length
  const count = { active: devices.length - removed, removed }
  return {
    text: trailText(storeDirectory, found, count, remotes),
    json: trailJson(storeDirectory, found, count, remotes),
  }
}

interface DeviceCount {
  readonly active: number
  readonly removed: number
}

function trailText(
  directory: string,
  found: Audit,
  devices: DeviceCount,
  remotes: Remotes,
): string {
  const { storeId, deviceId, role, memories, entries, head, headFingerprint } = found
  const name = namesInTrail(entries).get(deviceId)
  const ended = devices.removed === 0 ? '' : `; ${numberText(devices.removed)} removed`
  return [
    `Store      ${directory}`,
    `Id         ${storeId}`,
    `Device     ${deviceText(deviceId, name)}, ${role ?? 'removed'}`,
    `Memories   ${numberText(memories)}; their contents and paths are not readable here`,
    `History    ${countText(entries.length, 'commit', 'commits')}, head ${head}`,
    `Words      ${headFingerprint.join(' ')}`,
    `Members    ${found.keyringFingerprint.join(' ')}`,
    `Address    #${found.address}`,
    ...trailRemoteLines(remotes),
    `Devices    ${numberText(devices.active)}${ended}; \`gitlocket device list\` names them`,
    '',
  ].join('\n')
}

/** An auditor sends nothing. */
function trailRemoteLines(remotes: Remotes): readonly string[] {
  if (remotes.length === 0) return ['Remotes    none; `gitlocket remote add` names one']
  return remotes.map(({ name, url }, index) => {
    return `${(index === 0 ? 'Remotes' : '').padEnd(11)}${name}: ${url}`
  })
}

function trailJson(directory: string, found: Audit, devices: DeviceCount, remotes: Remotes): Wire {
  const { storeId, deviceId, role, memories, entries, head, headFingerprint } = found
  return wire({
    store: directory,
    storeId,
    deviceId,
    deviceName: namesInTrail(entries).get(deviceId),
    role,
    memories,
    commits: entries.length,
    head,
    headFingerprint,
    address: found.address,
    keyringFingerprint: found.keyringFingerprint,
    remotes: remotes.map(({ name, url }) => ({ name, url })),
    devices,
    contentsReadable: false,
  })
}
