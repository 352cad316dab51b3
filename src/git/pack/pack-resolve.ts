// Every object of a pack that came from elsewhere: its deltas are applied, depth first, each on a
// base that is in RAM already, and what they make is hashed. A delta whose base is not in the pack,
// or is made of itself, is never reached and refuses the whole. Must keep no more in RAM than one
// chain of deltas; the bounds are those of the reader, so that what is kept can be read.

import type { WorkWatch } from '../../async.ts'
import { deltaChainBytesMax, deltaChainMax, KIBIBYTE } from '../../limits.ts'
import type { ObjectType } from '../objects/object.ts'
import { applyDelta } from './delta.ts'
import { corruptPack } from './pack-entry.ts'
import { PackIndexBuilder } from './pack-index.ts'
import { EntryReader, type PackBytes, PackScan, type VisitObject } from './pack-scan.ts'

/** Deltas of one chain lie next to each other more often than not. */
const windowBytes = 16 * KIBIBYTE
const oidBytes = 20

export interface CheckedPack {
  readonly objects: number
  /** The index file for the pack that ends in `packChecksum`. Throws `pack_corrupt`. */
  readonly encodeIndex: (packChecksum: Uint8Array) => Uint8Array
}

/**
 * Reads the whole of a pack but for its trailer. Throws `pack_corrupt` unless all of it is sound,
 * within the bounds, and closed under deltas; `cancelled`.
 */
export function checkPack(bytes: PackBytes, watch: WorkWatch, visit?: VisitObject): CheckedPack {
  const scan = new PackScan(bytes, watch, visit)
  const resolver = new Resolver(scan, new EntryReader(bytes, windowBytes))
  for (let rank = 0; rank < scan.count; rank += 1) resolver.resolveFrom(rank)
  resolver.finish()
  return {
    objects: scan.count,
    encodeIndex(packChecksum) {
      const builder = new PackIndexBuilder(scan.count)
      for (let rank = 0; rank < scan.count; rank += 1) {
        builder.add(scan.oidOf(rank), scan.offsets[rank] ?? 0, scan.checksums[rank] ?? 0)
      }
      return builder.encode(packChecksum)
    },
  }
}

/** An object whose deltas are being applied. */
interface Base {
  readonly body: Uint8Array
  /** What a reader inflates and copies to come to it. */
  readonly work: number
  /** Ranks of the deltas on it that are still to do. */
  readonly deltas: Iterator<number>
}

class Resolver {
  readonly #scan: PackScan
  readonly #reader: EntryReader
  readonly #byOffset: DeltasByBase
  readonly #byName: DeltasByName
  readonly #resolved: Uint8Array
  #waiting: number

  constructor(scan: PackScan, reader: EntryReader) {
    this.#scan = scan
    this.#reader = reader
    this.#byOffset = new DeltasByBase(scan.bases)
    this.#byName = new DeltasByName(scan)
    this.#resolved = new Uint8Array(scan.count)
    this.#waiting = this.#byOffset.count + scan.namedDeltas.length
  }

  /** Everything that is made of a whole object, if it is one. */
  resolveFrom(rank: number): void {
    const type = this.#scan.typeOf(rank)
    if (type === undefined || !this.#isBase(rank)) return
    const { header, data } = this.#reader.entry(this.#scan.offsets[rank] ?? 0)
    const chain: Base[] = [{ body: data, work: header.size, deltas: this.#deltasOn(rank) }]
    for (let base = chain.at(-1); base !== undefined; base = chain.at(-1)) {
      const next = base.deltas.next()
      if (next.done === true) chain.pop()
      else this.#apply(next.value, type, { chain, base })
    }
  }

  finish(): void {
    if (this.#waiting > 0) throw corruptPack('the base of a delta is not in it')
  }

  #apply(
    rank: number,
    type: ObjectType,
    { chain, base }: { readonly chain: Base[]; readonly base: Base },
  ): void {
    // Two copies of one base would lead here twice; the index refuses them later.
    if (this.#resolved[rank] === 1) return
    if (chain.length > deltaChainMax) throw corruptPack('a chain of deltas is too long')
    const { data } = this.#reader.entry(this.#scan.offsets[rank] ?? 0)
    const body = applyDelta(base.body, data)
    const work = base.work + data.length + body.length
    if (work > deltaChainBytesMax) throw corruptPack('a chain of deltas is too large')
    this.#scan.setObject(rank, type, body)
    this.#resolved[rank] = 1
    this.#waiting -= 1
    if (this.#isBase(rank)) chain.push({ body, work, deltas: this.#deltasOn(rank) })
  }

  #isBase(rank: number): boolean {
    return this.#byOffset.has(rank) || this.#byName.has(this.#scan.oidOf(rank))
  }

  *#deltasOn(rank: number): Generator<number> {
    yield* this.#byOffset.of(rank)
    yield* this.#byName.of(this.#scan.oidOf(rank))
  }
}

/** The offset deltas of each base, as two columns: where its list starts, and all the lists. */
class DeltasByBase {
  readonly #starts: Uint32Array
  readonly #ranks: Uint32Array

  constructor(bases: Int32Array) {
    this.#starts = new Uint32Array(bases.length + 1)
    for (const base of bases) if (base >= 0) this.#add(base + 1, 1)
    for (let rank = 0; rank < bases.length; rank += 1) this.#add(rank + 1, this.#starts[rank] ?? 0)
    this.#ranks = new Uint32Array(this.count)
    const next = this.#starts.slice()
    for (const [rank, base] of bases.entries()) {
      if (base < 0) continue
      const place = next[base] ?? 0
      this.#ranks[place] = rank
      next[base] = place + 1
    }
  }

  get count(): number {
    return this.#starts.at(-1) ?? 0
  }

  has(base: number): boolean {
    return this.#starts[base] !== this.#starts[base + 1]
  }

  of(base: number): Uint32Array {
    return this.#ranks.subarray(this.#starts[base], this.#starts[base + 1])
  }

  #add(at: number, amount: number): void {
    this.#starts[at] = (this.#starts[at] ?? 0) + amount
  }
}

/** The deltas that name their base by oid, sorted by it. Git makes them only for thin packs. */
class DeltasByName {
  readonly #oids: Buffer
  readonly #ranks: readonly number[]
  readonly #order: Uint32Array

  constructor(scan: PackScan) {
    this.#oids = Buffer.from(scan.baseOids())
    this.#ranks = scan.namedDeltas
    const order = Uint32Array.from(this.#ranks.keys())
    this.#order = order.toSorted((a, b) => this.#compare(a, this.#oidOf(b)))
  }

  has(base: Uint8Array): boolean {
    const place = this.#firstOf(base)
    const row = this.#order[place]
    return row !== undefined && this.#compare(row, base) === 0
  }

  *of(base: Uint8Array): Generator<number> {
    for (let place = this.#firstOf(base); place < this.#order.length; place += 1) {
      const row = this.#order[place] ?? 0
      if (this.#compare(row, base) !== 0) return
      yield this.#ranks[row] ?? 0
    }
  }

  #firstOf(base: Uint8Array): number {
    let low = 0
    let high = this.#order.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(this.#order[middle] ?? 0, base) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #compare(row: number, oid: Uint8Array): number {
    const at = row * oidBytes
    return -this.#oids.compare(oid, 0, oidBytes, at, at + oidBytes)
  }

  #oidOf(row: number): Uint8Array {
    return this.#oids.subarray(row * oidBytes, (row + 1) * oidBytes)
  }
}
