// The bytes of a journal file. Pure. Must never trust a length before it is bounded.
//
//   file   = batches, each from the start of a sector on, then zeros: at least one sector of them
//   batch  = head 57 ‖ frames ‖ sum 16 ‖ FF ‖ zeros up to the end of the sector
//   head   = "GLJ2" ‖ u32 length of frames ‖ u64 generation ‖ salt 16 ‖ u64 durable ‖ sum 16 ‖ FF
//   frame  = u32 length of the rest ‖ expected oid 20 (zero: none) ‖ next oid 20 ‖ objects
//   object = u8 type ‖ oid 20 ‖ u32 length ‖ body (not deflated: the write path is kept cheap)
//
// A batch holds what one append wrote: a frame for each transition. The first batch of a file has
// none, and gives the file its generation and salt, which all others repeat. `durable` is the
// position up to which the file was durable when the batch was written; what follows it was in the
// same write, or in one of a process that died, and was not acknowledged before this batch was.
//
// The sum of the head covers the batch's position and the head's fields; the sum after the frames
// covers all of these and the frames. If a sum or its byte FF ends in zeros, the write was cut off
// there; no flip of one bit of FF makes it zero (journal-survey.ts).

import { ByteReader, ByteWriter, concatBytes, equalBytes, toHex } from '../../bytes.ts'
import { sha256 } from '../../crypto/digest.ts'
import { assert, StoreError } from '../../errors.ts'
import type { Transition } from '../object-store.ts'
import type { ObjectType, Oid } from '../objects/object.ts'

/** A disk writes this much atomically; its own sectors may be larger. */
export const sectorBytes: number = 512
export const batchHeadBytes: number = 57
/** The sum after the frames, and the byte FF. */
const batchTailBytes: number = 17
export const saltBytes: number = 16
export const magicBytes: number = 4

const sumBytes = 16
const magic = Uint8Array.of(0x47, 0x4c, 0x4a, 0x32)
const mark = Uint8Array.of(0xff)
export const objectTypes: readonly ObjectType[] = ['commit', 'tree', 'blob']
const zeroOid = '0'.repeat(40)

export interface NamedObject {
  readonly oid: Oid
  readonly type: ObjectType
  readonly body: Uint8Array
}

export interface JournalObject extends NamedObject {
  /** Whether its bytes are known to have the oid. */
  isVerified: boolean
}

export interface Frame {
  readonly expected: Oid | undefined
  readonly next: Oid
  readonly objects: readonly JournalObject[]
}

/** The common fields of all batches from one use of a file. */
export interface Origin {
  /** Rises at every switch between the two files; at least 1. */
  readonly generation: number
  readonly salt: Uint8Array
}

export interface BatchHead extends Origin {
  readonly length: number
  readonly durable: number
}

export interface Batch extends BatchHead {
  /** Positions in the file; `end` is where the next batch begins. */
  readonly start: number
  readonly end: number
  readonly frames: readonly Frame[]
}

/**
 * The bytes of a batch, padded to the next sector, and its frames, whose objects are views of these
 * bytes.
 */
export function encodeBatch(
  { generation, salt }: Origin,
  place: { readonly start: number; readonly durable: number },
  transitions: readonly Transition[],
): { readonly bytes: Uint8Array; readonly frames: readonly Frame[] } {
  let length = 0
  for (const transition of transitions) length += frameBytes(transition)
  assert(length < 2 ** 32, 'a batch of the journal is too large')
  const fields = new ByteWriter().raw(magic).u32(length).u64(generation).raw(salt)
  const head = fields.u64(place.durable).bytes()
  // Encoded in place: a command writes a few kilobytes, and each copy would be garbage.
  const bytes = new Uint8Array(sectorEnd(batchHeadBytes + length + batchTailBytes))
  bytes.set(concatBytes(head, headSum(place.start, head), mark))
  const frames: Frame[] = []
  let at = batchHeadBytes
  for (const transition of transitions) {
    frames.push(writeFrame(bytes, at, transition))
    at += frameBytes(transition)
  }
  bytes.set(concatBytes(bodySum(bytes.subarray(0, at)), mark), at)
  return { bytes, frames }
}

