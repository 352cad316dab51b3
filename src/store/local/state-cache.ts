// The snapshot of a verified head as a sealed cache, so that a warm open reads one file and not the
// history (docs/ARCHITECTURE.md, opening). Later commits are verified as usual. Its trees are
// compared with the head's before the first write (commit.ts). Beside the file of all memories is
// one of those that have changed since, so that closing after one change writes few of them.

import { ByteReader, ByteWriter, concatBytes, fromHex, toHex, utf8, utf8Text } from '../../bytes.ts'
import { operations } from '../../format/record.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import type { CommitCount } from '../commits/commit-count.ts'
import type { CurrentVersion, LiveMemory } from '../snapshot/live-memory.ts'
import { memoriesBelow } from '../snapshot/path-tree.ts'
import {
  type CurrentEntry,
  type DeviceState,
  type GrantState,
  type Head,
  type KeyringState,
  type SettingsRecord,
  type SettingsState,
  Snapshot,
} from '../snapshot/snapshot.ts'
import type { OwnFiles, OwnName } from './own-files.ts'
import {
  openFirstPart,
  openParts,
  otherRelease,
  sealParts,
  type SealOwner,
} from './sealed-cache.ts'

type DeviceRow = [id: string, sequence: number, record: string, time: number, forked: boolean]

const VERSION = 7

/** The first part of the file: u8 version ‖ JSON. */
interface StateHeader {
  /** In the file of changes: the head in the file of all memories, which it continues. */
  readonly base?: string | undefined
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
  /** With the key in hex. */
  readonly grants: readonly (readonly [
    id: string,
    Omit<GrantState, 'key'> & { readonly key: string },
  ])[]
  /** The epochs of the memories, which name them by their index here. */
  readonly kids: readonly string[]
  /** The number of commits in the past of the head or of an earlier commit. */
  readonly counted?: CommitCount | undefined
}

// Each further part is u8 what ‖ rows of that kind. A memory is u8 operation ‖ memory id 16 ‖
// version id 16 ‖ if it is live blob 20 and SHA-256 32 ‖ u64 created ‖ if it is live u64 updated,
// u32 size, u32 kid, u16 length and path. A redaction is the version id.
const MEMORIES = 1
const REDACTED = 2
const ID_BYTES = 16
const ID_DIGITS = 32
const BLOB_DIGITS = 40
/** Memory id and version id, and of a live memory blob and hash as well. */
const IDS_BYTES = 32
const LIVE_IDS_BYTES = 84
/** Added to the operation's number where the version is live. */
const LIVE = 8

const place = { role: 'state' } as const
/** Up to this part of the live memories may have changed before all are written again. */
const CHANGED_SHARE = 1 / 8
/** Rows of one part: some tens of kilobytes. */
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
  owner: SealOwner,
  files: OwnFiles,
): Promise<CachedHead | undefined> {
  const found = await findFiles(owner, files)
  return found && { commit: found.header.head.commit, redacted: found.rows.flatMap(readRedacted) }
}

/** The head of a cache, from the first parts only. */
export async function findWritten(
  owner: SealOwner,
  files: OwnFiles,
): Promise<Pick<StateHeader['head'], 'commit' | 'height'> | undefined> {
  const base = readHeader(await findFirstPart(owner, files, 'state'))
  if (base === undefined) return undefined
  const changes = readHeader(await findFirstPart(owner, files, 'state-changes'))
  return (continues(changes, base) ? changes : base).head
}

/** The cached snapshot, and as `kept` what the file of all memories has; undefined without one. */
export async function findState(
  owner: SealOwner,
  files: OwnFiles,
  reader: StateReader,
): Promise<(CachedState & { readonly kept: Snapshot }) | undefined> {
  const found = await findFiles(owner, files)
  if (found === undefined) return undefined
  const { base, header, rows } = found
  const keyring = reader.readKeyring(header.keyring.oid, fromHex(header.keyring.record))
  const { oid, ...brought } = header.settings
  const record = fromHex(brought.record)
  const settings = reader.readSettings(oid, { ...brought, record })
  const memories: CurrentEntry[] = []
  const redacted = new Set<string>()
  const slice = new TimeSlice()
  for (const part of rows) {
    for (const row of readMemories(part, base.kids)) memories.push(row)
    for (const versionId of readRedacted(part)) redacted.add(versionId)
    if (slice.isOver()) await slice.next()
  }
  const state = { head: headOf(base), keyring, settings }
  const kept = await inSlices(Snapshot.making(state, { memories, redacted }))
  const changes = new Map<string, CurrentVersion>()
  for (const part of found.changes) {
    for (const [memoryId, version] of readMemories(part, header.kids)) {
      changes.set(memoryId, version)
    }
  }
  const devices = new Map(header.devices.map((row) => [row[0], fromDeviceRow(row)]))
  const grants = new Map(
    header.grants.map(([id, { key, ...grant }]) => [id, { ...grant, key: fromHex(key) }]),
  )
  const effect = { head: headOf(header), memories: changes, devices, grants, keyring, settings }
  const snapshot = (await inSlices(kept.applying(effect))).with({ isCached: true })
  return { snapshot, counted: header.counted, kept }
}

