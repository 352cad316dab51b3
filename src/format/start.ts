// The contents of a baseline, here called a start (FORMAT §13): the state at a head, and how that
// of an older head, the floor, differs from it. Ids are hex digits, times ms since 1970.

import { ByteReader, ByteWriter, fromHex, isZero, toHex, utf8 } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { timeMax } from '../limits.ts'
import type { GrantTerms, Operation } from './change-record.ts'
import { decodePath } from './path.ts'
import { findGrantRole, grantRoleNumber, operations, zeroId } from './record.ts'

/** A device's statement about a store. */
export interface Start {
  /** The id of the device whose key has signed it. */
  readonly granter: string
  /** Grows with each start that a device makes. */
  readonly counter: number
  readonly time: number
  readonly genesis: LineRecord & { readonly time: number }
  /** The later keyring records, oldest first. */
  readonly keyrings: readonly LineRecord[]
  /** The epochs of the memories, ascending. */
  readonly kids: readonly string[]
  /** R of FORMAT §8.1: version ids, ascending. */
  readonly redacted: readonly string[]
  readonly state: StartState
  readonly floor: StartFloor | undefined
}

/** A record of the line of keyrings (FORMAT §7.2), and its commit. */
export interface LineRecord {
  readonly record: Uint8Array
  readonly commit: string
}

/** The hashes of the line of keyring records, from genesis to that of the state. */
export function lineOf({ genesis, keyrings }: Pick<Start, 'genesis' | 'keyrings'>): Uint8Array[] {
  return [genesis, ...keyrings].map(({ record }) => record)
}

/** A head, and the state there. Lists ascend by id or key. */
export interface StartState extends StartHead {
  readonly keyring: StartKeyring
  readonly settings: StartSettings
}

/** An older head, with what differs from the state. What did not exist yet has no `value`. */
export interface StartFloor extends StartHead {
  readonly keyring: StartKeyring | undefined
  readonly settings: StartSettings | undefined
}

interface StartHead {
  readonly record: Uint8Array
  readonly height: number
  readonly commit: string
  readonly tree: string
  readonly devices: readonly StartDevice[]
  readonly grants: readonly StartGrant[]
  readonly memories: readonly StartMemory[]
}

export interface StartKeyring {
  /** The hash of the record that brought it. */
  readonly record: Uint8Array
  readonly blob: Uint8Array
}

export interface StartSettings extends StartKeyring {
  readonly height: number
  readonly time: number
}

/** The newest record of a device. */
export interface StartDevice {
  readonly deviceId: string
  readonly value:
    | { readonly sequence: number; readonly record: Uint8Array; readonly forked: boolean }
    | undefined
}

/** An active grant. */
export interface StartGrant {
  readonly granter: string
  readonly key: Uint8Array
  readonly value: (GrantTerms & { readonly began: number }) | undefined
}

/** The current version of a memory. */
export interface StartMemory {
  readonly memoryId: string
  readonly value: StartVersion | undefined
}

export interface StartVersion {
  readonly versionId: string
  readonly operation: Operation
  readonly created: number
  /** Undefined for a deletion, or a version that is redacted. */
  readonly live: StartContent | undefined
}

export interface StartContent {
  readonly updated: number
  readonly size: number
  readonly sha256: Uint8Array
  /** One of `kids`. */
  readonly kid: string
  readonly path: string
}

const LIVE = 8
const KIDS_MAX = 0xffff
const NO_HASH = new Uint8Array(32)

/** Throws `baseline_malformed` if a memory is of an epoch that is not listed. */
export function encodeStart(start: Omit<Start, 'granter'>): Uint8Array {
  const { counter, time, genesis, keyrings, kids, redacted, state, floor } = start
  const writer = new ByteWriter().u64(counter).u64(time).u64(genesis.time)
  for (const ids of [kids, redacted]) writeList(writer, ids, (id) => writer.raw(fromHex(id)))
  writeList(writer, [genesis, ...keyrings], ({ record, commit }) => {
    writer.raw(record).raw(fromHex(commit))
  })
  writeHead(writer, state, kids)
  writer.u8(floor === undefined ? 0 : 1)
  if (floor !== undefined) writeHead(writer, floor, kids)
  return writer.bytes()
}

function writeHead(writer: ByteWriter, head: StartFloor, kids: readonly string[]): void {
  const { record, height, commit, tree, keyring, settings } = head
  writer
    .raw(record)
    .u64(height)
    .raw(fromHex(commit + tree))
  writer.u8(keyring === undefined ? 0 : 1)
  if (keyring !== undefined) writer.raw(keyring.record).u32(keyring.blob.length).raw(keyring.blob)
  writer.u8(settings === undefined ? 0 : 1)
  if (settings !== undefined) {
    writer.raw(settings.record).u64(settings.height).u64(settings.time)
    writer.u32(settings.blob.length).raw(settings.blob)
  }
  writeList(writer, head.devices, ({ deviceId, value }) => {
    writer.raw(fromHex(deviceId)).u64(value?.sequence ?? 0)
    writer.raw(value?.record ?? NO_HASH).u8(value?.forked === true ? 1 : 0)
  })
  writeList(writer, head.grants, ({ granter, key, value }) => {
    writer.raw(fromHex(granter)).raw(key)
    writer.u8(value === undefined ? 0 : grantRoleNumber(value.role))
    writer.u64(value?.began ?? 0).u64(value?.notAfter ?? 0)
  })
  writeList(writer, head.memories, (memory) => writeMemory(writer, memory, kids))
}

