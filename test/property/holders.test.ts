// Holders of grants and devices that write, redact, give and end grants, change keys and sync in
// any order end with the same commits. The history has each version once that a holder sent while
// its grant ran, and none that it wrote after the end.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MemoryStore } from '../../src/index.ts'
import { checkWithGit, headOf, joinClone } from '../support/clones.ts'
import { full, seed } from '../support/seed.ts'
import { contentsOf } from '../support/stores.ts'
import { versionIds } from './convergence-world.ts'
import { type Holder, holderStep, HoldersWorld } from './holders-world.ts'

const timeout = full ? 30 * 60_000 : 120_000

test(
  'holders end with the commits of the devices, and nothing sent in time is missing',
  { tags: 'slow', timeout },
  async () => {
    const steps = fc.array(holderStep, { minLength: 10, maxLength: 50, size: 'max' })
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const world = await HoldersWorld.start()
        for (const one of taken) await world.take(one)
        await world.settle()
        const head = await headOf(world.first)
        for (const device of world.devices) expect(await headOf(device)).toBe(head)
        const fresh = await joinClone(world.first, world.url)
        await fresh.store.maintenance.verify({ threads: 0 })
        const known = await listedOnce(fresh.store)
        for (const holder of world.holders) {
          await expectKept(holder, known)
          if (holder.refused === undefined) await expectEqual(holder, fresh.store, head)
        }
        checkWithGit(world.url)
        await fresh.store.close()
        await world.close()
      }),
      // Shrinking a world takes hours, and no one would learn in that time that it failed.
      { seed, numRuns: full ? 150 : 4, endOnFailure: true },
    )
  },
)

async function listedOnce(store: MemoryStore): Promise<ReadonlySet<string>> {
  const known = await versionIds(store)
  const { data } = await store.history.versions({ limit: 1000 })
  expect(data.length).toBe(known.size)
  return known
}

/** Those that it sent before its grant ended, or that the device which ended it had. */
async function expectKept(holder: Holder, known: ReadonlySet<string>): Promise<void> {
  const { given, sent, later } = holder
  for (const id of later) expect(known).not.toContain(id)
  for (const id of sent) {
    if (given.known === undefined || given.known.has(id)) expect(known).toContain(id)
  }
  // Unsent changes can still be read.
  if (holder.refused !== undefined) expect(await contentsOf(holder.store)).toBeDefined()
}

async function expectEqual({ store }: Holder, fresh: MemoryStore, head: string): Promise<void> {
  expect((await store.status()).head).toBe(head)
  expect(await contentsOf(store)).toEqual(await contentsOf(fresh))
  expect(await store.list('/')).toEqual(await fresh.list('/'))
}
