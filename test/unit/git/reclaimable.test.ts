// Objects that a repository does not need, compared with the answers of stock git, and with the
// sizes of the packs once they are removed.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../../src/git/object-store.ts'
import { newObject, type Oid } from '../../../src/git/objects/object.ts'
import { writePack } from '../../../src/git/pack/pack-writer.ts'
import {
  commitErasure,
  erasure,
  history,
  packFiles,
  type Place,
  prepareStore,
} from '../../support/erasable-store.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { receivePack } from '../../support/transfer.ts'
import { TestHistory } from '../../support/transitions.ts'

const none = { objects: 0, bytes: 0 }
const objects = history.flatMap((transition) => transition.objects)

async function opened<T>(place: Place, work: (store: ObjectStore) => Promise<T>): Promise<T> {
  const store = await openDiskObjectStore({ ...place, idleMs: Infinity })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

function writeLoose({ write }: Place, oid: Oid, type: string, body: Uint8Array): number {
  const bytes = deflateSync(Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body]))
  write(`objects/${oid.slice(0, 2)}/${oid.slice(2)}`, bytes)
  return bytes.length
}

/** By stock git, which counts each object once. */
function unreachableIn({ run }: Place): readonly string[] {
  const lines = run('fsck', '--unreachable', '--no-reflogs', '--no-progress').split('\n')
  return lines.filter((line) => line !== '').map((line) => line.split(' ')[2] ?? '')
}

describe('reclaimable', () => {
  test('is empty in a store that only gitlocket has written', async () => {
    const place = await prepareStore()
    await opened(place, async (store) => {
      expect(store.reclaimable()).toEqual({ erased: none, repeated: none })
      expect(await store.findUnreachable()).toEqual(none)
    })
  })

  test('copies in packs and loose ones count with their bytes until a repack', async () => {
    const place = await prepareStore()
    const packs = join(place.directory, 'objects/pack')
    const copies = objects.slice(0, 12)
    const copied = await writePack(systemDisk, packs, copies)
    const [blob] = objects.filter(({ type }) => type === 'blob').slice(20)
    const last = blob ?? objects.at(-1)
    if (last === undefined) throw new Error('the history has no objects')
    const looseBytes = writeLoose(place, last.oid, last.type, last.body)
    await opened(place, async (store) => {
      const { repeated, erased } = store.reclaimable()
      expect(erased).toEqual(none)
      expect(repeated.objects).toBe(copies.length + 1)
      // All but the header and the checksum of the pack.
      expect(repeated.bytes).toBe(copied.bytes - 12 - 20 + looseBytes)
      expect(await store.findUnreachable()).toEqual(none)
      await store.compact()
      expect(store.reclaimable().repeated).toEqual(none)
    })
  })

  test('copies in a pack that git must keep are not counted: nothing drops them', async () => {
    const place = await prepareStore()
    const packs = join(place.directory, 'objects/pack')
    const { name } = await writePack(systemDisk, packs, objects.slice(0, 12))
    place.write(`objects/pack/${name}.keep`, '')
    await opened(place, async (store) => expect(store.reclaimable().repeated).toEqual(none))
  })

  test('dead objects of a redaction are counted until the checkpoint, copies too', async () => {
    const place = await prepareStore()
    const dead = objects.filter(({ oid }) => erasure.dead.has(oid))
    await writePack(systemDisk, join(place.directory, 'objects/pack'), dead.slice(0, 3))
    await opened(place, async (store) => {
      await commitErasure(store, erasure)
      const { erased, repeated } = store.reclaimable()
      expect(erased.objects).toBe(dead.length + 3)
      expect(erased.bytes).toBeGreaterThan(700)
      expect(repeated).toEqual(none)
      await store.checkpoint()
      expect(store.reclaimable()).toEqual({ erased: none, repeated: none })
    })
  })
})

