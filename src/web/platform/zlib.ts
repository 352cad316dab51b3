// Deflate and inflate in JavaScript. Output is collected up to the bound and not beyond.

import { deflate, Inflate } from 'pako'
import { concatBytes } from '../../bytes.ts'
import type { Inflated } from '../../platform/zlib.ts'

const chunkBytesMax = 65_536
/** The input is used up. */
const BUFFER_ERROR = -5
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb8_8320 : value >>> 1
  return value
})

export function crc32(data: string | ArrayBufferView, value = 0): number {
  const bytes =
    typeof data === 'string'
      ? new TextEncoder().encode(data)
      : new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  let sum = ~value
  for (const byte of bytes) sum = (table[(sum ^ byte) & 255] ?? 0) ^ (sum >>> 8)
  return ~sum >>> 0
}

export function deflateBytes(body: Uint8Array, level: 0 | 1, lengthMax: number): Uint8Array {
  return deflate(plain(body), { level, chunkSize: Math.max(64, lengthMax) })
}

export function inflateBytes(deflated: Uint8Array, lengthMax: number): Uint8Array {
  const inflated = inflateStart(deflated, lengthMax)
  if (inflated === undefined) throw new Error('unexpected end of file')
  return inflated.body
}

export function inflateStart(deflated: Uint8Array, size: number): Inflated | undefined {
  // One byte more than expected, so that one chunk is enough for a valid stream.
  const chunkSize = Math.min(Math.max(64, size + 1), chunkBytesMax)
  // Fifteen: the largest window of zlib's format, and no other format.
  const inflator = new Inflate({ chunkSize, windowBits: 15 })
  const parts: Uint8Array[] = []
  let total = 0
  inflator.onData = (part) => {
    total += part.length
    if (total > size) throw new Error('a stream inflates to more than it declares')
    parts.push(part)
  }
  // Not told that this is the end: a stream that continues would be taken for a whole one.
  inflator.push(plain(deflated), false)
  if (!inflator.ended || inflator.err === BUFFER_ERROR) return undefined
  if (inflator.err !== 0) throw new Error('a stream is damaged')
  return { body: concatBytes(...parts), length: inflator.strm.next_in }
}

function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}
