// The bytes of a journal file. Pure. Must never trust a length before it is bounded.
//
//   file   = "GLJ1" ‖ u32 0 ‖ u64 generation ‖ salt 16, then frames, then zeros or stale bytes
//   frame  = "GLF1" ‖ u32 payload length ‖ payload ‖ checksum 16
//   payload = expected oid 20 (zero: none) ‖ next oid 20 ‖ objects
//   object = u8 type ‖ oid 20 ‖ u32 length ‖ body (not deflated: the write path is kept cheap)
//
// A checksum covers the one before it, so frames are valid only in the sequence in which they were
// written after this header: stale bytes of an earlier use can never continue a journal.

import { ByteReader, ByteWriter, concatBytes, equalBytes, fromHex, toHex } from '../bytes.ts'
import { sha256 } from '../crypto/digest.ts'
import { assert, StoreError } from '../errors.ts'
import type { ObjectType, Oid } from './object.ts'
import type { Transition } from './object-store.ts'

export const journalHeaderBytes: number = 32
export const frameHeaderBytes: number = 8
export const checksumBytes: number = 16

const journalMagic = Uint8Array.of(0x47, 0x4c, 0x4a, 0x31)
const frameMagic = Uint8Array.of(0x47, 0x4c, 0x46, 0x31)
const objectTypes: readonly ObjectType[] = ['commit', 'tree', 'blob']
const zeroOid = '0'.repeat(40)

export interface JournalObject {
  readonly oid: Oid
  readonly type: ObjectType
  readonly body: Uint8Array
}

/** One transition in a journal file. `end` is the position after it. */
export interface Frame {
  readonly expected: Oid | undefined
  readonly next: Oid
  readonly objects: readonly JournalObject[]
  readonly end: number
}

export function encodeJournalHeader(generation: number, salt: Uint8Array): Uint8Array {
  return new ByteWriter().raw(journalMagic).u32(0).u64(generation).raw(salt).bytes()
}

/**
 * The generation, or 0 for an empty journal: one that is short, or starts with a zero byte, so that
 * emptying it needs no more than one byte to reach the disk.
 */
export function decodeJournalHeader(header: Uint8Array): number {
  if (header.length < journalHeaderBytes || header[0] === 0) return 0
  const reader = new ByteReader(header, damaged)
  if (!equalBytes(reader.raw(4), journalMagic)) throw damaged('its header is not known')
  if (reader.u32() !== 0) throw damaged('a newer gitlocket wrote it')
  return reader.u64()
}

/** What the first frame's checksum is chained to. */
export function headerChecksum(header: Uint8Array): Uint8Array {
  return sha256(header).subarray(0, checksumBytes)
}

/** Frames for a journal whose last checksum is `previous`, to be written at `position`. */
export function encodeFrames(
  transitions: readonly Transition[],
  previous: Uint8Array,
  position: number,
): { bytes: Uint8Array; frames: Frame[]; checksum: Uint8Array } {
  const parts: Uint8Array[] = []
  const frames: Frame[] = []
  let checksum = previous
  let end = position
  for (const transition of transitions) {
    const body = encodeFrameBody(transition)
    checksum = frameChecksum(checksum, body)
    parts.push(body, checksum)
    end += body.length + checksumBytes
    frames.push({ ...transition, end })
  }
  return { bytes: concatBytes(...parts), frames, checksum }
}

/**
 * The length of the payload that a frame header announces, or undefined if no frame starts here:
 * `room` is the number of bytes that follow the header.
 */
export function framePayloadLength(header: Uint8Array, room: number): number | undefined {
  if (header.length < frameHeaderBytes) return undefined
  if (!equalBytes(header.subarray(0, 4), frameMagic)) return undefined
  const length = new DataView(header.buffer, header.byteOffset).getUint32(4)
  return length + checksumBytes <= room ? length : undefined
}

/** Checksum of `body`, a frame's header and payload, after the frame with checksum `previous`. */
export function frameChecksum(previous: Uint8Array, body: Uint8Array): Uint8Array {
  return sha256(concatBytes(previous, body)).subarray(0, checksumBytes)
}

/** Decodes a payload whose checksum was right, so that a fault in it is not a torn write. */
export function decodePayload(payload: Uint8Array, end: number): Frame {
  const reader = new ByteReader(payload, damaged)
  const expected = toHex(reader.raw(20))
  const next = toHex(reader.raw(20))
  const objects: JournalObject[] = []
  while (reader.remaining > 0) objects.push(decodeObject(reader))
  return { expected: expected === zeroOid ? undefined : expected, next, objects, end }
}

function decodeObject(reader: ByteReader): JournalObject {
  const type = objectTypes[reader.u8() - 1]
  if (type === undefined) throw damaged('an object in it has no known type')
  const oid = toHex(reader.raw(20))
  return { oid, type, body: reader.raw(reader.u32()) }
}

function encodeFrameBody(transition: Transition): Uint8Array {
  let length = 40
  for (const object of transition.objects) length += 25 + object.body.length
  assert(length < 2 ** 32, 'a journal frame is too large')
  const writer = new ByteWriter().raw(frameMagic).u32(length)
  writer.raw(fromHex(transition.expected ?? zeroOid)).raw(fromHex(transition.next))
  for (const { type, oid, body } of transition.objects) {
    writer
      .u8(objectTypes.indexOf(type) + 1)
      .raw(fromHex(oid))
      .u32(body.length)
      .raw(body)
  }
  return writer.bytes()
}

function damaged(problem: string): StoreError {
  return new StoreError('journal_corrupt', `The journal of the store is damaged: ${problem}`)
}
