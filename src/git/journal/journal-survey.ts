// Classifies the bytes of a journal file: which batches are intact, and whether the bytes after
// them are an interrupted write that was never acknowledged, or damage; and recovers the objects of
// a damaged file. Must not write, and must never throw on any input.
//
// Before a batch is written, zeros are durable in its place and in one sector after it. A disk that
// loses power writes each sector or leaves its zeros, in any order; a process that is killed writes
// the first part. So an interrupted write leaves zeros in place of other bytes. Everything else
// that is not a batch is damage; so are zeros before a position that a later batch calls durable.
//
// No sum in a file has a key, so anyone who plants one chooses what the heads in it declare.
// Batches that a writer placed do not overlap, and hashing them costs the file's size once: a
// search that has hashed twice as much ends, and the file is treated as damaged.

import { unwatched } from '../../async.ts'
import { equalBytes, isZero, toHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import { journalFileBytesMax, journalTransitionBytesMax, KIBIBYTE } from '../../limits.ts'
import type { Oid } from '../objects/object.ts'
import { WorkBudget } from '../pack/work-budget.ts'
import {
  type Batch,
  batchBytes,
  batchHeadBytes,
  findBatch,
  findHead,
  type Frame,
  type NamedObject,
  objectTypes,
  type Origin,
  sectorBytes,
  sectorEnd,
} from './journal-frame.ts'

export const journalNames: readonly [string, string] = ['journal-a', 'journal-b']

/** What follows the last batch of a file. */
export type Rest = 'zeros' | 'torn' | 'damaged'

export interface JournalSurvey {
  /** The contiguous intact batches from the start of the file to `end`. */
  readonly before: readonly Batch[]
  readonly end: number
  readonly rest: Rest
  /** Intact batches after `end`, in the order of the file. */
  readonly after: readonly Batch[]
  /** The bytes from `end` to the first of those, or to the last byte that is not zero. */
  readonly damage: { readonly start: number; readonly end: number } | undefined
}

export function surveyJournal(bytes: Uint8Array): JournalSurvey {
  const before: Batch[] = []
  let end = 0
  for (let next = findNext(bytes, before); next !== undefined; next = findNext(bytes, before)) {
    before.push(next)
    end = next.end
  }
  const behind = bytes.subarray(end)
  const rest = classifyRest(behind, end)
  if (rest === 'zeros') return { before, end, rest, after: [], damage: undefined }
  const { batches: after } = findBatches(behind, end)
  const damageEnd = after[0]?.start ?? Math.max(end, bytes.length - trailingZeros(bytes))
  const damage = rest === 'torn' ? undefined : { start: end, end: damageEnd }
  return { before, end, rest, after, damage }
}

/** Classifies what follows the last batch, which ends at `end`, up to the end of the file. */
export function classifyRest(rest: Uint8Array, end: number): Rest {
  const isEmpty = end === 0
  // A write always finds zeros in its place, so a shorter file has been truncated.
  if (isZero(rest)) return isEmpty || rest.length >= sectorBytes ? 'zeros' : 'damaged'
  const { batches, overlap } = findBatches(rest, end)
  if (overlap) return 'damaged'
  if (batches.some(({ durable }) => durable > end)) return 'damaged'
  // Nothing is written after the first batch before that is durable.
  if (isEmpty && !isZero(rest.subarray(sectorBytes))) return 'damaged'
  return isTorn(rest, end) ? 'torn' : 'damaged'
}

/** Whether a batch belongs to the same use of a file as another. */
export function isOfSame(origin: Origin, { generation, salt }: Origin): boolean {
  return generation === origin.generation && equalBytes(salt, origin.salt)
}

/** Surveys the journal files of a store by name; `ownDirectory` is its `gitlocket/`. */
export function surveyJournals(
  disk: Disk,
  ownDirectory: string,
): ReadonlyMap<string, JournalSurvey> {
  const surveys = journalNames.map((name): [string, JournalSurvey] => {
    const bytes = disk.readFile(`${ownDirectory}/${name}`, journalFileBytesMax) ?? new Uint8Array(0)
    return [name, surveyJournal(bytes)]
  })
  return new Map(surveys)
}

export function framesOf(batches: readonly Batch[]): readonly Frame[] {
  return batches.flatMap(({ frames }) => frames)
}

function findNext(bytes: Uint8Array, before: readonly Batch[]): Batch | undefined {
  const [first, last] = [before[0], before.at(-1)]
  const start = last?.end ?? 0
  const batch = findIntact(bytes.subarray(start), start)
  if (batch === undefined || batch.end > bytes.length) return undefined
  return first === undefined || isOfSame(first, batch) ? batch : undefined
}

/**
 * Every intact batch in bytes that begin at a sector boundary. `overlap`: the search ended early,
 * since too many bytes were declared twice.
 */
function findBatches(bytes: Uint8Array, position: number) {
  const batches: Batch[] = []
  let hashed = 0
  for (let at = 0; at < bytes.length;) {
    const rest = bytes.subarray(at)
    const head = findHead(rest, position + at)
    const length = head === undefined ? 0 : batchBytes(head)
    if (length <= rest.length) hashed += length
    if (hashed > 2 * bytes.length) return { batches, overlap: true }
    const batch = head && findIntact(rest, position + at)
    if (batch !== undefined) batches.push(batch)
    at = batch === undefined ? at + sectorBytes : batch.end - position
  }
  return { batches, overlap: false }
}

/** Like `findBatch`, but undefined for frames that no journal wrote. */
function findIntact(bytes: Uint8Array, start: number): Batch | undefined {
  try {
    return findBatch(bytes, start)
  } catch {
    return undefined
  }
}

/** Whether zeros in the batch at the start of `rest` show that it was not written completely. */
function isTorn(rest: Uint8Array, start: number): boolean {
  if (rest.length < sectorBytes) return false
  if (rest[batchHeadBytes - 1] === 0) return true
  const head = findHead(rest, start)
  if (head === undefined) return false
  const length = batchBytes(head)
  if (sectorEnd(length) > rest.length) return false
  if (rest[length - 1] === 0) return true
  for (let at = sectorBytes; at < length; at += sectorBytes) {
    if (isZero(rest.subarray(at, Math.min(at + sectorBytes, length)))) return true
  }
  return false
}

function trailingZeros(bytes: Uint8Array): number {
  let count = 0
  while (count < bytes.length && bytes[bytes.length - 1 - count] === 0) count += 1
  return count
}

const oidBytes = 20
/** The type of an object, its oid and the length of its body. */
const objectHeaderBytes = 1 + oidBytes + 4
/** Positions that are searched in one step. */
const stepBytes = 64 * KIBIBYTE

export interface SalvagedJournal {
  readonly objects: ReadonlyMap<Oid, NamedObject>
  /** The commits that intact frames moved the branch to; the newest last. */
  readonly heads: readonly Oid[]
}

/**
 * The readable objects of a file, which may be missing: those of its intact batches, and those
 * between them, which need no sums: an object follows its oid and length, and its hash is its oid.
 * Objects of an earlier use of the file are found too; they are old, but correct. Anyone who plants
 * a journal needs no key, so the search ends at a budget.
 */
export function* salvageJournal(disk: Disk, path: string): Generator<undefined, SalvagedJournal> {
  const bytes = disk.readFile(path, journalFileBytesMax) ?? new Uint8Array(0)
  const { before, after } = surveyJournal(bytes)
  const batches = [...before, ...after]
  const frames = framesOf(batches)
  const objects = new Map<Oid, NamedObject>()
  for (const object of frames.flatMap((frame) => frame.objects)) {
    const { oid, type, body } = object
    // A copy, so that the whole file is not kept in memory.
    if (gitHash(type, body) === oid) objects.set(oid, { oid, type, body: body.slice() })
    yield
  }
  const budget = new WorkBudget(bytes.length, unwatched)
  let at = 0
  try {
    for (const { start, end } of [...batches, { start: bytes.length, end: bytes.length }]) {
      yield* findObjects(bytes.subarray(at, start), budget, objects)
      at = end
    }
  } catch (error) {
    // The budget is spent.
    if (!hasCode(error, 'pack_corrupt')) throw error
  }
  return { objects, heads: frames.map(({ next }) => next) }
}

/** Adds the objects in bytes outside of intact batches. */
function* findObjects(
  bytes: Uint8Array,
  budget: WorkBudget,
  objects: Map<Oid, NamedObject>,
): Generator<undefined, void> {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let at = 0; at + objectHeaderBytes <= view.length;) {
    const end = endOfObject(view, at)
    const body = view.subarray(at + objectHeaderBytes, end)
    if (end !== undefined) budget.spend(body.length + objectHeaderBytes)
    const object = end === undefined ? undefined : objectIn(view, at, body)
    if (object !== undefined) objects.set(object.oid, object)
    if (end !== undefined || at % stepBytes === 0) yield
    at = object === undefined || end === undefined ? at + 1 : end
  }
}

/** The end of an object at `at`. Few other bytes have a valid type and length: few are hashed. */
function endOfObject(view: Buffer, at: number): number | undefined {
  if (objectTypes[(view[at] ?? 0) - 1] === undefined) return undefined
  const start = at + objectHeaderBytes
  const length = view.readUInt32BE(start - 4)
  // A larger transition is not in the journal.
  if (length > journalTransitionBytesMax || start + length > view.length) return undefined
  return start + length
}

function objectIn(view: Buffer, at: number, body: Uint8Array): NamedObject | undefined {
  const type = objectTypes[(view[at] ?? 0) - 1]
  const oid = toHex(view.subarray(at + 1, at + 1 + oidBytes))
  if (type === undefined || gitHash(type, body) !== oid) return undefined
  return { oid, type, body: new Uint8Array(body) }
}
