// One entry of a pack file (gitformat-pack): its header, both ways, and its deflated data. Pure.
// Reads hostile bytes: sizes are bounded before anything is inflated, and inflation stops at the
// declared size.

import { deflateSync, Inflate, inflateSync } from 'node:zlib'
import { concatBytes, fromHex } from '../../bytes.ts'
import { assert, StoreError } from '../../errors.ts'
import { objectBytesMax } from '../../limits.ts'
import type { Oid } from '../objects/object.ts'

/** `offsetDelta` names its base by the distance back in the pack, `refDelta` by its oid. */
export type EntryType = 'commit' | 'tree' | 'blob' | 'tag' | 'offsetDelta' | 'refDelta'

export interface EntryHeader {
  readonly type: EntryType
  /** Of the data, inflated. */
  readonly size: number
  /** How far before this entry the base of an `offsetDelta` starts. */
  readonly distance: number
  /** The 20 bytes that name the base of a `refDelta`, else empty. */
  readonly baseOid: Uint8Array
  /** Bytes of this header: the data follows. */
  readonly length: number
}

export const packHeaderBytes: number = 12
export const packTrailerBytes: number = 20
/** No entry header is longer: 6 bytes of size and 20 of base. */
export const entryHeaderBytesMax: number = 32

const oidBytes = 20
const noBytes = new Uint8Array(0)
/** Two bytes of zlib, one that begins the last block, its length and the complement of that. */
const storedHeaderBytes = 7
/** The checksum. */
const storedTrailerBytes = 4
/** What zlib begins with at level 0. */
const storedStart = 0x7801
/** In one block. */
const storedBytesMax = 0xffff
const typeNumbers: Readonly<Record<EntryType, number>> = {
  commit: 1,
  tree: 2,
  blob: 3,
  tag: 4,
  offsetDelta: 6,
  refDelta: 7,
}
const types: readonly (EntryType | undefined)[] = [
  undefined,
  'commit',
  'tree',
  'blob',
  'tag',
  undefined,
  'offsetDelta',
  'refDelta',
]

export function encodePackHeader(objects: number): Uint8Array {
  const header = new Uint8Array(packHeaderBytes)
  const view = new DataView(header.buffer)
  view.setUint32(0, 0x5041_434b)
  view.setUint32(4, 2)
  view.setUint32(8, objects)
  return header
}

/** The number of objects. Throws `pack_corrupt`; versions 2 and 3 differ in nothing here. */
export function decodePackHeader(header: Uint8Array): number {
  if (header.length < packHeaderBytes) throw corruptPack('it is shorter than its header')
  const view = new DataView(header.buffer, header.byteOffset)
  if (view.getUint32(0) !== 0x5041_434b) throw corruptPack('it does not start with PACK')
  if (view.getUint32(4) !== 2 && view.getUint32(4) !== 3)
    throw corruptPack('its version is unknown')
  return view.getUint32(8)
}

export function encodeEntryHeader(
  type: Exclude<EntryType, 'offsetDelta'>,
  size: number,
): Uint8Array {
  return encodeTypeAndSize(type, size)
}

/** The header of a delta whose base starts `distance` bytes before it. */
export function encodeOffsetDeltaHeader(size: number, distance: number): Uint8Array {
  return concatBytes(encodeTypeAndSize('offsetDelta', size), encodeDistance(distance))
}

/** The header of a delta whose base is elsewhere. */
export function encodeRefDeltaHeader(size: number, base: Oid): Uint8Array {
  return concatBytes(encodeTypeAndSize('refDelta', size), fromHex(base))
}

/** The type of the entry that starts at `at`; undefined if it has none that is known. */
export function entryTypeAt(bytes: Uint8Array, at: number): EntryType | undefined {
  return types[((bytes[at] ?? 0) >> 4) & 7]
}

/** The distance to the base of the `offsetDelta` that starts at `at`, without the rest of it. */
export function deltaDistanceAt(bytes: Uint8Array, at: number): number {
  let next = at
  while ((bytes[next] ?? 0) >= 0x80) next += 1
  let byte = byteAt(bytes, (next += 1))
  let distance = byte & 0x7f
  while (byte >= 0x80) {
    byte = byteAt(bytes, (next += 1))
    distance = (distance + 1) * 128 + (byte & 0x7f)
  }
  return distance
}

/** Reads the header at the start of `bytes`. Throws `pack_corrupt`. */
export function decodeEntryHeader(bytes: Uint8Array): EntryHeader {
  const first = byteAt(bytes, 0)
  const type = types[(first >> 4) & 7]
  if (type === undefined) throw corruptPack('an entry has no known type')
  let size = first & 15
  let at = 1
  for (let scale = 16; byteAt(bytes, at - 1) >= 0x80; scale *= 128) {
    size += (byteAt(bytes, at) & 0x7f) * scale
    if (size > objectBytesMax) throw corruptPack('an entry is larger than any object of a store')
    at += 1
    if (at > entryHeaderBytesMax) throw corruptPack('the size of an entry does not end')
  }
  const plain = { type, size, distance: 0, baseOid: noBytes, length: at }
  if (type === 'offsetDelta') return { ...plain, ...decodeDistance(bytes, at) }
  if (type !== 'refDelta') return plain
  if (bytes.length < at + oidBytes) throw corruptPack('an entry ends inside its header')
  return { ...plain, baseOid: bytes.slice(at, at + oidBytes), length: at + oidBytes }
}

/**
 * Ciphertext does not compress: at level 0 it costs 11 bytes and no time. On the rest, base64 and
 * oids, level 1 takes half the time of level 6 and is half a per cent larger.
 */
