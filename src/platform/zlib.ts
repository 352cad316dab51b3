// Deflate and inflate in zlib's format (RFC 1950), and CRC-32. Deflated bytes are hostile: nothing
// is inflated beyond the size that the caller allows.

import { crc32, deflateSync, Inflate, inflateSync } from 'node:zlib'

export { crc32 }

/** `lengthMax` is the most that can result, so that no larger buffer is made. */
export function deflateBytes(body: Uint8Array, level: 0 | 1, lengthMax: number): Uint8Array {
  return deflateSync(body, { level, chunkSize: lengthMax })
}

/** All of a stream, which inflates to at most `lengthMax` bytes. Throws for any other. */
export function inflateBytes(deflated: Uint8Array, lengthMax: number): Uint8Array {
  return inflateSync(deflated, { maxOutputLength: lengthMax })
}

export interface Inflated {
  readonly body: Uint8Array
  /** The length of the stream. */
  readonly length: number
}

/**
 * A stream that other bytes may follow, which inflates to at most `size` bytes; undefined if it
 * continues after `deflated`. Throws for any other.
 */
export function inflateStart(deflated: Uint8Array, size: number): Inflated | undefined {
  let result: unknown
  try {
    // One byte more than expected, so that zlib never fills a chunk and is called only once.
    result = inflateSync(deflated, {
      chunkSize: Math.max(64, size + 1),
      maxOutputLength: Math.max(1, size),
      info: true,
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'Z_BUF_ERROR') return undefined
    throw error
  }
  const inflated = withInfo(result)
  if (inflated.body.length > size) throw new Error('a stream inflates to more than it declares')
  return inflated
}

/** The result of zlib with `info`, which its types do not declare. */
function withInfo(result: unknown): Inflated {
  const isObject = typeof result === 'object' && result !== null
  if (isObject && 'buffer' in result && 'engine' in result) {
    const { buffer, engine } = result
    if (buffer instanceof Uint8Array && engine instanceof Inflate) {
      return { body: buffer, length: engine.bytesWritten }
    }
  }
  throw new Error('zlib gives a buffer and its engine')
}
