// Memory Stores API §3.3, §4 and §6.11: pages, cursors, limits and times of the three lists, and
// prefixes in that of memories.

import { beforeAll, describe, expect, test } from 'vitest'
import { expectDone, expectRefused, type Json, pagesOf } from '../../support/http-caller.ts'
import { onServers, type StoreOnServer, storesPath } from '../../support/running-server.ts'
import { idsOf, nextMillisecond, pathsOf } from './objects.ts'

const count = 25

onServers('listing', (at) => {
  let store: StoreOnServer
  let stores: StoreOnServer[]
  beforeAll(async () => {
    stores = []
    for (let n = 0; n < count - 1; n++) stores.push(await at.store({ name: `s${n}` }))
    store = await at.store({ name: 'listed' })
    for (let n = 0; n < count; n++) await store.create(`/m/${String(n).padStart(2, '0')}`)
  })

  const lists = ['stores', 'memories', 'versions'] as const
  const path = (list: (typeof lists)[number]): string =>
    list === 'stores'
      ? storesPath
      : `${store.path}/${list === 'memories' ? 'memories' : 'memory_versions'}`
  const page = async (where: string): Promise<Json> => expectDone(await at.caller.get(where))

  describe.each(lists)('lists of %s', (list) => {
    test('4.2: cursors reach the end, where next_page is null', async () => {
      const pages = await pagesOf(at.caller, `${path(list)}?limit=10`)
      expect(pages.map(({ length }) => length)).toEqual([10, 10, 5])
      const all = (await page(`${path(list)}?limit=100`)).data
      expect(pages.flat()).toEqual(all)
      expect(new Set(idsOf(all)).size).toBe(count)
    })

    test('4.2: the page with the last item has no next_page', async () => {
      const pages = await pagesOf(at.caller, `${path(list)}?limit=25`)
      expect(pages.filter(({ length }) => length > 0)).toHaveLength(1)
      expect((await page(`${path(list)}?limit=26`)).next_page).toBeNull()
    })

    test('4.3: a page has 20 items by default, 1 and 100 are legal', async () => {
      expect((await page(path(list))).data).toHaveLength(20)
      expect((await page(`${path(list)}?limit=1`)).data).toHaveLength(1)
      expect((await page(`${path(list)}?limit=100`)).data).toHaveLength(count)
    })

    test.each([
      '0',
      '101',
      '-1',
      '1.5',
      '01',
      '+1',
      'x',
      '',
      '1e1',
      '0x10',
      '99999999999',
      ' 5',
      '5 ',
      'NaN',
    ])('4.3: refused: limit=%s', async (limit) => {
      expectRefused(await at.caller.get(`${path(list)}?limit=${encodeURIComponent(limit)}`), 400)
    })

    test.each(['', 'x', 'page_', 'page_AAAA', `page_${'A'.repeat(200)}`, '..', '%00', '🐙'])(
      '4.2: a cursor that was never issued is refused: %s',
      async (cursor) => {
        expectRefused(await at.caller.get(`${path(list)}?page=${encodeURIComponent(cursor)}`), 400)
      },
    )

    test('4.2: a cursor with one character changed is refused', async () => {
      const { next_page } = await page(`${path(list)}?limit=5`)
      for (const n of [5, 12, next_page.length - 2]) {
        const changed = next_page[n] === 'A' ? 'B' : 'A'
        const forged = next_page.slice(0, n) + changed + next_page.slice(n + 1)
        const where = `${path(list)}?limit=5&page=${encodeURIComponent(forged)}`
        expectRefused(await at.caller.get(where), 400)
      }
      const short = encodeURIComponent(next_page.slice(0, -4))
      expectRefused(await at.caller.get(`${path(list)}?limit=5&page=${short}`), 400)
    })

    test('4.2: a cursor of another list is refused', async () => {
      const others = lists.filter((other) => other !== list)
      for (const other of others) {
        const { next_page } = await page(`${path(other)}?limit=5`)
        const where = `${path(list)}?limit=5&page=${encodeURIComponent(next_page)}`
        expectRefused(await at.caller.get(where), 400)
      }
    })

    test('4.2: a cursor reveals nothing about its item', async () => {
      const { next_page, data } = await page(`${path(list)}?limit=5`)
      const decoded = Buffer.from(next_page.replace(/^page_/, ''), 'base64url').toString('latin1')
      for (const shown of [decoded, next_page]) {
        expect(shown).not.toContain(data[4].id)
        expect(shown).not.toContain('/m/')
        expect(shown).not.toContain(data[4].created_at)
      }
    })

    test('4.2: a cursor is valid after a restart', async () => {
      const all = (await page(`${path(list)}?limit=100`)).data
      const { next_page } = await page(`${path(list)}?limit=10`)
      await at.restart()
      const rest = await page(`${path(list)}?limit=100&page=${encodeURIComponent(next_page)}`)
      expect(rest.data).toEqual(all.slice(10))
    })
  })

  test('4.2: a cursor of another store, workspace or filter is refused', async () => {
    const other = await at.store()
    for (const name of ['a', 'b', 'c']) await other.create(`/${name}`)
    const refuses = async (from: string, to: string, caller = at.caller) => {
      const { next_page } = await page(from)
      const mark = to.includes('?') ? '&' : '?'
      expectRefused(await caller.get(`${to}${mark}page=${encodeURIComponent(next_page)}`), 400)
    }
    await refuses(`${other.path}/memories?limit=1`, `${store.path}/memories`)
    await refuses(`${other.path}/memory_versions?limit=1`, `${store.path}/memory_versions`)
    await refuses(`${store.path}/memories?limit=1`, `${store.path}/memories?path_prefix=/m/`)
    await refuses(`${store.path}/memories?path_prefix=/m/&limit=1`, `${store.path}/memories`)
    await refuses(`${store.path}/memories?limit=1`, `${store.path}/memories?depth=1`)
    const versions = `${store.path}/memory_versions`
    await refuses(`${versions}?limit=1`, `${versions}?operation=created`)
    await refuses(`${storesPath}?limit=1`, `${storesPath}?include_archived=true`)
    await refuses(`${storesPath}?limit=1`, storesPath, at.foreign)
    expectDone(await at.caller.delete(other.path))
  })

  describe('4.3: with view=full', () => {
    test.each(['memories', 'versions'] as const)('%s come 20 at most', async (list) => {
      const pages = await pagesOf(at.caller, `${path(list)}?view=full&limit=100`)
      expect(pages.map(({ length }) => length)).toEqual([20, 5])
      expect(pages.flat().map(({ content }) => content)).toEqual(Array(count).fill('text'))
    })

    test('a smaller limit applies', async () => {
      expect((await page(`${path('memories')}?view=full&limit=3`)).data).toHaveLength(3)
    })
  })

  describe('4.4: concurrent changes', () => {
    test('memories: nothing is repeated or skipped', { tags: 'slow' }, async () => {
      const base = await at.store()
      const made: Json[] = []
      for (let n = 10; n < 30; n++) made.push(await base.create(`/${n}`))
      const seen: string[] = []
      for (let cursor: string | null = '', n = 0; cursor !== null; n++) {
        const after: string = cursor === '' ? '' : `&page=${encodeURIComponent(cursor)}`
        const { data, next_page } = await base.get(`/memories?limit=4${after}`)
        seen.push(...pathsOf(data))
        cursor = next_page
        // The last listed item is removed, one is added before it, and one after it.
        const last = made.find((memory) => memory.path === seen.at(-1))
        if (last !== undefined) await base.delete(last.id)
        await base.create(`/0${n}`)
        await base.create(`/9${n}`)
      }
      expect(new Set(seen).size).toBe(seen.length)
      expect(seen.filter((one) => /^\/[12]\d$/.test(one))).toEqual(pathsOf(made))
      expectDone(await at.caller.delete(base.path))
    })

    test('versions and stores: new ones do not shift the pages', async () => {
      const base = await at.store()
      const { id } = await base.create('/a')
      for (let n = 0; n < 9; n++) await base.update(id, { content: `${n}` })
      const seen: string[] = []
      for (let cursor: string | null = ''; cursor !== null;) {
        const after: string = cursor === '' ? '' : `&page=${encodeURIComponent(cursor)}`
        const { data, next_page } = await base.get(`/memory_versions?limit=3${after}`)
        seen.push(...idsOf(data))
        cursor = next_page
        await base.update(id, { content: `later ${seen.length}` })
      }
      const all = idsOf(await base.versions())
      expect(seen).toEqual(all.slice(-10))
      const first = await page(`${storesPath}?limit=5`)
      const extra = await at.store()
      const rest = await page(`${storesPath}?limit=100&page=${encodeURIComponent(first.next_page)}`)
      expect([...idsOf(first.data), ...idsOf(rest.data)].toSorted()).toEqual(
        [base.id, store.id, ...idsOf(stores)].toSorted(),
      )
      for (const one of [base, extra]) expectDone(await at.caller.delete(one.path))
    })
  })

  describe.each(['stores', 'versions'] as const)('4.5: created_at of %s', (list) => {
    const found = async (query: string): Promise<string[]> => {
      const answer = await at.caller.get(`${path(list)}?limit=100&${query}`)
      return idsOf(expectDone(answer).data)
    }

    test('each matches itself from both sides, with any offset', async () => {
      const { id, created_at } = (await page(`${path(list)}?limit=100`)).data[7]
      const shifted = (hours: number, zone: string) => {
        const local = new Date(Date.parse(created_at) + hours * 3_600_000).toISOString()
        return local.replace('Z', zone)
      }
      const times = [created_at, shifted(2, '+02:00'), shifted(-5.5, '-05:30')]
      // As it is a plus sign reads as a space.
      for (const time of [...times.map(encodeURIComponent), shifted(2, '+02:00')]) {
        const only = await found(`created_at[gte]=${time}&created_at[lte]=${time}`)
        expect(only).toContain(id)
        expect(await found(`created_at[gte]=${time}`)).toContain(id)
        expect(await found(`created_at[lte]=${time}`)).toContain(id)
      }
    })

    test('leaves out newer and older items', async () => {
      const { data } = await page(`${path(list)}?limit=100`)
      const all = idsOf(data)
      const { created_at: time } = data[10]
      const at10 = data.filter((item: Json) => item.created_at === time)
      const since = await found(`created_at[gte]=${encodeURIComponent(time)}`)
      const until = await found(`created_at[lte]=${encodeURIComponent(time)}`)
      expect(since.concat(until).toSorted()).toEqual(all.concat(idsOf(at10)).toSorted())
      expect(await found('created_at[gte]=2999-01-01T00:00:00Z')).toEqual([])
      expect(await found('created_at[lte]=1970-01-01T00:00:00Z')).toEqual([])
    })

    test.each(['', 'x', '1', '2020-01-01', '2020-13-01T00:00:00Z', '2020-02-30T00:00:00Z'])(
      'refused: %s',
      async (time) => {
        for (const side of ['gte', 'lte']) {
          const where = `${path(list)}?created_at[${side}]=${encodeURIComponent(time)}`
          expectRefused(await at.caller.get(where), 400)
        }
      },
    )

    test('refused: a time without an offset, and a space for T', async () => {
      for (const time of ['2020-01-01T00:00:00', 'yesterday', '1577836800']) {
        expectRefused(await at.caller.get(`${path(list)}?created_at[gte]=${time}`), 400)
      }
      await nextMillisecond()
      expect(await found('created_at[gte]=2020-01-01T00:00:00.123456789Z')).not.toEqual([])
      expect(await found('created_at[gte]=2020-01-01t00:00:00z')).not.toEqual([])
    })
  })
})
