// Reads every object of a received pack: applies its deltas depth first, each to a base in RAM, and
// hashes the results. A delta whose base is missing from the pack, or depends on the delta, is
// never reached, and the pack is refused. Must keep only one chain of deltas in RAM; the limits are
// those of the reader, so that what is kept can be read.

import type { WorkWatch } from '../../async.ts'
import { deltaChainBytesMax, deltaChainMax, KIBIBYTE } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import type { HashedColumns } from '../exchange.ts'
import type { ObjectType } from '../objects/object.ts'
import { applyDelta, deltaWork } from './delta.ts'
import { corruptPack, entryWork } from './pack-entry.ts'
import { PackIndexBuilder } from './pack-index.ts'
import { EntryReader, type PackBytes, PackScan, type VisitObject } from './pack-scan.ts'
import { WorkBudget } from './work-budget.ts'

/** Deltas of one chain are usually adjacent. */
const windowBytes = 16 * KIBIBYTE
const oidBytes = 20

export interface CheckedPack {
  readonly objects: number
  /** Encodes the index of the pack with this checksum. Throws `pack_corrupt`. */
  readonly encodeIndex: (packChecksum: Uint8Array) => Uint8Array
  /** Its objects, as far as they are in RAM; undefined for a pack of few. */
  readonly hashed: HashedColumns | undefined
}

export interface CheckOptions {
  readonly watch: WorkWatch
  readonly visit?: VisitObject | undefined
  /** By default that of a pack of this size. */
  readonly budget?: WorkBudget | undefined
}

/**
 * Reads the whole pack except its trailer, an entry in each step. Throws `pack_corrupt` unless it
 * is sound, within the limits, and contains the base of every delta; `cancelled`.
 */
export function* checkPack(
  bytes: PackBytes,
  { watch, visit, budget = new WorkBudget(bytes.size, watch) }: CheckOptions,
): Generator<undefined, CheckedPack> {
  const scan = new PackScan(bytes, budget, { watch, visit })
  yield* scan.read()
  const resolver = new Resolver(scan, new EntryReader(bytes, windowBytes), budget)
  for (let rank = 0; rank < scan.count; rank += 1) yield* resolver.resolveFrom(rank)
  resolver.finish()
  return {
    objects: scan.count,
    hashed: scan.hashed(),
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
  readonly rank: number
  readonly body: Uint8Array
  /** The bytes that a reader inflates and copies to reach it. */
  readonly work: number
  /** The ranks of its deltas that remain. */
  readonly deltas: Iterator<number>
}

class Resolver {
  readonly #scan: PackScan
  readonly #reader: EntryReader
  readonly #byOffset: DeltasByBase
  readonly #byName: DeltasByName
  readonly #budget: WorkBudget
  #waiting: number

  constructor(scan: PackScan, reader: EntryReader, budget: WorkBudget) {
    this.#budget = budget
    this.#scan = scan
    this.#reader = reader
    this.#byOffset = new DeltasByBase(scan.bases)
    this.#byName = new DeltasByName(scan)
    this.#waiting = this.#byOffset.count + scan.namedDeltas.length
  }

  /** Resolves every delta that depends on a whole object. */
  *resolveFrom(rank: number): Generator<undefined, void> {
    const type = this.#scan.typeOf(rank)
    if (type === undefined || !this.#isBase(rank)) return
    const data = this.#scan.dataOf(rank, this.#reader)
    const work = entryWork({ size: data.length })
    this.#budget.spend(work)
    const chain: Base[] = [{ rank, body: data, work, deltas: this.#deltasOn(rank) }]
    for (let base = chain.at(-1); base !== undefined; base = chain.at(-1)) {
      const next = base.deltas.next()
      if (next.done === true) chain.pop()
      else this.#apply(next.value, type, { chain, base })
      yield
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
    if (chain.length > deltaChainMax) throw corruptPack('a chain of deltas is too long')
    const data = this.#scan.dataOf(rank, this.#reader)
    const own = entryWork({ size: data.length }) + deltaWork(data)
    const work = base.work + own
    if (work > deltaChainBytesMax) throw corruptPack('a chain of deltas is too large')
    this.#budget.spend(own)
    const body = applyDelta(base.body, data)
    this.#scan.setObject(rank, type, { body, work, base: base.rank })
    this.#waiting -= 1
    if (this.#isBase(rank)) chain.push({ rank, body, work, deltas: this.#deltasOn(rank) })
  }

  #isBase(rank: number): boolean {
    return this.#byOffset.has(rank) || this.#byName.has(this.#scan.oidOf(rank))
  }

  *#deltasOn(rank: number): Generator<number> {
    yield* this.#byOffset.of(rank)
    yield* this.#byName.of(this.#scan.oidOf(rank))
  }
}

/** The offset deltas of each base, in two columns: where each list starts, and all lists. */
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
      const index = next[base] ?? 0
      this.#ranks[index] = rank
      next[base] = index + 1
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
  readonly #oids: Bytes
  readonly #ranks: readonly number[]
  readonly #order: Uint32Array

  constructor(scan: PackScan) {
    this.#oids = Bytes.from(scan.baseOids())
    this.#ranks = scan.namedDeltas
    const order = Uint32Array.from(this.#ranks.keys())
    this.#order = order.toSorted((a, b) => this.#compare(a, this.#oidOf(b)))
  }

  has(base: Uint8Array): boolean {
    const index = this.#firstOf(base)
    const row = this.#order[index]
    return row !== undefined && this.#compare(row, base) === 0
  }

  *of(base: Uint8Array): Generator<number> {
    for (let index = this.#firstOf(base); index < this.#order.length; index += 1) {
      const row = this.#order[index] ?? 0
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
