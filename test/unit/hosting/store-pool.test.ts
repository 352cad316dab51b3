// The pool over real stores: when they are opened and closed, which uses wait, and which resources
// are released.
// @module-tag slow

import { readdirSync, readlinkSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import { StorePool, type StorePoolOptions } from '../../../src/hosting/store-pool.ts'
import { type MemoryStore, openStore } from '../../../src/index.ts'
import { areCollected } from '../../support/collected.ts'
import { patience } from '../../support/patience.ts'
import { author, newStore, type TestPlace } from '../../support/stores.ts'

interface World {
  readonly pool: StorePool
  readonly ids: readonly string[]
  readonly opened: string[]
  readonly refs: WeakRef<MemoryStore>[]
}

const places = new Map<string, TestPlace>()

async function newWorld(count: number, options: Partial<StorePoolOptions> = {}): Promise<World> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    const { store, place } = await newStore()
    ids.push(store.id)
    places.set(store.id, place)
    await store.close()
  }
  const opened: string[] = []
  const refs: WeakRef<MemoryStore>[] = []
  const open = async (id: string): Promise<MemoryStore> => {
    opened.push(id)
    const store = await reopened(id)
    refs.push(new WeakRef(store))
    return store
  }
  const pool = new StorePool({ open, maxOpen: 2, maxBytes: 2 ** 40, ...options })
  return { pool, ids, opened, refs }
}

/** The files of a store that this process has open, by their descriptors. */
function openFilesOf(storeId: string): readonly string[] {
  const found = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return 'closed since'
    }
  })
  return found.filter((path) => path.startsWith(places.get(storeId)?.directory ?? ''))
}

async function reopened(storeId: string): Promise<MemoryStore> {
  const place = places.get(storeId)
  if (place === undefined) throw new StoreError('not_a_store', 'There is no such store')
  const { directory, stateDirectory, identity } = place
  return openStore({ directory, stateDirectory, identity, storeId })
}

/** A use that lasts until it is told to end. */
function longUse({ pool }: World, id = '') {
  let end = (): void => undefined
  const until = new Promise<void>((resolve) => {
    end = resolve
  })
  let begun = (): void => undefined
  const beginning = new Promise<void>((resolve) => {
    begun = resolve
  })
  const done = pool.use(id, async (store) => {
    begun()
    await until
    return store.id
  })
  return { end, beginning, done }
}

const idOf = async (store: MemoryStore): Promise<string> => store.id

describe('a pool of stores', () => {
  test('opens a store once, also for callers at one time', async () => {
    const world = await newWorld(1)
    const [id = ''] = world.ids
    const write = (n: number) =>
      world.pool.use(id, (store) => store.as(author).write(`/${n}`, `${n}`))
    await Promise.all([1, 2, 3, 4].map(write))
    await write(5)
    expect(world.opened).toEqual([id])
    await world.pool.close()
    const store = await reopened(id)
    expect((await store.memories()).data).toHaveLength(5)
    await store.close()
  })

  test('does not remember that an opening failed, nor keep a place for it', async () => {
    const world = await newWorld(1, { maxOpen: 1 })
    const [id = ''] = world.ids
    const place = places.get(id)
    places.delete(id)
    const failing = [1, 2].map(() => world.pool.use(id, idOf))
    const outcomes = (await Promise.allSettled(failing)).map(({ status }) => status)
    expect(outcomes).toEqual(['rejected', 'rejected'])
    if (place !== undefined) places.set(id, place)
    expect(world.opened).toHaveLength(1)
    expect(await world.pool.use(id, idOf)).toBe(id)
    await world.pool.close()
  })

  test('closes the least recently used store, and never one that is in use', async () => {
    const world = await newWorld(3)
    const [a = '', b = '', c = ''] = world.ids
    const long = longUse(world, a)
    await long.beginning
    for (const id of [b, c, b]) await world.pool.use(id, idOf)
    expect(world.opened).toEqual([a, b, c, b])
    long.end()
    expect(await long.done).toBe(a)
    await world.pool.use(a, idOf)
    expect(world.opened).toHaveLength(4)
    await world.pool.close()
  })

  test('serves waiting callers even if the open stores are always in use', async () => {
    const world = await newWorld(3)
    const [a = '', b = '', c = ''] = world.ids
    const held = [longUse(world, a), longUse(world, b)]
    await Promise.all(held.map(({ beginning }) => beginning))
    const waiting = world.pool.use(c, idOf)
    const joined = longUse(world, b)
    await joined.beginning
    // The store used longest ago accepts no more: this one comes after the one that waits.
    const later = longUse(world, a)
    held[0]?.end()
    expect(await waiting).toBe(c)
    joined.end()
    held[1]?.end()
    later.end()
    await Promise.all([...held, later, joined].map(({ done }) => done))
    expect(world.opened).toEqual([a, b, c, a])
    await world.pool.close()
  })

  test('a store that waits for its predecessor keeps no place from others', async () => {
    const world = await newWorld(3)
    const [a = '', b = '', c = ''] = world.ids
    const [long, short] = [longUse(world, a), longUse(world, b)]
    await Promise.all([long.beginning, short.beginning])
    const [third, again] = [world.pool.use(c, idOf), world.pool.use(a, idOf)]
    short.end()
    expect(await third).toBe(c)
    expect(await world.pool.use(b, idOf)).toBe(b)
    long.end()
    expect(await again).toBe(a)
    await world.pool.close()
  })

  test('works through many stores with places for two, each write in its store', async () => {
    const world = await newWorld(5)
    const uses = Array.from({ length: 60 }, (_, n) =>
      world.pool.use(world.ids[n % 5] ?? '', async (store) => {
        expect(world.pool.size).toBeLessThanOrEqual(2)
        await store.as(author).write(`/${n}`, store.id)
      }),
    )
    await Promise.all(uses)
    for (const id of world.ids) {
      const count = await world.pool.use(id, async (store) => {
        return (await store.memories({ limit: 100 })).data.length
      })
      expect(count).toBe(12)
    }
    await world.pool.close()
  })
})

