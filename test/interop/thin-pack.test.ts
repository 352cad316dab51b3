// Packs for a receiver that has a part of the history: smaller, and as good to stock git.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Sealed } from '../../src/bytes.ts'
import { assert } from '../../src/errors.ts'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import { createMemoryObjectStore } from '../../src/git/memory-store/memory-object-store.ts'
import type { ObjectStore, Transition } from '../../src/git/object-store.ts'
import { newObject } from '../../src/git/objects/object.ts'
import { bareRepository } from '../support/pack-fixtures.ts'
import { cleanEnvironment, git, temporaryDirectory } from '../support/temporary.ts'
import { pushPack, receivePack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

const kinds: readonly (readonly [string, () => Promise<ObjectStore>])[] = [
  ['in memory', async () => createMemoryObjectStore()],
  ['on disk', () => createDiskObjectStore({ directory: join(temporaryDirectory(), 's') })],
]

function oidsOf(transitions: readonly Transition[]): string[] {
  return transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
}

describe.each(kinds)('a thin pack (%s)', (_, create) => {
  test.each([
    ['unpacks it', '1000'],
    ['completes it', '1'],
  ])('makes a sound repository of a remote that %s', { tags: 'slow' }, async (__, unpackLimit) => {
    const history = new TestHistory(31)
    const store = await create()
    // By then every place is taken, so that trees change in few entries.
    const before = history.take(200)
    const news = history.take(4)
    await store.exclusive(() => store.commit([...before, ...news]))
    const repository = temporaryDirectory()
    bareRepository(repository)
    git(['config', 'receive.unpackLimit', unpackLimit], repository)
    const access = { url: repository, environment: cleanEnvironment() }
    const [expected, next] = [before.at(-1)?.next, history.head ?? '']
    const first = await store.exchange.pack(oidsOf(before))
    await pushPack(access, { expected: undefined, next: expected ?? '', pack: first })

    const pack = await store.exchange.pack(oidsOf(news), expected)
    const whole = await store.exchange.pack(oidsOf(news))
    expect(pack.objects).toBe(whole.objects)
    expect(pack.bytes).toBeLessThan(whole.bytes - 500)
    await pushPack(access, { expected, next, pack })
    expect(git(['fsck', '--strict', '--full', '--no-dangling'], repository)).toBe('')
    expect(git(['rev-parse', 'main'], repository).trim()).toBe(next)
    await store.close()
  })

  test('never builds on a tree that it brings itself', { tags: 'slow' }, async () => {
    const history = new TestHistory(33)
    const store = await create()
    const before = history.take(200)
    const news = history.take(4)
    await store.exclusive(() => store.commit([...before, ...news]))
    const repository = temporaryDirectory()
    bareRepository(repository)
    git(['config', 'receive.unpackLimit', '1'], repository)
    const access = { url: repository, environment: cleanEnvironment() }
    const [expected, next] = [before.at(-1)?.next, history.head ?? '']
    const first = await store.exchange.pack(oidsOf(before))
    await pushPack(access, { expected: undefined, next: expected ?? '', pack: first })

    // The trees of the remote's head, each of which would be the base of its successor.
    const again = await store.exchange.pack(oidsOf([...before.slice(-1), ...news]), expected)
    await pushPack(access, { expected, next, pack: again })
    expect(git(['fsck', '--strict', '--full', '--no-dangling'], repository)).toBe('')
    await store.close()
  })

  test(
    'of more objects than are packed in RAM holds a tree that recurs only once',
    { tags: 'slow' },
    async () => {
      const [first] = new TestHistory(34).take(1)
      assert(first !== undefined, 'a transition')
      // Small, so that their number decides and not their size.
      const blobs = Array.from({ length: 10_001 }, (__, n) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stands for an envelope
        const sealed = Uint8Array.of(n >> 8, n & 255) as Sealed
        return newObject('blob', sealed)
      })
      const transition = { ...first, objects: [...blobs, ...first.objects] }
      const store = await create()
      await store.exclusive(() => store.commit([transition]))
      const repository = temporaryDirectory()
      bareRepository(repository)
      git(['config', 'receive.unpackLimit', '1'], repository)
      const access = { url: repository, environment: cleanEnvironment() }

      const oids = oidsOf([transition])
      const trees = first.objects.filter(({ type }) => type === 'tree').map(({ oid }) => oid)
      const pack = await store.exchange.pack([...trees, ...oids, ...trees])
      expect(pack.objects).toBe(oids.length)
      await pushPack(access, { expected: undefined, next: first.next, pack })
      expect(git(['fsck', '--strict', '--full', '--no-dangling'], repository)).toBe('')
      pack.close()
      await store.close()
    },
  )

  test('is refused by a store of ours, which takes whole packs only', async () => {
    const history = new TestHistory(32)
    const transitions = history.take(30)
    const [source, target] = [await create(), await create()]
    await source.exclusive(() => source.commit(transitions))
    await target.exclusive(() => target.commit(transitions.slice(0, -1)))
    const pack = await source.exchange.pack(oidsOf(transitions.slice(-1)), transitions.at(-2)?.next)
    const attempt = receivePack(target.exchange, pack.chunks())
    await expect(attempt).rejects.toMatchObject({ code: 'pack_refused' })
    await source.close()
    await target.close()
  })
})