export function deflate(body: Uint8Array, level: 0 | 1): Uint8Array {
  if (level === 0 && body.length <= storedBytesMax) return store(body)
  // By default it takes 16 KiB for each of thousands of small objects.
  return deflateSync(body, { level, chunkSize: deflatedBytesMax(body.length) })
}

/** As zlib at level 0, without the time that it takes to start zlib. */
function store(body: Uint8Array): Uint8Array {
  const { length } = body
  const deflated = Buffer.alloc(storedHeaderBytes + length + storedTrailerBytes)
  deflated.writeUInt16BE(storedStart, 0)
  deflated[2] = 1
  deflated.writeUInt16LE(length, 3)
  deflated.writeUInt16LE(length ^ 0xffff, 5)
  deflated.set(body, storedHeaderBytes)
  deflated.writeUInt32BE(adler32(body), storedHeaderBytes + length)
  return new Uint8Array(deflated.buffer, deflated.byteOffset, deflated.length)
}

/** The most bytes that `size` bytes deflate to in any encoder that stores what it cannot shrink. */
export function deflatedBytesMax(size: number): number {
  return size + Math.ceil(size / 256) + 64
}

/**
 * The `size` bytes at the start of a zlib stream, which other bytes may follow; undefined if the
 * stream goes on after `deflated`. Throws `pack_corrupt`.
 */
export function inflate(deflated: Uint8Array, size: number): Uint8Array | undefined {
  return readStored(deflated, size) ?? inflateStream(deflated, size)?.body
}

export interface Inflated {
  readonly body: Uint8Array
  /** Of the stream. */
  readonly length: number
}

/** As `inflate`, with where the stream ends: in a pack without an index nothing else says that. */
export function inflateMeasured(deflated: Uint8Array, size: number): Inflated | undefined {
  const stored = readStored(deflated, size)
  if (stored !== undefined) {
    return { body: stored, length: storedHeaderBytes + size + storedTrailerBytes }
  }
  return inflateStream(deflated, size)
}

function inflateStream(deflated: Uint8Array, size: number): Inflated | undefined {
  let result: unknown
  try {
    // One byte more than expected, so that a chunk is never full and zlib is called only once.
    result = inflateSync(deflated, {
      chunkSize: Math.max(64, size + 1),
      maxOutputLength: Math.max(1, size),
      info: true,
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'Z_BUF_ERROR') return undefined
    throw corruptPack('an entry does not inflate', error)
  }
  const inflated = withInfo(result)
  if (inflated.body.length !== size) throw corruptPack('an entry is shorter than it declares')
  return inflated
}

/** What zlib gives with `info`, which its types do not say. */
function withInfo(result: unknown): Inflated {
  assert(typeof result === 'object' && result !== null, 'zlib gives an object')
  assert('buffer' in result && result.buffer instanceof Uint8Array, 'zlib gives a buffer')
  assert('engine' in result && result.engine instanceof Inflate, 'zlib gives its engine')
  return { body: result.buffer, length: result.engine.bytesWritten }
}

/**
 * What level 0 writes, one stored block: to start zlib for it costs more than most entries do.
 * Undefined for every other stream and for a damaged one: those are zlib's.
 */
function readStored(deflated: Uint8Array, size: number): Uint8Array | undefined {
  const end = storedHeaderBytes + size
  const length = end + storedTrailerBytes
  if (deflated.length < length || size > storedBytesMax) return undefined
  const view = Buffer.from(deflated.buffer, deflated.byteOffset, length)
  const isPlain = view.readUInt16BE(0) === storedStart && view[2] === 1
  if (!isPlain || view.readUInt16LE(3) !== size || view.readUInt16LE(5) !== (size ^ 0xffff)) {
    return undefined
  }
  // A copy: the slice of a Buffer would be a view of a window that is read into again.
  const body = new Uint8Array(deflated.subarray(storedHeaderBytes, end))
  return view.readUInt32BE(end) === adler32(body) ? body : undefined
}

/** RFC 1950. The sums of so few bytes are exact without a remainder in between. */
function adler32(bytes: Uint8Array): number {
  let low = 1
  let high = 0
  for (let at = 0; at < bytes.length; at += 1) {
    low += bytes[at] ?? 0
    high += low
  }
  return (high % 65_521) * 65_536 + (low % 65_521)
}

export function corruptPack(problem: string, cause?: unknown): StoreError {
  return new StoreError('pack_corrupt', `A pack is damaged: ${problem}`, { cause })
}

function encodeTypeAndSize(type: EntryType, size: number): Uint8Array {
  const bytes: number[] = []
  let pending = (typeNumbers[type] << 4) | (size & 15)
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push(pending | 0x80)
    pending = rest & 0x7f
  }
  return Uint8Array.of(...bytes, pending)
}

/** Groups of seven bits, the highest first, each but the last one less: no value has two forms. */
function encodeDistance(distance: number): Uint8Array {
  const bytes = [distance & 0x7f]
  let rest = Math.floor(distance / 128)
  while (rest > 0) {
    rest -= 1
    bytes.unshift((rest & 0x7f) | 0x80)
    rest = Math.floor(rest / 128)
  }
  return Uint8Array.from(bytes)
}

function decodeDistance(bytes: Uint8Array, start: number): { distance: number; length: number } {
  let at = start
  let byte = byteAt(bytes, at)
  let distance = byte & 0x7f
  while (byte >= 0x80) {
    at += 1
    byte = byteAt(bytes, at)
    distance = (distance + 1) * 128 + (byte & 0x7f)
    if (!Number.isSafeInteger(distance)) throw corruptPack('a delta has an absurd base')
  }
  return { distance, length: at + 1 }
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) throw corruptPack('an entry ends inside its header')
  return byte
}
