// Details and memory blobs: what the vectors and the properties of format and agreement leave out.

import { expect, test } from 'vitest'
import { concatBytes, utf8 } from '../../../src/bytes.ts'
import { sha256 } from '../../../src/crypto/digest.ts'
import { decodeDetail, encodeDetail } from '../../../src/format/detail.ts'
import { decodeMemoryBlob, encodeMemoryBlob } from '../../../src/format/memory-blob.ts'
import { padded } from '../../property/format-values.ts'

const content = 'caf\u00e9\n'
const path = '/a/b.md'
const blob = {
  path,
  content,
  versionId: 'ab'.repeat(16),
  created: 1,
  sha256: sha256(utf8(content)),
}
const bytes = padded('memory', encodeMemoryBlob(blob))
const contentAt = 64 + path.length

test('a memory of more than 16 MiB is refused before its bytes are counted', () => {
  const code = expect.objectContaining({ code: 'memory_malformed' })
  expect(() => decodeMemoryBlob(bytes.with(4, 2))).toThrow(code)
})

test('a note of 4,097 bytes is refused', () => {
  const fields = { row: 0, path, size: 5, sha256: sha256(bytes), blinding: sha256(bytes) }
  const long = encodeDetail([{ ...fields, note: 'n'.repeat(4096) }])
  const longer = concatBytes(long, Uint8Array.of(0)).with(5 + 2 + 1, 1)
  const code = expect.objectContaining({ code: 'detail_malformed' })
  expect(() => decodeDetail(padded('detail', longer))).toThrow(code)
})

test('an error repeats neither path nor content', () => {
  const fields = { row: 0, note: '', size: 5, sha256: sha256(bytes), blinding: sha256(bytes) }
  const detail = padded('detail', encodeDetail([{ ...fields, path: 'secret-name' }]))
  expect(errorText(() => decodeDetail(detail))).not.toContain('secret-name')
  const changed = bytes.with(64, 0x41).with(contentAt, 0x44)
  expect(errorText(() => decodeMemoryBlob(changed))).not.toMatch(/b\.md|af/)
})

/** Everything about an error that could reach a log. */
function errorText(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (error instanceof Error) return `${String(error.stack)} ${JSON.stringify(error)}`
  }
  throw new Error('Nothing was refused')
}
