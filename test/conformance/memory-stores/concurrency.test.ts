// Memory Stores API §10.1: of changes at the same time that exclude each other exactly one wins;
// of those that do not, none is lost.
// @module-tag slow

import { describe, expect, test } from 'vitest'
import { type Answer, expectDone } from '../../support/http-caller.ts'
import { onServers, type StoreOnServer, storesPath } from '../../support/running-server.ts'
import { full } from '../../support/seed.ts'
import { guard, idsOf, pathsOf, sha256 } from './objects.ts'

const crowds = full ? [2, 8, 32, 64] : [8, 32]

onServers('concurrency', (at) => {
  const race = async (
    crowd: number,
    act: (n: number) => Promise<Answer>,
  ): Promise<{ winners: Answer[]; losers: number[] }> => {
    const answers = await Promise.all(Array.from({ length: crowd }, (_, n) => act(n)))
    const winners = answers.filter(({ status }) => status === 200)
    const losers = answers.filter(({ status }) => status !== 200).map(({ status }) => status)
    return { winners, losers }
  }
  const memories = (store: StoreOnServer, rest = '') => `${store.path}/memories${rest}`

  describe.each(crowds)('10.1: one of %d wins', (crowd) => {
    const beaten = Array(crowd - 1).fill(409)

    test('updates with one precondition', { tags: 'slow' }, async () => {
      const store = await at.store()
      const { id } = await store.create('/a', 'start')
      const { winners, losers } = await race(crowd, (n) =>
        at.caller.post(memories(store, `/${id}?view=full`), {
          content: `${n}`,
          precondition: guard('start'),
        }),
      )
      expect(losers).toEqual(beaten)
      const shown = (await store.get(`/memories/${id}`)).content
      expect(winners.map(({ body }) => body.content)).toEqual([shown])
      expect(await store.versions()).toHaveLength(2)
    })

    test('creations at one path, above it and below it', async () => {
      const store = await at.store()
      const paths = ['/a/b', '/a', '/a/b/c']
      const { winners, losers } = await race(crowd, (n) =>
        at.caller.post(memories(store), { path: paths[n % 3], content: `${n}` }),
      )
      expect(losers).toEqual(beaten)
      expect(idsOf(await store.memories())).toEqual(winners.map(({ body }) => body.id))
      expect(await store.versions()).toHaveLength(1)
    })

    test('renames to one path', { tags: 'slow' }, async () => {
      const store = await at.store()
      const ids: string[] = []
      for (let n = 0; n < crowd; n++) ids.push((await store.create(`/m${n}`)).id)
      const { winners, losers } = await race(crowd, (n) =>
        at.caller.post(memories(store, `/${ids[n]}`), { path: '/to' }),
      )
      expect(losers).toEqual(beaten)
      expect(winners).toHaveLength(1)
      expect(await store.memories('limit=100')).toHaveLength(crowd)
      expect(pathsOf(await store.memories('limit=100'))).toContain('/to')
    })

    test('deletions of one memory', async () => {
      const store = await at.store()
      const { id } = await store.create('/a')
      const query = `?expected_content_sha256=${sha256('text')}`
      const { winners, losers } = await race(crowd, (n) =>
        at.caller.delete(memories(store, `/${id}${n % 2 === 0 ? query : ''}`)),
      )
      expect(winners).toHaveLength(1)
      expect(losers).toEqual(Array(crowd - 1).fill(404))
      expect(await store.versions()).toHaveLength(2)
    })

    test('guarded updates and deletions', async () => {
      const store = await at.store()
      const { id } = await store.create('/a', 'start')
      const query = `?expected_content_sha256=${sha256('start')}`
      const { winners, losers } = await race(crowd, (n) =>
        n % 2 === 0
          ? at.caller.delete(memories(store, `/${id}${query}`))
          : at.caller.post(memories(store, `/${id}`), {
              content: `${n}`,
              precondition: guard('start'),
            }),
      )
      expect(winners).toHaveLength(1)
      expect(losers.every((status) => status === 404 || status === 409)).toBe(true)
      expect(await store.versions()).toHaveLength(2)
    })
  })

  describe('10.1: no write is lost', () => {
    test('unguarded updates of one memory', async () => {
      const store = await at.store()
      const { id } = await store.create('/a', 'start')
      const { winners } = await race(32, (n) =>
        at.caller.post(memories(store, `/${id}`), { content: `${n}` }),
      )
      expect(winners).toHaveLength(32)
      const written = winners.map(({ body }): string => body.memory_version_id).toSorted()
      const versions = await store.versions('operation=modified&limit=100')
      expect(idsOf(versions).toSorted()).toEqual(written)
    })

    test('concurrent creations, over several stores', { tags: 'slow' }, async () => {
      const stores = await Promise.all([0, 1, 2, 3].map(() => at.store()))
      const { winners } = await race(32, async (n) => {
        const store = stores[n % 4]
        if (store === undefined) throw new Error('there are four')
        return at.caller.post(memories(store), { path: `/${n}`, content: `${n}` })
      })
      expect(winners).toHaveLength(32)
      const counts = stores.map(async (store) => (await store.memories()).length)
      expect(await Promise.all(counts)).toEqual([8, 8, 8, 8])
    })

    test('a counter that is raised under a guard', { tags: 'slow' }, async () => {
      const store = await at.store()
      const { id } = await store.create('/counter', '0')
      // Each writes a text of its own: an equal one would be no change, whatever the guard.
      const raise = async (_: unknown, writer: number): Promise<void> => {
        for (;;) {
          const { content } = await store.get(`/memories/${id}`)
          const next = `${Number.parseInt(content, 10) + 1} by ${writer}`
          const body = { content: next, precondition: guard(content) }
          const { status } = await at.caller.post(memories(store, `/${id}`), body)
          if (status === 200) return
          expect(status).toBe(409)
        }
      }
      await Promise.all(Array.from({ length: 8 }, raise))
      expect((await store.get(`/memories/${id}`)).content).toMatch(/^8 by /)
      expect(await store.versions('operation=modified')).toHaveLength(8)
    })

    test('5.2: patches of metadata', async () => {
      const store = await at.store()
      const { winners } = await race(16, (n) =>
        at.caller.post(store.path, { metadata: { [`k${n}`]: 'v' } }),
      )
      expect(winners).toHaveLength(16)
      expect(Object.keys((await store.get()).metadata)).toHaveLength(16)
    })

    test('5.7: archiving at once sets one time', async () => {
      const store = await at.store()
      const { winners } = await race(8, () => at.caller.post(`${store.path}/archive`))
      const times = winners.map(({ body }) => body.archived_at)
      expect(times).toEqual(Array(8).fill((await store.get()).archived_at))
    })

    test('5.6: a deletion among reads and writes', async () => {
      const store = await at.store()
      const { id } = await store.create('/a')
      const { losers } = await race(16, async (n) => {
        if (n === 5) return at.caller.delete(store.path)
        if (n % 2 === 0) return at.caller.get(memories(store, `/${id}`))
        return at.caller.post(memories(store), { path: `/m${n}`, content: '' })
      })
      expect(losers.every((status) => status === 404)).toBe(true)
      const list = expectDone(await at.caller.get(`${storesPath}?limit=100`))
      expect(idsOf(list.data)).not.toContain(store.id)
    })
  })
})
