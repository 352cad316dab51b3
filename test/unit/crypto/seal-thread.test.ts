// Large contents are sealed in a thread, into the same bytes.

import { afterEach, expect, test, vi } from 'vitest'
import { sealInThread as sealBytesInThread } from '../../../src/crypto/seal-thread.ts'
import { gitHash } from '../../../src/crypto/sha1.ts'
import { sodium } from '../../../src/crypto/sodium.ts'
import { openEnvelope, sealEnvelope, sealInThread } from '../../../src/format/envelope.ts'
import { author, newStore, reopen } from '../../support/stores.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const keys = {
  kid: '0123456789abcdef'.repeat(2),
  key: new Uint8Array(32).fill(1),
  saltKey: new Uint8Array(32).fill(2),
}
const context = new Uint8Array(32).fill(3)
const hedge = new Uint8Array(32).fill(4)

test('a thread makes the same envelope, and its name', async () => {
  const sizes = [0, 1, 1000, 300_000, 200]
  const plaintexts = sizes.map((size) => new Uint8Array(size).fill(7))
  const blobs = await Promise.all(
    plaintexts.map((plaintext) => sealInThread('memory', keys, context, hedge, plaintext)),
  )
  for (const [n, plaintext] of plaintexts.entries()) {
    const here = sealEnvelope('memory', keys, context, hedge, plaintext)
    expect(Buffer.compare(blobs[n]?.body ?? new Uint8Array(), here)).toBe(0)
    expect(blobs[n]?.oid).toBe(gitHash('blob', here))
    const padded = openEnvelope('memory', keys, context, here)
    expect(Buffer.compare(padded.subarray(0, plaintext.length), plaintext)).toBe(0)
  }
  // The caller's keys and plaintext are its own.
  expect(keys.key[0]).toBe(1)
  expect(plaintexts[3]).toHaveLength(300_000)
})

test('a padded plaintext is handed over, and a job that fails fails alone', async () => {
  const job = {
    header: new Uint8Array(24),
    type: 2,
    context,
    hedge,
    key: keys.key,
    saltKey: keys.saltKey,
  }
  const plaintext = new Uint8Array(100)
  const sealed = sealBytesInThread({ ...job, plaintext })
  expect(plaintext).toHaveLength(0)
  await sealed
  const broken = { ...job, hedge: new Uint8Array(1), plaintext: new Uint8Array(100) }
  await expect(sealBytesInThread(broken)).rejects.toThrow('a hedge has 32 bytes')
  await sealBytesInThread({ ...job, plaintext: new Uint8Array(100) })
})

test('a content above 102,400 bytes is not encrypted in this thread', async () => {
  const limits = { contentBytes: 1_000_000, memories: 100 }
  const { store, place } = await newStore({ limits })
  const encrypt = vi.spyOn(sodium, 'crypto_aead_xchacha20poly1305_ietf_encrypt')
  const largest = (): number => {
    const sizes = encrypt.mock.calls.map(([plaintext]) => plaintext.length)
    encrypt.mockClear()
    return Math.max(...sizes)
  }
  const [small, large] = ['s'.repeat(102_400), 'l'.repeat(102_401)]
  await store.as(author).apply([{ type: 'create', path: '/small.md', content: small }])
  expect(largest()).toBeGreaterThan(102_400)
  await store.as(author).apply([{ type: 'create', path: '/large.md', content: large }])
  expect(largest()).toBeLessThan(10_000)
  const edit = (content: string): string => `${content}.`
  await store.as(author).apply([{ type: 'edit', path: '/large.md', edit }])
  expect(largest()).toBeLessThan(10_000)
  await store.close()
  const again = await reopen(place)
  expect((await again.read('/large.md'))?.content).toBe(`${large}.`)
  expect((await again.read('/small.md'))?.content).toBe(small)
  await again.maintenance.verify()
  await again.close()
})
