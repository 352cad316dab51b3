// Records of a fixed width in chunks, so that growing copies nothing and a million of them take no
// more memory than their bytes. Numbered from 0. Must not know what the fields mean.

const CHUNK = 1024

export class Records {
  readonly width: number
  readonly #chunks: Buffer[] = []
  /** Of the same bytes: in a loop that has just begun far faster than methods of a buffer. */
  readonly #views: DataView[] = []
  #length = 0

  constructor(width: number) {
    this.width = width
  }

  get length(): number {
    return this.#length
  }

  /** A copy of the first `length` records that shares no memory with this one. */
  copy(length: number): Records {
    const copy = new Records(this.width)
    for (const chunk of this.prefix(length).#chunks) copy.#push(Buffer.copyBytesFrom(chunk))
    copy.#length = length
    return copy
  }

  /** The first `length` records. A change of a record in either may show in both. */
  prefix(length: number): Records {
    const prefix = new Records(this.width)
    const whole = Math.floor(length / CHUNK)
    for (const chunk of this.#chunks.slice(0, whole)) prefix.#push(chunk)
    if (length > whole * CHUNK) {
      // Records added to either must not show in the other.
      const last = Buffer.alloc(CHUNK * this.width)
      last.set(this.#chunks[whole]?.subarray(0, (length % CHUNK) * this.width) ?? [])
      prefix.#push(last)
    }
    prefix.#length = length
    return prefix
  }

  /** Adds a record of zeros and returns its number. */
  add(): number {
    const index = this.#length
    if (index % CHUNK === 0) this.#push(Buffer.alloc(CHUNK * this.width))
    this.#length += 1
    return index
  }

  /** Adds whole records. */
  append(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const first = this.#length % CHUNK
      const end = Math.min(bytes.length, at + (CHUNK - first) * this.width)
      if (first === 0) {
        const length = CHUNK * this.width
        const isWhole = end - at === length
        this.#push(isWhole ? Buffer.allocUnsafeSlow(length) : Buffer.alloc(length))
      }
      this.#chunks.at(-1)?.set(bytes.subarray(at, end), first * this.width)
      this.#length += (end - at) / this.width
      at = end
    }
  }

  /** A copy of the records from `start` to `end`, exclusive. */
  bytes(start: number, end: number): Buffer {
    const bytes = Buffer.alloc((end - start) * this.width)
    for (let index = start; index < end;) {
      const [chunk, first] = [Math.floor(index / CHUNK), index % CHUNK]
      const next = Math.min(end, index + CHUNK - first)
      const records = this.#chunks[chunk]?.subarray(
        first * this.width,
        (first + next - index) * this.width,
      )
      bytes.set(records ?? [], (index - start) * this.width)
      index = next
    }
    return bytes
  }

  u8(index: number, field: number): number {
    return this.#chunkOf(index)[this.#at(index, field)] ?? 0
  }

  setU8(index: number, field: number, value: number): void {
    this.#chunkOf(index)[this.#at(index, field)] = value
  }

  u32(index: number, field: number): number {
    return this.#viewOf(index).getUint32(this.#at(index, field), true)
  }

  setU32(index: number, field: number, value: number): void {
    this.#viewOf(index).setUint32(this.#at(index, field), value, true)
  }

  f64(index: number, field: number): number {
    return this.#viewOf(index).getFloat64(this.#at(index, field), true)
  }

  setF64(index: number, field: number, value: number): void {
    this.#viewOf(index).setFloat64(this.#at(index, field), value, true)
  }

  /** `length` bytes as hex digits. */
  hex(index: number, field: number, length: number): string {
    const at = this.#at(index, field)
    return this.#chunkOf(index).toString('hex', at, at + length)
  }

  setHex(index: number, field: number, digits: string): void {
    this.#chunkOf(index).write(digits, this.#at(index, field), 'hex')
  }

  setZero(index: number, field: number, length: number): void {
    const at = this.#at(index, field)
    this.#chunkOf(index).fill(0, at, at + length)
  }

  #push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#views.push(new DataView(chunk.buffer, chunk.byteOffset, chunk.length))
  }

  #chunkOf(index: number): Buffer {
    return this.#partOf(this.#chunks, index)
  }

  #viewOf(index: number): DataView {
    return this.#partOf(this.#views, index)
  }

  #partOf<T>(parts: readonly T[], index: number): T {
    const part = parts[Math.floor(index / CHUNK)]
    if (part === undefined || index >= this.#length) throw new Error('There is no such record')
    return part
  }

  #at(index: number, field: number): number {
    return (index % CHUNK) * this.width + field
  }
}
