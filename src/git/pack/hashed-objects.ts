// The objects of a pack that was just received, as its check has read and hashed them: the
// verification that follows need not find, inflate and hash each of them again, some several
// times. In shared memory, which threads read without a copy; bounded, and garbage once the
// verification ends. Trees are kept as the deltas that they were received as.

import { cachesOfProcess } from '../../cache-budget.ts'
import { assert } from '../../errors.ts'
import {
  deltaCacheBytes,
  hashedBytesMax,
  hashedFreeBytes,
  hashedObjectsMax,
  KIBIBYTE,
  MEBIBYTE,
} from '../../limits.ts'
import { availableMemory, sharedMemory } from '../../platform/threads.ts'
import type { HashedColumns } from '../exchange.ts'
import type { GitObject, ObjectType, Oid, SizeLimit } from '../objects/object.ts'
import { OidTable } from '../objects/oid-table.ts'
import { DeltaBaseCache } from './delta-base-cache.ts'
import { applyDelta } from './delta.ts'

/** A verification of a pack with fewer objects takes no time. */
const objectsMin = 1024
const chunkBytes = 4 * MEBIBYTE
/** Larger objects are rare, and are read from the pack. */
const objectBytesMax = 64 * KIBIBYTE
/** Copies of objects up to the second size share buffers of the first. */
const slabBytes = 32 * KIBIBYTE
const sharedBytesMax = 4 * KIBIBYTE
const TREE = 2
/** By the number of a type. */
const TYPES: readonly ObjectType[] = ['commit', 'tree', 'blob']

/** The bytes of each type that are kept where `free` bytes of memory are free. */
export function boundsFor(free: number): typeof hashedBytesMax {
  const share = Math.min(1, free / hashedFreeBytes)
  const { commit, tree, blob } = hashedBytesMax
  return { commit: commit * share, tree: tree * share, blob: blob * share }
}

/** Collects the objects while a pack is checked. */
export class HashedObjectsBuilder {
  readonly #oids: OidTable
  readonly #types: Uint8Array
  readonly #starts: Uint32Array
  readonly #lengths: Uint16Array
  readonly #bases: Int32Array
  readonly #chunks: Uint8Array[] = []
  #used = 0
  readonly #left: Record<ObjectType, number>

  /** Undefined for a pack that is too small, or has too many objects. */
  static of(oids: OidTable, count: number): HashedObjectsBuilder | undefined {
    if (count < objectsMin || count > hashedObjectsMax) return undefined
    return new HashedObjectsBuilder(oids, count)
  }

  constructor(
    oids: OidTable,
    count: number,
    bytesMax: typeof hashedBytesMax = boundsFor(availableMemory()),
  ) {
    this.#oids = oids
    this.#left = { ...bytesMax }
    this.#types = new Uint8Array(sharedMemory(count))
    this.#starts = new Uint32Array(sharedMemory(4 * count))
    this.#lengths = new Uint16Array(sharedMemory(2 * count))
    this.#bases = new Int32Array(sharedMemory(4 * count))
  }

  /** Keeps the data of a delta whose object is not known yet, as far as there is room. */
  addDelta(row: number, data: Uint8Array): void {
    this.#keep(row, 'tree', data)
  }

  /** The data of a row as it was kept, which is that of an object or of a delta. */
  dataOf(row: number): Uint8Array | undefined {
    const length = this.#lengths[row] ?? 0
    if (length === 0) return undefined
    const start = this.#starts[row] ?? 0
    const at = start % chunkBytes
    return this.#chunks[Math.floor(start / chunkBytes)]?.subarray(at, at + length)
  }

