// The settings of a store: in a commit of their own, whole or not at all, and for good once it is
// archived (Memory Stores API §5).

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Change, MemoryStore } from '../../../src/index.ts'
import { author, newStore, reopen } from '../../support/stores.ts'

const create = (path: string): Change => ({ type: 'create', path, content: path })

describe('settings', () => {
  test('change in a separate commit and read back', async () => {
    const { store, place } = await newStore()
    await store
      .as(author)
      .settings.update({ name: 'notes', metadata: { b: '1', '10': '2', '9': '3' } })
    const { commit } = await store.as(author).settings.update({ name: 'notes' })
    expect(commit).toBeUndefined()
    await store.maintenance.verify()
    await store.close()
    const again = await reopen(place)
    expect((await again.status()).settings).toMatchObject({ name: 'notes', metadata: { b: '1' } })
    await again.close()
  })

  test.each([
    { name: '' },
    { name: 'a\nb' },
    { description: 'x'.repeat(1025) },
    { metadata: { '': 'x' } },
    { limits: { contentBytes: 0, memories: 1 } },
    { limits: { contentBytes: 17 * 1024 * 1024, memories: 1 } },
  ])('refuse %j', async (change) => {
    const { store } = await newStore()
    await expect(store.as(author).settings.update(change)).rejects.toMatchObject({
      code: 'invalid_input',
    })
    await store.close()
  })

  test('an archived store can be read and emptied only', async () => {
    const { store } = await newStore()
    await store.as(author).apply([create('/a')])
    await store.as(author).settings.update({ archivedAt: 5 })
    await expect(store.as(author).apply([create('/b')])).rejects.toMatchObject({
      code: 'store_archived',
    })
    await store.as(author).apply([{ type: 'delete', path: '/a' }])
    await store.close()
  })

  test('are part of a store from its beginning', async () => {
    const metadata = { team: 'α' }
    const texts = { name: 'notes', description: 'of the team', metadata }
    const { store, place } = await newStore({ ...texts, clock: () => 1_700_000_000_000 })
    metadata.team = 'changed by the caller'
    const { settings, ...info } = await store.info()
    expect(settings).toMatchObject({ ...texts, metadata: { team: 'α' } })
    const createdAt = 1_700_000_000_000
    expect(info).toEqual({ storeId: store.id, createdAt, updatedAt: createdAt })
    expect(await store.maintenance.verify()).toMatchObject({ commits: 1 })
    await store.close()
    const again = await reopen(place)
    expect(await again.info()).toEqual({ settings, ...info })
    await again.close()
  })

  test('have the time of their last change, also from a cache or from git alone', async () => {
    let now = 1_000_000
    const clock = (): number => (now += 1000)
    const { store, place } = await newStore({ clock })
    const { createdAt } = await store.info()
    await store.as(author).settings.update({ name: 'notes' })
    const info = await store.info()
    expect(info).toMatchObject({ createdAt, settings: { name: 'notes' } })
    expect(info.updatedAt).toBeGreaterThan(createdAt)
    await store.as(author).write('/a', 'a')
    expect(await store.info()).toEqual(info)
    await store.close()
    for (const name of ['cache', 'nothing']) {
      rmSync(join(place.directory, 'gitlocket', name), { recursive: true, force: true })
      const again = await reopen(place)
      expect(await again.info()).toEqual(info)
      await again.close()
    }
  })

  test('that a function derives from the current ones lose nothing', async () => {
    const { store, place } = await newStore()
    const other = await reopen(place)
    const patch = (handle: MemoryStore, key: string): Promise<unknown> =>
      handle.as(author).settings.update(({ metadata }) => {
        return { metadata: { ...metadata, [key]: 'x' } }
      })
    const patches = Array.from({ length: 10 }, (_, n) => patch(n % 2 ? other : store, `k${n}`))
    await Promise.all(patches)
    const { settings } = await store.info()
    expect(Object.keys(settings.metadata)).toHaveLength(10)
    await expect(patch(store, '')).rejects.toMatchObject({ code: 'invalid_input' })
    const full = store.as(author).settings.update(({ metadata }) => {
      Object.assign(metadata, { k0: 'changed in place' })
      return {}
    })
    expect(await full).toEqual({ commit: undefined, versionIds: [] })
    await store.close()
    await other.close()
  })

  test('of an archived store do not change, and it remains archived', async () => {
    const { store } = await newStore()
    const me = store.as(author)
    await me.settings.update({ archivedAt: 5 })
    for (const change of [{ name: 'other' }, { archivedAt: undefined }, { archivedAt: 6 }]) {
      await expect(me.settings.update(change)).rejects.toMatchObject({ code: 'store_archived' })
    }
    const archive = me.settings.update(({ archivedAt = 7 }) => ({ archivedAt }))
    expect(await archive).toMatchObject({ commit: undefined })
    expect(await store.info()).toMatchObject({ settings: { archivedAt: 5 } })
    await store.close()
  })
})
