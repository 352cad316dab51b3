// A process of a grant's holder dies, the power fails, or its disk has an error, at every file
// operation of a first opening, of syncs, and of a fetch of the whole history. Afterwards the clone
// opens in its old or its new state, nothing acknowledged is lost, and the next attempt succeeds.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type MemoryStore, StoreError } from '../../src/index.ts'
import { joinClone, put, sync } from '../support/clones.ts'
import {
  broken,
  type Death,
  everyDeath,
  everyError,
  failedOnce,
  type Failure,
  fullOnce,
  killed,
  struckBy,
  unplugged,
  unsynced,
} from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import {
  create,
  floored,
  givenGrant,
  type GrantWorld,
  hold,
  type HolderPlace,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { joiningPacker } from '../support/inline-packer.ts'
import { full } from '../support/seed.ts'
import { author, contentsOf } from '../support/stores.ts'
import { operationsOf, thoroughEvery } from '../support/sync-places.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'

/** Uses the open clone; may be repeated. Adds the paths of acknowledged writes. */
type Act = (store: MemoryStore, acknowledged: Set<string>) => Promise<unknown>

interface Scenario {
  readonly name: string
  /** Whether the holder has a clone when it begins. */
  readonly begun: boolean
  readonly world: () => Promise<GrantWorld>
  /** Changes by others after the holder's first opening. */
  readonly others: (world: GrantWorld) => Promise<unknown>
  readonly act: Act
  readonly isWhole?: boolean
  readonly death: Death
  readonly failure: Failure
}

async function writeOnce(store: MemoryStore, acknowledged: Set<string>): Promise<void> {
  if ((await store.read('/held.md')) === undefined) await writeAs(store, create('/held.md'))
  acknowledged.add('/held.md')
}

const exchange: Act = async (store, acknowledged) => {
  await writeOnce(store, acknowledged)
  await syncHolder(store)
}

const scenarios: readonly Scenario[] = [
  {
    name: 'opening from an empty directory',
    begun: false,
    world: givenGrant,
    others: async () => undefined,
    act: writeOnce,
    death: unplugged,
    failure: fullOnce,
  },
  {
    name: 'opening from an empty directory down to the floor',
    begun: false,
    world: async () => {
      const { world, old } = await floored()
      await put(old, '/old.md')
      await sync(old)
      return world
    },
    others: async () => undefined,
    act: exchange,
    death: unsynced,
    failure: failedOnce,
  },
  {
    name: 'a sync that merges and sends, with new keys',
    begun: true,
    world: givenGrant,
    others: async ({ granter }) => {
      await granter.store.as(author).keys.rotate()
      await put(granter, '/theirs.md')
      await sync(granter)
    },
    act: exchange,
    death: killed,
    failure: failedOnce,
  },
  {
    name: 'a sync after a redaction above its state',
    begun: true,
    world: givenGrant,
    others: async ({ granter }) => {
      const versionId = await put(granter, '/secret.md', 'a secret')
      await put(granter, '/secret.md', 'clean')
      await sync(granter)
      await granter.store
        .as(author)
        .redact({ select: { versionIds: [versionId] }, reason: 'legal' })
      await sync(granter)
    },
    act: exchange,
    death: unplugged,
    failure: fullOnce,
  },
  {
    name: 'a sync that deepens to the floor',
    begun: true,
    world: async () => (theirs = await floored()).world,
    others: async () => {
      if (theirs === undefined) return
      await put(theirs.old, '/old.md')
      await sync(theirs.old)
    },
    act: exchange,
    death: unplugged,
    failure: broken,
  },
  {
    name: 'a fetch of the whole history',
    begun: true,
    world: async () => (await floored()).world,
    others: async () => undefined,
    act: async (store, acknowledged) => {
      await writeOnce(store, acknowledged)
      await store.history.fetchAll()
    },
    isWhole: true,
    death: unplugged,
    failure: failedOnce,
  },
]
let theirs: Awaited<ReturnType<typeof floored>> | undefined

interface Site {
  readonly world: GrantWorld
  /** The holder's machine. */
  readonly home: string
  readonly reset: () => void
  /** The contents before, once all is written here, and in the end. */
  readonly states: readonly Readonly<Record<string, string>>[]
  readonly operations: number
}

const placeOf = (home: string): HolderPlace => {
  return { directory: join(home, 'store'), stateDirectory: join(home, 'state') }
}

function open({ world, home }: Pick<Site, 'world' | 'home'>, disk: FaultyDisk) {
  const at = placeOf(home)
  return hold(world, { ...at, disk, packer: joiningPacker(disk, at.directory) })
}

async function siteOf(scenario: Scenario): Promise<Site> {
  const world = await scenario.world()
  const root = temporaryDirectory()
  const at = { world, home: join(root, 'live') }
  if (scenario.begun) await (await hold(world, placeOf(at.home))).close()
  await scenario.others(world)
  const reset = keep(root, at)
  const disk = new FaultyDisk()
  const store = await open(at, disk)
  const before = await contentsOf(store)
  await scenario.act(store, new Set())
  const after = await contentsOf(store)
  await store.close()
  disk.release()
  const states = [before, { ...before, '/held.md': '/held.md' }, after]
  return { ...at, reset, states, operations: disk.operations }
}

function keep(root: string, { world, home }: Pick<Site, 'world' | 'home'>): () => void {
  const kept = mkdtempSync(join(root, 'kept-'))
  const places = [world.url, home] as const
  const copies = places.map((place, number) => [place, join(kept, String(number))] as const)
  const isThere = (place: string): boolean => readdirSync(join(place, '..')).includes(baseOf(place))
  for (const [place, copy] of copies) if (isThere(place)) copyDirectory(place, copy)
  return () => {
    for (const [place, copy] of copies) {
      rmSync(place, { recursive: true, force: true })
      if (isThere(copy)) copyDirectory(copy, place)
    }
  }
}

const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Every operation, or by default some. */
const tried = 6

describe.each(scenarios.map((one) => [one.name, one] as const))('%s', (_, scenario) => {
  test('survives deaths', { tags: 'slow' }, async () => {
    const site = await siteOf(scenario)
    for (const death of full ? everyDeath : [scenario.death]) {
      for (const at of struckBy(death, operationsOf(site.operations, tried))) {
        await survive(scenario, site, { kind: 'death', at, ...death })
      }
    }
  })

  test('survives errors of the disk', { tags: 'slow' }, async () => {
    const site = await siteOf(scenario)
    for (const [code, times] of full ? everyError : [scenario.failure]) {
      for (const at of operationsOf(site.operations, tried)) {
        await survive(scenario, site, { kind: 'error', at, code, times })
      }
    }
  })
})

async function survive(scenario: Scenario, site: Site, fault: Fault): Promise<void> {
  site.reset()
  const disk = new FaultyDisk(fault)
  const acknowledged = new Set<string>()
  try {
    await attempt(scenario, site, disk, acknowledged)
    disk.die('nothing')
    await expectRecovery(scenario, site, acknowledged, fault.at % thoroughEvery === 0)
  } catch (error) {
    const steps = disk.log.slice(Math.max(0, fault.at - 4), fault.at).join(', ')
    throw new Error(`after ${JSON.stringify(fault)}: ${steps}`, { cause: error })
  } finally {
    disk.release()
  }
}

async function attempt(
  { act }: Scenario,
  site: Site,
  disk: FaultyDisk,
  acknowledged: Set<string>,
): Promise<void> {
  let store: MemoryStore | undefined
  try {
    store = await open(site, disk)
    await act(store, acknowledged)
  } catch (error) {
    if (!disk.dead) expectClear(error)
  }
  await store?.close().catch((error: unknown) => disk.dead || expectClear(error))
}

/** The error reports the disk, not a false history or host. */
function expectClear(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
  expect(['storage_full', 'storage_failed', 'store_closed']).toContain(error.code)
}

async function expectRecovery(
  { act, isWhole = false }: Scenario,
  site: Site,
  acknowledged: ReadonlySet<string>,
  isThorough: boolean,
): Promise<void> {
  const { world, home, states } = site
  const disk = new FaultyDisk()
  const store = await open(site, disk)
  const found = await contentsOf(store)
  expect(states).toContainEqual(found)
  expect(Object.keys(found)).toEqual(expect.arrayContaining([...acknowledged]))
  await act(store, new Set())
  expect(await contentsOf(store)).toEqual(states.at(-1))
  if (isWhole) await store.maintenance.verify({ threads: 0 })
  await syncHolder(store)
  const { head } = await store.status()
  expect(git(['rev-parse', 'main'], world.url).trim()).toBe(head)
  await store.close()
  disk.release()
  expect(readdirSync(home).toSorted()).toEqual(['state', 'store'])
  expect(git(['fsck', '--strict', '--no-dangling'], placeOf(home).directory)).toBe('')
  if (isThorough) await expectForOthers(world, states.at(-1))
}

/** A clone that verifies from genesis has the same contents, and so does another holder. */
async function expectForOthers(world: GrantWorld, contents: Site['states'][0] = {}) {
  const fresh = await joinClone(world.granter, world.url)
  await fresh.store.maintenance.verify({ threads: 0 })
  expect(await contentsOf(fresh.store)).toEqual(contents)
  await fresh.store.close()
  const other = await hold(world)
  expect(await contentsOf(other)).toEqual(contents)
  await other.close()
}