function writeMemory(
  writer: ByteWriter,
  { memoryId, value }: StartMemory,
  kids: readonly string[],
): void {
  writer.raw(fromHex(memoryId)).raw(fromHex(value?.versionId ?? zeroId))
  const operation = value === undefined ? 0 : operations.indexOf(value.operation) + 1
  const live = value?.live
  writer.u8(operation + (live === undefined ? 0 : LIVE)).u64(value?.created ?? 0)
  if (live === undefined) return
  const epoch = kids.indexOf(live.kid)
  if (epoch === -1) throw malformedStart('a memory is of an epoch that is not listed')
  const path = utf8(live.path)
  writer.u64(live.updated).u32(live.size).raw(live.sha256)
  writer.u16(epoch).u16(path.length).raw(path)
}

function writeList<Item>(
  writer: ByteWriter,
  items: readonly Item[],
  write: (item: Item) => void,
): void {
  writer.u32(items.length)
  for (const item of items) write(item)
}

/** Reads a start at the beginning of `bytes`; `length` is its own. Throws `baseline_malformed`. */
export function decodeStart(bytes: Uint8Array): {
  readonly start: Omit<Start, 'granter'>
  readonly length: number
} {
  const reader = new ByteReader(bytes, malformedStart)
  const [counter, time, genesisTime] = [reader.u64(), readTime(reader), readTime(reader)]
  const readId = (): string => toHex(reader.raw(16))
  const kids = readList(reader, 16, readId, (id) => id)
  const redacted = readList(reader, 16, readId, (id) => id)
  const [first, ...keyrings] = readItems(reader, 52, readLineRecord)
  if (first === undefined) throw malformedStart('it names no genesis')
  const genesis = { ...first, time: genesisTime }
  const { keyring, settings, ...head } = readHead(reader, kids, true)
  if (keyring === undefined || settings === undefined) {
    throw malformedStart('the state has no keyring or no settings')
  }
  const state = { ...head, keyring, settings }
  const floor = readFlag(reader) ? readHead(reader, kids, false) : undefined
  const start = { counter, time, genesis, keyrings, kids, redacted, state, floor }
  checkLine(start)
  checkFloor(state, floor)
  checkKids(start)
  return { start, length: reader.offset }
}

function readLineRecord(reader: ByteReader): LineRecord {
  return { record: reader.raw(32), commit: toHex(reader.raw(20)) }
}

/** The state has the newest keyring of the line, and the floor one of them. */
function checkLine({ genesis, keyrings, state, floor }: Omit<Start, 'granter'>): void {
  const line = lineOf({ genesis, keyrings }).map(toHex)
  if (toHex(state.keyring.record) !== line.at(-1)) {
    throw malformedStart('the keyring of the state is not the newest one')
  }
  if (floor?.keyring !== undefined && !line.includes(toHex(floor.keyring.record))) {
    throw malformedStart('the keyring of the floor is unknown')
  }
}

/** A floor is below the state, and repeats nothing of it. */
function checkFloor(state: StartState, floor: StartFloor | undefined): void {
  if (floor === undefined) return
  if (floor.height >= state.height) throw malformedStart('the floor is not below the state')
  const parts = [floor.keyring && [floor.keyring, state.keyring]]
  parts.push(floor.settings && [floor.settings, state.settings])
  const repeats =
    parts.some((part) => part !== undefined && isSameItem(part[0], part[1])) ||
    repeatsItem(state.devices, floor.devices, ({ deviceId }) => deviceId) ||
    repeatsItem(state.grants, floor.grants, grantKeyOf) ||
    repeatsItem(state.memories, floor.memories, ({ memoryId }) => memoryId)
  if (repeats) throw malformedStart('the floor repeats an entry of the state, or lacks it as well')
}

/** Whether an item of the floor is that of the state, or absent from both. */
function repeatsItem<Item extends { readonly value: unknown }>(
  state: readonly Item[],
  floor: readonly Item[],
  keyOf: (item: Item) => string,
): boolean {
  const wanted = new Set(floor.map((item) => keyOf(item)))
  const known = new Map(state.map((item) => [keyOf(item), item] as const))
  if (wanted.size === 0) return false
  return floor.some((item) => {
    const there = known.get(keyOf(item))
    return there === undefined ? item.value === undefined : isSameItem(item, there)
  })
}

function isSameItem(one: unknown, other: unknown): boolean {
  return textOf(one) === textOf(other)
}

function textOf(item: unknown): string {
  return JSON.stringify(item, (_, value: unknown) =>
    value instanceof Uint8Array ? toHex(value) : value,
  )
}

