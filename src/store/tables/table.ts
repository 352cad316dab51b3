// A table of rows of a fixed width, made from a list of fields. Rows are kept in chunks, so that
// growing copies nothing and a million of them take no more memory than their bytes. Numbered from
// 0. Must not know what the fields mean.

import { assert } from '../../errors.ts'
import { Bytes } from '../../platform/bytes.ts'

/** A power of two: shifts are faster than divisions, in loops over a million rows. */
const CHUNK_BITS = 10
const CHUNK = 1 << CHUNK_BITS

/** One field of all rows. */
export abstract class Column<T> {
  protected readonly rows: Rows
  protected readonly offset: number

  constructor(rows: Rows, offset: number) {
    this.rows = rows
    this.offset = offset
  }

  abstract get(row: number): T
  abstract set(row: number, value: T): void
}

export interface Field<T> {
  /** Bytes. */
  readonly width: number
  readonly column: (rows: Rows, offset: number) => Column<T>
}

/** In the order of their bytes. */
export type Fields<T> = { readonly [K in keyof T]: Field<T[K]> }

/** The bytes of the rows. */
class Rows {
  readonly width: number
  length = 0
  readonly chunks: Bytes[] = []
  /**
   * A view of the same bytes: far faster than methods of a buffer in a loop that is not yet
   * optimized.
   */
  readonly views: DataView[] = []

  constructor(width: number) {
    this.width = width
  }

  push(chunk: Bytes): void {
    this.chunks.push(chunk)
    this.views.push(new DataView(chunk.buffer, chunk.byteOffset, chunk.length))
  }

  chunkOf(row: number): Bytes {
    return this.#partOf(this.chunks, row)
  }

  viewOf(row: number): DataView {
    return this.#partOf(this.views, row)
  }

  /** Where a row begins in its chunk. */
  start(row: number): number {
    return (row & (CHUNK - 1)) * this.width
  }

  #partOf<T>(parts: readonly T[], row: number): T {
    const part = parts[row >>> CHUNK_BITS]
    if (part === undefined || row >= this.length) throw new Error('There is no such row')
    return part
  }
}

export class Table<T extends object> {
  readonly columns: { readonly [K in keyof T]: Column<T[K]> }
  readonly #fields: Fields<T>
  readonly #rows: Rows

  constructor(fields: Fields<T>) {
    const list = Object.entries<Field<unknown>>(fields)
    const rows = new Rows(list.reduce((sum, [, { width }]) => sum + width, 0))
    let offset = 0
    const columns = list.map(([name, { width, column }]): unknown[] => {
      offset += width
      return [name, column(rows, offset - width)]
    })
    this.columns = Object.fromEntries(columns)
    this.#fields = fields
    this.#rows = rows
  }

  get length(): number {
    return this.#rows.length
  }

  /** Adds a row of zeros and returns its number. */
  add(): number {
    const rows = this.#rows
    const row = rows.length
    if (row % CHUNK === 0) rows.push(Bytes.alloc(CHUNK * rows.width))
    rows.length += 1
    return row
  }

  /** Appends the bytes of whole rows. */
  append(bytes: Uint8Array): void {
    const rows = this.#rows
    for (let at = 0; at < bytes.length;) {
      const first = rows.length % CHUNK
      const end = Math.min(bytes.length, at + (CHUNK - first) * rows.width)
      if (first === 0) {
        const length = CHUNK * rows.width
        const isWhole = end - at === length
        rows.push(isWhole ? Bytes.allocUnsafeSlow(length) : Bytes.alloc(length))
      }
      rows.chunks.at(-1)?.set(bytes.subarray(at, end), first * rows.width)
      rows.length += (end - at) / rows.width
      at = end
    }
  }

  /** A copy of the bytes of the rows from `start` to `end`, exclusive. */
  bytes(start = 0, end: number = this.length): Bytes {
    const { width, chunks } = this.#rows
    const bytes = Bytes.alloc((end - start) * width)
    for (let row = start; row < end;) {
      const first = row % CHUNK
      const next = Math.min(end, row + CHUNK - first)
      const part = chunks[Math.floor(row / CHUNK)]
      bytes.set(
        part?.subarray(first * width, (first + next - row) * width) ?? [],
        (row - start) * width,
      )
      row = next
    }
    return bytes
  }

