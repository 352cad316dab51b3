// What is still readable in a journal file, whatever is damaged in it. Neither batches nor sums are
// needed for that: an object stands behind its name and length, and its hash is its name. What an
// earlier use of the file has left there is found too: old, and true. Writes nothing.

import { toHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { objectBytesMax } from '../../limits.ts'
import type { Oid } from '../objects/object.ts'
import { type JournalObject, objectTypes } from './journal-frame.ts'
import { framesOf, surveyJournal } from './journal-survey.ts'

const oidBytes = 20
/** Of an object: its type, its name and the length of its body. */
const objectHeaderBytes = 1 + oidBytes + 4

export interface SalvagedJournal {
  readonly objects: ReadonlyMap<Oid, JournalObject>
  /** Where intact frames led to, the last one at the end. */
  readonly heads: readonly Oid[]
}

/** Nothing if there is no such file. */
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

/** Hardly anything else has a type and a length that fits, so hardly anything is hashed in vain. */
function objectAt(view: Buffer, at: number): JournalObject | undefined {
  const type = objectTypes[(view[at] ?? 0) - 1]
  if (type === undefined) return undefined
  const start = at + objectHeaderBytes
  const length = view.readUInt32BE(start - 4)
  if (length > objectBytesMax || start + length > view.length) return undefined
  // A copy: it outlives the file, which may be large.
  const body = new Uint8Array(view.subarray(start, start + length))
  const oid = toHex(view.subarray(at + 1, at + 1 + oidBytes))
  return gitHash(type, body) === oid ? { oid, type, body } : undefined
}
