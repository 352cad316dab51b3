// The snapshot of a verified head as a sealed cache, so that a warm open reads one file and not the
// history (docs/ARCHITECTURE.md, opening). Later commits are verified as usual. Its trees are
// compared with the head's before the first write (commit.ts).

import { fromHex, toHex } from '../../bytes.ts'
import type { Operation } from '../../format/change-record.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { CommitCount } from '../commits/commit-count.ts'
import type { CurrentVersion } from '../snapshot/live-memory.ts'
import {
  type DeviceState,
  type KeyringState,
  type SettingsRecord,
  type SettingsState,
  Snapshot,
} from '../snapshot/snapshot.ts'
import { findFirstPart, findParts, type PartedPlace, writeParts } from './parted-cache.ts'
import type { CacheOwner } from './sealed-cache.ts'

type LiveRow = [
  path: string,
  size: number,
  sha256: string,
  updated: number,
  blob: string,
  kid: string,
]
type MemoryRow = [memoryId: string, versionId: string, Operation, created: number, LiveRow | null]

type DeviceRow = [id: string, sequence: number, record: string, time: number, forked: boolean]

/** The first part of the file. */
interface StateHeader {
  readonly version: 4
  readonly head: { commit: string; record: string; height: number; tree: string }
  readonly keyring: { record: string; oid: string }
  readonly settings: {
    oid: string
    record: string
    height: number
    updated: number
    created: number
  }
  readonly devices: readonly DeviceRow[]
  /** The number of commits in the past of the head or of an earlier commit. */
  readonly counted?: CommitCount | undefined
}

/** Each further part of the file. */
interface StateRows {
  readonly memories?: readonly MemoryRow[]
  readonly redacted?: readonly string[]
}

/** Rows of one part: about a hundred kilobytes. */
const rowsAtOnce = 512

export interface CachedState {
  readonly snapshot: Snapshot
  readonly counted: CommitCount | undefined
}

/** Reads keyring and settings of a cached head back from git, where they are authenticated. */
export interface StateReader {
  readKeyring(oid: string, record: Uint8Array): KeyringState
  readSettings(oid: string, record: SettingsRecord): SettingsState
}

export interface CachedHead {
  readonly commit: string
  readonly redacted: readonly string[]
}

/** The head and redactions of a cache, for a repair of a damaged history. */
export async function findCachedHead(
  owner: CacheOwner,
  path: string,
): Promise<CachedHead | undefined> {
  const parts = await findParts<Partial<StateHeader> & StateRows>(owner, placeOf(path))
  const [file, ...rest] = parts ?? []
  if (!isHeader(file)) return undefined
  return { commit: file.head.commit, redacted: rest.flatMap(({ redacted = [] }) => redacted) }
}

/** The head of a cache, from the first part only. */
export function findWritten(
  owner: CacheOwner,
  path: string,
): Pick<StateHeader['head'], 'commit' | 'height'> | undefined {
  return findFirstPart(owner, placeOf(path), isHeader)?.head
}

/** The cached snapshot, or undefined if there is none. */
export async function findState(
  owner: CacheOwner,
  path: string,
  reader: StateReader,
): Promise<CachedState | undefined> {
  const parts = await findParts<Partial<StateHeader> & StateRows>(owner, placeOf(path))
  if (parts === undefined) return undefined
  const [file, ...rest] = parts
  if (!isHeader(file)) return undefined
  const keyring = reader.readKeyring(file.keyring.oid, fromHex(file.keyring.record))
  const head = { ...file.head, record: fromHex(file.head.record) }
  const { oid, ...brought } = file.settings
  const record = fromHex(brought.record)
  const settings = reader.readSettings(oid, { ...brought, record })
  const snapshot = new Snapshot(head, keyring, settings)
  const devices = new Map(file.devices.map((row) => [row[0], fromDeviceRow(row)]))
  const same = { head, devices, keyring: undefined, settings: undefined }
  const slice = new TimeSlice()
  snapshot.apply({ ...same, memories: new Map() })
  for (const { memories: rows = [], redacted = [] } of rest) {
    snapshot.apply({ ...same, memories: new Map(rows.map((row) => [row[0], fromRow(row)])) })
    for (const versionId of redacted) snapshot.redacted.add(versionId)
    if (slice.isOver()) await slice.next()
  }
  return { snapshot, counted: file.counted }
}

function isHeader(part: Partial<StateHeader> | undefined): part is StateHeader {
  return part?.version === 4
}

export async function writeState(
  owner: CacheOwner,
  path: string,
  state: CachedState,
): Promise<void> {
  await writeParts(owner, placeOf(path), partsOf(state))
}

function* partsOf({ snapshot, counted }: CachedState): Generator<object> {
  const { head, keyring, settings } = snapshot
  const header: StateHeader = {
    version: 4,
    head: { ...head, record: toHex(head.record) },
    keyring: { record: toHex(keyring.record), oid: keyring.oid },
    settings: toSettings(settings),
    devices: [...snapshot.devices].map(([id, state]) => [
      id,
      state.sequence,
      toHex(state.record),
      state.time,
      state.forked,
    ]),
    counted,
  }
  yield header
  for (const memories of inGroups(snapshot.current)) {
    const rows: StateRows = { memories: memories.map(toRow) }
    yield rows
  }
  for (const redacted of inGroups(snapshot.redacted)) {
    const rows: StateRows = { redacted }
    yield rows
  }
}

function toSettings(settings: SettingsState): StateHeader['settings'] {
  const { oid, record, height, updated, created } = settings
  return { oid, record: toHex(record), height, updated, created }
}

function* inGroups<T>(values: Iterable<T>): Generator<readonly T[]> {
  let group: T[] = []
  for (const value of values) {
    if (group.push(value) < rowsAtOnce) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}

function placeOf(path: string): PartedPlace {
  return { path, role: 'state' }
}

function fromDeviceRow([, sequence, record, time, forked]: DeviceRow): DeviceState {
  return { sequence, record: fromHex(record), time, forked }
}

function toRow([memoryId, current]: readonly [string, CurrentVersion]): MemoryRow {
  const { versionId, operation, created, live } = current
  const row: LiveRow | null =
    live === undefined
      ? null
      : [live.path, live.size, live.sha256, live.updated, live.blob, live.kid]
  return [memoryId, versionId, operation, created, row]
}

function fromRow([memoryId, versionId, operation, created, row]: MemoryRow): CurrentVersion {
  if (row === null) return { versionId, operation, created, live: undefined }
  const [path, size, sha256, updated, blob, kid] = row
  // One literal: a spread takes several times as long, for thousands of rows.
  const live = { memoryId, versionId, path, size, sha256, created, updated, blob, kid }
  return { versionId, operation, created, live }
}
