// A cache file that is too large for one turn of the event loop: a sequence of parts, each sealed
// by itself as u32 length ‖ envelope. The generation in an envelope's context (FORMAT §3.1) is the
// part's number, so parts cannot be reordered. A plaintext is 16 random bytes that identify the
// file, so that parts of two files cannot be mixed ‖ u32 length ‖ bytes; an empty last part marks
// the end.

import { dirname } from 'node:path'
import { concatBytes, equalBytes } from '../../bytes.ts'
import { atomicWrite, makeDurableDirectory } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { TimeSlice } from '../../time-slice.ts'
import {
  type CacheOwner,
  type CachePlace,
  openCache,
  otherRelease,
  sealCache,
  wholeOrNone,
} from './sealed-cache.ts'

/** The place of a file in parts; the generation is the number of each part. */
export type PartedPlace = Omit<CachePlace, 'generation'>

const fileIdBytes = 16
const lengthBytes = 4

/**
 * Durable and atomic: a reader finds the old file or the new one. No part is empty.
 */
export async function writeParts(
  owner: CacheOwner,
  place: PartedPlace,
  parts: Iterable<Uint8Array>,
): Promise<void> {
  const id = owner.random(fileIdBytes)
  const sealed: Uint8Array[] = []
  const slice = new TimeSlice()
  const seal = (part: Uint8Array): void => {
    const generation = sealed.length / 2
    const plaintext = concatBytes(id, lengthOf(part), part)
    const envelope = sealCache(owner, { ...place, generation }, plaintext)
    sealed.push(lengthOf(envelope), envelope)
  }
  for (const part of parts) {
    seal(part)
    if (slice.isOver()) await slice.next()
  }
  seal(new Uint8Array())
  await makeDurableDirectory(owner.disk, dirname(place.path))
  await atomicWrite(owner.disk, place.path, concatBytes(...sealed))
}

/** The parts; undefined unless the file is whole and of this device. */
export async function findParts(
  owner: CacheOwner,
  place: PartedPlace,
): Promise<readonly Uint8Array[] | undefined> {
  const bytes = owner.disk.readFile(place.path)
  if (bytes === undefined) return undefined
  const parts = new Parts(owner, place, bytes)
  const found: Uint8Array[] = []
  const slice = new TimeSlice()
  for (;;) {
    const part = wholeOrNone(() => parts.next())
    if (part === undefined) return undefined
    if (part.length === 0) return parts.isAtEnd ? found : undefined
    found.push(part)
    if (slice.isOver()) await slice.next()
  }
}

/** The first part only; the rest of the file is not checked. */
export function findFirstPart(owner: CacheOwner, place: PartedPlace): Uint8Array | undefined {
  const bytes = owner.disk.readFile(place.path)
  const part = bytes && wholeOrNone(() => new Parts(owner, place, bytes).next())
  return part?.length === 0 ? undefined : part
}

class Parts {
  readonly #owner: CacheOwner
  readonly #place: PartedPlace
  readonly #bytes: Uint8Array
  #id: Uint8Array | undefined
  #number = 0
  #at = 0

  constructor(owner: CacheOwner, place: PartedPlace, bytes: Uint8Array) {
    this.#owner = owner
    this.#place = place
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  /** The next part; empty for the last one. Throws an envelope code. */
  next(): Uint8Array {
    const generation = this.#number
    const padded = openCache(this.#owner, { ...this.#place, generation }, this.#envelope())
    const id = padded.subarray(0, fileIdBytes)
    if (this.#id !== undefined && !equalBytes(this.#id, id)) throw damaged()
    this.#id = id
    this.#number += 1
    const start = fileIdBytes + lengthBytes
    const end = start + lengthAt(padded, fileIdBytes)
    // Another release had no length here.
    if (end > padded.length) throw otherRelease()
    return padded.subarray(start, end)
  }

  #envelope(): Uint8Array {
    const start = this.#at + lengthBytes
    if (start > this.#bytes.length) throw damaged()
    this.#at = start + lengthAt(this.#bytes, this.#at)
    if (this.#at > this.#bytes.length) throw damaged()
    return this.#bytes.subarray(start, this.#at)
  }
}

function lengthOf({ length }: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(lengthBytes)
  new DataView(bytes.buffer).setUint32(0, length)
  return bytes
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(at)
}

function damaged(): StoreError {
  return new StoreError('envelope_truncated', 'A local file is truncated or mixed from two files')
}
