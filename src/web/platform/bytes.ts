// Bytes as src/platform/bytes.ts describes them, over a plain Uint8Array.

import type { Bytes as BytesType, BytesMaker, TextEncoding } from '../../platform/bytes.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** The value of each character of base64 or base64url, and 64 for any other. */
const base64Values = Uint8Array.from({ length: 128 }, (_, code) => {
  const digit = { 45: '+', 95: '/' }[code] ?? String.fromCharCode(code)
  const value = base64Digits.indexOf(digit)
  return value === -1 ? 64 : value
})
const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
/** A call may have only some ten thousand arguments. */
const callBytesMax = 8192

/** The value of a hex digit; -1 for another character. */
function hexValue(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length >>> 1)
  for (let at = 0; at < bytes.length; at += 1) {
    const high = hexValue(text.charCodeAt(2 * at))
    const low = hexValue(text.charCodeAt(2 * at + 1))
    if (high < 0 || low < 0) return bytes.subarray(0, at)
    bytes[at] = high * 16 + low
  }
  return bytes
}

/** Leaves out other characters and ends at padding, as Node does. */
function fromBase64(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4))
  let length = 0
  let held = 0
  let bits = 0
  for (let at = 0; at < text.length; at += 1) {
    const value = base64Values[text.charCodeAt(at)] ?? 64
    if (text[at] === '=') break
    if (value === 64) continue
    held = ((held << 6) | value) & 0xffff
    bits += 6
    if (bits < 8) continue
    bits -= 8
    bytes[length] = held >>> bits
    length += 1
  }
  return bytes.subarray(0, length)
}

function fromLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at)
  return bytes
}

function encode(text: string, encoding: TextEncoding): Uint8Array {
  if (encoding === 'utf8') return encoder.encode(text)
  if (encoding === 'latin1') return fromLatin1(text)
  return encoding === 'hex' ? fromHex(text) : fromBase64(text)
}

function toLatin1(bytes: Uint8Array): string {
  if (bytes.length <= callBytesMax) return String.fromCharCode(...bytes)
  let text = ''
  for (let at = 0; at < bytes.length; at += callBytesMax) {
    text += String.fromCharCode(...bytes.subarray(at, at + callBytesMax))
  }
  return text
}

function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += hexOfByte[byte] ?? ''
  return text
}

function decode(bytes: Uint8Array, encoding: TextEncoding): string {
  if (encoding === 'utf8') return decoder.decode(bytes)
  if (encoding === 'latin1') return toLatin1(bytes)
  if (encoding === 'hex') return toHex(bytes)
  const text = btoa(toLatin1(bytes))
  if (encoding === 'base64') return text
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function compareBytes(a: Uint8Array, b: Uint8Array): -1 | 0 | 1 {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference < 0 ? -1 : 1
  }
  if (a.length === b.length) return 0
  return a.length < b.length ? -1 : 1
}

/** The number, which is refused rather than cut off, as by Node. */
function within<N extends number | bigint>(value: N, max: N): N {
  if (value < 0 || value > max) throw new RangeError(`${value} is not from 0 to ${max}`)
  return value
}

class WebBytes extends Uint8Array<ArrayBufferLike> implements BytesType {
  #view: DataView | undefined

