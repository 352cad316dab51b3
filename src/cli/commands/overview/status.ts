// `status`: the state of the store; for an auditor, who cannot open it, the verified trail.

import { StoreError } from '../../../errors.ts'
import { timestamp, type Wire } from '../../../operations/wire.ts'
import type { Audit } from '../../../store/audit/audit.ts'
import { listRemotes } from '../../../store/clone-remotes.ts'
import type { MemoryStore } from '../../../store/memory-store.ts'
import { listReportedDevices } from '../../../store/report/access-events.ts'
import type { HistoryBeginning, StoreStatus } from '../../../store/store-report.ts'
import type { RemoteStatus } from '../../../store/sync/remote-state.ts'
import type { Answer, Command, Context, Input } from '../../call/command.ts'
import { colourOption } from '../../call/options.ts'
import { cacheBytes } from '../../machine/disk-usage.ts'
import { attentionOfMirrors } from '../../mirror/attention.ts'
import { attentionText, findAttention } from '../../store/attention.ts'
import { auditHere, withStoreOrTrail } from '../../store/open-store.ts'
import { type Ink, inkOf } from '../../terminal/ink.ts'
import { exitCodeOf, headJson, wrap } from '../../terminal/output.ts'
import { deviceText, namesInTrail } from '../../text/device-text.ts'
import { joinAddress } from '../../text/members.ts'
import { erasedText, reclaimableJson, repeatedText } from '../../text/reclaimable.ts'
import { findRolledBack, rolledBackLines } from '../../text/rolled-back.ts'
import { agoFormat, timeFormat } from '../../text/times.ts'
import { wire } from '../../text/wire.ts'
import { countText, numberText, sizeText } from '../../text/words.ts'
import { packedBytes, storageJson } from '../compact.ts'
import { guardText, settingsJson } from '../settings.ts'

export const commands: readonly Command[] = [
  {
    name: 'status',
    summary: 'Show the store, this device, its remotes, and what needs attention',
    options: {
      '-v, --verbose': 'Also ids, keys, limits, the guard, and the sizes of files',
      ...colourOption,
    },
    notes: [
      'No remote is contacted. Two machines with the same words have the same history. For an ' +
        'auditor, what the trail shows, which it verifies: no settings and no sizes.',
    ],
    run: status,
  },
]

