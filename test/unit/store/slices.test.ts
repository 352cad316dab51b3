// Long work runs in time slices: with a clock on which every step is long, no two steps are in one
// turn of the event loop.

import { expect, test, vi } from 'vitest'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import { countOn } from '../../../src/store/commits/commit-count.ts'
import { findOutgoing, objectsOf } from '../../../src/store/commits/outgoing.ts'
import { findMemoriesTree } from '../../../src/store/history/contents.ts'
import { compareDistantTrees } from '../../../src/store/snapshot/tree-diff.ts'
import { verifyHistory } from '../../../src/store/verify/verify.ts'
import { TimeSlice } from '../../../src/time-slice.ts'
import { historyOf } from '../../support/histories.ts'
import { author, contentsOf, newStore } from '../../support/stores.ts'
import { inSlices, mostInOneTurn } from '../../support/turns.ts'

test('a batch: each of its commands', async () => {
  const { store } = await newStore()
  const turns: number[] = []
  await store.as(author).apply([{ type: 'create', path: '/a.md', content: '' }])
  await inSlices(async (turn) => {
    const edit = (content: string): string => {
      turns.push(turn())
      return `${content}.`
    }
    const commands = Array.from({ length: 30 }, () =>
      store.as(author).apply([{ type: 'edit', path: '/a.md', edit }]),
    )
    await Promise.all(commands)
  })
  expect(turns).toHaveLength(30)
  expect(mostInOneTurn(turns)).toBe(1)
  expect((await store.read('/a.md'))?.content).toBe('.'.repeat(30))
  await store.close()
})

test('one command for many memories: reading, planning and sealing each', async () => {
  const { store } = await newStore()
  const names = Array.from({ length: 20 }, (_, n) => `${n}.md`)
  const creates = names.map((name) => {
    return { type: 'create', path: `/a/${name}`, content: name } as const
  })
  const next = vi.spyOn(TimeSlice.prototype, 'next')
  await inSlices(() => store.as(author).apply(creates))
  // Planning, building the row, its detail and its record row, sealing, and applying in two steps.
  expect(next.mock.calls.length).toBeGreaterThanOrEqual(7 * names.length)
  next.mockClear()
  await inSlices(() => store.as(author).apply([{ type: 'rename', path: '/a', to: '/b' }]))
  // Also reading, and removal from the old path.
  expect(next.mock.calls.length).toBeGreaterThanOrEqual(9 * names.length)
  next.mockRestore()
  const expected = Object.fromEntries(names.map((name) => [`/b/${name}`, name]))
  expect(await contentsOf(store)).toEqual(expected)
  await store.close()
})

test('a read during a command that moves many memories sees none or all of them', async () => {
  const { store } = await newStore()
  const creates = Array.from({ length: 20 }, (_, n) => {
    return { type: 'create', path: `/a/${n}.md`, content: '' } as const
  })
  await store.as(author).apply(creates)
  const looks: Promise<readonly number[]>[] = []
  const look = async (): Promise<readonly number[]> => {
    const [a, b] = [await store.list('/a'), await store.list('/b')]
    return [a?.children.length ?? 0, b?.children.length ?? 0]
  }
  const { prototype } = TimeSlice
  const next = vi.spyOn(prototype, 'next').mockImplementation(async () => {
    looks.push(look())
    await new Promise((resolve) => setImmediate(resolve))
  })
  await inSlices(() => store.as(author).apply([{ type: 'rename', path: '/a', to: '/b' }]))
  next.mockRestore()
  expect(looks.length).toBeGreaterThan(180)
  for (const [a = 0, b = 0] of await Promise.all(looks)) {
    // The command may finish between two reads.
    expect([
      [0, 20],
      [20, 0],
      [20, 20],
    ]).toContainEqual([a, b])
  }
  await store.close()
})

test('awaited reads in a row, though none of them has to wait', async () => {
  const { store } = await newStore()
  await store.as(author).apply([{ type: 'create', path: '/a.md', content: 'a' }])
  const turns: number[] = []
  await inSlices(async (turn) => {
    for (let n = 0; n < 20; n += 1) {
      expect((await store.read('/a.md'))?.content).toBe('a')
      turns.push(turn())
    }
  })
  expect(mostInOneTurn(turns)).toBeLessThanOrEqual(2)
  await store.close()
})

