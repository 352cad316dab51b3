// What a change seals in addition to its record: the detail and the memory blob.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concatBytes, label, toHex, utf8 } from '../../../src/bytes.ts'
import { keyedHash, sha256 } from '../../../src/crypto/digest.ts'
import { hasCode } from '../../../src/errors.ts'
import {
  decodeDetail,
  detailCommitment,
  type DetailRow,
  encodeDetail,
  encodeRowDetail,
} from '../../../src/format/detail.ts'
import { type EnvelopeType, paddedLength } from '../../../src/format/envelope.ts'
import { decodeMemoryBlob, encodeMemoryBlob } from '../../../src/format/memory-blob.ts'
import { full, seed } from '../../support/seed.ts'

const code = (name: string): unknown => expect.objectContaining({ code: name })
const fill = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)

function pad(type: EnvelopeType, bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(paddedLength(type, bytes.length))
  padded.set(bytes)
  return padded
}

const first: DetailRow = {
  row: 0,
  path: '/caf\u00e9.md',
  note: 'why \u{1f600}',
  size: 5,
  sha256: fill(1),
  blinding: fill(2),
}
const deletion: DetailRow = {
  row: 3,
  path: '/gone',
  note: '',
  size: 0,
  sha256: fill(0),
  blinding: fill(3),
}

describe('a detail', () => {
  const bytes = pad('detail', encodeDetail([first, deletion]))
  const single = encodeDetail([first])
  const noteNotUtf8 = single.with(single.length - 33, 0xff)

  test.each([
    ['of two rows', [first, deletion]],
    ['whose first row is redacted', [deletion]],
    ['with no rows left', []],
    [
      'with the longest note and path',
      [{ ...first, path: `/${'p'.repeat(1023)}`, note: 'n'.repeat(4096) }],
    ],
  ])('%s is read back as it was written', (_, rows) => {
    expect(decodeDetail(pad('detail', encodeDetail(rows)))).toEqual(rows)
  })

  test('has the layout of the format', () => {
    const path = utf8(first.path)
    const note = utf8(first.note)
    const lengths = Uint8Array.of(0, path.length, 0, note.length, 0, 0, 0, 5)
    const row = concatBytes(lengths, fill(1), path, note)
    expect(encodeRowDetail(first)).toEqual(row)
    const start = Uint8Array.of(1, 0, 1, 0, 0)
    expect(encodeDetail([first])).toEqual(concatBytes(start, row, fill(2)))
    expect(toHex(detailCommitment(fill(2), first))).toBe(
      toHex(keyedHash(32, fill(2), label('GLK1/detail/v1'), row)),
    )
  })

  test.each([
    ['blinding', fill(9), first],
    ['path', fill(2), { ...first, path: '/other' }],
    ['note', fill(2), { ...first, note: '' }],
    ['size', fill(2), { ...first, size: 6 }],
    ['hash', fill(2), { ...first, sha256: fill(8) }],
  ])('with another %s has another commitment', (_, blinding, detail) => {
    expect(detailCommitment(blinding, detail)).not.toEqual(detailCommitment(fill(2), first))
  })

  test.each([
    ['rows that descend', encodeDetail([deletion, first])],
    ['a row twice', encodeDetail([first, first])],
    ['a note in a later row', encodeDetail([first, { ...deletion, note: 'x' }])],
    ['a path that is none', encodeDetail([{ ...first, path: 'relative' }])],
    ['no path', encodeDetail([{ ...first, path: '' }])],
    ['more rows than bytes', Uint8Array.of(1, 0xff, 0xff)],
    ['a path that is not UTF-8', encodeDetail([first]).with(5 + 40 + 1, 0xff)],
    ['a note that is not UTF-8', noteNotUtf8],
  ])('with %s is detail_malformed', (_, plaintext) => {
    expect(() => decodeDetail(pad('detail', plaintext))).toThrow(code('detail_malformed'))
  })

  test('with a note of 4,097 bytes is detail_malformed', () => {
    const noteLength = 5 + 2
    const long = encodeDetail([{ ...first, note: 'n'.repeat(4096) }])
    const bytesOfNote = concatBytes(long, Uint8Array.of(0)).with(noteLength + 1, 1)
    expect(() => decodeDetail(pad('detail', bytesOfNote))).toThrow(code('detail_malformed'))
  })

  test('of another version is upgrade_required', () => {
    expect(() => decodeDetail(bytes.with(0, 2))).toThrow(code('upgrade_required'))
  })

  test('with another byte in its padding is envelope_padding', () => {
    expect(() => decodeDetail(lastByteSet(bytes))).toThrow(code('envelope_padding'))
  })

  test('an error does not repeat a path', () => {
    const plaintext = pad('detail', encodeDetail([{ ...first, path: 'secret-name' }]))
    expect(errorText(() => decodeDetail(plaintext))).not.toContain('secret-name')
  })
})