  /** A copy of the rows from `start` to `end` that shares no memory with this table. */
  copy(start = 0, end: number = this.length): Table<T> {
    const copy = new Table(this.#fields)
    copy.append(this.bytes(start, end))
    return copy
  }

  /** The first `length` rows. A change of a row in either may show in both. */
  prefix(length: number): Table<T> {
    const prefix = new Table(this.#fields)
    const whole = Math.floor(length / CHUNK)
    for (const chunk of this.#rows.chunks.slice(0, whole)) prefix.#rows.push(chunk)
    prefix.#rows.length = whole * CHUNK
    // Rows that are added to either must not show in the other.
    prefix.append(this.bytes(whole * CHUNK, length))
    return prefix
  }

  /** The four bytes of a row at an offset, whatever its fields. */
  word(row: number, offset: number): number {
    return this.#rows.viewOf(row).getUint32(this.#rows.start(row) + offset, true)
  }
}

class U32Column extends Column<number> {
  override get(row: number): number {
    const { rows, offset } = this
    return rows.viewOf(row).getUint32(rows.start(row) + offset, true)
  }

  override set(row: number, value: number): void {
    const { rows, offset } = this
    rows.viewOf(row).setUint32(rows.start(row) + offset, value, true)
  }
}

/** A number plus one; 0 without one. */
class LinkColumn extends Column<number | undefined> {
  override get(row: number): number | undefined {
    const { rows, offset } = this
    const value = rows.viewOf(row).getUint32(rows.start(row) + offset, true)
    return value === 0 ? undefined : value - 1
  }

  override set(row: number, value: number | undefined): void {
    const { rows, offset } = this
    const stored = value === undefined ? 0 : value + 1
    rows.viewOf(row).setUint32(rows.start(row) + offset, stored, true)
  }
}

class F64Column extends Column<number> {
  override get(row: number): number {
    const { rows, offset } = this
    return rows.viewOf(row).getFloat64(rows.start(row) + offset, true)
  }

  override set(row: number, value: number): void {
    const { rows, offset } = this
    rows.viewOf(row).setFloat64(rows.start(row) + offset, value, true)
  }
}

class FlagColumn extends Column<boolean> {
  override get(row: number): boolean {
    const { rows, offset } = this
    return rows.viewOf(row).getUint8(rows.start(row) + offset) !== 0
  }

  override set(row: number, value: boolean): void {
    const { rows, offset } = this
    rows.viewOf(row).setUint8(rows.start(row) + offset, Number(value))
  }
}

/** The index in a list plus one; 0 without one. */
class CodeColumn<T> extends Column<T | undefined> {
  readonly #values: readonly T[]

  constructor(rows: Rows, offset: number, values: readonly T[]) {
    super(rows, offset)
    this.#values = values
  }

  override get(row: number): T | undefined {
    const { rows, offset } = this
    const stored = rows.viewOf(row).getUint8(rows.start(row) + offset)
    return stored === 0 ? undefined : this.#values[stored - 1]
  }

  override set(row: number, value: T | undefined): void {
    const { rows, offset } = this
    const stored = value === undefined ? 0 : this.#values.indexOf(value) + 1
    assert(value === undefined || stored !== 0, 'a value that has a code')
    rows.viewOf(row).setUint8(rows.start(row) + offset, stored)
  }
}

class HexColumn extends Column<string> {
  readonly #width: number

  constructor(rows: Rows, offset: number, width: number) {
    super(rows, offset)
    this.#width = width
  }

  override get(row: number): string {
    const { rows } = this
    const at = rows.start(row) + this.offset
    return rows.chunkOf(row).toString('hex', at, at + this.#width)
  }

  /** Zeros for an empty string. */
  override set(row: number, digits: string): void {
    const { rows } = this
    const at = rows.start(row) + this.offset
    if (digits === '') rows.chunkOf(row).fill(0, at, at + this.#width)
    else rows.chunkOf(row).write(digits, at, this.#width, 'hex')
  }
}

export const u32: Field<number> = { width: 4, column: (...at) => new U32Column(...at) }
/** An optional number, below 2^32 - 1. */
export const link: Field<number | undefined> = {
  width: 4,
  column: (...at) => new LinkColumn(...at),
}
export const f64: Field<number> = { width: 8, column: (...at) => new F64Column(...at) }
export const flag: Field<boolean> = { width: 1, column: (...at) => new FlagColumn(...at) }

/** An optional one of at most 255 values, by its index: the order must never change. */
export function code<T>(values: readonly T[]): Field<T | undefined> {
  return { width: 1, column: (...at) => new CodeColumn(...at, values) }
}

/** Bytes as hex digits. */
export function hex(width: number): Field<string> {
  return { width, column: (...at) => new HexColumn(...at, width) }
}