describe('unreachable objects', () => {
  test(
    'are those that git finds: packed, loose, and behind refs and tags',
    { tags: 'slow' },
    async () => {
      const place = await prepareStore()
      const tip = place.run('rev-parse', 'main')
      const side = place.run('commit-tree', '-p', `${tip}~3`, '-m', 'side', `${tip}^{tree}`)
      const tagged = place.run('commit-tree', '-p', tip, '-m', 'tagged', `${tip}~5^{tree}`)
      place.run('update-ref', 'refs/remotes/origin/main', side)
      place.run('tag', '-a', '-m', 'tag', 'kept', tagged)
      place.run('tag', '-a', '-m', 'tag of a tag', 'again', 'kept')
      place.run('tag', 'tree', `${tip}~2^{tree}`)
      const lost = place.run('commit-tree', '-p', tip, '-m', 'lost', `${tip}^{tree}`)
      await writePack(systemDisk, join(place.directory, 'objects/pack'), [
        { oid: newObject('tree', new Uint8Array(0)).oid, type: 'tree', body: new Uint8Array(0) },
      ])
      const expected = unreachableIn(place)
      expect(expected).toContain(lost)
      await opened(place, async (store) => {
        expect((await store.findUnreachable()).objects).toBe(expected.length)
      })
      place.run('update-ref', '-d', 'refs/remotes/origin/main')
      place.run('tag', '-d', 'again')
      expect(unreachableIn(place).length).toBeGreaterThan(expected.length)
      await opened(place, async (store) => {
        expect((await store.findUnreachable()).objects).toBe(unreachableIn(place).length)
      })
    },
  )

  test('a fetch that came to nothing leaves some, which git gc drops', async () => {
    const place = await prepareStore()
    const stranger = await createDiskObjectStore({ directory: temporaryDirectory() })
    const transitions = new TestHistory(77).take(6)
    await stranger.exclusive(() => stranger.commit(transitions))
    const oids = transitions.flatMap((one) => one.objects.map(({ oid }) => oid))
    await opened(place, async (store) => {
      const pack = await stranger.exchange.pack([...new Set(oids)])
      await receivePack(store.exchange, pack.chunks())
      pack.close()
      const { objects: count, bytes } = await store.findUnreachable()
      expect(count).toBe(new Set(oids).size)
      expect(bytes).toBeGreaterThan(6 * 700)
      expect(store.reclaimable()).toEqual({ erased: none, repeated: none })
    })
    await stranger.close()
    place.run('gc', '--prune=now', '--quiet')
    await opened(place, async (store) => expect(await store.findUnreachable()).toEqual(none))
  })

  test('objects that only the journal holds reach others too', async () => {
    const place = await prepareStore()
    const store = await openDiskObjectStore({ ...place, idleMs: Infinity })
    const more = new TestHistory(78, store.head).take(2)
    await store.exclusive(() => store.commit(more))
    expect(await store.findUnreachable()).toEqual(none)
    await store.close()
  })

  test('the search ends when it is cancelled', async () => {
    const place = await prepareStore()
    await opened(place, async (store) => {
      const attempt = store.findUnreachable({ signal: AbortSignal.abort() })
      await expect(attempt).rejects.toMatchObject({ code: 'cancelled' })
    })
  })

  test('a damaged object on the way is said, and nothing is counted', async () => {
    const place = await prepareStore()
    const oid = place.run('rev-parse', 'main^{tree}')
    const tree = objects.find((one) => one.oid === oid)
    if (tree === undefined) throw new Error('the history has no such tree')
    const body = Buffer.from(tree.body)
    body[body.length - 1] = (body.at(-1) ?? 0) ^ 1
    const directory = join(place.directory, 'objects/pack')
    const before = packFiles(place.directory, /\.(pack|idx)$/)
    const others = objects.filter((one) => one.oid !== oid)
    await writePack(systemDisk, directory, others)
    writeLoose(place, oid, 'tree', body)
    for (const name of before) rmSync(join(directory, name))
    await opened(place, async (store) => {
      const attempt = store.findUnreachable()
      await expect(attempt).rejects.toMatchObject({ code: 'object_corrupt' })
    })
  })
})
