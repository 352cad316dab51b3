// What the exchange of every ObjectStore promises: packs in, packs out, and tracking refs.

import { describe, expect, test } from 'vitest'
import { equalBytes } from '../../src/bytes.ts'
import type { OutgoingPack } from '../../src/git/exchange.ts'
import type { Transition } from '../../src/git/object-store.ts'
import { leftOutName } from '../../src/git/refs/tracking-ref.ts'
import { kinds } from '../support/exchange-stores.ts'
import { blob, blobOid, deltaOnOid, inChunks, rawPack } from '../support/raw-pack.ts'
import { receivePack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

const noBytes = new Uint8Array(0)

function oidsOf(transitions: readonly Transition[]): string[] {
  return transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
}

async function collect(pack: OutgoingPack): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of pack.chunks()) parts.push(chunk)
  return Buffer.concat(parts)
}

describe.each(kinds)('exchange (%s)', (_, create) => {
  test('a store receives what another one packs, object by object', async () => {
    const [source, target] = [await create(), await create()]
    const history = new TestHistory(21)
    const transitions = history.take(20)
    await source.exclusive(() => source.commit(transitions))
    const pack = await source.exchange.pack(oidsOf(transitions))
    const received = await receivePack(target.exchange, pack.chunks(), { tip: history.head })
    expect(received).toEqual({ objects: pack.objects, bytes: pack.bytes })
    for (const { oid, type, body } of transitions.flatMap(({ objects }) => objects)) {
      const found = target.read(oid)
      expect(found?.type).toBe(type)
      expect(equalBytes(found?.body ?? new Uint8Array(0), body)).toBe(true)
    }
    // Only the objects: the new branch is decided elsewhere.
    expect(target.head).toBeUndefined()
    pack.close()
    await source.close()
    await target.close()
  })

  test('a pack has the size that it announces, each time it is read', async () => {
    const store = await create()
    const transitions = new TestHistory(22).take(20)
    await store.exclusive(() => store.commit(transitions))
    const pack = await store.exchange.pack(oidsOf(transitions))
    const [once, again] = [await collect(pack), await collect(pack)]
    expect(once.length).toBe(pack.bytes)
    expect(once.equals(again)).toBe(true)
    pack.close()
    await store.close()
  })

  test.each([
    ['few', 20, 700],
    ['many bytes', 20, 500_000],
  ])(
    '%s that come one by one, some of them twice, are packed once',
    { tags: 'slow' },
    async (__, count, size) => {
      const [source, target] = [await create(), await create()]
      const history = new TestHistory(24)
      const transitions = Array.from({ length: count }, () => history.next(size))
      for (const transition of transitions) {
        await source.exclusive(() => source.commit([transition]))
      }
      const oids = oidsOf(transitions)
      function* oneByOne(): Generator<string | undefined> {
        for (const oid of oids) yield* [oid, undefined, oids[0] ?? '']
      }
      const pack = await source.exchange.pack(oneByOne())
      expect(pack.objects).toBe(new Set(oids).size)
      await receivePack(target.exchange, pack.chunks(), { tip: history.head })
      for (const oid of oids) {
        const [sent, found] = [source.read(oid), target.read(oid)]
        expect(found?.type).toBe(sent?.type)
        expect(equalBytes(found?.body ?? noBytes, sent?.body ?? noBytes)).toBe(true)
      }
      pack.close()
      await source.close()
      await target.close()
    },
  )

  test('an object that is not stored cannot be packed', async () => {
    const store = await create()
    const attempt = store.exchange.pack(['a'.repeat(40)])
    await expect(attempt).rejects.toMatchObject({ code: 'object_missing' })
    await store.close()
  })

  test('a pack may come in pieces of any size', async () => {
    const bytes = rawPack([blob('one'), blob('two')])
    for (const size of [1, 7, 31, 1000]) {
      const store = await create()
      await receivePack(store.exchange, inChunks(bytes, size))
      expect(store.read(blobOid('two'))?.type).toBe('blob')
      await store.close()
    }
  })

  test('a base may come after its delta', async () => {
    const store = await create()
    // Copies the first three bytes and adds an exclamation mark.
    const delta = Uint8Array.of(5, 4, 0x90, 3, 1, 0x21)
    await receivePack(
      store.exchange,
      inChunks(rawPack([deltaOnOid(delta, blobOid('abcde')), blob('abcde')]), 10),
    )
    expect(Buffer.from(store.read(blobOid('abc!'))?.body ?? []).toString()).toBe('abc!')
    await store.close()
  })

  test('the same pack may come twice, and an empty one is nothing', async () => {
    const store = await create()
    const bytes = rawPack([blob('one')])
    await receivePack(store.exchange, inChunks(bytes, 100))
    expect(await receivePack(store.exchange, inChunks(bytes, 100))).toMatchObject({ objects: 1 })
    expect(await receivePack(store.exchange, inChunks(rawPack([]), 100))).toMatchObject({
      objects: 0,
    })
    expect([...store.objectIds()]).toEqual([blobOid('one')])
    await store.close()
  })

  test('a pack without the commit that was asked for is refused', async () => {
    const store = await create()
    const attempt = receivePack(store.exchange, inChunks(rawPack([blob('one')]), 100), {
      tip: 'a'.repeat(40),
    })
    await expect(attempt).rejects.toMatchObject({ code: 'pack_refused' })
    expect([...store.objectIds()]).toEqual([])
    await store.close()
  })

  test('an error of the stream is passed on, and nothing is kept', async () => {
    const store = await create()
    const bytes = rawPack([blob('one'), blob('two')])
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield* inChunks(bytes.subarray(0, -5), 10)
      throw new Error('the cable')
    }
    await expect(receivePack(store.exchange, broken())).rejects.toThrow('the cable')
    expect([...store.objectIds()]).toEqual([])
    await store.close()
  })

  test('a fetch that is cancelled keeps nothing', async () => {
    const store = await create()
    const attempt = receivePack(store.exchange, inChunks(rawPack([blob('one')]), 10), {
      signal: AbortSignal.abort(),
    })
    await expect(attempt).rejects.toMatchObject({ code: 'cancelled' })
    expect([...store.objectIds()]).toEqual([])
    await store.close()
  })

  test('a tracking ref has its last value until it is removed', async () => {
    const store = await create()
    const [transition] = new TestHistory(23).take(1)
    if (transition === undefined) throw new Error('unreachable')
    await store.exclusive(() => store.commit([transition]))
    expect(store.exchange.tracked('origin')).toBeUndefined()
    await store.exchange.track('origin', transition.next)
    await store.exchange.track('b.2', transition.next)
    expect(store.exchange.tracked('origin')).toBe(transition.next)
    await store.exchange.track('origin', undefined)
    expect(store.exchange.tracked('origin')).toBeUndefined()
    expect(store.exchange.tracked('b.2')).toBe(transition.next)
    await store.close()
  })

  test('evidence is not a tracking ref of a remote of any name', async () => {
    const store = await create()
    const [transition] = new TestHistory(25).take(1)
    if (transition === undefined) throw new Error('unreachable')
    await store.exclusive(() => store.commit([transition]))
    const { exchange } = store
    const evidence = leftOutName(transition.next)
    await exchange.track(evidence, transition.next)
    const like = ['left-out', `left-out-${transition.next}`]
    for (const name of like) {
      expect(exchange.tracked(name)).toBeUndefined()
      await exchange.addRemote({ name, url: '/nowhere' })
      await exchange.track(name, transition.next)
    }
    for (const name of like) await exchange.removeRemote(name)
    expect(exchange.tracked(evidence)).toBe(transition.next)
    const remote = exchange.addRemote({ name: evidence, url: '/nowhere' })
    await expect(remote).rejects.toThrow('name of a remote')
    await store.close()
  })

  test('a tracking ref names no commit that is not stored', async () => {
    const store = await create()
    const [transition] = new TestHistory(24).take(1)
    if (transition === undefined) throw new Error('unreachable')
    await store.exclusive(() => store.commit([transition]))
    await store.exchange.track('origin', transition.next)
    // As of a head that was erased concurrently.
    await store.exchange.track('origin', 'a'.repeat(40))
    expect(store.exchange.tracked('origin')).toBeUndefined()
    await store.close()
  })

  test.each([
    '',
    '-x',
    'a/b',
    '..',
    'a..b',
    'a.lock',
    '.a',
    'a.',
    'a b',
    'ä',
    'a\n',
    'x'.repeat(101),
  ])('a remote cannot be called %j', async (name) => {
    const store = await create()
    expect(() => store.exchange.tracked(name)).toThrow('name of a remote')
    await expect(store.exchange.track(name, 'a'.repeat(40))).rejects.toThrow('name of a remote')
    await store.close()
  })
})
