// Recovers the readable objects of a pack with a damaged index, damaged ends or damaged entries:
// walks from entry to entry, searches for the next one after a damaged entry, and identifies
// objects by their hash. Must trust nothing that the pack declares, and must not write. Anyone who
// provides the pack needs no key: the search and the naming end at a budget each, and what was
// found until then can be read.

import { unwatched } from '../../async.ts'
import { fromHex, toHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import { deltaChainBytesMax, deltaChainMax, KIBIBYTE, MEBIBYTE } from '../../limits.ts'
import type { ObjectType, Oid } from '../objects/object.ts'
import { applyDelta, deltaWork } from './delta.ts'
import {
  type EntryHeader,
  entryHeaderBytesMax,
  entryTypeAt,
  entryWork,
  packHeaderBytes,
  packTrailerBytes,
} from './pack-entry.ts'
import { PackIndex, PackIndexBuilder } from './pack-index.ts'
import { EntryReader, type PackBytes } from './pack-scan.ts'
import { Pack } from './pack.ts'
import { WorkBudget } from './work-budget.ts'

const oidBytes = 20
const windowBytes = MEBIBYTE
/** Deltas of one chain are usually adjacent. */
const chainWindowBytes = 16 * KIBIBYTE
/** Positions that are searched in one step. */
const stepBytes = 64 * KIBIBYTE
/** No size and no distance takes more. */
const numberBytesMax = 10

/** The pack with an index of its readable objects; undefined if there is no such file. */
export function* salvagePack(
  disk: Disk,
  directory: string,
  name: string,
): Generator<undefined, Pack | undefined> {
  const fd = disk.openExisting(`${directory}/${name}.pack`, 'r')
  if (fd === undefined) return undefined
  try {
    const length = disk.size(fd)
    const read = (into: Uint8Array, position: number): number => disk.read(fd, into, position)
    // The trailer may be missing, and its place may hold an entry.
    const bytes = { size: length + packTrailerBytes, read }
    const entries: FoundEntries = { whole: [], deltas: new Map() }
    yield* untilSpent(findEntries(bytes, length, entries))
    const naming = new Naming(bytes, length, entries)
    yield* untilSpent(naming.run())
    return Pack.openSalvaged(disk, directory, name, indexOf(naming.named))
  } finally {
    disk.close(fd)
  }
}

/** Entries that inflate to their declared size, by their offsets. */
interface FoundEntries {
  readonly whole: { readonly offset: number; readonly type: ObjectType }[]
  /** By the offset or the oid of their base, which may be found later. */
  readonly deltas: Map<number | Oid, number[]>
}

function* findEntries(
  bytes: PackBytes,
  length: number,
  found: FoundEntries,
): Generator<undefined, void> {
  const budget = new WorkBudget(length, unwatched)
  const reader = new EntryReader(bytes, windowBytes)
  const search = new StartSearch(bytes, length)
  for (let at = packHeaderBytes; at < length;) {
    const start = at
    const header = tolerant(() => reader.header(start))
    budget.spend(entryWork(header ?? { size: 0 }))
    const entry = header && tolerant(() => reader.entry(start))
    if (entry !== undefined) note(found, start, entry.header)
    at = entry === undefined ? yield* search.next(start + 1) : start + entry.length
    yield
  }
}

function note({ whole, deltas }: FoundEntries, offset: number, header: EntryHeader): void {
  const { type, distance, baseOid } = header
  if (type === 'offsetDelta' || type === 'refDelta') {
    const base = type === 'refDelta' ? toHex(baseOid) : offset - distance
    const others = deltas.get(base)
    if (others === undefined) deltas.set(base, [offset])
    else others.push(offset)
  } else if (type !== 'tag') {
    whole.push({ offset, type })
  }
}

/** Searches for bytes that look like an entry: a valid header, followed by a zlib stream. */
class StartSearch {
  readonly #bytes: PackBytes
  readonly #length: number
  readonly #buffer: Uint8Array = new Uint8Array(windowBytes)
  #window: Uint8Array = new Uint8Array(0)
  #windowAt = 0

  constructor(bytes: PackBytes, length: number) {
    this.#bytes = bytes
    this.#length = length
  }

  /** The first candidate at or after `at`; the end of the file without one. */
  *next(at: number): Generator<undefined, number> {
    for (let candidate = at; candidate < this.#length; candidate += 1) {
      this.#load(candidate)
      if (mayStart(this.#window, candidate - this.#windowAt)) return candidate
      if (candidate % stepBytes === 0) yield
    }
    return this.#length
  }

  #load(candidate: number): void {
    const needed = Math.min(candidate + entryHeaderBytesMax + 2, this.#length)
    if (candidate >= this.#windowAt && needed <= this.#windowAt + this.#window.length) return
    this.#window = this.#buffer.subarray(0, this.#bytes.read(this.#buffer, candidate))
    this.#windowAt = candidate
  }
}

function mayStart(bytes: Uint8Array, start: number): boolean {
  const type = entryTypeAt(bytes, start)
  if (type === undefined || type === 'tag') return false
  let at = afterNumber(bytes, start)
  if (type === 'offsetDelta') at = afterNumber(bytes, at)
  if (type === 'refDelta') at += oidBytes
  const method = bytes[at] ?? 0
  const flags = bytes[at + 1] ?? 0
  // RFC 1950: deflate, a window of 32 KiB at most, and a check over both bytes.
  return (method & 15) === 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 === 0
}

/** The position after a number; a byte with its highest bit set continues in the next one. */
function afterNumber(bytes: Uint8Array, start: number): number {
  let at = start
  while ((bytes[at] ?? 0) >= 0x80 && at - start < numberBytesMax) at += 1
  return at + 1
}

/** An object whose deltas are being applied. */
interface SalvagedBase {
  readonly body: Uint8Array
  /** The bytes that a reader inflates and copies to reach it. */
  readonly work: number
  /** The offsets of its deltas that remain. */
  readonly deltas: number[]
}

/** Finds the oid of each entry: reads whole objects, and applies to each its deltas depth first. */
class Naming {
  readonly named: Map<Oid, number> = new Map()
  readonly #entries: FoundEntries
  readonly #reader: EntryReader
  readonly #budget: WorkBudget

  constructor(bytes: PackBytes, length: number, entries: FoundEntries) {
    this.#entries = entries
    this.#reader = new EntryReader(bytes, chainWindowBytes)
    this.#budget = new WorkBudget(length, unwatched)
  }

  *run(): Generator<undefined, void> {
    for (const { offset, type } of this.#entries.whole) {
      const { header, data } = this.#reader.entry(offset)
      const chain = [this.#name(offset, type, { body: data, work: entryWork(header) })]
      for (let base = chain.at(-1); base !== undefined; base = chain.at(-1)) {
        const delta = base.deltas.pop()
        const object = delta === undefined ? undefined : this.#apply(delta, base)
        if (delta === undefined) chain.pop()
        else if (object !== undefined) chain.push(this.#name(delta, type, object))
        yield
        if (chain.length > deltaChainMax) chain.pop()
      }
    }
  }

  /** Undefined if the delta does not fit, or costs more than a reader of packs allows. */
  #apply(offset: number, base: SalvagedBase): Omit<SalvagedBase, 'deltas'> | undefined {
    const own = tolerant(() => {
      const { header, data } = this.#reader.entry(offset)
      return { data, work: entryWork(header) + deltaWork(data) }
    })
    if (own === undefined) return undefined
    this.#budget.spend(own.work)
    const work = base.work + own.work
    if (work > deltaChainBytesMax) return undefined
    const body = tolerant(() => applyDelta(base.body, own.data))
    return body && { body, work }
  }

  /** Counts also what reading the object will take, and takes the deltas that wait for it. */
  #name(
    offset: number,
    type: ObjectType,
    { body, work }: Omit<SalvagedBase, 'deltas'>,
  ): SalvagedBase {
    this.#budget.spend(body.length + work)
    const oid = gitHash(type, body)
    // The first one: a delta that names this base is read from there.
    if (!this.named.has(oid)) this.named.set(oid, offset)
    return { body, work, deltas: [...this.#take(offset), ...this.#take(oid)] }
  }

  #take(base: number | Oid): readonly number[] {
    const found = this.#entries.deltas.get(base) ?? []
    this.#entries.deltas.delete(base)
    return found
  }
}

/** The checksums are never read, since this index is never written. */
function indexOf(named: ReadonlyMap<Oid, number>): PackIndex {
  const builder = new PackIndexBuilder(named.size)
  for (const [oid, offset] of named) builder.add(fromHex(oid), offset, 0)
  return new PackIndex(builder.encode(new Uint8Array(oidBytes)))
}

/** Ends the work when its budget is spent. */
function* untilSpent(work: Generator<undefined, void>): Generator<undefined, void> {
  try {
    yield* work
  } catch (error) {
    if (!hasCode(error, 'pack_corrupt')) throw error
  }
}

function tolerant<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (hasCode(error, 'pack_corrupt', 'object_corrupt')) return undefined
    throw error
  }
}
