// T37: journals that an attacker plants in the directory of a store, without a key. Their checksums
// need none, so every length in them may lie: the cost of a file must follow from its size. Counted
// in hashed bytes, never timed.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { ByteWriter } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import { batchHeadBytes, encodeBatch, sectorBytes } from '../../src/git/journal/journal-frame.ts'
import { surveyJournal } from '../../src/git/journal/journal-survey.ts'
import { createStore, generateIdentity, openStore } from '../../src/index.ts'
import { MEBIBYTE } from '../../src/limits.ts'
import { author } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

let hashed = 0
vi.mock(import('../../src/crypto/digest.ts'), async (original) => {
  const digest = await original()
  return {
    ...digest,
    sha256: (bytes: Uint8Array): Uint8Array => {
      hashed += bytes.length
      return digest.sha256(bytes)
    },
  }
})

beforeEach(() => {
  hashed = 0
})

const origin = { generation: 1, salt: new Uint8Array(16).fill(7) }

/** In each sector the valid head of a batch up to the end of the file; no batch is intact. */
function overlapping(size: number): Uint8Array {
  const bytes = new Uint8Array(size).fill(1)
  for (let at = 0; at < size; at += sectorBytes) {
    const length = size - at - batchHeadBytes - 17
    const fields = new ByteWriter().raw(Buffer.from('GLJ2')).u32(length).u64(1).raw(origin.salt)
    const head = fields.u64(0).bytes()
    const sum = sha256(new ByteWriter().u64(at).raw(head).bytes()).subarray(0, 16)
    bytes.set(new ByteWriter().raw(head).raw(sum).raw(Uint8Array.of(255)).bytes(), at)
  }
  return bytes
}

test('T37: a journal of overlapping batches is damage, found in proportion to its size', () => {
  const bytes = overlapping(MEBIBYTE)
  hashed = 0
  expect(surveyJournal(bytes)).toMatchObject({ rest: 'damaged', before: [], end: 0 })
  expect(hashed).toBeLessThan(6 * MEBIBYTE)
})

test('T37: so is one that follows an intact batch', () => {
  const first = encodeBatch(origin, { start: 0, durable: 0 }, []).bytes
  const bytes = overlapping(MEBIBYTE)
  bytes.set(first)
  hashed = 0
  expect(surveyJournal(bytes)).toMatchObject({ rest: 'damaged', end: first.length })
  expect(hashed).toBeLessThan(6 * MEBIBYTE)
})

test('T37: a store with such a journal is refused as soon', async () => {
  const folder = temporaryDirectory()
  const identity = await generateIdentity()
  const site = { directory: `${folder}/store`, stateDirectory: `${folder}/state`, identity }
  const { store } = await createStore(site)
  await store.as(author).write('/a.md', 'one\n')
  await store.close()
  writeFileSync(join(site.directory, 'gitlocket/journal-a'), overlapping(MEBIBYTE))
  hashed = 0
  const verdict = await verdictOf(async () => (await openStore(site)).close())
  expect(verdict).toBe('journal_corrupt')
  expect(hashed).toBeLessThan(64 * MEBIBYTE)
})