function status(context: Context, input: Input): Promise<Answer> {
  const ink = inkOf(context, input)
  const asMember = async (store: MemoryStore): Promise<Answer> => {
    const found = await store.status()
    const attention = [
      ...(await findAttention(context, store, found)),
      ...attentionOfMirrors(context, store),
    ]
    const facts = [
      ...statusFacts(context, found),
      ...(input.flag('verbose') ? engineFacts(context, found) : []),
    ]
    return {
      text: `${factsText(context, ink, facts)}\n${attentionText(context, ink, attention)}`,
      inked: true,
      json: { ...statusJson(context, found), needs_attention: attention },
    }
  }
  const answer = withStoreOrTrail(context, asMember, () => statusOfTrail(context, ink))
  return answer.catch((error: unknown) => statusOfRolledBack(context, error))
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

type Fact = readonly [label: string, value: string]

/** The state, in six lines for a store with one remote. */
function statusFacts(context: Context, found: StoreStatus): readonly Fact[] {
  const { remotes, deviceId, deviceName = '', role = 'removed', settings } = found
  const commits = countText(found.commits, 'commit', 'commits')
  return [
    ['Store', `${settings.name}, in ${shortPath(context)}`],
    found.grantExpiresAt === undefined
      ? ['Device', `${deviceName === '' ? deviceId : deviceName}, ${role}`]
      : ['Grant', `${role}, until ${timeFormat(context)(found.grantExpiresAt)}`],
    ...beginningFacts(context, found),
    ...shownFacts(context, found),
    ['Memories', `${numberText(found.memories)}, ${sizeText(found.contentBytes)}, in ${commits}`],
    ...(remotes.length === 0 ? [noRemote] : []),
    ...remotes.map((remote, index): Fact => {
      return [index === 0 ? 'Remote' : '', remoteText(context, remote)]
    }),
    ['Words', found.headFingerprint.join(' ')],
    ...(remotes.length === 0 ? [] : [['Address', joinAddress(found)] as const]),
  ]
}

function beginningFacts(context: Context, { beginning }: StoreStatus): readonly Fact[] {
  return beginning === undefined ? [] : [['History', beginningText(context, beginning)]]
}

/** An older state is consistent too: only signed times tell how new it is. */
function shownFacts(context: Context, { shownAt }: StoreStatus): readonly Fact[] {
  return shownAt === undefined ? [] : [['Newest', `signed ${agoFormat(context)(shownAt)}`]]
}

/** On whose word the earlier changes are taken, in a clone that a grant began without them. */
export function beginningText(context: Context, { deviceId, time }: HistoryBeginning): string {
  const when = timeFormat(context)(time)
  return `from ${when}, on the word of ${deviceId}; \`fetch --all\` gets the rest`
}

const noRemote: Fact = ['Remote', 'none; `gitlocket remote add` names one']

/** As shells show it, where the home directory is known. */
function shortPath({ environment }: Context): string {
  const { storeDirectory: path } = environment
  try {
    const { homeDirectory: home } = environment
    return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
  } catch (error) {
    if (error instanceof StoreError) return path
    throw error
  }
}

/** The facts of --verbose: ids, keys, limits and the sizes of files. */
function engineFacts(context: Context, found: StoreStatus): readonly Fact[] {
  const { storage, settings, remotes, membershipRemote } = found
  const { journalFrames, journalBytes, packs, purgePending } = storage
  const { contentBytes, memories } = settings.limits
  const unpacked = countText(journalFrames, 'commit', 'commits')
  return [
    ['', ''],
    ['Store id', found.storeId],
    ['Device id', found.deviceId],
    ['Head', found.head],
    ['Members', found.keyringFingerprint.join(' ')],
    ...(remotes.length > 1
      ? [['Changes', `of members: ${membershipRemote ?? 'no remote'}`] as const]
      : []),
    ...(found.givers === 'owners' ? [['Grants', 'given by owners alone'] as const] : []),
    ['Keys', `replaced ${countText(found.epochs - 1, 'time', 'times')}`],
    ['Limits', `${sizeText(contentBytes)} a memory, ${numberText(memories)} memories`],
    ['Guard', guardText(settings)],
    ['Packs', `${packs.length}, ${sizeText(packedBytes(storage))}`],
    ['Journal', `${unpacked} not packed yet, ${sizeText(journalBytes)}`],
    ['Caches', `${sizeText(cacheBytes(context.environment))}, sealed`],
    ['To free', repeatedText(found.reclaimable) ?? 'nothing; `gitlocket doctor` looks closer'],
    ...(purgePending === 0
      ? []
      : [['To erase', erasedText(purgePending, found.reclaimable)] as const]),
  ]
}

/** The remote as this device knows it. */
export function remoteText(context: Context, { name, unsent, syncedAt }: RemoteStatus): string {
  if (unsent === undefined) return `${name}: never synced`
  const synced = syncedAt === undefined ? 'synced' : `synced ${agoFormat(context)(syncedAt)}`
  return `${name}: ${synced}, ${unsent === 0 ? 'nothing' : numberText(unsent)} to send`
}

/** Sentences and words are wrapped to the terminal, an address is not. */
function factsText({ environment }: Context, ink: Ink, facts: readonly Fact[]): string {
  const { output, width } = environment.terminal
  const columns = output ? width - LABEL_WIDTH : Number.POSITIVE_INFINITY
  const lines = facts.flatMap(([label, value]) => {
    const [first = '', ...others] = wrap(value, columns)
    const space = ' '.repeat(LABEL_WIDTH - label.length)
    const start = `${ink.paint('dim', label)}${space}${ink.plain(first)}`
    return [start, ...others.map((line) => `${' '.repeat(LABEL_WIDTH)}${ink.plain(line)}`)]
  })
  return lines.map((line) => `${line.trimEnd()}\n`).join('')
}

const LABEL_WIDTH = 11

function clockJson(leap: StoreStatus['clockLeap']): Readonly<Record<string, string>> | null {
  if (leap === undefined) return null
  return { clock: timestamp(leap.clock), newest_record: timestamp(leap.newest) }
}

function beginningJson({ deviceId, time, commit }: HistoryBeginning): Wire {
  return wire({ deviceId, givenAt: time, commit })
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
    remotes: found.remotes.map(({ name, url, unsent, syncedAt, evidence }) =>
      wire({ name, url, unsentCommits: unsent, syncedAt, evidence }),
    ),
    membershipRemote: found.membershipRemote,
    membershipPending: found.membershipPending,
    waitingRemovals: found.waitingRemovals,
    givers: found.givers,
    epochs,
    clockLeap: clockJson(found.clockLeap),
    ...(found.grantExpiresAt !== undefined && { grantExpiresAt: found.grantExpiresAt }),
    ...(found.shownAt !== undefined && { shownAt: found.shownAt }),
    ...(found.beginning && { beginning: beginningJson(found.beginning) }),
    storage: {
      ...storageJson(found.storage),
      cache_bytes: cacheBytes(context.environment),
      reclaimable: reclaimableJson(found.reclaimable),
    },
  })
}

type Remotes = Awaited<ReturnType<typeof listRemotes>>

export async function statusOfTrail(context: Context, ink: Ink): Promise<Answer> {
  const { storeDirectory } = context.environment
  const found = await auditHere(context)
  const remotes = await listRemotes(storeDirectory)
  const devices = listReportedDevices(found.entries)
  const removed = devices.filter((device) => device.removed !== undefined).length
  const count = { active: devices.length - removed, removed }
  return {
    text: factsText(context, ink, trailFacts(storeDirectory, found, count, remotes)),
    inked: true,
    json: trailJson(storeDirectory, found, count, remotes),
  }
}

interface DeviceCount {
  readonly active: number
  readonly removed: number
}

/** An auditor sends nothing. */
function trailFacts(
  directory: string,
  found: Audit,
  devices: DeviceCount,
  remotes: Remotes,
): readonly Fact[] {
  const { storeId, deviceId, role = 'removed', memories, entries, headFingerprint } = found
  const name = namesInTrail(entries).get(deviceId)
  const ended = devices.removed === 0 ? '' : `; ${numberText(devices.removed)} removed`
  return [
    ['Store', directory],
    ['Store id', storeId],
    ['Device', `${deviceText(deviceId, name)}, ${role}`],
    ['Memories', `${numberText(memories)}; their contents and paths are not readable here`],
    ['Commits', numberText(entries.length)],
    ['Head', found.head],
    ['Words', headFingerprint.join(' ')],
    ['Members', found.keyringFingerprint.join(' ')],
    ['Address', `#${found.address}`],
    ...remotes.map(({ name: remote, url }, index): Fact => {
      return [index === 0 ? 'Remote' : '', `${remote}: ${url}`]
    }),
    ['Devices', `${numberText(devices.active)}${ended}; \`gitlocket device list\` names them`],
  ]
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
