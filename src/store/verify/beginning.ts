// The state at which a clone begins that has no earlier history (FORMAT §8.3, §13): that of a
// device's start, or the start's floor. Earlier history is taken on that device's word; here the
// commit is checked to belong to the store, and to have the trees that the start describes.

import { equalBytes, toHex } from '../../bytes.ts'
import { type ErrorCode, StoreError } from '../../errors.ts'
import { mayGive } from '../../format/directory.ts'
import { grantIdOf } from '../../format/id.ts'
import type {
  Start,
  StartDevice,
  StartGrant,
  StartKeyring,
  StartMemory,
  StartSettings,
  StartState,
} from '../../format/start.ts'
import type { Oid, TreeEntry } from '../../git/objects/object.ts'
import type { Identity } from '../../keys/identity.ts'
import { inactiveGrantError, readKeyringState, readSettingsState } from '../access/authority.ts'
import { checkIsInTime } from '../access/grants.ts'
import { type Epochs, readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import { beforeBeginning } from '../history/beginning-entry.ts'
import { getBlob, getEntry, getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import type { CurrentVersion } from '../snapshot/live-memory.ts'
import { SharedMap } from '../snapshot/shared-map.ts'
import {
  type CurrentEntry,
  type DeviceState,
  type GrantState,
  type Head,
  Snapshot,
} from '../snapshot/snapshot.ts'
import { comparison } from '../snapshot/tree-diff.ts'

export interface CloneBeginning {
  /** The state that nothing here verifies: everything after it is verified. */
  readonly snapshot: Snapshot
  /** The device whose word it is, and when it gave it, ms since 1970. */
  readonly deviceId: string
  readonly time: number
  /** The commit of its state: the snapshot's own, or above that of a floor. */
  readonly state: Oid
  /** The start, if it has a floor and this is not it: for merges with an older base. */
  readonly start: Start | undefined
}

/** Reads commits, and the keys that open them. */
interface StartSource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
}

/**
 * The state that a start describes. Throws `baseline_malformed`, `tree_mismatch`, a commit's code.
 */
export function* beginningOf(
  source: StartSource,
  start: Start,
): Generator<undefined, CloneBeginning> {
  const { state, granter: deviceId, time } = start
  const snapshot = yield* snapshotOf(source, start, state)
  return { snapshot, deviceId, time, state: state.commit, start: start.floor && start }
}

/** The older state that the same start describes. */
export function* floorOf(source: StartSource, start: Start): Generator<undefined, CloneBeginning> {
  const { state, floor, granter: deviceId, time } = start
  if (floor === undefined) throw beforeBeginning()
  const merged: StartState = {
    ...floor,
    keyring: floor.keyring ?? state.keyring,
    settings: floor.settings ?? state.settings,
    devices: overlaid(state.devices, floor.devices, ({ deviceId: id }) => id),
    grants: overlaid(state.grants, floor.grants, ({ granter, key }) => granter + toHex(key)),
    memories: overlaid(state.memories, floor.memories, ({ memoryId }) => memoryId),
  }
  const snapshot = yield* snapshotOf(source, start, merged)
  return { snapshot, deviceId, time, state: state.commit, start: undefined }
}

/** Throws `grant_expired` unless the grant of an identity holds at a state, at a time. */
export function checkGranted(
  { grants, keyring, devices }: Pick<Snapshot, 'grants' | 'keyring' | 'devices'>,
  { deviceId }: Identity,
  time: number,
): void {
  const grant = grants.get(deviceId)
  // A baseline may name a grant that the members and devices which it describes do not allow.
  const isActive =
    grant !== undefined &&
    mayGive(keyring.directory, grant.granter) &&
    devices.get(grant.granter)?.forked !== true
  if (isActive) return checkIsInTime(grant, time)
  throw inactiveGrantError()
}

function* snapshotOf(
  source: StartSource,
  { genesis, redacted }: Start,
  state: StartState,
): Generator<undefined, Snapshot> {
  const { objects, storeId, epochs } = source
  const bytes = readCommitBytes(objects, state.commit)
  const {
    hash: record,
    parts,
    record: known,
  } = verifyDecodedCommit(storeId, epochs, state.commit, bytes)
  const { commit, height, tree } = state
  if (!equalBytes(record, state.record) || known.height !== height || parts.tree !== tree) {
    throw mismatch('is of another commit')
  }
  const head: Head = { commit, record, height, tree }
  const root = getTree(objects, tree)
  const keyring = checkFile(objects, root, 'keyring', state.keyring)
  const settings = checkFile(objects, root, 'settings', state.settings)
  const members = {
    keyring: readKeyringState(source, keyring, state.keyring.record),
    settings: readSettingsState(source, settings, {
      record: state.settings.record,
      height: state.settings.height,
      updated: state.settings.time,
      created: genesis.time,
    }),
  }
  const memories = yield* memoriesOf(objects, root, state.memories)
  return yield* Snapshot.making(
    { head, ...members },
    {
      memories,
      devices: SharedMap.of(state.devices.flatMap(deviceState)),
      grants: SharedMap.of(state.grants.flatMap(grantState)),
      redacted: new Set(redacted),
    },
  )
}

/** The id of a file, whose bytes must be those in the start. */
function checkFile(
  objects: ObjectSource,
  root: readonly TreeEntry[],
  name: 'keyring' | 'settings',
  { blob }: StartKeyring | StartSettings,
): Oid {
  const oid = getEntry(root, name)
  if (equalBytes(getBlob(objects, oid, `${name}_mismatch`), blob)) return oid
  throw refused(`${name}_mismatch`, `The ${name} of a start is not that of its commit`)
}

/** A device's last record; its time is not known, and nothing needs it (FORMAT §8). */
function deviceState({ deviceId, value }: StartDevice): readonly [string, DeviceState][] {
  return value === undefined ? [] : [[deviceId, { ...value, time: 0 }]]
}

function grantState({ granter, key, value }: StartGrant): readonly [string, GrantState][] {
  return value === undefined ? [] : [[grantIdOf(granter, key), { ...value, granter, key }]]
}

/** The rows of a start, with the blobs of the tree, which must have exactly the live ones. */
function* memoriesOf(
  objects: ObjectSource,
  root: readonly TreeEntry[],
  rows: readonly StartMemory[],
): Generator<undefined, readonly CurrentEntry[]> {
  const blobs = new Map<string, Oid>()
  yield* comparison(objects, undefined, root.find(({ name }) => name === 'm')?.oid, {
    tree: () => undefined,
    blob: (memoryId, oid) => oid !== undefined && blobs.set(memoryId, oid),
  })
  const memories: CurrentEntry[] = []
  let live = 0
  for (const { memoryId, value } of rows) {
    if (value === undefined) continue
    const version = currentVersion(memoryId, value, blobs.get(memoryId))
    if (version.live !== undefined) live += 1
    memories.push([memoryId, version])
  }
  if (live !== blobs.size) throw mismatch('lacks memories of its commit')
  return memories
}

function currentVersion(
  memoryId: string,
  { versionId, operation, created, live }: NonNullable<StartMemory['value']>,
  blob: Oid | undefined,
): CurrentVersion {
  if (live === undefined) return { versionId, operation, created, live: undefined }
  if (blob === undefined) throw mismatch('has memories that its commit lacks')
  const { sha256, ...others } = live
  const content = { ...others, sha256: toHex(sha256), blob }
  return { versionId, operation, created, live: { memoryId, versionId, created, ...content } }
}

/** Ascending, as both are. */
function overlaid<T>(all: readonly T[], changed: readonly T[], keyOf: (one: T) => string): T[] {
  const byKey = new Map(all.map((one) => [keyOf(one), one]))
  for (const one of changed) byKey.set(keyOf(one), one)
  return [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}

function mismatch(problem: string): StoreError {
  return refused('tree_mismatch', `The start ${problem}`)
}

function refused(code: ErrorCode, message: string): StoreError {
  return new StoreError(code, message)
}
