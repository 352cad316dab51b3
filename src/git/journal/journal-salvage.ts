// Recovers the readable objects of a damaged journal file: those of its intact batches, and those
// between them. The latter needs neither batches nor sums: an object follows its oid and length,
// and its hash is its oid. Objects of an earlier use of the file are found too; they are old, but
// correct. Must not write. Anyone who plants a journal needs no key, so the search ends at a
// budget.

import { unwatched } from '../../async.ts'
import { toHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import { journalTransitionBytesMax, KIBIBYTE, journalFileBytesMax } from '../../limits.ts'
import type { Oid } from '../objects/object.ts'
import { WorkBudget } from '../pack/work-budget.ts'
import { type NamedObject, objectTypes } from './journal-frame.ts'
import { framesOf, surveyJournal } from './journal-survey.ts'

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

/** Empty if there is no such file. */
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