  /** The bytes as numbers of several bytes. Throws a RangeError outside of them, as Node does. */
  get #numbers(): DataView {
    this.#view ??= new DataView(this.buffer, this.byteOffset, this.length)
    return this.#view
  }

  override slice(start?: number, end?: number): WebBytes & Uint8Array<ArrayBuffer> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a view, as on Node
    return super.subarray(start, end) as WebBytes & Uint8Array<ArrayBuffer>
  }

  override subarray(start?: number, end?: number): WebBytes & Uint8Array<ArrayBuffer> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of this class, by its species
    return super.subarray(start, end) as WebBytes & Uint8Array<ArrayBuffer>
  }

  override toString(encoding: TextEncoding = 'utf8', start = 0, end: number = this.length): string {
    return decode(this.#plain(start, end - start), encoding)
  }

  override includes(part: string | number, at = 0): boolean {
    if (typeof part === 'number') return super.includes(part, at)
    return toLatin1(this).includes(toLatin1(encoder.encode(part)), at)
  }

  write(text: string, ...place: (number | TextEncoding | undefined)[]): number {
    const numbers = place.filter((one) => typeof one === 'number')
    const [at = 0, length = this.length - at] = numbers
    const encoding = place.find((one) => typeof one === 'string') ?? 'utf8'
    const room = Math.min(length, this.length - at)
    if (encoding === 'utf8') return encoder.encodeInto(text, this.#plain(at, room)).written
    const bytes = encode(text, encoding).subarray(0, room)
    this.set(bytes, at)
    return bytes.length
  }

  copy(target: Uint8Array, targetStart = 0, start = 0, end: number = this.length): number {
    const part = this.#plain(start, end - start).subarray(0, target.length - targetStart)
    target.set(part, targetStart)
    return part.length
  }

  compare(
    target: Uint8Array,
    targetStart = 0,
    targetEnd: number = target.length,
    start = 0,
    end: number = this.length,
  ): -1 | 0 | 1 {
    const other = new Uint8Array(target.buffer, target.byteOffset, target.length)
    return compareBytes(this.#plain(start, end - start), other.subarray(targetStart, targetEnd))
  }

  #plain(at: number, length: number): Uint8Array {
    const end = Math.min(this.length, at + length)
    return new Uint8Array(this.buffer, this.byteOffset + at, Math.max(0, end - at))
  }

  readUInt8(at = 0): number {
    return this.#numbers.getUint8(at)
  }

  readUInt16BE(at = 0): number {
    return this.#numbers.getUint16(at)
  }

  readUInt16LE(at = 0): number {
    return this.#numbers.getUint16(at, true)
  }

  readUInt32BE(at = 0): number {
    return this.#numbers.getUint32(at)
  }

  readUInt32LE(at = 0): number {
    return this.#numbers.getUint32(at, true)
  }

  readUIntBE(at: number, length: number): number {
    let value = 0
    for (let n = 0; n < length; n += 1) value = value * 256 + this.#numbers.getUint8(at + n)
    return value
  }

  readBigUInt64BE(at = 0): bigint {
    return this.#numbers.getBigUint64(at)
  }

  writeUInt8(value: number, at = 0): number {
    this.#numbers.setUint8(at, within(value, 0xff))
    return at + 1
  }

  writeUInt16BE(value: number, at = 0): number {
    this.#numbers.setUint16(at, within(value, 0xffff))
    return at + 2
  }

  writeUInt16LE(value: number, at = 0): number {
    this.#numbers.setUint16(at, within(value, 0xffff), true)
    return at + 2
  }

  writeUInt32BE(value: number, at = 0): number {
    this.#numbers.setUint32(at, within(value, 0xffff_ffff))
    return at + 4
  }

  writeUInt32LE(value: number, at = 0): number {
    this.#numbers.setUint32(at, within(value, 0xffff_ffff), true)
    return at + 4
  }

  writeBigUInt64BE(value: bigint, at = 0): number {
    this.#numbers.setBigUint64(at, within(value, 0xffff_ffff_ffff_ffffn))
    return at + 8
  }
}

function zeros(length: number): WebBytes {
  return new WebBytes(new ArrayBuffer(length))
}

function from(text: string, encoding?: TextEncoding): Bytes
function from<B extends ArrayBufferLike>(
  buffer: B,
  start?: number,
  length?: number,
): Bytes & { readonly buffer: B }
function from(bytes: Uint8Array): Bytes
function from(
  data: string | ArrayBufferLike | Uint8Array,
  how?: TextEncoding | number,
  length?: number,
): Bytes {
  if (typeof data === 'string') {
    const bytes = encode(data, typeof how === 'string' ? how : 'utf8')
    return new WebBytes(bytes.buffer, bytes.byteOffset, bytes.length)
  }
  if (data instanceof Uint8Array) {
    const copy = zeros(data.length)
    copy.set(data)
    return copy
  }
  return new WebBytes(data, typeof how === 'number' ? how : 0, length)
}

export const Bytes: BytesMaker = {
  alloc: zeros,
  allocUnsafe: zeros,
  allocUnsafeSlow: (length) => zeros(length).subarray(),
  from,
  concat(parts) {
    const all = zeros(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      all.set(part, at)
      at += part.length
    }
    return all
  },
  compare: compareBytes,
  byteLength: (text) => encoder.encode(text).length,
}

export type Bytes = BytesType
