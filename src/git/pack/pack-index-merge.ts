// Merges the indexes of several packs, row by row in the order of the oids, so that none of them is
// held in RAM: for a million commits they have two hundred megabytes. Keeps the source of each row,
// in two bytes, and the rows that an earlier index repeats.

import { assert } from '../../errors.ts'
import { Bytes } from '../../platform/bytes.ts'
import type { HashedFile } from './hashed-file.ts'
import { encodeIndexHead, encodeLargeOffset, largeOffset, type ObjectIndex } from './pack-index.ts'

const indexesMax = 2 ** 16
const oidBytes = 20
const chunkBytes = 16_384

/** A row whose object is in an earlier index too. Indexes and positions count from 0. */
export interface DroppedRow {
  readonly position: number
  readonly keptIn: number
  readonly keptAt: number
}

/** Where each row of the merged index comes from. */
export interface IndexMerge {
  readonly count: number
  /** For each position in the new index, the number of the old index. */
  readonly origins: Uint16Array
  /** For each index, its dropped rows by ascending position. */
  readonly dropped: readonly (readonly DroppedRow[])[]
}

/** A row of the new index, by its old position. */
export interface MergedRow {
  /** The number of the old index. */
  readonly from: number
  readonly position: number
}

/** The values of each row in the new pack. */
export interface RowValues {
  offsetOf(row: MergedRow): number
  checksumOf(row: MergedRow): number
}

/** Reads all oids once. Of several indexes with the same object, the first keeps it. */
export function mergeIndexes(indexes: readonly ObjectIndex[]): IndexMerge {
  assert(indexes.length < indexesMax, 'too many packs to merge')
  const cursors = indexes.map((index, number) => new NameCursor(index, number))
  const total = indexes.reduce((sum, index) => sum + index.count, 0)
  const origins = new Uint16Array(total)
  const dropped = indexes.map((): DroppedRow[] => [])
  let count = 0
  for (let first = lowest(cursors); first !== undefined; first = lowest(cursors)) {
    origins[count] = first.number
    count += 1
    const kept = { keptIn: first.number, keptAt: first.position }
    for (const other of cursors) {
      if (other === first || other.compare(first) !== 0) continue
      dropped[other.number]?.push({ position: other.position, ...kept })
      other.advance()
    }
    first.advance()
  }
  return { count, origins: origins.subarray(0, count), dropped }
}

/** Writes the new index, except for its own checksum. */
export function writeMergedIndex(
  file: HashedFile,
  { indexes, merge }: { readonly indexes: readonly ObjectIndex[]; readonly merge: IndexMerge },
  values: RowValues,
  packChecksum: Uint8Array,
): void {
  const rows = (): Generator<MergedRow> => rowsOf(merge, indexes.length)
  const nameOf = ({ from, position }: MergedRow): Uint8Array => {
    const index = indexes[from]
    assert(index !== undefined, 'a merged row has its index')
    return index.oidAt(position)
  }
  const perByte = new Uint32Array(256)
  const names = new Column(file, oidBytes)
  // The fan-out table precedes the oids that it counts.
  for (const row of rows()) {
    const [byte = 0] = nameOf(row)
    perByte[byte] = (perByte[byte] ?? 0) + 1
  }
  file.append(encodeIndexHead(perByte))
  for (const row of rows()) names.add(nameOf(row))
  names.flush()
  const numbers = new Column(file, 4)
  for (const row of rows()) numbers.addNumber(values.checksumOf(row))
  let large = 0
  for (const row of rows()) {
    const offset = values.offsetOf(row)
    numbers.addNumber(offset < largeOffset ? offset : largeOffset + large)
    if (offset >= largeOffset) large += 1
  }
  numbers.flush()
  if (large > 0) writeLargeOffsets(file, rows(), values)
  file.append(packChecksum)
}

function writeLargeOffsets(file: HashedFile, rows: Iterable<MergedRow>, values: RowValues): void {
  for (const row of rows) {
    const offset = values.offsetOf(row)
    if (offset >= largeOffset) file.append(encodeLargeOffset(offset))
  }
}

/** Yields the same object for every row, changed each time. */
function* rowsOf({ origins, dropped }: IndexMerge, indexes: number): Generator<MergedRow> {
  const next = new Uint32Array(indexes)
  const skipped = new Uint32Array(indexes)
  const row = { from: 0, position: 0 }
  for (const from of origins) {
    const droppedRows = dropped[from]
    let position = next[from] ?? 0
    let skip = skipped[from] ?? 0
    while (droppedRows?.[skip]?.position === position) {
      position += 1
      skip += 1
    }
    next[from] = position + 1
    skipped[from] = skip
    row.from = from
    row.position = position
    yield row
  }
}

/** Buffers values of one width for the file. */
class Column {
  readonly #file: HashedFile
  readonly #bytes: Bytes
  readonly #width: number
  #filled = 0

  constructor(file: HashedFile, width: number) {
    this.#file = file
    this.#width = width
    this.#bytes = Bytes.alloc(width * Math.floor(chunkBytes / width))
  }

  add(value: Uint8Array): void {
    this.#bytes.set(value, this.#place())
  }

  /** For a width of four. */
  addNumber(value: number): void {
    this.#bytes.writeUInt32BE(value, this.#place())
  }

  flush(): void {
    this.#file.append(this.#bytes.subarray(0, this.#filled))
    this.#filled = 0
  }

  #place(): number {
    if (this.#filled === this.#bytes.length) this.flush()
    const at = this.#filled
    this.#filled += this.#width
    return at
  }
}

/** Iterates over the oids of one index in ascending order. */
class NameCursor {
  readonly #index: ObjectIndex
  readonly number: number
  position = 0
  #name: Uint8Array = new Uint8Array(0)
  /** The first 48 bits of the oid, which nearly always decide; Infinity after the last. */
  #prefix = Infinity

  constructor(index: ObjectIndex, number: number) {
    this.#index = index
    this.number = number
    this.#read()
  }

  get isOver(): boolean {
    return this.#prefix === Infinity
  }

  advance(): void {
    this.position += 1
    this.#read()
  }

  compare(other: NameCursor): number {
    if (this.#prefix !== other.#prefix) return this.#prefix - other.#prefix
    return Bytes.compare(this.#name, other.#name)
  }

  #read(): void {
    if (this.position >= this.#index.count) {
      this.#prefix = Infinity
      return
    }
    const name = this.#index.oidAt(this.position)
    this.#name = name
    let prefix = 0
    for (let n = 0; n < 6; n += 1) prefix = prefix * 256 + (name[n] ?? 0)
    this.#prefix = prefix
  }
}

/** The first cursor with the lowest oid; undefined if all are at their end. */
function lowest(cursors: readonly NameCursor[]): NameCursor | undefined {
  let found: NameCursor | undefined
  for (const cursor of cursors) {
    if (!cursor.isOver && (found === undefined || cursor.compare(found) < 0)) found = cursor
  }
  return found
}
