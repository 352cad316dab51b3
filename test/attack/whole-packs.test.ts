// T31: a push sends the files of packs unchanged only if they hold nothing but the objects of its
// commit. Objects that a redaction has cut off, that another remote has sent, or that are outside
// the history never reach a host.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Sealed } from '../../src/bytes.ts'
import { systemDisk } from '../../src/disk/disk.ts'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import type { WholePack } from '../../src/git/exchange.ts'
import { countIfExact, readPackLinks } from '../../src/git/maintenance/exact-packs.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { encodeTree, newObject, type NewObject } from '../../src/git/objects/object.ts'
import { bareRepository } from '../support/pack-fixtures.ts'
import { blob, blobOid, inChunks, rawPack } from '../support/raw-pack.ts'
import { cleanEnvironment, git, temporaryDirectory } from '../support/temporary.ts'
import { pushPack, receivePack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

interface Place {
  readonly directory: string
  readonly store: ObjectStore
  readonly history: TestHistory
}

/** Sixty commits in several packs. */
async function somePacks(): Promise<Place> {
  const directory = join(temporaryDirectory(), 's')
  const store = await createDiskObjectStore({ directory, idleMs: Infinity })
  const history = new TestHistory(51)
  for (let pack = 0; pack < 3; pack += 1) {
    await store.exclusive(() => store.commit(history.take(20)))
    await store.checkpoint()
  }
  return { directory, store, history }
}

function packNames({ directory }: Pick<Place, 'directory'>): string[] {
  const files = readdirSync(join(directory, 'objects/pack'))
  return files.filter((file) => file.endsWith('.pack')).map((file) => file.slice(0, -5))
}

/** The findings of threads that share the work in `parts` parts. */
function count(place: Place, head: string, parts: number, names = packNames(place)) {
  const directory = join(place.directory, 'objects/pack')
  const watch = { isCancelled: () => false, progress: () => undefined }
  const links = Array.from({ length: parts }, (_, part) => {
    return readPackLinks(systemDisk, { directory, names, head, part, parts }, watch)
  })
  return countIfExact(links)
}

function oidsOf(history: TestHistory): string[] {
  return history.transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
}

const besides: readonly (readonly [string, (place: Place) => unknown])[] = [
  [
    'a blob that nothing names',
    ({ store }) => receivePack(store.exchange, inChunks(rawPack([blob('left')]), 99)),
  ],
  [
    'a commit beside the history, with its trees',
    async ({ store, history }) => {
      const aside = await createDiskObjectStore({ directory: join(temporaryDirectory(), 'a') })
      const branch = new TestHistory(52, history.head)
      await aside.exclusive(() => aside.commit(branch.take(1).map((one) => asFirst(one))))
      const pack = await aside.exchange.pack(oidsOf(branch))
      await receivePack(store.exchange, pack.chunks())
      await aside.close()
    },
  ],
  [
    'an object twice',
    async ({ store, history }) => {
      const [oid = ''] = oidsOf(history)
      const pack = await store.exchange.pack([oid])
      await receivePack(store.exchange, pack.chunks())
    },
  ],
  [
    'a tag',
    ({ directory, history }) => {
      const text = `object ${history.head}\ntype commit\ntag t\ntagger a <a@b> 1 +0000\n\nt\n`
      const oid = git(['mktag'], directory, text)
      git(['pack-objects', '--quiet', 'objects/pack/pack'], directory, oid)
    },
  ],
]

function asFirst(transition: TestHistory['transitions'][number]) {
  return { ...transition, expected: undefined }
}

describe('packs are sent as they are', () => {
  test('if they hold what the commit leads to, and nothing else', async () => {
    const place = await somePacks()
    const { head = '', transitions } = place.history
    for (const parts of [1, 2, 3]) expect(count(place, head, parts)).toBe(60)
    // Its parent is missing, though all objects of its tree exist.
    for (const { next } of transitions.slice(-3, -1)) expect(count(place, next, 2)).toBeUndefined()
    for (const { oid } of transitions.at(-1)?.objects.slice(0, 2) ?? []) {
      expect(count(place, oid, 1)).toBeUndefined()
    }
    expect(count(place, blobOid('none'), 1)).toBeUndefined()
    await place.store.close()
  })

  test('not if one of them is missing', async () => {
    const place = await somePacks()
    const { head = '' } = place.history
    const names = packNames(place)
    for (const gone of names) {
      const others = names.filter((name) => name !== gone)
      expect(count(place, head, 1, others)).toBeUndefined()
      expect(count(place, head, 2, [...others, `pack-${'0'.repeat(40)}`])).toBeUndefined()
    }
    await place.store.close()
  })

  test.each(besides)('not beside %s', async (_, add) => {
    const place = await somePacks()
    const { head = '' } = place.history
    expect(count(place, head, 2)).toBe(60)
    const before = packNames(place).length
    await add(place)
    expect(packNames(place)).toHaveLength(before + 1)
    for (const parts of [1, 2]) expect(count(place, head, parts)).toBeUndefined()
    await place.store.close()
  })
})

/** One commit of more objects than are packed in RAM. */
async function manyObjects(): Promise<
  Place & { readonly head: string; readonly whole: WholePack }
> {
  const directory = join(temporaryDirectory(), 's')
  const store = await createDiskObjectStore({ directory, idleMs: Infinity })
  const objects: NewObject[] = Array.from({ length: 10_001 }, (_, n) => {
    const body: Uint8Array = Buffer.from(`blob ${n}`)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stands for an envelope
    const sealed = body as Sealed
    return newObject('blob', sealed)
  })
  const entries = objects.map(({ oid }, n) => ({ mode: '100644', name: `${n}`, oid }) as const)
  const tree = newObject('tree', encodeTree(entries))
  const by = 'a <a@localhost> 1000000000 +0000'
  const text = `tree ${tree.oid}\nauthor ${by}\ncommitter ${by}\n\nchange\n`
  const commit = newObject('commit', Buffer.from(text))
  const transition = {
    objects: [...objects, tree, commit],
    expected: undefined,
    next: commit.oid,
  }
  await store.exclusive(() => store.commit([transition]))
  await store.checkpoint()
  const whole = await store.exchange.packWhole(commit.oid)
  if (whole === undefined) throw new Error('The packs are not sent as they are')
  return { directory, store, history: new TestHistory(1), head: commit.oid, whole }
}

describe('what is sent', { tags: 'slow' }, () => {
  test('is what stock git takes for a sound repository, of the announced size', async () => {
    const { store, head, whole } = await manyObjects()
    const repository = temporaryDirectory()
    bareRepository(repository)
    const access = { url: repository, environment: cleanEnvironment() }
    expect([whole.commits, whole.objects]).toEqual([1, 10_003])
    let bytes = 0
    for await (const chunk of whole.chunks()) bytes += chunk.length
    expect(bytes).toBe(whole.bytes)
    await pushPack(access, { expected: undefined, next: head, pack: whole })
    expect(git(['fsck', '--strict', '--full'], repository)).toBe('')
    expect(git(['rev-list', '--all', '--objects'], repository).trim().split('\n')).toHaveLength(
      10_003,
    )
    whole.close()
    await store.close()
  })

  test('of files that change after they were looked into is never a whole pack', async () => {
    const { directory, store, whole } = await manyObjects()
    const [name] = packNames({ directory })
    const path = join(directory, 'objects/pack', `${name}.pack`)
    const bytes = readFileSync(path)
    for (const at of [200, bytes.length - 30]) {
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      writeFileSync(path, flipped)
      let bytesSent = 0
      const send = async (): Promise<void> => {
        for await (const chunk of whole.chunks()) bytesSent += chunk.length
      }
      await expect(send()).rejects.toMatchObject({ code: 'pack_corrupt' })
      expect(bytesSent).toBeLessThan(whole.bytes)
    }
    whole.close()
    await store.close()
  })

  test('is chosen where something else lies beside it, and for an old head', async () => {
    const { store, head, whole } = await manyObjects()
    whole.close()
    expect(await store.exchange.packWhole(blobOid('blob 7'))).toBeUndefined()
    await receivePack(store.exchange, inChunks(rawPack([blob('left')]), 99))
    expect(await store.exchange.packWhole(head)).toBeUndefined()
    await store.close()
  })
})