describe('a pool that frees its resources', () => {
  test('closes an idle store', async () => {
    const world = await newWorld(1, { idleMs: 20 })
    const use = () => world.pool.use(world.ids[0] ?? '', idOf)
    await use()
    await vi.waitFor(() => expect(world.pool.size).toBe(0), patience)
    await use()
    expect(world.opened).toHaveLength(2)
    await world.pool.close()
  })

  test(
    'stores are closed while the process holds too much, and may be open later',
    { tags: 'slow' },
    async () => {
      let held = 0
      const world = await newWorld(8, { maxOpen: 8, maxBytes: 100, bytesHeld: () => held })
      const useAll = async (): Promise<void> => {
        for (const id of world.ids) await world.pool.use(id, idOf)
      }
      await useAll()
      expect(world.pool.size).toBe(8)
      held = 95
      await vi.waitFor(() => expect(world.pool.size).toBeLessThan(7), patience)
      const { size } = world.pool
      await useAll()
      expect(world.pool.size).toBeLessThanOrEqual(size)
      held = 10
      await vi.waitFor(async () => {
        await useAll()
        expect(world.pool.size).toBe(8)
      }, patience)
      await world.pool.close()
    },
  )

  test('a closed store can be collected, and its descriptors are free', async () => {
    const world = await newWorld(3, { maxOpen: 1 })
    for (const id of world.ids) {
      await world.pool.use(id, async (store) => {
        await store.as(author).write('/a', 'text')
        await store.read('/a')
        await store.history.versions()
        await store.maintenance.verify()
      })
    }
    await world.pool.close()
    // Of removed packs they are closed in the background.
    await vi.waitFor(() => expect(world.ids.flatMap(openFilesOf)).toEqual([]), patience)
    expect(world.refs).toHaveLength(3)
    expect(await areCollected(world.refs)).toBe(true)
  })
})

describe('a store before its erasure', () => {
  test('is closed after its last use, and refused until it is erased', async () => {
    const world = await newWorld(2)
    const [a = '', b = ''] = world.ids
    const long = longUse(world, a)
    await long.beginning
    const events: string[] = []
    const forgotten = world.pool.forget(a, async () => {
      events.push(`erased, ${world.pool.size} open`)
      await expect(world.pool.use(a, idOf)).rejects.toMatchObject({ code: 'not_found' })
    })
    await expect(world.pool.use(a, idOf)).rejects.toMatchObject({ code: 'not_found' })
    await expect(world.pool.forget(a, async () => {})).rejects.toThrow(StoreError)
    await world.pool.use(b, idOf)
    events.push('end')
    long.end()
    await forgotten
    expect(events).toEqual(['end', 'erased, 1 open'])
    await world.pool.use(a, idOf)
    await world.pool.close()
  })

  test('may be one that is not open', async () => {
    const world = await newWorld(1)
    let erased = 0
    const erase = async (): Promise<void> => {
      erased += 1
    }
    await world.pool.forget(world.ids[0] ?? '', erase)
    await world.pool.use(world.ids[0] ?? '', idOf)
    await world.pool.forget(world.ids[0] ?? '', erase)
    expect([erased, world.pool.size]).toEqual([2, 0])
    await world.pool.close()
  })
})

test('a closing pool ends accepted work, and refuses more', async () => {
  const world = await newWorld(2, { maxOpen: 1 })
  const [a = '', b = ''] = world.ids
  const long = longUse(world, a)
  await long.beginning
  const waiting = world.pool.use(b, idOf)
  const closed = world.pool.close()
  await expect(world.pool.use(a, idOf)).rejects.toMatchObject({ code: 'store_closed' })
  long.end()
  expect(await waiting).toBe(b)
  await closed
  expect(world.pool.size).toBe(0)
  expect(await long.done).toBe(a)
})
