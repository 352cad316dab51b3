// What the exchange of every ObjectStore promises about the boundary, where the history of a store
// ends: it moves with the packs that are accepted, and no commit lacks its parents elsewhere.

import { describe, expect, test } from 'vitest'
import { createMemoryObjectStore } from '../../src/git/memory-store/memory-object-store.ts'
import { kinds } from '../support/exchange-stores.ts'
import { partialPack } from '../support/partial-stores.ts'
import { blob, blobOid, inChunks, rawPack } from '../support/raw-pack.ts'
import { receivePack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

describe.each(kinds)('the boundary (%s)', (kind, create) => {
  const isShared = kind === 'over a shared log'
  const oids = ['b', 'a'].map((digit) => digit.repeat(40))

  test('is empty until it is set, and sorted', async () => {
    const store = await create()
    const { exchange } = store
    expect(exchange.shallow()).toEqual([])
    await exchange.setShallow([])
    if (isShared) {
      await expect(exchange.setShallow(oids)).rejects.toMatchObject({ code: 'incomplete_clone' })
    } else {
      await exchange.setShallow([...oids, ...oids])
      expect(exchange.shallow()).toEqual(oids.toSorted())
      await exchange.setShallow(oids.slice(1))
      expect(exchange.shallow()).toEqual(oids.slice(1))
      await exchange.setShallow([])
    }
    expect(exchange.shallow()).toEqual([])
    await store.close()
  })

  test.each([
    ['a name', ['main']],
    ['a line break', [`${'a'.repeat(40)}\n`]],
    ['upper case', ['A'.repeat(40)]],
    [
      'too many',
      Array.from({ length: 4097 }, (_, number) => number.toString(16).padStart(40, '0')),
    ],
  ])('is not %s', async (_, commits) => {
    const store = await create()
    const code = isShared ? 'incomplete_clone' : 'invalid_input'
    await expect(store.exchange.setShallow(commits)).rejects.toMatchObject({ code })
    expect(store.exchange.shallow()).toEqual([])
    await store.close()
  })

  test('moves with the packs that are accepted, and with no others', async () => {
    const store = await create()
    const { pack, tip, parent } = await partOf()
    const boundary = { before: [], haves: [], shallow: [tip], unshallow: [] }
    const incoming = store.exchange.incoming()
    const receive = async (): Promise<unknown> =>
      incoming.receive(inChunks(pack, 1000), { tip, boundary })
    if (isShared) await expect(receive()).rejects.toMatchObject({ code: 'incomplete_clone' })
    else {
      await receive()
      incoming.drop()
      expect(store.exchange.shallow()).toEqual([])
      await receive()
      expect(store.exchange.shallow()).toEqual([])
      await incoming.accept()
      expect(store.exchange.shallow()).toEqual([tip])
      expect(store.read(tip)?.type).toBe('commit')
      expect(store.read(parent)).toBeUndefined()
    }
    await store.close()
  })

  test.skipIf(isShared)('is left by a commit whose parents arrive', async () => {
    const store = await create()
    const [one, more] = [await partOf(), await partOf(2)]
    const { tip } = one
    const first = { before: [], haves: [], shallow: [tip], unshallow: [] }
    await receivePack(store.exchange, inChunks(one.pack, 1000), { tip, boundary: first })
    const next = { before: [tip], haves: [], shallow: [one.parent], unshallow: [tip] }
    await receivePack(store.exchange, inChunks(more.pack, 1000), { tip, boundary: next })
    expect(store.exchange.shallow()).toEqual([one.parent])
    const again = { before: [one.parent], haves: [], shallow: [tip], unshallow: [] }
    await receivePack(store.exchange, inChunks(rawPack([]), 1000), { tip, boundary: again })
    expect(store.exchange.shallow()).toEqual([one.parent, tip].toSorted())
    await store.close()
  })

  test.skipIf(isShared)('moves once with the packs of one fetch, however deep', async () => {
    const store = await create()
    const [one, more] = [await partOf(), await partOf(2)]
    const { tip, parent } = one
    const incoming = store.exchange.incoming()
    const steps = [
      [one.pack, { before: [], haves: [], shallow: [tip], unshallow: [] }],
      [more.pack, { before: [tip], haves: [], shallow: [parent], unshallow: [tip] }],
      // Less than was asked for before.
      [rawPack([]), { before: [parent], haves: [], shallow: [tip], unshallow: [] }],
    ] as const
    for (const [pack, boundary] of steps) {
      await incoming.receive(inChunks(pack, 1000), { tip, boundary })
    }
    await incoming.accept()
    expect(store.exchange.shallow()).toEqual([tip, parent].toSorted())
    await store.close()
  })

  test.skipIf(isShared).each([
    ['that is not named', (): readonly string[] => []],
    ['that is no commit', () => [blobOid('one')]],
    ['that is elsewhere', () => ['a'.repeat(40)]],
  ])('a pack whose history ends at a commit %s is refused', async (_, shallowOf) => {
    const store = await create()
    const { pack, tip } = await partOf()
    const boundary = { before: [], haves: [], shallow: shallowOf(), unshallow: [] }
    const attempt = receivePack(store.exchange, inChunks(pack, 1000), { tip, boundary })
    await expect(attempt).rejects.toMatchObject({ code: 'pack_refused' })
    expect([...store.objectIds()]).toEqual([])
    expect(store.exchange.shallow()).toEqual([])
    await store.close()
  })

  test.skipIf(isShared)('a commit leaves it only with its parents', async () => {
    const store = await create()
    const { pack, tip } = await partOf()
    const first = { before: [], haves: [], shallow: [tip], unshallow: [] }
    await receivePack(store.exchange, inChunks(pack, 1000), { tip, boundary: first })
    for (const again of [pack, rawPack([])]) {
      const boundary = { before: [tip], haves: [], shallow: [], unshallow: [tip] }
      const attempt = receivePack(store.exchange, inChunks(again, 1000), { tip, boundary })
      await expect(attempt).rejects.toMatchObject({ code: 'pack_refused' })
    }
    expect(store.exchange.shallow()).toEqual([tip])
    await store.close()
  })

  test.skipIf(isShared)(
    'no commit that came along without its parents ends the history',
    async () => {
      const store = await create()
      const transitions = new TestHistory(27).take(5)
      const [, planted = '', ...later] = transitions.map(({ next }) => next)
      const tip = later.at(-1) ?? ''
      const source = createMemoryObjectStore()
      await source.exclusive(() => source.commit(transitions))
      const both = await source.exchange.pack([tip, planted])
      const first = { before: [], haves: [], shallow: [tip], unshallow: [] }
      await receivePack(store.exchange, both.chunks(), { tip, boundary: first })
      const rest = await source.exchange.pack(later)
      const next = { before: [tip], haves: [tip], shallow: [], unshallow: [tip] }
      const attempt = receivePack(store.exchange, rest.chunks(), { tip, boundary: next })
      await expect(attempt).rejects.toMatchObject({ code: 'pack_refused' })
      const honest = { ...next, shallow: [planted] }
      await receivePack(store.exchange, rest.chunks(), { tip, boundary: honest })
      expect(store.exchange.shallow()).toEqual([planted])
      await store.close()
    },
  )

  test('a pack without another object that was asked for is refused', async () => {
    const store = await create()
    const also = [blobOid('two')]
    const attempt = receivePack(store.exchange, inChunks(rawPack([blob('one')]), 100), { also })
    await expect(attempt).rejects.toMatchObject({ code: 'pack_refused' })
    expect([...store.objectIds()]).toEqual([])
    await store.close()
  })
})

/** A pack of the last commits of a history of three. */
async function partOf(
  depth = 1,
): Promise<{ readonly pack: Uint8Array; readonly tip: string; readonly parent: string }> {
  const transitions = new TestHistory(26).take(3)
  const [parent = '', tip = ''] = transitions.slice(-2).map(({ next }) => next)
  return { pack: await partialPack(transitions, 3 - depth), tip, parent }
}
