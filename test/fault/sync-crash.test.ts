// A process dies, or the power fails, at every file operation of a whole sync, of a change of the
// members, and of naming and forgetting a remote. Afterwards the store is the old one or the new
// one, the remote is sound and was moved once at most, the call can be repeated, the others go on
// from there, and nothing temporary is left.

import { renameSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { formatId } from '../../src/format/id.ts'
import { formatDeviceCard, type MemoryStore } from '../../src/index.ts'
import { alone } from '../support/clones.ts'
import {
  type Death,
  everyDeath,
  killed,
  struckBy,
  unplugged,
  unsynced,
  wasBefore,
} from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import { create, hold, syncHolder, writeAs } from '../support/grant-holders.ts'
import { full } from '../support/seed.ts'
import { author, contentsOf } from '../support/stores.ts'
import {
  expectSound,
  expectTidy,
  operationsOf,
  redactFirst,
  SyncSite,
  thoroughEvery,
  write,
} from '../support/sync-places.ts'
import { git, sharedDirectory } from '../support/temporary.ts'

/** What can be told of a machine's store from outside. */
interface State {
  readonly live: Readonly<Record<string, string>>
  /** By version id; undefined where the version is not known. */
  readonly past: ReadonlyMap<string, readonly [path?: string, content?: string] | undefined>
  readonly remotes: readonly string[]
  /** Active devices and their roles. */
  readonly members: readonly string[]
}

interface Scenario {
  readonly name: string
  /** What happens on the machines before; `a` dies next. */
  readonly prepare: (site: SyncSite) => Promise<unknown>
  /** What `a` does. May be repeated where it has not come to its end. */
  readonly act: (store: MemoryStore, site: SyncSite) => Promise<unknown>
  /** Whether it changes what can be told from outside. */
  readonly changes: boolean
  /** Whether all machines are in step after it. */
  readonly syncs: boolean
  /**
   * The number of deaths that are tried by default, all of one kind; with FULL=1 each operation has
   * one.
   */
  readonly tried: number
  readonly death: Death
}

const sync = (store: MemoryStore): Promise<unknown> => store.as(author).sync()

const scenarios: readonly Scenario[] = [
  {
    name: 'a sync that sends what is new here',
    prepare: (site) => site.with('a', (store) => write(store, '/a/new.md', 'of a\n')),
    act: sync,
    changes: false,
    syncs: true,
    tried: 1,
    death: unplugged,
  },
  {
    name: 'a sync that takes over what is new there',
    prepare: (site) => writeAndSync(site, 'b'),
    act: sync,
    changes: true,
    syncs: true,
    tried: 1,
    death: unsynced,
  },
  {
    name: 'a sync that merges',
    prepare: async (site) => {
      await writeAndSync(site, 'b')
      await site.with('a', (store) => write(store, '/shared.md', 'one\nof a\nthree\n'))
    },
    act: sync,
    changes: true,
    syncs: true,
    tried: 1,
    death: killed,
  },
  {
    name: 'a sync that merges, with a redaction on each side',
    prepare: async (site) => {
      await writeAndSync(site, 'b', '/b/leak.md')
      await site.with('a', async (store) => {
        await write(store, '/a/leak.md', 'clean\n')
        await redactFirst(store, '/a/leak.md')
      })
    },
    act: sync,
    changes: true,
    syncs: true,
    tried: 2,
    death: unplugged,
  },
  {
    name: 'a sync with nothing to do',
    prepare: async () => undefined,
    act: sync,
    changes: false,
    syncs: true,
    tried: 1,
    death: killed,
  },
  {
    name: 'a sync that takes back what a removed device was faster with',
    prepare: async (site) => {
      await site.with('a', sync)
      await site.with('a', (store) => removeDevice(store, site, 'c'))
      await writeAndSync(site, 'c')
    },
    act: sync,
    changes: false,
    syncs: true,
    tried: 2,
    death: unsynced,
  },
  {
    name: 'a sync that leaves what others have taken back',
    prepare: async (site) => {
      await site.with('b', (store) => removeDevice(store, site, 'c'))
      await writeAndSync(site, 'c')
      await site.with('a', sync)
      await site.with('b', sync)
    },
    act: sync,
    changes: true,
    syncs: true,
    tried: 2,
    death: killed,
  },
  {
    name: 'a sync that writes again what a grant wrote on top of a removed device',
    prepare: async (site) => {
      const { text: grant } = await site.with('a', (store) => {
        return store.as(author).grants.give({ label: 'ci' })
      })
      await site.with('a', (store) => removeDevice(store, site, 'c'))
      await writeAndSync(site, 'c')
      const held = await hold({ url: site.remote, grant })
      await writeAs(held, create('/held.md'), create('/held.txt'))
      await writeAs(held, { type: 'edit', path: '/shared.md', edit: (text) => `${text}held\n` })
      await syncHolder(held)
      await held.close()
    },
    act: sync,
    changes: true,
    syncs: true,
    tried: 2,
    death: killed,
  },
  {
    name: 'a repair that keeps what verifies below the head of the remote',
    prepare: async (site) => {
      await writeAndSync(site, 'b')
      const args = ['commit-tree', 'main^{tree}', '-p', 'main', '-m', 'of anybody']
      git(['update-ref', 'refs/heads/main', git(args, site.remote).trim()], site.remote)
    },
    act: (store) => store.as(author).sync({ repair: true }),
    changes: true,
    syncs: true,
    tried: 3,
    death: unplugged,
  },
  {
    name: 'adding a device, after a fetch and before a push',
    prepare: async () => undefined,
    act: addAuditor,
    changes: true,
    syncs: true,
    tried: 2,
    death: unplugged,
  },
  {
    name: 'removing a device, with new keys',
    prepare: async () => undefined,
    act: removeForGood,
    changes: true,
    syncs: true,
    tried: 2,
    death: killed,
  },
  {
    name: 'a removal that waited for the network',
    prepare: (site) => site.with('a', (store) => removeOffline(store, site)),
    act: sync,
    changes: true,
    syncs: true,
    tried: 2,
    death: unsynced,
  },
  {
    name: 'naming a remote',
    prepare: async () => undefined,
    act: (store, site) => store.remotes.add('second', site.remote),
    changes: true,
    syncs: false,
    tried: 1,
    death: unplugged,
  },
  {
    name: 'forgetting a remote',
    prepare: async () => undefined,
    act: (store) => store.remotes.remove('origin'),
    changes: true,
    syncs: false,
    tried: 1,
    death: unsynced,
  },
]

async function writeAndSync(site: SyncSite, machine: 'b' | 'c', leak?: string): Promise<void> {
  await site.with(machine, async (store) => {
    await write(store, `/${machine}/new.md`, `of ${machine}\n`)
    await write(store, '/shared.md', `one\ntwo\nof ${machine}\n`)
    if (leak !== undefined) {
      await write(store, leak, 'clean\n')
      await redactFirst(store, leak)
    }
    await store.as(author).sync()
  })
}

/** A device that is one already needs only be sent. */
async function addAuditor(store: MemoryStore, site: SyncSite): Promise<void> {
  const identity = site.identityOf('auditor')
  const id = formatId('device', identity.deviceId)
  const known = await store.devices.list()
  if (known.some(({ deviceId }) => deviceId === id)) await store.as(author).sync()
  else await store.as(author).devices.add(formatDeviceCard(identity), 'auditor')
}

/** Removes the device; if it is removed already, a sync sends the removal. */
async function removeForGood(store: MemoryStore, site: SyncSite): Promise<void> {
  const id = site.deviceIdOf('c')
  const known = await store.devices.list()
  const isGone = known.some(({ deviceId, removed }) => deviceId === id && removed !== undefined)
  if (isGone) await store.as(author).sync()
  else await store.as(author).devices.remove([id])
}

/** Asks for it while nothing can be reached. */
async function removeOffline(store: MemoryStore, site: SyncSite): Promise<void> {
  const { remote } = site
  renameSync(remote, `${remote}.away`)
  await store.as(author).devices.remove([site.deviceIdOf('c')], { whenOnline: true })
  renameSync(`${remote}.away`, remote)
}

async function removeDevice(store: MemoryStore, site: SyncSite, machine: 'c'): Promise<void> {
  await store.as(author).devices.remove([site.deviceIdOf(machine)], alone)
}

const root = sharedDirectory()
let site: SyncSite
let begin: (() => void) | undefined

/** The machines in step, as every test begins. */
async function start(): Promise<void> {
  if (begin === undefined) {
    site = await SyncSite.start(root)
    begin = site.keep()
  }
  begin()
}

interface Template {
  readonly reset: () => void
  readonly old: State
  readonly next: State
  readonly remoteHead: string
  /** How many file operations the action takes, from opening to closing. */
  readonly operations: number
}

describe.each(scenarios.map((one) => [one.name, one] as const))('%s', (_, scenario) => {
  let template: Template | undefined

  test.each(full ? everyDeath : [scenario.death])(
    'survives a death $moment an operation, losing $loss',
    { tags: 'slow' },
    async (death) => {
      template ??= await newTemplate(scenario)
      for (const at of struckBy(death, operationsOf(template.operations, scenario.tried))) {
        await survive(scenario, template, { kind: 'death', at, ...death })
      }
    },
  )
})

/** One death and the recovery. */
async function survive(scenario: Scenario, template: Template, fault: Fault): Promise<void> {
  template.reset()
  const disk = new FaultyDisk(fault)
  try {
    const done = await attempt(scenario, disk)
    disk.die('nothing')
    if (full && wasBefore(disk, fault)) return
    await expectRecovery(scenario, template, { done, at: fault.at })
  } catch (error) {
    const steps = disk.log.slice(Math.max(0, fault.at - 4), fault.at).join(', ')
    throw new Error(`after a death at ${fault.at}: ${steps}`, { cause: error })
  } finally {
    disk.release()
  }
}

/** Whether the action was acknowledged. */
async function attempt(scenario: Scenario, disk: FaultyDisk): Promise<boolean> {
  let done = false
  try {
    const store = await site.open('a', disk)
    await scenario.act(store, site)
    done = true
    await store.close()
  } catch (error) {
    if (!disk.dead) throw error
  }
  return done
}

async function expectRecovery(
  scenario: Scenario,
  { old, next, remoteHead }: Template,
  { done, at }: { readonly done: boolean; readonly at: number },
): Promise<void> {
  const moved = site.remoteHead()
  await site.with('a', async (store) => {
    const state = await stateOf(store, [...old.past.keys()])
    const isNew = done || isDeepStrictEqual(state, next)
    expect(state).toEqual(isNew ? next : old)
    expect([remoteHead, (await store.status()).head]).toContain(moved)
    if (scenario.syncs || !isNew) await scenario.act(store, site)
    expect(await stateOf(store, [...old.past.keys()])).toEqual(next)
    await write(store, '/after.md', 'written\n')
    await store.maintenance.verify({ threads: 0 })
    if (scenario.syncs) await store.as(author).sync()
    expect((await store.maintenance.findResidue()).found).toEqual([])
  })
  expectTidy(site, 'a')
  if (at % thoroughEvery === 0) await expectSound(site, 'a', scenario.syncs)
}

async function newTemplate(scenario: Scenario): Promise<Template> {
  await start()
  await scenario.prepare(site)
  const ids = new Set<string>()
  for (const machine of ['a', 'b'] as const) {
    const { data: versions } = await site.with(machine, (store) =>
      store.history.versions({ limit: 100 }),
    )
    for (const { versionId } of versions) ids.add(versionId)
  }
  const reset = site.keep()
  const remoteHead = site.remoteHead()
  const known = [...ids]
  const disk = new FaultyDisk()
  const store = await site.open('a', disk)
  const old = await stateOf(store, known)
  await scenario.act(store, site)
  const next = await stateOf(store, known)
  await store.close()
  const { operations } = disk
  disk.release()
  expect(isDeepStrictEqual(old, next)).toBe(!scenario.changes)
  return { reset, old, next, remoteHead, operations }
}

async function stateOf(store: MemoryStore, ids: readonly string[]): Promise<State> {
  const found = new Set(
    (await store.history.versions({ limit: 1000 })).data.map((v) => v.versionId),
  )
  const past = new Map<string, readonly [path?: string, content?: string] | undefined>()
  for (const id of ids) {
    const version = found.has(id) ? await store.history.version(id) : undefined
    past.set(id, version && [version.path ?? '', version.content ?? ''])
  }
  return {
    live: await contentsOf(store),
    past,
    remotes: (await store.remotes.list()).map(({ name }) => name),
    members: (await store.devices.list())
      .filter(({ removed }) => removed === undefined)
      .map(({ deviceId, role }) => `${deviceId} ${role}`),
  }
}
