// Holders of grants and devices that write, redact, give and end grants, change keys and sync in
// any order end with the same commits. The history has each change once that a holder made while
// its grant ran, even if its clone began anew, and none that it made after the end.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MemoryStore } from '../../src/index.ts'
import { checkWithGit, headOf, joinClone } from '../support/clones.ts'
import { full, seed } from '../support/seed.ts'
import { contentsOf } from '../support/stores.ts'
import { versionIds } from './convergence-world.ts'
import { type Holder, holderStep, HoldersWorld, MARKS, marksOf } from './holders-world.ts'

const timeout = full ? 30 * 60_000 : 120_000

/** Without earlier commits, a sync brings all of the history, and no clone has to begin anew. */
const early = fc.constantFrom(0, 40, 40)

test(
  'holders end with the commits of the devices, and each of their changes is there once',
  { tags: 'slow', timeout },
  async () => {
    const steps = fc.array(holderStep, { minLength: 10, maxLength: 50, size: 'max' })
    await fc.assert(
      fc.asyncProperty(early, steps, async (count, taken) => {
        const world = await HoldersWorld.start(count)
        for (const one of taken) await world.take(one)
        await world.settle()
        const head = await headOf(world.first)
        for (const device of world.devices) expect(await headOf(device)).toBe(head)
        const fresh = await joinClone(world.first, world.url)
        await fresh.store.maintenance.verify({ threads: 0 })
        const known = await marksThere(fresh.store)
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

/** Each with the text that it was created with, and one version in the whole history. */
async function marksThere(store: MemoryStore): Promise<ReadonlySet<string>> {
  const marks = await marksOf(store)
  const contents = await contentsOf(store)
  for (const mark of marks) expect(contents[mark]).toBe(mark)
  const ids = await versionIds(store)
  const { data } = await store.history.versions({ limit: 1000 })
  expect(data.length).toBe(ids.size)
  const created = data.flatMap(({ path = '' }) => (path.startsWith(MARKS) ? [path] : []))
  expect(created.toSorted()).toEqual([...marks].toSorted())
  return marks
}

/** All, or those that the device which ended its grant had. */
async function expectKept(holder: Holder, known: ReadonlySet<string>): Promise<void> {
  const { given, acknowledged, sent, later, refused } = holder
  for (const mark of later) expect(known).not.toContain(mark)
  for (const mark of sent) {
    if (given.known === undefined || given.known.has(mark)) expect(known).toContain(mark)
  }
  if (given.known === undefined && refused === undefined) {
    expect([...known]).toEqual(expect.arrayContaining([...acknowledged]))
  }
  // Unsent changes can still be read.
  if (refused !== undefined) expect(await contentsOf(holder.store)).toBeDefined()
}

async function expectEqual({ store }: Holder, fresh: MemoryStore, head: string): Promise<void> {
  expect((await store.status()).head).toBe(head)
  expect(await contentsOf(store)).toEqual(await contentsOf(fresh))
  expect(await store.list('/')).toEqual(await fresh.list('/'))
}
