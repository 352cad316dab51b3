// Makes the two blobs of a device's grants: the wraps (FORMAT §12), and its start (§13) from the
// verified state and the history. A start holds the state at the head, and the floor: an older head
// from which a merge with an older base can be verified. Sends nothing.

import { fromHex, toHex } from '../../bytes.ts'
import { assert } from '../../errors.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import type {
  LineRecord,
  Start,
  StartFloor,
  StartGrant,
  StartMemory,
  StartState,
} from '../../format/start.ts'
import { makeStart } from '../../keys/start.ts'
import { grantKeysOf, grantOf, makeWraps } from '../../keys/wraps.ts'
import { inSlices } from '../../time-slice.ts'
import { decodeAt } from '../access/post-revocation.ts'
import { ancestorsDownTo } from '../commits/ancestors.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import { getBlob, hasObject, type ObjectSource } from '../snapshot/git-reads.ts'
import type { CurrentVersion } from '../snapshot/live-memory.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import { snapshotAt } from '../verify/snapshot-at.ts'

/** A floor is this much lower than the head, or that much older, whichever is nearer. */
const FLOOR_COMMITS = 512
const FLOOR_MS = 24 * 60 * 60 * 1000

/**
 * A start of a head that a remote has, by default the newest, signed by this device. Undefined if
 * the history was rewritten or the keys were replaced since. Throws `change_too_large`.
 */
export function makeStartOf(
  session: StoreSession,
  counter: number,
  head?: Pick<Head, 'commit' | 'height'>,
): Promise<Uint8Array | undefined> {
  return session.planning(async () => {
    const { contents, identity, storeId, random, clock } = session
    const history = await session.historyNow()
    const snapshot = await snapshotOf(session, history, head)
    const epoch = session.currentEpoch()
    if (snapshot?.keyring.kid !== epoch.kid) return undefined
    const start = await inSlices(describeStart(contents, history, snapshot))
    const said = { ...start, counter, time: clock.now() }
    return makeStart(epoch, said, { storeId, pair: identity.signing, random })
  })
}

async function snapshotOf(
  { snapshot, contents }: StoreSession,
  history: History,
  head: Pick<Head, 'commit' | 'height'> | undefined,
): Promise<Snapshot | undefined> {
  if (head === undefined || head.commit === snapshot.head.commit) return snapshot
  const at = history.findCommit(head.commit, head.height)
  return at?.isCut === true ? inSlices(snapshotAt(contents, history, at.position)) : undefined
}

/** The height of the floor that a start of this head has; undefined where `makeStartOf` is. */
export function floorHeightOf(
  session: StoreSession,
  { commit, height }: Pick<Head, 'commit' | 'height'>,
): Promise<number | undefined> {
  return session.planning(async () => {
    const history = await session.historyNow()
    const head = history.findCommit(commit, height)
    return head && history.commits.at(findFloor(history, head) ?? head.position)?.height
  })
}

/** Whether a merge since an earlier start brought something based on a state below its floor. */
export async function hasOlderBase(
  session: StoreSession,
  head: Pick<Head, 'commit' | 'height'>,
  { height, floor = Infinity }: { readonly height: number; readonly floor?: number | undefined },
): Promise<boolean> {
  const { objects } = session
  const isLinear = await session.reading(() => {
    if (!hasObject(objects, head.commit)) return true
    // Without a merge there is one commit at each height, and the history need not be read.
    return [...ancestorsDownTo(objects, head.commit, height)].length === head.height - height + 1
  })
  return !isLinear && ((await floorHeightOf(session, head)) ?? Infinity) < floor
}

/** The wraps for these grants of this device, by number. Throws `change_too_large`. */
export function makeWrapsOf(
  session: StoreSession,
  numbers: readonly number[],
): Promise<Uint8Array> {
  return session.planning(async () => {
    const { identity, storeId, random } = session
    const keys = numbers.map((number) => grantKeysOf(grantOf(identity, storeId, number)))
    return makeWraps(session.currentEpoch(), keys, { storeId, pair: identity.signing, random })
  })
}

function* describeStart(
  source: HistorySource,
  history: History,
  snapshot: Snapshot,
): Generator<undefined, Omit<Start, 'granter' | 'counter' | 'time'>> {
  const head = history.findCommit(snapshot.head.commit, snapshot.head.height)
  const [genesis, ...keyrings] = lineOf(source, history, head?.position ?? 0)
  assert(genesis !== undefined, 'a history starts with genesis')
  const state = yield* stateOf(source.objects, snapshot)
  const floorAt = head && findFloor(history, head)
  let floor: StartFloor | undefined
  if (floorAt !== undefined) {
    const before = yield* snapshotAt(source, history, floorAt)
    floor = differing(yield* stateOf(source.objects, before), state)
  }
  return {
    genesis: { ...genesis, time: history.commits.at(0)?.time ?? 0 },
    keyrings,
    kids: kidsOf([...state.memories, ...(floor?.memories ?? [])]),
    redacted: [...snapshot.redacted].toSorted(),
    state,
    floor,
  }
}

/**
 * The position of the newest commit that is old enough and from which all later ones up to the head
 * descend; genesis in a young store. Undefined if that is the head itself.
 */