test('counting commits: each that is read', async () => {
  const { store, place } = await newStore()
  const before = await store.status()
  for (let n = 0; n < 20; n += 1) {
    await store.as(author).apply([{ type: 'create', path: `/${n}.md`, content: '' }])
  }
  const { head } = await store.status()
  await store.close()
  const objects = await openDiskObjectStore(place)
  const turns: number[] = []
  await inSlices(async (turn) => {
    const read = (oid: string) => {
      turns.push(turn())
      return objects.read(oid)
    }
    const known = { commit: before.head, commits: before.commits }
    expect(await countOn({ read }, known, head)).toEqual({ commit: head, commits: 21 })
  })
  expect(turns.length).toBeGreaterThan(20)
  // Its links and the height of its parent; both ends in the first turn.
  expect(mostInOneTurn(turns)).toBeLessThanOrEqual(4)
  await objects.close()
})

test('a push: each found commit, each selected, read and packed object', async () => {
  const { store, place } = await newStore()
  for (let n = 0; n < 20; n += 1) {
    await store.as(author).apply([{ type: 'create', path: `/${n}.md`, content: `${n}` }])
  }
  const { head } = await store.status()
  await store.close()
  const objects = await openDiskObjectStore(place)
  const turns: number[] = []
  await inSlices(async (turn) => {
    const read = (oid: string) => {
      turns.push(turn())
      return objects.read(oid)
    }
    const commits = await findOutgoing({ read }, head, [])
    expect(commits).toHaveLength(21)
    expect(mostInOneTurn(turns)).toBeLessThanOrEqual(3)
    const oids = new Set(objectsOf(objects, commits))
    const next = vi.spyOn(TimeSlice.prototype, 'next')
    const pack = await objects.exchange.pack(oids)
    expect(pack.objects).toBe(oids.size)
    expect(next.mock.calls.length).toBeGreaterThanOrEqual(3 * oids.size)
    next.mockRestore()
    pack.close()
  })
  await objects.close()
})

test.each([1, 2])(
  'a push of one change on %i parents: each directory that it made',
  async (parents) => {
    const { store, place } = await newStore()
    const creates = Array.from({ length: 100 }, (_, n) => {
      return { type: 'create', path: `/${n}.md`, content: '' } as const
    })
    await store.as(author).apply(creates)
    const { head } = await store.status()
    await store.close()
    const objects = await openDiskObjectStore(place)
    const outgoing = await findOutgoing(objects, head, [])
    // As a merge, which has to know what either parent lacks before it sends anything.
    const commits = outgoing.map((commit) => {
      return { ...commit, parents: commit.parents.flatMap((oid) => Array(parents).fill(oid)) }
    })
    const reads: string[] = []
    const read = (oid: string) => {
      reads.push(oid)
      return objects.read(oid)
    }
    // Commit, root, `m` and one directory of it for each first digit, with files below.
    let most = 0
    let before = 0
    for (const _ of objectsOf({ read }, commits)) {
      most = Math.max(most, reads.length - before)
      before = reads.length
    }
    expect(reads.length).toBeGreaterThan(14)
    expect(most).toBeLessThan(6)
    await objects.close()
  },
)

test(
  'verification of one commit of many memories: each of its rows',
  { tags: 'slow' },
  async () => {
    const { store, place } = await newStore()
    const creates = Array.from({ length: 20 }, (_, n) => {
      return { type: 'create', path: `/${n}.md`, content: '' } as const
    })
    await store.as(author).apply(creates)
    const read = await historyOf(store, place)
    const next = vi.spyOn(TimeSlice.prototype, 'next')
    const { objects, storeId, epochs } = read.contents
    for (const threads of [0, 1]) {
      next.mockClear()
      const source = { objects, storeId, epochs }
      const found = await inSlices(() => verifyHistory(source, objects.head ?? '', { threads }))
      expect(found.versions.size).toBe(20)
      // Opening, removal from the old path, and adding at the new one.
      expect(next.mock.calls.length).toBeGreaterThanOrEqual(3 * creates.length)
    }
    next.mockRestore()
    await read.close()
    await store.close()
  },
)

test('comparing the trees of two moments: each directory', async () => {
  const { store, place } = await newStore()
  const before = await store.status()
  const creates = Array.from({ length: 100 }, (_, n) => {
    return { type: 'create', path: `/${n}.md`, content: '' } as const
  })
  await store.as(author).apply(creates)
  const after = await store.status()
  await store.close()
  const objects = await openDiskObjectStore(place)
  const [older, newer] = [before, after].map(({ head }) => findMemoriesTree(objects, head))
  const [turns, blobs]: [number[], string[]] = [[], []]
  await inSlices((turn) => {
    const read = (oid: string) => {
      turns.push(turn())
      return objects.read(oid)
    }
    const visitor = { tree: () => undefined, blob: (id: string) => blobs.push(id) }
    return compareDistantTrees({ read }, older, newer, visitor)
  })
  expect(blobs).toHaveLength(100)
  // The directory itself, and usually one for each first digit of the random ids.
  expect(turns.length).toBeGreaterThan(12)
  expect(mostInOneTurn(turns)).toBe(1)
  await objects.close()
})