function headOf({ head }: StateHeader): Head {
  return { ...head, record: fromHex(head.record) }
}

interface StateFiles {
  /** The header of the file of all memories. */
  readonly base: StateHeader
  /** The header of the newer file. */
  readonly header: StateHeader
  /** The parts of all memories, and of those that have changed since. */
  readonly rows: readonly Uint8Array[]
  readonly changes: readonly Uint8Array[]
}

async function findFiles(owner: SealOwner, files: OwnFiles): Promise<StateFiles | undefined> {
  const [first, ...rows] = (await findParts(owner, files, 'state')) ?? []
  const base = readHeader(first)
  // The file of changes may have been put in its place.
  if (base === undefined || base.base !== undefined) return undefined
  const [second, ...changes] = (await findParts(owner, files, 'state-changes')) ?? []
  const header = readHeader(second)
  if (!continues(header, base)) return { base, header: base, rows, changes: [] }
  return { base, header, rows, changes }
}

async function findParts(
  owner: SealOwner,
  files: OwnFiles,
  name: OwnName,
): Promise<readonly Uint8Array[] | undefined> {
  const bytes = await files.read(name)
  return bytes && openParts(owner, place, bytes)
}

async function findFirstPart(
  owner: SealOwner,
  files: OwnFiles,
  name: OwnName,
): Promise<Uint8Array | undefined> {
  const bytes = await files.read(name)
  return bytes && openFirstPart(owner, place, bytes)
}

/** Whether a file of changes is of this file of all memories: not after another process wrote. */
function continues(changes: StateHeader | undefined, base: StateHeader): changes is StateHeader {
  return changes !== undefined && changes.base === base.head.commit
}

/** Undefined for another release's file. */
function readHeader(part: Uint8Array | undefined): StateHeader | undefined {
  if (part?.[0] !== VERSION) return undefined
  // Authenticated as this device's: with this version it has the shape that we write.
  const header: StateHeader = JSON.parse(utf8Text(part.subarray(1)))
  return header
}

/**
 * Writes the changes since `kept`, if they are few. Returns what the file of all memories has;
 * undefined, with nothing of value written, if another server has written.
 */
export async function writeState(
  owner: SealOwner,
  files: OwnFiles,
  state: CachedState,
  kept: Snapshot | undefined,
): Promise<Snapshot | undefined> {
  const changes = kept && (await findChanges(files, state.snapshot, kept))
  if (kept !== undefined && changes !== undefined) {
    const parts = partsOf(state, changes, [], kept.head.commit)
    return (await write(owner, files, 'state-changes', parts)) ? kept : undefined
  }
  const { snapshot } = state
  const parts = partsOf(state, rowsOf(snapshot), snapshot.redacted)
  if (!(await write(owner, files, 'state', parts))) return undefined
  await files.remove('state-changes')
  return snapshot
}

async function write(
  owner: SealOwner,
  files: OwnFiles,
  name: OwnName,
  parts: Iterable<Uint8Array>,
): Promise<boolean> {
  return files.write(name, await sealParts(owner, place, parts))
}

/** Live memories in the order of the directory tree, which is built faster of such a list. */
function rowsOf({ current, paths }: Snapshot): readonly CurrentEntry[] {
  const live = Array.from(memoriesBelow(paths.root), ({ memoryId }): CurrentEntry[] => {
    const version = current.get(memoryId)
    return version === undefined ? [] : [[memoryId, version]]
  })
  return [...live.flat(), ...[...current].filter(([, version]) => version.live === undefined)]
}

