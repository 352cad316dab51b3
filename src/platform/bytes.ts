// Bytes with fixed-width integers and fast conversions: the parts of Node's Buffer that any
// platform can offer. The names of its methods are known from there.

export type TextEncoding = 'utf8' | 'latin1' | 'hex' | 'base64' | 'base64url'

/** Its `slice` is a view on Node: use `subarray`, or copy. */
export interface Bytes extends Uint8Array {
  subarray(start?: number, end?: number): Bytes
  /** Of the UTF-8 of a text, or one byte. */
  includes(part: string | number, at?: number): boolean
  toString(encoding?: TextEncoding, start?: number, end?: number): string
  /** Returns the number of bytes written: what does not fit is left out. */
  write(text: string, encoding?: TextEncoding): number
  write(text: string, at: number, encoding?: TextEncoding): number
  write(text: string, at: number, length: number, encoding?: TextEncoding): number
  copy(target: Uint8Array, targetStart?: number, start?: number, end?: number): number
  /** Negative if these bytes, from `start` to `end`, sort before those of `target`. */
  compare(
    target: Uint8Array,
    targetStart?: number,
    targetEnd?: number,
    start?: number,
    end?: number,
  ): -1 | 0 | 1
  readUInt8(at?: number): number
  readUInt16BE(at?: number): number
  readUInt16LE(at?: number): number
  readUInt32BE(at?: number): number
  readUInt32LE(at?: number): number
  /** Of at most six bytes. */
  readUIntBE(at: number, length: number): number
  readBigUInt64BE(at?: number): bigint
  writeUInt8(value: number, at?: number): number
  writeUInt16BE(value: number, at?: number): number
  writeUInt16LE(value: number, at?: number): number
  writeUInt32BE(value: number, at?: number): number
  writeUInt32LE(value: number, at?: number): number
  writeBigUInt64BE(value: bigint, at?: number): number
}

export interface BytesMaker {
  alloc(length: number): Bytes
  /** With any content. */
  allocUnsafe(length: number): Bytes
  /** With any content, and a buffer of its own. */
  allocUnsafeSlow(length: number): Bytes & { readonly buffer: ArrayBuffer }
  from(text: string, encoding?: TextEncoding): Bytes
  /** A view. */
  from<B extends ArrayBufferLike>(
    buffer: B,
    start?: number,
    length?: number,
  ): Bytes & { readonly buffer: B }
  /** A copy. */
  from(bytes: Uint8Array): Bytes
  concat(parts: readonly Uint8Array[]): Bytes
  compare(a: Uint8Array, b: Uint8Array): -1 | 0 | 1
  /** The number of bytes of a text in UTF-8. */
  byteLength(text: string): number
}

export const Bytes: BytesMaker = Buffer
