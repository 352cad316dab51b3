// Memory Stores API §3.3 and §6.11: the list of memories by directory: prefixes, depth and order.

import { beforeAll, describe, expect, test } from 'vitest'
import { expectDone, expectRefused, type Json, pagesOf } from '../../support/http-caller.ts'
import { onServers, type StoreOnServer } from '../../support/running-server.ts'
import { pathsOf } from './objects.ts'

/** In byte order. */
const paths = [
  '/a',
  '/a b/1',
  '/b-c',
  '/b/1',
  '/b/2/x',
  '/b/2/y/z',
  '/b/3',
  '/b/é',
  '/c%/d',
  '/c/d/e',
  '/C/d',
  '/é/1',
  '/ﬀ',
  '/🐙/1',
].toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))

onServers('directories', (at) => {
  let store: StoreOnServer
  beforeAll(async () => {
    store = await at.store()
    for (const path of paths.toReversed()) await store.create(path)
  })

  const list = async (query: string): Promise<string[]> => pathsOf(await store.memories(query))
  const below = (prefix: string): string[] => paths.filter((path) => path.startsWith(prefix))
  const encoded = (prefix: string): string => `path_prefix=${encodeURIComponent(prefix)}`

  test('6.11: byte order of the path', async () => {
    expect(await list('')).toEqual(paths)
    expect(await list('limit=3')).toEqual(paths)
  })

  test.each(['order_by=created_at', 'order=desc', 'order_by=path&order=desc'])(
    '6.11: accepted and ignored: %s',
    async (query) => {
      expect(await list(query)).toEqual(paths)
    },
  )

  describe('6.11: path_prefix', () => {
    test.each(['/', '/b/', '/b/2/', '/c/', '/C/', '/a b/', '/c%/', '/é/', '/🐙/'])(
      'selects by whole segments: %s',
      async (prefix) => {
        expect(await list(encoded(prefix))).toEqual(below(prefix))
        expect(await list(`${encoded(prefix)}&limit=1`)).toEqual(below(prefix))
        expect(await list(`${encoded(prefix)}&depth=0`)).toEqual(below(prefix))
      },
    )

    test.each([
      '/a/',
      '/none/',
      '/B/',
      '/b/2/x/',
      '/b/2/y/z/',
      '/b%2F2/',
      '/*/',
      '/b/./',
      '/e\u0301/',
    ])('that matches nothing gives an empty page: %s', async (prefix) => {
      const { data, next_page } = await store.get(`/memories?${encoded(prefix)}`)
      expect({ data, next_page }).toEqual({ data: [], next_page: null })
    })

    test.each(['', 'b/', '/b', 'b', '//b'])('refused: %j', async (prefix) => {
      expectRefused(await at.caller.get(`${store.path}/memories?${encoded(prefix)}`), 400)
    })
  })

  /** Direct children of a directory, in the order of the list; others as their directory. */
  const children = (prefix: string): string[] => {
    const names = below(prefix).map((path) => {
      const end = path.indexOf('/', prefix.length)
      return end === -1 ? path : path.slice(0, end + 1)
    })
    return [...new Set(names)]
  }

  describe('6.11: depth', () => {
    test.each(['/', '/b/', '/b/2/', '/c/'])('1 rolls up what is deeper: %s', async (prefix) => {
      expect(await list(`${encoded(prefix)}&depth=1`)).toEqual(children(prefix))
    })

    test.each(['basic', 'full'])('3.3: a prefix has a type and a path, view=%s', async (view) => {
      const items = await store.memories(`${encoded('/b/')}&depth=1&view=${view}`)
      const prefixes = items.filter(({ type }: Json) => type === 'memory_prefix')
      expect(prefixes).toEqual([{ type: 'memory_prefix', path: '/b/2/' }])
    })

    test.each([1, 2, 3, 4])('each prefix comes once over pages of %d', async (limit) => {
      const pages = await pagesOf(at.caller, `${store.path}/memories?depth=1&limit=${limit}`)
      expect(pathsOf(pages.flat())).toEqual(children('/'))
      expect(pages.slice(0, -1).map(({ length }) => length)).toEqual(
        Array(pages.length - 1).fill(limit),
      )
    })

    test.each(['2', '-1', '1.5', 'x', '', '10'])('refused: depth=%s', async (depth) => {
      expectRefused(await at.caller.get(`${store.path}/memories?depth=${depth}`), 400)
    })

    test('a directory disappears with its last memory', async () => {
      const base = await at.store()
      const { id } = await base.create('/dir/a')
      expect(pathsOf(await base.memories('depth=1'))).toEqual(['/dir/'])
      await base.delete(id)
      expect(await base.memories('depth=1')).toEqual([])
    })
  })

  test('6.11: a list of an empty store is an empty page', async () => {
    const base = await at.store()
    const page = expectDone(await at.caller.get(`${base.path}/memories`))
    expect(page).toEqual({ data: [], next_page: null })
  })
})
