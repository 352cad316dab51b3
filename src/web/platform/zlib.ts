// Deflate and inflate in JavaScript. Output is collected up to the bound and not beyond.

import { Inflate } from 'pako/lib/inflate.js'
import { concatBytes } from '../../bytes.ts'
import type { Inflated } from '../../platform/zlib.ts'

const chunkBytesMax = 65_536
/** The most that one stored block holds. */
const storedBytesMax = 65_535
/** The input is used up. */
const BUFFER_ERROR = -5
/** The header of a stream with the largest window. */
const largestWindow = Uint8Array.of(0x78, 0x01)
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

/** Stores at every level: an encoder would be larger than the bytes it saves in a session. */
export function deflateBytes(body: Uint8Array): Uint8Array {
  const blocks = Math.max(1, Math.ceil(body.length / storedBytesMax))
  const stored = new Uint8Array(2 + 5 * blocks + body.length + 4)
  const numbers = new DataView(stored.buffer)
  numbers.setUint16(0, 0x7801)
  let at = 2
  for (let block = 0; block < blocks; block += 1) {
    const part = body.subarray(block * storedBytesMax, (block + 1) * storedBytesMax)
    stored[at] = block === blocks - 1 ? 1 : 0
    numbers.setUint16(at + 1, part.length, true)
    numbers.setUint16(at + 3, part.length ^ 0xffff, true)
    stored.set(part, at + 5)
    at += 5 + part.length
  }
  numbers.setUint32(at, adler32(body))
  return stored
}

function adler32(body: Uint8Array): number {
  let low = 1
  let high = 0
  for (let at = 0; at < body.length; at += 1) {
    low = (low + (body[at] ?? 0)) % 65_521
    high = (high + low) % 65_521
  }
  return high * 65_536 + low
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
  const stream = plain(deflated)
  const replaced = hasSmallWindow(stream) ? largestWindow.length : 0
  if (replaced > 0) inflator.push(largestWindow, false)
  // Not told that this is the end: a stream that continues would be taken for a whole one.
  inflator.push(stream.subarray(replaced), false)
  if (!inflator.ended || inflator.err === BUFFER_ERROR) return undefined
  if (inflator.err !== 0) throw new Error('a stream is damaged')
  return { body: concatBytes(...parts), length: replaced + inflator.strm.next_in }
}

/** Unlike pako, the zlib of git and Node copies from farther back than the header allows. */
function hasSmallWindow([first = 0, second = 0]: Uint8Array): boolean {
  const isHeader = (first & 15) === 8 && (first * 256 + second) % 31 === 0
  const needsDictionary = (second & 32) !== 0
  return isHeader && !needsDictionary && first < 0x78
}

function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}
