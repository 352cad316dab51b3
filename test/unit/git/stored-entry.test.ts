// Entries that are stored and not compressed, which are read without zlib: the same bytes, and the
// same refusals, as by zlib itself.

import { deflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import { inflate } from '../../../src/git/pack/pack-entry.ts'

function body(length: number): Uint8Array {
  return new Uint8Array(length).map((_, at) => (at * 7) ^ (at >>> 5))
}

describe.each([0, 1, 30, 255, 256, 2000, 65_535, 65_536, 200_000])('%i bytes', (length) => {
  const deflated = new Uint8Array(deflateSync(body(length), { level: 0 }))

  test('are read back, also with other bytes behind them', () => {
    expect(Buffer.compare(inflate(deflated, length) ?? deflated, body(length))).toBe(0)
    const followed = Buffer.concat([deflated, Buffer.from('and more')])
    expect(Buffer.compare(inflate(followed, length) ?? deflated, body(length))).toBe(0)
  })

  test('are a copy of the bytes that they are read from', () => {
    const window = Buffer.from(deflated)
    const read = inflate(window, length)
    window.fill(0)
    expect(Buffer.compare(read ?? window, body(length))).toBe(0)
  })

  test('are missing if the stream is cut off', () => {
    expect(inflate(deflated.subarray(0, -1), length)).toBeUndefined()
  })
})

test('pack_corrupt: any changed byte, or another size than declared', () => {
  const deflated = deflateSync(body(30), { level: 0 })
  for (let at = 0; at < deflated.length; at += 1) {
    const spoilt = Buffer.from(deflated)
    spoilt[at] = (spoilt[at] ?? 0) ^ 1
    expect(
      codeOf(() => inflate(spoilt, 30)),
      `byte ${at}`,
    ).toMatch(/^pack_corrupt$|^undefined$/)
  }
  expect(codeOf(() => inflate(deflated, 31))).toBe('pack_corrupt')
  expect(codeOf(() => inflate(deflated, 29))).toBe('pack_corrupt')
})

/** `undefined` if more bytes are asked for. */
function codeOf(read: () => Uint8Array | undefined): string {
  try {
    const found = read()
    return found === undefined ? 'undefined' : 'accepted'
  } catch (error) {
    if (error instanceof StoreError) return error.code
    throw error
  }
}
