// Requests as plain JavaScript may make them, without the types: refused with a code, never a
// TypeError, and nothing changes.

import { expect, test } from 'vitest'
import type { MemoryStore } from '../../../src/index.ts'
import { author, newStore } from '../../support/stores.ts'

/** The objects whose methods are called. */
const owners: Readonly<Record<string, (store: MemoryStore) => object>> = {
  history: ({ history }) => history,
  me: (store) => store.as(author),
  store: (store) => store,
}

/** Calls a method such as `me.undo` with whatever arguments. */
async function call(store: MemoryStore, name: string, args: readonly unknown[]): Promise<unknown> {
  const [owner = '', method = ''] = name.split('.')
  const self = owners[owner]?.(store) ?? {}
  const found: unknown = Reflect.get(self, method)
  if (typeof found !== 'function') throw new Error(`There is no ${name}`)
  const answer: unknown = await Reflect.apply(found, self, args)
  return answer
}

const commit = 'a'.repeat(40)

test.each<[method: string, args: readonly unknown[], says: RegExp]>([
  ['me.rollback', [undefined], /^A rollback must be an object/],
  ['me.rollback', [{}], /^A point must be one of/],
  ['me.rollback', [{ to: null }], /^A point must be/],
  ['me.rollback', [{ to: '2026-01-01' }], /^A point must be/],
  ['me.rollback', [{ to: { time: '2026-01-01' } }], /^A point must be/],
  ['me.rollback', [{ to: { time: 1, commit } }], /^A point must be/],
  ['me.rollback', [{ to: { time: Number.NaN } }], /time/],
  ['store.as', [], /^An author must/],
  ['me.rollback', [{ to: { time: 1 } }, null], /^The options must be/],
  ['me.restore', [undefined], /^A restore must be an object/],
  ['me.restore', [{ memory: '/a', to: 'now' }], /^A point must be/],
  ['me.restore', [{ to: { time: 1 } }], /^A memory must be named/],
  ['me.restore', [{ memory: ['/a'], to: { time: 1 } }], /^A memory must be named/],
  ['me.undo', [undefined], /^An undo must be an object/],
  ['me.undo', ['session'], /^An undo must be an object/],
  ['me.undo', [{}], /^An undo must name/],
  ['store.at', [], /^A point must be/],
  ['store.at', [1], /^A point must be/],
  ['store.at', [{ commit: 1234567 }], /^A point must be/],
  ['store.at', [{ versionId: undefined }], /^A point must be/],
  ['store.at', [{ time: 1 }, null], /^The options must be/],
  ['history.diff', [], /^A point must be/],
  ['history.diff', [{ commit }, 'now'], /^A point must be/],
  ['history.blame', [], /^A memory must be named/],
  ['history.blame', [{ path: '/a' }], /^A memory must be named/],
  ['history.blame', ['/a', { at: 'yesterday' }], /^A point must be/],
  ['history.blame', ['/a', null], /^The options must be/],
  ['history.versions', [null], /^The filter must be/],
  ['store.memories', [null], /^The query must be/],
  ['store.memories', [{ depth: 2 }], /^The depth must be/],
  ['store.memories', [{ view: 'all' }], /^The view must be/],
  ['store.memories', [{ limit: 0 }], /^The limit must be/],
  ['store.memories', [{ path: '/a', page: '/b' }], /^The cursor belongs/],
  ['store.memories', [{ page: '' }], /^The cursor belongs/],
  ['store.memories', [{ page: 'b' }], /^The cursor belongs/],
  ['me.apply', [[null]], /^A change must be/],
  ['me.edit', ['/a'], /^The edit of/],
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
