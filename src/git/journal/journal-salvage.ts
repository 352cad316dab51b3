// Recovers the readable objects of a damaged journal file. That needs neither batches nor sums: an
// object follows its oid and length, and its hash is its oid. Objects of an earlier use of the file
// are found too; they are old, but correct. Must not write.

import { toHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { objectBytesMax } from '../../limits.ts'
import type { Oid } from '../objects/object.ts'
import { type JournalObject, objectTypes } from './journal-frame.ts'
import { framesOf, surveyJournal } from './journal-survey.ts'

const oidBytes = 20
/** The type of an object, its oid and the length of its body. */
const objectHeaderBytes = 1 + oidBytes + 4

export interface SalvagedJournal {
  readonly objects: ReadonlyMap<Oid, JournalObject>
  /** The commits that intact frames moved the branch to; the newest last. */
  readonly heads: readonly Oid[]
}

/** Empty if there is no such file. */
export function salvageJournal(disk: Disk, path: string): SalvagedJournal {
  const bytes = disk.readFile(path) ?? new Uint8Array(0)
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const { before, after } = surveyJournal(bytes)
  const heads = framesOf([...before, ...after]).map(({ next }) => next)
  return { objects: findObjects(view), heads }
}

function findObjects(view: Buffer): ReadonlyMap<Oid, JournalObject> {
  const objects = new Map<Oid, JournalObject>()
  for (let at = 0; at + objectHeaderBytes <= view.length;) {
    const object = objectAt(view, at)
    if (object !== undefined) objects.set(object.oid, object)
    at += object === undefined ? 1 : objectHeaderBytes + object.body.length
  }
  return objects
}

/** Few other bytes have a valid type and length, so few are hashed in vain. */
function objectAt(view: Buffer, at: number): JournalObject | undefined {
  const type = objectTypes[(view[at] ?? 0) - 1]
  if (type === undefined) return undefined
  const start = at + objectHeaderBytes
  const length = view.readUInt32BE(start - 4)
  if (length > objectBytesMax || start + length > view.length) return undefined
  // A copy, so that the whole file is not kept in memory.
  const body = new Uint8Array(view.subarray(start, start + length))
  const oid = toHex(view.subarray(at + 1, at + 1 + oidBytes))
  return gitHash(type, body) === oid ? { oid, type, body } : undefined
}