  /** Keeps the object of a row, as far as there is room. `base` is the row of a delta's base. */
  add(row: number, type: ObjectType, body: Uint8Array, base: number = -1): void {
    const isDelta = type === 'tree' && this.#types[base] === TREE && this.#lengths[row] !== 0
    if (!isDelta && !this.#keep(row, type, body)) return
    this.#bases[row] = isDelta ? base : -1
    this.#types[row] = TYPES.indexOf(type) + 1
  }

  #keep(row: number, type: ObjectType, bytes: Uint8Array): boolean {
    const { length } = bytes
    if (length >= objectBytesMax || length > this.#left[type]) return false
    this.#left[type] -= length
    this.#starts[row] = this.#write(bytes)
    this.#lengths[row] = length
    return true
  }

  columns(): HashedColumns {
    return {
      oids: this.#oids.columns,
      types: this.#types,
      starts: this.#starts,
      lengths: this.#lengths,
      bases: this.#bases,
      chunks: this.#chunks,
    }
  }

  #write(bytes: Uint8Array): number {
    const end = this.#chunks.length * chunkBytes
    if (this.#used + bytes.length > end) {
      this.#chunks.push(new Uint8Array(sharedMemory(chunkBytes)))
      this.#used = end
    }
    const start = this.#used
    this.#chunks.at(-1)?.set(bytes, start % chunkBytes)
    this.#used += bytes.length
    return start
  }
}

export class HashedObjects {
  readonly #oids: OidTable
  readonly #columns: HashedColumns
  readonly #cache: DeltaBaseCache = new DeltaBaseCache(deltaCacheBytes, cachesOfProcess)
  #slab = new Uint8Array(slabBytes)
  #slabUsed = 0

  constructor(columns: HashedColumns) {
    this.#oids = new OidTable(columns.oids)
    this.#columns = columns
  }

  /** Whether the pack has an object of any type with this name. */
  has(oid: Oid): boolean {
    return this.#oids.find(oid) !== undefined
  }

  /** Undefined for an object that is not kept. Throws what `limit` does. */
  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    const row = this.#oids.find(oid)
    if (row === undefined) return undefined
    const type = TYPES[(this.#columns.types[row] ?? 0) - 1]
    if (type === undefined) return undefined
    const body = this.#bodyOf(row, type)
    if (limit !== undefined && body.length > limit.bytes) throw limit.refusal()
    return { type, body }
  }

  clear(): void {
    this.#cache.clear()
  }

  #bodyOf(row: number, type: ObjectType): Uint8Array {
    if (type === 'tree') return this.#readTree(row)
    const bytes = this.#bytesOf(row)
    // Readers of a blob may keep parts of it, and then all memory around them.
    return type === 'commit' ? bytes : this.#copy(bytes)
  }

  #readTree(row: number): Uint8Array {
    const { bases } = this.#columns
    const deltas: number[] = []
    let at = row
    const known = this.#cache.view(at)?.body
    let body = known && this.#copy(known)
    while (body === undefined) {
      const base = bases[at] ?? -1
      if (base === -1) body = this.#keep(at, this.#copy(this.#bytesOf(at)))
      else {
        deltas.push(at)
        at = base
        body = this.#cache.view(at)?.body
      }
    }
    for (const delta of deltas.toReversed()) {
      body = this.#keep(delta, applyDelta(body, this.#bytesOf(delta)))
    }
    return body
  }

  #keep(row: number, body: Uint8Array): Uint8Array {
    this.#cache.add(row, { type: 'tree', body })
    return body
  }

  /** Thousands of small buffers of their own would take longer to free than to fill. */
  #copy(bytes: Uint8Array): Uint8Array {
    if (bytes.length > sharedBytesMax) return bytes.slice()
    if (this.#slabUsed + bytes.length > slabBytes) {
      this.#slab = new Uint8Array(slabBytes)
      this.#slabUsed = 0
    }
    const end = this.#slabUsed + bytes.length
    const copy = this.#slab.subarray(this.#slabUsed, end)
    copy.set(bytes)
    this.#slabUsed = end
    return copy
  }

  #bytesOf(row: number): Uint8Array {
    const { starts, lengths, chunks } = this.#columns
    const start = starts[row] ?? 0
    const chunk = chunks[Math.floor(start / chunkBytes)]
    assert(chunk !== undefined, 'a row that is kept has a chunk')
    const at = start % chunkBytes
    return chunk.subarray(at, at + (lengths[row] ?? 0))
  }
}