/** The head of a batch at `start`; undefined if any bit of it is wrong. */
export function findHead(bytes: Uint8Array, start: number): BatchHead | undefined {
  if (bytes.length < batchHeadBytes || bytes[batchHeadBytes - 1] !== mark[0]) return undefined
  const fields = bytes.subarray(0, batchHeadBytes - sumBytes - mark.length)
  const sum = bytes.subarray(fields.length, fields.length + sumBytes)
  if (!equalBytes(headSum(start, fields), sum)) return undefined
  const reader = new ByteReader(fields, damaged)
  if (!equalBytes(reader.raw(magicBytes), magic)) return undefined
  const [length, generation] = [reader.u32(), reader.u64()]
  return { length, generation, salt: reader.raw(saltBytes), durable: reader.u64() }
}

/** The length of a batch without its padding. */
export function batchBytes({ length }: BatchHead): number {
  return batchHeadBytes + length + batchTailBytes
}

/** The batch at `start`, where `bytes` begins; undefined if any bit of it is wrong. */
export function findBatch(bytes: Uint8Array, start: number): Batch | undefined {
  const head = findHead(bytes, start)
  if (head === undefined || batchBytes(head) > bytes.length) return undefined
  const body = bytes.subarray(0, batchHeadBytes + head.length)
  const tail = bytes.subarray(body.length, body.length + batchTailBytes)
  if (!equalBytes(tail, concatBytes(bodySum(body), mark))) return undefined
  const frames = decodeFrames(body.subarray(batchHeadBytes))
  return { ...head, start, end: start + sectorEnd(batchBytes(head)), frames }
}

/** The first sector boundary at or after a position. */
export function sectorEnd(position: number): number {
  return Math.ceil(position / sectorBytes) * sectorBytes
}

/** The frames of transitions, without a batch around them. */
export function encodeFrames(transitions: readonly Transition[]): Uint8Array {
  const bytes = new Uint8Array(transitions.reduce((sum, one) => sum + frameBytes(one), 0))
  let at = 0
  for (const transition of transitions) {
    writeFrame(bytes, at, transition)
    at += frameBytes(transition)
  }
  return bytes
}

/** Decodes frames whose sum is valid, so that a malformed one is no damage by the disk. */
export function decodeFrames(bytes: Uint8Array): readonly Frame[] {
  const reader = new ByteReader(bytes, damaged)
  const frames: Frame[] = []
  while (reader.remaining > 0) frames.push(decodeFrame(reader.raw(reader.u32())))
  return frames
}

function decodeFrame(bytes: Uint8Array): Frame {
  const reader = new ByteReader(bytes, damaged)
  const expected = toHex(reader.raw(20))
  const next = toHex(reader.raw(20))
  const objects: JournalObject[] = []
  while (reader.remaining > 0) objects.push(decodeObject(reader))
  return { expected: expected === zeroOid ? undefined : expected, next, objects }
}

function decodeObject(reader: ByteReader): JournalObject {
  const type = objectTypes[reader.u8() - 1]
  if (type === undefined) throw damaged('an object in it has an unknown type')
  const oid = toHex(reader.raw(20))
  return { oid, type, body: reader.raw(reader.u32()), isVerified: false }
}

function frameBytes({ objects }: Transition): number {
  let length = 4 + 40
  for (const { body } of objects) length += 25 + body.length
  return length
}

/**
 * Writes a frame to `start`, and returns it with its objects as views: they live for seconds, and
 * thousands of small allocations would fragment the heap.
 */
function writeFrame(bytes: Uint8Array, start: number, transition: Transition): Frame {
  const { expected, next } = transition
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = view.writeUInt32BE(frameBytes(transition) - 4, start)
  at = writeOid(view, at, expected ?? zeroOid)
  at = writeOid(view, at, next)
  const objects: JournalObject[] = []
  for (const { type, oid, body } of transition.objects) {
    at = view.writeUInt8(objectTypes.indexOf(type) + 1, at)
    at = writeOid(view, at, oid)
    at = view.writeUInt32BE(body.length, at)
    bytes.set(body, at)
    const own = bytes.subarray(at, at + body.length)
    objects.push({ oid, type, body: own, isVerified: true })
    at += body.length
  }
  return { expected, next, objects }
}

function writeOid(bytes: Buffer, at: number, oid: Oid): number {
  assert(bytes.write(oid, at, 'hex') === 20, 'an oid has 40 digits')
  return at + 20
}

function headSum(start: number, fields: Uint8Array): Uint8Array {
  return sha256(new ByteWriter().u64(start).raw(fields).bytes()).subarray(0, sumBytes)
}

/** The body includes the head's sum, and with it the position. */
function bodySum(body: Uint8Array): Uint8Array {
  return sha256(body).subarray(0, sumBytes)
}

export function damaged(problem: string): StoreError {
  return new StoreError('journal_corrupt', `The journal of the store is damaged: ${problem}`)
}