/** Each epoch that is listed has a memory. */
function checkKids({ kids, state, floor }: Omit<Start, 'granter'>): void {
  if (kids.length > KIDS_MAX) throw malformedStart('it lists too many epochs')
  const memories = [...state.memories, ...(floor?.memories ?? [])]
  const used = new Set(memories.map(({ value }) => value?.live?.kid))
  if (kids.some((kid) => !used.has(kid))) {
    throw malformedStart('it lists an epoch that no memory has')
  }
}

function readHead(reader: ByteReader, kids: readonly string[], isWhole: boolean): StartFloor {
  const [record, height] = [reader.raw(32), reader.u64()]
  const [commit, tree] = [toHex(reader.raw(20)), toHex(reader.raw(20))]
  const keyring = readFlag(reader)
    ? { record: reader.raw(32), blob: reader.raw(reader.u32()) }
    : undefined
  const settings = readFlag(reader) ? readSettings(reader) : undefined
  const devices = readList(reader, 57, readDevice, ({ deviceId }) => deviceId)
  const grants = readList(reader, 65, readGrant, grantKeyOf)
  const memories = readList(
    reader,
    41,
    () => readMemory(reader, kids),
    ({ memoryId }) => memoryId,
  )
  const items = [...devices, ...grants, ...memories]
  if (isWhole && items.some(({ value }) => value === undefined)) {
    throw malformedStart('the state lists entries without a value')
  }
  return { record, height, commit, tree, keyring, settings, devices, grants, memories }
}

function readSettings(reader: ByteReader): StartSettings {
  const [record, height, time] = [reader.raw(32), reader.u64(), readTime(reader)]
  return { record, height, time, blob: reader.raw(reader.u32()) }
}

function readDevice(reader: ByteReader): StartDevice {
  const [deviceId, sequence] = [toHex(reader.raw(16)), reader.u64()]
  const [record, forked] = [reader.raw(32), readFlag(reader)]
  if (sequence > 0) return { deviceId, value: { sequence, record, forked } }
  checkAbsent(forked || !isZero(record))
  return { deviceId, value: undefined }
}

function readGrant(reader: ByteReader): StartGrant {
  const [granter, key] = [toHex(reader.raw(16)), reader.raw(32)]
  const [number, began, notAfter] = [reader.u8(), readTime(reader), readTime(reader)]
  const role = findGrantRole(number)
  if (role !== undefined) return { granter, key, value: { role, began, notAfter } }
  if (number !== 0) throw malformedStart('the role of a grant is unknown')
  checkAbsent(began !== 0 || notAfter !== 0)
  return { granter, key, value: undefined }
}

/** By which grants ascend. */
function grantKeyOf({ granter, key }: StartGrant): string {
  return granter + toHex(key)
}

function readTime(reader: ByteReader): number {
  const time = reader.u64()
  if (time > timeMax) throw malformedStart('a time is out of range')
  return time
}

function readMemory(reader: ByteReader, kids: readonly string[]): StartMemory {
  const [memoryId, versionId] = [toHex(reader.raw(16)), toHex(reader.raw(16))]
  const [flags, created] = [reader.u8(), readTime(reader)]
  const isLive = flags >= LIVE
  const operation = operations[flags - (isLive ? LIVE : 0) - 1]
  if (flags === 0) {
    checkAbsent(versionId !== zeroId || created !== 0)
    return { memoryId, value: undefined }
  }
  if (operation === undefined || (isLive && operation === 'deleted')) {
    throw malformedStart('an operation is unknown')
  }
  const live = isLive ? readContent(reader, kids) : undefined
  return { memoryId, value: { versionId, operation, created, live } }
}

function readContent(reader: ByteReader, kids: readonly string[]): StartContent {
  const [updated, size, sha256] = [readTime(reader), reader.u32(), reader.raw(32)]
  const kid = kids[reader.u16()]
  if (kid === undefined) throw malformedStart('an epoch is not listed')
  return {
    updated,
    size,
    sha256,
    kid,
    path: decodePath(reader.raw(reader.u16()), () => malformedStart('a path is not allowed')),
  }
}

/** `least` is the least size of an item: a count that cannot be true is refused at once. */
function readList<Item>(
  reader: ByteReader,
  least: number,
  read: (reader: ByteReader) => Item,
  keyOf: (item: Item) => string,
): readonly Item[] {
  const items = readItems(reader, least, read)
  let before = ''
  for (const key of items.map(keyOf)) {
    if (before >= key) throw malformedStart('a list does not ascend')
    before = key
  }
  return items
}

function readItems<Item>(
  reader: ByteReader,
  least: number,
  read: (reader: ByteReader) => Item,
): readonly Item[] {
  const count = reader.u32()
  if (count * least > reader.remaining) throw malformedStart('a list is longer than the start')
  return Array.from({ length: count }, () => read(reader))
}

function readFlag(reader: ByteReader): boolean {
  const flag = reader.u8()
  if (flag > 1) throw malformedStart('a flag is neither 0 nor 1')
  return flag === 1
}

function checkAbsent(isGiven: boolean): void {
  if (isGiven) throw malformedStart('an entry of the floor that does not exist has a value')
}

export function malformedStart(problem: string): StoreError {
  return new StoreError('baseline_malformed', `A baseline is malformed: ${problem}`)
}
