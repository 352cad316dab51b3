// The contents of a start (FORMAT §13): the state at a head, and how that of an older head, the
// floor, differs from it. Ids are hex digits, times ms since 1970.

import { ByteReader, ByteWriter, fromHex, isZero, toHex, utf8 } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { GrantTerms, Operation } from './change-record.ts'
import { decodePath } from './path.ts'
import { grantRoles, operations, zeroId } from './record.ts'

/** A device's statement about a store. */
export interface Start {
  /** The device id. */
  readonly granter: string
  /** Grows with each start that a device makes. */
  readonly counter: number
  readonly time: number
  readonly genesis: { readonly record: Uint8Array; readonly time: number }
  /** The epochs of the memories, ascending. */
  readonly kids: readonly string[]
  /** R of FORMAT §8.1: version ids, ascending. */
  readonly redacted: readonly string[]
  readonly state: StartState
  readonly floor: StartFloor | undefined
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

export interface StartGrant {
  readonly key: Uint8Array
  readonly value: (GrantTerms & { readonly granter: string; readonly ended: boolean }) | undefined
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
const NO_HASH = new Uint8Array(32)

/**
 * The plaintext without the signature that ends it. Throws `start_malformed` if a memory is of an
 * epoch that is not listed.
 */
export function encodeStart(start: Start): Uint8Array {
  const { granter, counter, time, genesis, kids, redacted, state, floor } = start
  const writer = new ByteWriter().raw(fromHex(granter)).u64(counter).u64(time)
  writer.raw(genesis.record).u64(genesis.time)
  for (const ids of [kids, redacted]) writeList(writer, ids, (id) => writer.raw(fromHex(id)))
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
  writeList(writer, head.grants, ({ key, value }) => {
    writer.raw(key).raw(fromHex(value?.granter ?? zeroId))
    writer.u8(value === undefined ? 0 : grantRoles[value.role]).u64(value?.notAfter ?? 0)
    writer.u8(value?.ended === true ? 1 : 0)
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

/** Reads a start at the beginning of `bytes`; `length` is its own. Throws `start_malformed`. */
export function decodeStart(bytes: Uint8Array): {
  readonly start: Start
  readonly length: number
} {
  const reader = new ByteReader(bytes, malformedStart)
  const [granter, counter, time] = [toHex(reader.raw(16)), reader.u64(), reader.u64()]
  const genesis = { record: reader.raw(32), time: reader.u64() }
  const readId = (): string => toHex(reader.raw(16))
  const kids = readList(reader, 16, readId, (id) => id)
  const redacted = readList(reader, 16, readId, (id) => id)
  const { keyring, settings, ...head } = readHead(reader, kids, true)
  if (keyring === undefined || settings === undefined) {
    throw malformedStart('the state has no keyring or no settings')
  }
  const state = { ...head, keyring, settings }
  const floor = readFlag(reader) ? readHead(reader, kids, false) : undefined
  const start = { granter, counter, time, genesis, kids, redacted, state, floor }
  return { start, length: reader.offset }
}

function readHead(reader: ByteReader, kids: readonly string[], isWhole: boolean): StartFloor {
  const [record, height] = [reader.raw(32), reader.u64()]
  const [commit, tree] = [toHex(reader.raw(20)), toHex(reader.raw(20))]
  const keyring = readFlag(reader)
    ? { record: reader.raw(32), blob: reader.raw(reader.u32()) }
    : undefined
  const settings = readFlag(reader) ? readSettings(reader) : undefined
  const devices = readList(reader, 57, readDevice, ({ deviceId }) => deviceId)
  const grants = readList(reader, 58, readGrant, ({ key }) => toHex(key))
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
  const [record, height, time] = [reader.raw(32), reader.u64(), reader.u64()]
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
  const [key, granter] = [reader.raw(32), toHex(reader.raw(16))]
  const [number, notAfter, ended] = [reader.u8(), reader.u64(), readFlag(reader)]
  const role = (['writer', 'reader'] as const).find((one) => grantRoles[one] === number)
  if (role !== undefined) return { key, value: { granter, role, notAfter, ended } }
  if (number !== 0) throw malformedStart('the role of a grant is unknown')
  checkAbsent(granter !== zeroId || notAfter !== 0 || ended)
  return { key, value: undefined }
}

function readMemory(reader: ByteReader, kids: readonly string[]): StartMemory {
  const [memoryId, versionId] = [toHex(reader.raw(16)), toHex(reader.raw(16))]
  const [flags, created] = [reader.u8(), reader.u64()]
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
  const [updated, size, sha256] = [reader.u64(), reader.u32(), reader.raw(32)]
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
  const count = reader.u32()
  if (count * least > reader.remaining) throw malformedStart('a list is longer than the start')
  const items = Array.from({ length: count }, () => read(reader))
  let before = ''
  for (const key of items.map(keyOf)) {
    if (before >= key) throw malformedStart('a list does not ascend')
    before = key
  }
  return items
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
  return new StoreError('start_malformed', `A start is malformed: ${problem}`)
}
