// What a former owner redacted or set on an older state waits for an owner, who sees it first
// (FORMAT §7.4); no writes wait for that.
// @module-tag slow

import { expect, test } from 'vitest'
import { worldsOf } from '../../../support/clone-templates.ts'
import {
  alone,
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'

/** Three owners in step; A has made B a writer, which B does not know. */
const lowered = worldsOf(async (url) => {
  const a = await firstClone(url)
  await put(a, '/notes.md', 'one\n')
  await put(a, '/notes.md', 'two\n')
  await sync(a)
  const b = await joinClone(a, url)
  const c = await joinClone(a, url)
  await syncAll([a, b, c])
  await a.store.as(author).devices.changeRole(idOf(b), 'writer', alone)
  await sync(a)
  return { a, b, c }
})

async function redactFirst({ store }: Clone): Promise<string> {
  const { data } = await store.history.versions({ path: '/notes.md', order: 'oldest' })
  const versionId = data[0]?.versionId ?? ''
  await store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'leaked_secret' })
  return versionId
}

test('a former owner keeps its redaction to itself and can still write', async () => {
  const { a, b } = await lowered()
  await redactFirst(b)
  await put(b, '/of-b.md', 'b\n')
  const failure = await failureOf(sync(b))
  expect(failure).toMatchObject({ code: 'merge_held' })
  expect(failure.message).toMatch(`${idOf(b)}, owner no more, has redacted 1 versions`)
  expect(failure.details.commit).toBeUndefined()
  await put(b, '/more.md', 'more\n')
  await b.store.as(author).sync({ takeTheirs: true })
  await sync(a)
  expect(await contentsOf(a.store)).toEqual({
    '/notes.md': 'two\n',
    '/of-b.md': 'b\n',
    '/more.md': 'more\n',
  })
  expect(await headOf(a)).toBe(await headOf(b))
})

test('an owner sees which versions it would erase, and merges them with one command', async () => {
  const { a, b, c } = await lowered()
  await syncAll([a, c])
  const fork = bareRemote()
  for (const { store } of [a, b, c]) await store.remotes.add('fork', fork)
  const versionId = await redactFirst(b)
  await b.store.as(author).settings.update({ name: 'of b' })
  await b.store.as(author).sync({ remote: 'fork' })
  const before = await headOf(a)
  const failure = await failureOf(a.store.as(author).sync({ remote: 'fork' }))
  const { commit = '', versionIds } = failure.details
  expect(failure.code).toBe('merge_held')
  expect(versionIds).toEqual([versionId])
  expect(commit).toBe(await headOf(b))
  expect(failure.message).toMatch('redacted 1 versions and changed the settings')
  expect(await headOf(a)).toBe(before)
  const other = a.store.as(author).sync({ remote: 'fork', mergeHeld: '0'.repeat(40) })
  expect(await failureOf(other)).toMatchObject({ code: 'merge_held' })
  await a.store.as(author).sync({ remote: 'fork', mergeHeld: commit })
  expect((await a.store.status()).settings.name).toBe('of b')
  await a.store.as(author).sync({ remote: 'origin' })
  await c.store.as(author).sync({ remote: 'origin' })
  expect(await headOf(c)).toBe(await headOf(a))
  await c.store.maintenance.verify()
  const { data } = await c.store.history.versions({})
  const redacted = data.filter(({ redactedAt }) => redactedAt !== undefined)
  expect(redacted.map((version) => version.versionId)).toEqual([versionId])
})

test('a redaction by both a removed owner and the remote holds no merge', async () => {
  const { a, b, c } = await lowered()
  await syncAll([a])
  const fork = bareRemote()
  for (const { store } of [b, c]) await store.remotes.add('fork', fork)
  const versionId = await redactFirst(b)
  await b.store.as(author).sync({ remote: 'fork' })
  await c.store.as(author).sync({ remote: 'fork' })
  expect((await c.store.history.version(versionId)).redactedAt).toBeDefined()
  await a.store.as(author).devices.remove([idOf(b)], alone)
  await redactFirst(a)
  await sync(a)
  const { late } = await c.store.as(author).sync({ remote: 'origin' })
  expect(late).toMatchObject([{ kind: 'redact', redacts: [versionId] }])
  expect(await headOf(c)).toBe(await headOf(a))
  await c.store.maintenance.verify()
})
