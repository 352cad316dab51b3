// Requests as plain JavaScript may make them, without the types: refused with a code, never a
// TypeError, and nothing changes.

import { expect, test } from 'vitest'
import type { MemoryStore } from '../../../src/index.ts'
import { author, newStore } from '../../support/stores.ts'

type Method = 'restore' | 'rollback' | 'undo' | 'at' | 'difference' | 'blame' | 'versions'

/** Calls a method with whatever arguments. */
async function call(
  store: MemoryStore,
  method: Method,
  args: readonly unknown[],
): Promise<unknown> {
  const answer: unknown = await Reflect.apply(store[method], store, args)
  return answer
}

const commit = 'a'.repeat(40)

test.each<[method: Method, args: readonly unknown[], says: RegExp]>([
  ['rollback', [undefined, author], /^A rollback must be an object/],
  ['rollback', [{}, author], /^A point must be one of/],
  ['rollback', [{ to: null }, author], /^A point must be/],
  ['rollback', [{ to: '2026-01-01' }, author], /^A point must be/],
  ['rollback', [{ to: { time: '2026-01-01' } }, author], /^A point must be/],
  ['rollback', [{ to: { time: 1, commit } }, author], /^A point must be/],
  ['rollback', [{ to: { time: Number.NaN } }, author], /time/],
  ['rollback', [{ to: { time: 1 } }], /^An author must/],
  ['rollback', [{ to: { time: 1 } }, author, null], /^The options must be/],
  ['restore', [undefined, author], /^A restore must be an object/],
  ['restore', [{ memory: '/a' }, author], /^A point must be/],
  ['restore', [{ to: { time: 1 } }, author], /^A memory must be named/],
  ['restore', [{ memory: ['/a'], to: { time: 1 } }, author], /^A memory must be named/],
  ['undo', [undefined, author], /^An undo must be an object/],
  ['undo', ['session', author], /^An undo must be an object/],
  ['undo', [{}, author], /^An undo must name/],
  ['at', [], /^A point must be/],
  ['at', [1], /^A point must be/],
  ['at', [{ commit: 1234567 }], /^A point must be/],
  ['at', [{ versionId: undefined }], /^A point must be/],
  ['at', [{ time: 1 }, null], /^The options must be/],
  ['difference', [], /^A point must be/],
  ['difference', [{ commit }, 'now'], /^A point must be/],
  ['blame', [], /^A memory must be named/],
  ['blame', [{ path: '/a' }], /^A memory must be named/],
  ['blame', ['/a', { at: 'yesterday' }], /^A point must be/],
  ['blame', ['/a', null], /^The options must be/],
  ['versions', [null], /^The filter must be/],
])('%s of %j is invalid input', async (method, args, says) => {
  const { store } = await newStore()
  const refused = call(store, method, args)
  await expect(refused).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(says),
  })
  expect((await store.status()).commits).toBe(1)
  await store.close()
})
