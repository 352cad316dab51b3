// One entry of a pack file (gitformat-pack): its header and its deflated data, encoded and decoded.
// Pure. Reads hostile bytes: sizes are bounded before anything is inflated, and inflation stops at
// the declared size.

import { concatBytes, fromHex } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { objectBytesMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import { deflateBytes, type Inflated, inflateStart } from '../../platform/zlib.ts'
import type { Oid } from '../objects/object.ts'

/** `offsetDelta` names its base by its distance back in the pack, `refDelta` by its oid. */
export type EntryType = 'commit' | 'tree' | 'blob' | 'tag' | 'offsetDelta' | 'refDelta'

export interface EntryHeader {
  readonly type: EntryType
  /** The size of the inflated data. */
  readonly size: number
  /** For an `offsetDelta`, the distance back to its base. */
  readonly distance: number
  /** For a `refDelta`, the 20-byte oid of its base; else empty. */
  readonly baseOid: Uint8Array
  /** The length of this header, which the data follows. */
  readonly length: number
}

export const packHeaderBytes: number = 12
export const packTrailerBytes: number = 20
/** The longest entry header has 6 bytes of size and 20 of base. */
export const entryHeaderBytesMax: number = 32

const oidBytes = 20
/** Starting zlib takes as long as copying these bytes. */
const inflationWork = 1024
const noBytes = new Uint8Array(0)
/** Two bytes of zlib, one that starts the last block, its length and the complement of that. */
const storedHeaderBytes = 7
/** The Adler-32 checksum. */
const storedTrailerBytes = 4
/** The first bytes of zlib at level 0. */
const storedStart = 0x7801
/** The most that fits in one stored block. */
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

/** The number of objects. Throws `pack_corrupt`; versions 2 and 3 do not differ here. */
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

/** The type of the entry that starts at `at`; undefined if unknown. */
export function entryTypeAt(bytes: Uint8Array, at: number): EntryType | undefined {
  return types[((bytes[at] ?? 0) >> 4) & 7]
}

/** Decodes the header at the start of `bytes`. Throws `pack_corrupt`. */
export function decodeEntryHeader(bytes: Uint8Array): EntryHeader {
  const first = byteAt(bytes, 0)
  const type = types[(first >> 4) & 7]
  if (type === undefined) throw corruptPack('an entry has an unknown type')
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
 * Ciphertext does not compress: at level 0 it costs 11 bytes and no time. For the rest, base64 and
 * oids, level 1 takes half the time of level 6 for half a per cent more bytes.
 */
export function deflate(body: Uint8Array, level: 0 | 1): Uint8Array {
  if (level === 0 && body.length <= storedBytesMax) return store(body)
  // The default would allocate 16 KiB for each of thousands of small objects.
  return deflateBytes(body, level, deflatedBytesMax(body.length))
}

/** The same bytes as zlib at level 0, without the cost of starting zlib. */
function store(body: Uint8Array): Uint8Array {
  const { length } = body
  const deflated = Bytes.alloc(storedHeaderBytes + length + storedTrailerBytes)
  deflated.writeUInt16BE(storedStart, 0)
  deflated[2] = 1
  deflated.writeUInt16LE(length, 3)
  deflated.writeUInt16LE(length ^ 0xffff, 5)
  deflated.set(body, storedHeaderBytes)
  deflated.writeUInt32BE(adler32(body), storedHeaderBytes + length)
  return new Uint8Array(deflated.buffer, deflated.byteOffset, deflated.length)
}

/** What inflating an entry costs, in copied bytes. */
export function entryWork({ size }: Pick<EntryHeader, 'size'>): number {
  return inflationWork + size
}

/** The largest deflated size of `size` bytes, if the encoder stores what it cannot compress. */
export function deflatedBytesMax(size: number): number {
  return size + Math.ceil(size / 256) + 64
}

/**
 * Inflates `size` bytes from a zlib stream, which other bytes may follow; undefined if the stream
 * continues after `deflated`. Throws `pack_corrupt`.
 */
export function inflate(deflated: Uint8Array, size: number): Uint8Array | undefined {
  return readStored(deflated, size) ?? inflateStream(deflated, size)?.body
}

/** Like `inflate`, with the length of the stream, which a pack without an index requires. */
export function inflateMeasured(deflated: Uint8Array, size: number): Inflated | undefined {
  const stored = readStored(deflated, size)
  if (stored !== undefined) {
    return { body: stored, length: storedHeaderBytes + size + storedTrailerBytes }
  }
  return inflateStream(deflated, size)
}

function inflateStream(deflated: Uint8Array, size: number): Inflated | undefined {
  const inflated = inflateOrRefuse(deflated, size)
  if (inflated !== undefined && inflated.body.length !== size) {
    throw corruptPack('an entry is shorter than it declares')
  }
  return inflated
}

function inflateOrRefuse(deflated: Uint8Array, size: number): Inflated | undefined {
  try {
    return inflateStart(deflated, size)
  } catch (error) {
    throw corruptPack('an entry does not inflate', error)
  }
}

/**
 * Decodes one stored block, as level 0 writes it: starting zlib costs more than most entries.
 * Undefined for every other stream and for a damaged one, which zlib reads.
 */
function readStored(deflated: Uint8Array, size: number): Uint8Array | undefined {
  const end = storedHeaderBytes + size
  const length = end + storedTrailerBytes
  if (deflated.length < length || size > storedBytesMax) return undefined
  const view = Bytes.from(deflated.buffer, deflated.byteOffset, length)
  const isPlain = view.readUInt16BE(0) === storedStart && view[2] === 1
  if (!isPlain || view.readUInt16LE(3) !== size || view.readUInt16LE(5) !== (size ^ 0xffff)) {
    return undefined
  }
  // A copy: a Buffer's `slice` would be a view of a window that is overwritten.
  const body = new Uint8Array(deflated.subarray(storedHeaderBytes, end))
  return view.readUInt32BE(end) === adler32(body) ? body : undefined
}

/** RFC 1950. For so few bytes, the sums are exact without intermediate remainders. */
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

/** Groups of seven bits, highest first, each but the last reduced by one: encodings are unique. */
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