function findFloor(history: History, head: CommitEntry): number | undefined {
  if (head.position === 0) return undefined
  const isOld = ({ height, time }: CommitEntry): boolean =>
    height <= head.height - FLOOR_COMMITS || time <= head.time - FLOOR_MS
  /** The parent with the lowest position of all commits above the current one. */
  let lowest = head.position
  for (let position = head.position; position > 0; position -= 1) {
    const commit = history.commits.at(position)
    if (commit === undefined) break
    const isPassed = lowest === position && commit.isCut && position < head.position
    if (isPassed && isOld(commit)) return position
    for (const parent of history.parentsOf(commit)) lowest = Math.min(lowest, parent.position)
  }
  return 0
}

function* stateOf(objects: ObjectSource, snapshot: Snapshot): Generator<undefined, StartState> {
  const { head, keyring, settings, devices, grants } = snapshot
  const memories: StartMemory[] = []
  for (const [memoryId, version] of snapshot.current) {
    memories.push(memoryOf(memoryId, version))
    yield
  }
  return {
    ...head,
    keyring: {
      record: keyring.record,
      blob: getBlob(objects, keyring.oid, 'keyring_mismatch'),
    },
    settings: {
      record: settings.record,
      height: settings.height,
      time: settings.updated,
      blob: getBlob(objects, settings.oid, 'settings_mismatch'),
    },
    devices: [...devices].map(([deviceId, { sequence, record, forked }]) => {
      return { deviceId, value: { sequence, record, forked } }
    }),
    grants: sortedBy(
      Array.from(grants.values(), ({ granter, key, role, began, notAfter }) => {
        return { granter, key, value: { role, began, notAfter } }
      }),
      grantKeyOf,
    ),
    memories: sortedBy(memories, ({ memoryId }) => memoryId),
  }
}

function grantKeyOf({ granter, key }: StartGrant): string {
  return granter + toHex(key)
}

/** The keyring records up to a position, oldest first. */
function lineOf(source: HistorySource, history: History, position: number): readonly LineRecord[] {
  return Array.from(history.commits.range(0, position + 1)).flatMap(({ kind, oid: commit }) => {
    if (!bringsKeyring(kind)) return []
    return [{ record: decodeAt(source, commit).hash, commit }]
  })
}

function memoryOf(memoryId: string, version: CurrentVersion): StartMemory {
  const { versionId, operation, created, live } = version
  if (live === undefined) {
    return { memoryId, value: { versionId, operation, created, live: undefined } }
  }
  const { updated, size, kid, path } = live
  const content = { updated, size, kid, path, sha256: fromHex(live.sha256) }
  return { memoryId, value: { versionId, operation, created, live: content } }
}

/** What of an older state is another in the newer one, or missing there. */
function differing(older: StartState, newer: StartState): StartFloor {
  const { keyring, settings, ...head } = older
  return {
    ...head,
    keyring: isSameRecord(keyring, newer.keyring) ? undefined : keyring,
    settings: isSameRecord(settings, newer.settings) ? undefined : settings,
    devices: differingItems(older.devices, newer.devices, {
      keyOf: ({ deviceId }) => deviceId,
      absent: ({ deviceId }) => ({ deviceId, value: undefined }),
      isSame: (one, other) => isSameRecord(one, other) && one?.forked === other?.forked,
    }),
    grants: differingItems(older.grants, newer.grants, {
      keyOf: grantKeyOf,
      absent: ({ granter, key }) => ({ granter, key, value: undefined }),
      isSame: (one, other) =>
        one?.began === other?.began &&
        one?.role === other?.role &&
        one?.notAfter === other?.notAfter,
    }),
    memories: differingItems(older.memories, newer.memories, {
      keyOf: ({ memoryId }) => memoryId,
      absent: ({ memoryId }) => ({ memoryId, value: undefined }),
      isSame: (one, other) =>
        one?.versionId === other?.versionId &&
        one?.created === other?.created &&
        (one?.live === undefined) === (other?.live === undefined),
    }),
  }
}

type Recorded = { readonly record: Uint8Array } | undefined

function isSameRecord(one: Recorded, other: Recorded): boolean {
  return one !== undefined && other !== undefined && toHex(one.record) === toHex(other.record)
}

interface ItemComparison<Item extends { readonly value: unknown }> {
  readonly keyOf: (item: Item) => string
  readonly isSame: (one: Item['value'], other: Item['value']) => boolean
  readonly absent: (item: Item) => Item
}

function differingItems<Item extends { readonly value: unknown }>(
  older: readonly Item[],
  newer: readonly Item[],
  { keyOf, isSame, absent }: ItemComparison<Item>,
): readonly Item[] {
  const before = new Map(older.map((item) => [keyOf(item), item]))
  const after = new Map(newer.map((item) => [keyOf(item), item]))
  const changed = older.filter((item) => {
    const now = after.get(keyOf(item))
    return now === undefined || !isSame(item.value, now.value)
  })
  const added = newer.filter((item) => !before.has(keyOf(item)))
  return sortedBy([...changed, ...added.map(absent)], keyOf)
}

function kidsOf(memories: readonly StartMemory[]): readonly string[] {
  return [...new Set(memories.flatMap(({ value }) => value?.live?.kid ?? []))].toSorted()
}

function sortedBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): readonly Item[] {
  const keyed = items.map((item) => ({ key: keyOf(item), item }))
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1))
  return keyed.map(({ item }) => item)
}
