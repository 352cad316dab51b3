// A cache file that is too large for one turn of the event loop: a sequence of JSON values, each
// sealed by itself as u32 length ‖ envelope. The generation in an envelope's context (FORMAT §3.1)
// is the part's number, so parts cannot be reordered. Each plaintext begins with 16 random bytes
// that identify the file, so parts of two files cannot be mixed; an empty last part marks the end.

import { dirname } from 'node:path'
import { concatBytes, equalBytes, utf8, utf8Text } from '../../bytes.ts'
import { atomicWrite, makeDurableDirectory } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { TimeSlice } from '../../time-slice.ts'
import {
  type CacheOwner,
  type CachePlace,
  openCache,
  sealCache,
  untilPadding,
  wholeOrNone,
} from './sealed-cache.ts'

/** The place of a file in parts; the generation is the number of each part. */
export type PartedPlace = Omit<CachePlace, 'generation'>

const fileIdBytes = 16
const lengthBytes = 4

/** Durable and atomic: a reader finds the old file or the new one. */
export async function writeParts(
  owner: CacheOwner,
  place: PartedPlace,
  values: Iterable<object>,
): Promise<void> {
  const id = owner.random(fileIdBytes)
  const sealed: Uint8Array[] = []
  const slice = new TimeSlice()
  const seal = (plaintext: Uint8Array): void => {
    const generation = sealed.length / 2
    const envelope = sealCache(owner, { ...place, generation }, concatBytes(id, plaintext))
    sealed.push(lengthOf(envelope), envelope)
  }
  for (const value of values) {
    seal(utf8(JSON.stringify(value)))
    if (slice.isOver()) await slice.next()
  }
  seal(new Uint8Array())
  await makeDurableDirectory(owner.disk, dirname(place.path))
  await atomicWrite(owner.disk, place.path, concatBytes(...sealed))
}

/** The values; undefined unless the file is whole and of this device. */
export async function findParts<T>(
  owner: CacheOwner,
  place: PartedPlace,
): Promise<readonly T[] | undefined> {
  const bytes = owner.disk.readFile(place.path)
  if (bytes === undefined) return undefined
  const parts = new Parts(owner, place, bytes)
  const values: T[] = []
  const slice = new TimeSlice()
  for (;;) {
    const text = wholeOrNone(() => parts.next())
    if (text === undefined) return undefined
    if (text === '') return parts.isAtEnd ? values : undefined
    // Authenticated as this device's: it has the shape that this device writes.
    values.push(JSON.parse(text))
    if (slice.isOver()) await slice.next()
  }
}

/** The first value only; the rest of the file is not checked. */
export function findFirstPart<T>(
  owner: CacheOwner,
  place: PartedPlace,
  isFirst: (value: Partial<T>) => value is T,
): T | undefined {
  const bytes = owner.disk.readFile(place.path)
  if (bytes === undefined) return undefined
  const text = wholeOrNone(() => new Parts(owner, place, bytes).next())
  if (text === undefined || text === '') return undefined
  const value: Partial<T> = JSON.parse(text)
  return isFirst(value) ? value : undefined
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

  /** The text of the next part; empty for the last one. Throws an envelope code. */
  next(): string {
    const generation = this.#number
    const padded = openCache(this.#owner, { ...this.#place, generation }, this.#envelope())
    const id = padded.subarray(0, fileIdBytes)
    if (this.#id !== undefined && !equalBytes(this.#id, id)) throw damaged()
    this.#id = id
    this.#number += 1
    return utf8Text(untilPadding(padded.subarray(fileIdBytes)))
  }

  #envelope(): Uint8Array {
    const start = this.#at + lengthBytes
    if (start > this.#bytes.length) throw damaged()
    const length = new DataView(this.#bytes.buffer, this.#bytes.byteOffset).getUint32(this.#at)
    this.#at = start + length
    if (this.#at > this.#bytes.length) throw damaged()
    return this.#bytes.subarray(start, this.#at)
  }
}

function lengthOf(envelope: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(lengthBytes)
  new DataView(bytes.buffer).setUint32(0, envelope.length)
  return bytes
}

function damaged(): StoreError {
  return new StoreError('envelope_truncated', 'A local file is truncated or mixed from two files')
}
