// Clones that write, redact and sync in any order end with the same commits, and no acknowledged
// change is missing from their history (DESIGN §5). Transport fails now and then, and clones are
// opened anew in between.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MemoryStore } from '../../src/index.ts'
import { full, seed } from '../support/seed.ts'
import {
  bareRemote,
  checkWithGit,
  firstClone,
  headOf,
  joinClone,
  sync,
  syncAll,
} from '../support/clones.ts'
import type { Clone } from '../support/clones.ts'
import { author, contentsOf, reopen } from '../support/stores.ts'
import { changes, toChange } from './store-commands.ts'
import type { PlannedChange } from './store-model.ts'

type Step = { readonly clone: number } & (
  | { readonly type: 'apply'; readonly planned: readonly PlannedChange[] }
  | { readonly type: 'sync' }
  | { readonly type: 'cut'; readonly after: number }
  | { readonly type: 'reopen' }
  | { readonly type: 'settings'; readonly name: string }
  | { readonly type: 'redact'; readonly pick: number }
)

const CLONES = 3
const clone = fc.nat({ max: CLONES - 1 })

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ clone, type: fc.constant('apply' as const), planned: changes }),
  },
  { weight: 6, arbitrary: fc.record({ clone, type: fc.constant('sync' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ clone, type: fc.constant('cut' as const), after: fc.nat({ max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ clone, type: fc.constant('reopen' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      clone,
      type: fc.constant('settings' as const),
      name: fc.constantFrom('x', 'y', 'z'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ clone, type: fc.constant('redact' as const), pick: fc.nat() }),
  },
)

/** Versions that some clone has acknowledged. */
type Acknowledged = Set<string>

async function versionIds(store: MemoryStore): Promise<readonly string[]> {
  const ids: string[] = []
  for (let after: string | undefined; ;) {
    const page = await store.versions({ limit: 1000, after })
    ids.push(...page.versions.map(({ versionId }) => versionId))
    after = page.next
    if (after === undefined) return ids
  }
}

async function redactOne(store: MemoryStore, pick: number): Promise<void> {
  const ids = await versionIds(store)
  const versionId = ids[pick % Math.max(1, ids.length)]
  if (versionId === undefined) return
  const request = { select: { versionIds: [versionId] }, reason: 'unspecified' } as const
  await store.redact({ ...request, current: 'keep' }, author)
}

/** A sync that is cut off after so many milliseconds: what it did or did not, nothing is lost. */
async function cutOff({ store }: Clone, after: number): Promise<void> {
  const signal = AbortSignal.timeout(after)
  await store.sync(author, { signal }).catch((error: unknown) => {
    expect(error).toMatchObject({ name: 'StoreError' })
  })
}

async function take(clones: Clone[], acknowledged: Acknowledged, taken: Step): Promise<void> {
  const one = clones[taken.clone]
  if (one === undefined) return
  const { store, place } = one
  switch (taken.type) {
    case 'apply': {
      const applied = await store.apply(taken.planned.map(toChange), author).catch(() => undefined)
      for (const versionId of applied?.versionIds ?? []) acknowledged.add(versionId)
      return
    }
    case 'sync':
      await sync(one)
      return
    case 'cut':
      return cutOff(one, taken.after)
    case 'reopen':
      await store.close()
      clones[taken.clone] = { place, store: await reopen(place) }
      return
    case 'settings':
      await store.updateSettings({ name: taken.name }, author)
      return
    case 'redact':
      return redactOne(store, taken.pick)
    default:
      throw new Error('Not a step')
  }
}

const timeout = full ? 3_600_000 : 120_000

test(
  'clones end with the same commits, and with every acknowledged change',
  { timeout },
  async () => {
    const history = fc.array(step, { minLength: 4, maxLength: 40, size: 'max' })
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const remote = bareRemote()
        const first = await firstClone(remote)
        await sync(first)
        const clones = [first]
        while (clones.length < CLONES) clones.push(await joinClone(first, remote))
        const acknowledged: Acknowledged = new Set()
        for (const taken of steps) await take(clones, acknowledged, taken)
        await syncAll(clones)
        await expectEqual(clones, acknowledged)
        checkWithGit(remote)
        await Promise.all(clones.map(({ store }) => store.close()))
        for (const { place } of clones) checkWithGit(place.directory)
      }),
      { seed, numRuns: full ? 120 : 6, ...(full ? {} : { endOnFailure: true }) },
    )
  },
)

async function expectEqual(clones: readonly Clone[], acknowledged: Acknowledged): Promise<void> {
  const [first] = clones
  if (first === undefined) return
  const expected = await contentsOf(first.store)
  for (const one of clones) {
    expect(await headOf(one)).toBe(await headOf(first))
    expect(await contentsOf(one.store)).toEqual(expected)
    const known = new Set(await versionIds(one.store))
    for (const versionId of acknowledged) expect(known).toContain(versionId)
    await one.store.verify()
    expect((await one.store.proveAbsence()).found).toEqual([])
  }
}