describe('a memory blob', () => {
  const content = 'caf\u00e9\n\ufeff\u{1f600}'
  const memory = {
    path: '/a/b.md',
    content,
    versionId: 'ab'.repeat(16),
    created: 1_700_000_000_000,
    sha256: sha256(utf8(content)),
  }
  const plaintext = encodeMemoryBlob(memory)
  const bytes = pad('memory', plaintext)
  const contentAt = 64 + memory.path.length
  const of = (text: string): Uint8Array =>
    encodeMemoryBlob({ ...memory, content: text, sha256: sha256(utf8(text)) })

  test.each([
    ['some text', content],
    ['no text', ''],
    ['a byte-order mark', '\ufeff'],
    ['100,000 bytes', 'x'.repeat(100_000)],
  ])('of %s is read back as it was written', (_, text) => {
    expect(decodeMemoryBlob(pad('memory', of(text)))).toEqual({
      ...memory,
      content: text,
      sha256: sha256(utf8(text)),
    })
  })

  test('has the layout of the format', () => {
    expect(toHex(bytes.subarray(0, 8))).toBe('010000070000000d')
    expect(toHex(bytes.subarray(8, 24))).toBe(memory.versionId)
    expect(toHex(bytes.subarray(32, 64))).toBe(toHex(memory.sha256))
    expect(plaintext).toHaveLength(contentAt + utf8(content).length)
  })

  test.each([
    ['a content that is too long', bytes.with(4, 2)],
    ['a content longer than the blob', bytes.with(5, 1)],
    ['a time beyond 2^53', bytes.with(24, 0x20)],
    ['another hash', bytes.with(32, 1)],
    ['another content', bytes.with(contentAt, 0x44)],
    ['a path that is none', bytes.with(64, 0x41)],
    ['a path that is not UTF-8', bytes.with(65, 0xff)],
    ['a NUL character', pad('memory', of('a\0b'))],
    ['a content that is not UTF-8', notUtf8()],
  ])('with %s is memory_malformed', (_, padded) => {
    expect(() => decodeMemoryBlob(padded)).toThrow(code('memory_malformed'))
  })

  test.each([
    ['another version', bytes.with(0, 2)],
    ['a compression that is not known', bytes.with(1, 1)],
  ])('of %s is upgrade_required', (_, padded) => {
    expect(() => decodeMemoryBlob(padded)).toThrow(code('upgrade_required'))
  })

  test('with another byte in its padding is envelope_padding', () => {
    expect(() => decodeMemoryBlob(lastByteSet(bytes))).toThrow(code('envelope_padding'))
  })

  test('an error repeats neither path nor content', () => {
    const error = errorText(() => decodeMemoryBlob(bytes.with(64, 0x41).with(contentAt, 0x44)))
    expect(error).not.toMatch(/b\.md|af/)
  })

  function notUtf8(): Uint8Array {
    const start = plaintext.slice(0, contentAt)
    const bad = Uint8Array.of(0xc3, 0x28)
    start.set(sha256(bad), 32)
    start.set([0, 0, 0, 2], 4)
    return pad('memory', concatBytes(start, bad))
  }
})

test('changed and arbitrary bytes are read or refused with a code', () => {
  const detail = pad('detail', encodeDetail([first, deletion]))
  fc.assert(
    fc.property(fc.nat(255), fc.nat(255), fc.uint8Array({ maxLength: 600 }), (at, byte, noise) => {
      for (const bytes of [detail.with(at, byte), noise, pad('detail', noise)]) {
        expect(isReadOrRefused(() => decodeDetail(bytes), 'detail_malformed')).toBe(true)
        expect(isReadOrRefused(() => decodeMemoryBlob(bytes), 'memory_malformed')).toBe(true)
      }
    }),
    { seed, numRuns: full ? 20_000 : 500 },
  )
})

function isReadOrRefused(
  action: () => unknown,
  malformed: 'detail_malformed' | 'memory_malformed',
): boolean {
  try {
    action()
    return true
  } catch (error) {
    return hasCode(error, malformed, 'upgrade_required', 'envelope_padding')
  }
}

/** Everything about an error that could reach a log. */
function errorText(action: () => unknown): string {
  try {
    action()
    return ''
  } catch (error) {
    return error instanceof Error ? `${String(error.stack)} ${JSON.stringify(error)}` : ''
  }
}

function lastByteSet(bytes: Uint8Array): Uint8Array {
  return bytes.with(bytes.length - 1, 1)
}