/** Undefined if all memories must be written. */
async function findChanges(
  files: OwnFiles,
  { count, current, redacted }: Snapshot,
  kept: Snapshot,
): Promise<readonly CurrentEntry[] | undefined> {
  if (!isSameSet(redacted, kept.redacted)) return undefined
  // Another process has written it since, or a redaction has erased it.
  if (await files.hasChanged('state')) return undefined
  const changes: CurrentEntry[] = []
  let added = 0
  for (const row of current.changesSince(kept.current)) {
    if (changes.push(row) > count * CHANGED_SHARE) return undefined
    if (kept.current.get(row[0]) === undefined) added += 1
  }
  // Changes cannot tell that a memory never was: a sync may have dropped the commit that made it.
  return current.size === kept.current.size + added ? changes : undefined
}

function isSameSet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one === other || (one.size === other.size && [...one].every((id) => other.has(id)))
}

function* partsOf(
  { snapshot, counted }: CachedState,
  rows: Iterable<CurrentEntry>,
  redacted: Iterable<string>,
  base?: string,
): Generator<Uint8Array> {
  const { head, keyring, settings } = snapshot
  const kids = new Map<string, number>()
  for (const [, { live }] of rows) {
    if (live !== undefined && !kids.has(live.kid)) kids.set(live.kid, kids.size)
  }
  const header: StateHeader = {
    base,
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
    grants: [...snapshot.grants].map(([id, grant]) => [id, { ...grant, key: toHex(grant.key) }]),
    kids: [...kids.keys()],
    counted,
  }
  yield concatBytes(Uint8Array.of(VERSION), utf8(JSON.stringify(header)))
  for (const memories of inGroups(rows)) {
    const writer = new ByteWriter().u8(MEMORIES)
    for (const [memoryId, current] of memories) writeMemory(writer, memoryId, current, kids)
    yield writer.bytes()
  }
  for (const group of inGroups(redacted)) {
    yield new ByteWriter()
      .u8(REDACTED)
      .raw(fromHex(group.join('')))
      .bytes()
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

function fromDeviceRow([, sequence, record, time, forked]: DeviceRow): DeviceState {
  return { sequence, record: fromHex(record), time, forked }
}

function writeMemory(
  writer: ByteWriter,
  memoryId: string,
  { versionId, operation, created, live }: CurrentVersion,
  kids: ReadonlyMap<string, number>,
): void {
  const number = operations.indexOf(operation)
  if (live === undefined) {
    writer
      .u8(number)
      .raw(fromHex(memoryId + versionId))
      .u64(created)
    return
  }
  const path = utf8(live.path)
  writer
    .u8(LIVE + number)
    .raw(fromHex(memoryId + versionId + live.blob + live.sha256))
    .u64(created)
    .u64(live.updated)
    .u32(live.size)
    .u32(kids.get(live.kid) ?? 0)
    .u16(path.length)
    .raw(path)
}

function* readMemories(part: Uint8Array, kids: readonly string[]): Generator<CurrentEntry> {
  const reader = new ByteReader(part, otherRelease)
  if (reader.u8() !== MEMORIES) return
  while (reader.remaining > 0) {
    const number = reader.u8()
    const operation = operations[number % LIVE] ?? 'deleted'
    const isLive = number >= LIVE
    // One string for all ids of a row: decoding each by itself takes three times as long.
    const ids = toHex(reader.view(isLive ? LIVE_IDS_BYTES : IDS_BYTES))
    const memoryId = ids.slice(0, ID_DIGITS)
    const versionId = ids.slice(ID_DIGITS, 2 * ID_DIGITS)
    const created = reader.u64()
    const live = isLive ? readLive(reader, { memoryId, versionId, ids, created }, kids) : undefined
    yield [memoryId, { versionId, operation, created, live }]
  }
}

function readLive(
  reader: ByteReader,
  row: Pick<LiveMemory, 'memoryId' | 'versionId' | 'created'> & { readonly ids: string },
  kids: readonly string[],
): LiveMemory {
  const { memoryId, versionId, created, ids } = row
  const blob = ids.slice(2 * ID_DIGITS, 2 * ID_DIGITS + BLOB_DIGITS)
  const sha256 = ids.slice(2 * ID_DIGITS + BLOB_DIGITS)
  const updated = reader.u64()
  const size = reader.u32()
  const kid = kids[reader.u32()] ?? ''
  const path = utf8Text(reader.view(reader.u16()))
  // One literal: a spread takes several times as long, for thousands of rows.
  return { memoryId, versionId, path, size, sha256, created, updated, blob, kid }
}

function readRedacted(part: Uint8Array): readonly string[] {
  const reader = new ByteReader(part, otherRelease)
  if (reader.u8() !== REDACTED) return []
  return Array.from({ length: reader.remaining / ID_BYTES }, () => toHex(reader.view(ID_BYTES)))
}
