// An auditor's process dies, or the power fails, at every file operation of joining a trail and of
// keeping it current. Afterwards its clone is the old one or the new one and verifies, the call can
// be repeated, and nothing is left of redacted texts or of the attempt.

import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { auditStore, formatDeviceCard, type MemoryStore } from '../../src/index.ts'
import { joinTrail, syncTrail } from '../../src/store/audit/trail.ts'
import { alone, trusting } from '../support/clones.ts'
import {
  type Death,
  everyDeath,
  killed,
  unplugged,
  unsynced,
  wasBefore,
} from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import { full } from '../support/seed.ts'
import { author } from '../support/stores.ts'
import {
  expectTidy,
  operationsOf,
  redactFirst,
  SyncSite,
  thoroughEvery,
  write,
} from '../support/sync-places.ts'
import { git, sharedDirectory } from '../support/temporary.ts'

interface Scenario {
  readonly name: string
  /** What the others do before, and the auditor's earlier syncs. */
  readonly prepare: () => Promise<unknown>
  /** What the remote does not show any more may be stored. */
  readonly keeps: boolean
  readonly death: Death
}

const root = sharedDirectory()
let site: SyncSite
let begin: (() => void) | undefined

/** The machines in step, and an auditor that they know, who has no clone yet. */
async function start(): Promise<void> {
  if (begin === undefined) {
    site = await SyncSite.start(root)
    const card = formatDeviceCard(site.identityOf('auditor'))
    await site.with('a', async (store) => {
      await store.as(author).devices.add(card, 'auditor')
      await store.as(author).sync()
    })
    begin = site.keep()
  }
  begin()
}

const sync = (store: MemoryStore): Promise<unknown> => store.as(author).sync()

const scenarios: readonly Scenario[] = [
  {
    name: 'a trail that takes over what is new there',
    prepare: async () => {
      await onDisk(join)
      await site.with('b', (store) => writeAndSync(store, '/b/new.md'))
    },
    keeps: false,
    death: unplugged,
  },
  {
    name: 'a trail that loses what was redacted',
    prepare: async () => {
      await site.with('b', (store) => write(store, '/b/leak.md', 'clean\n').then(() => sync(store)))
      await onDisk(join)
      await site.with('b', async (store) => {
        await redactFirst(store, '/b/leak.md')
        await store.as(author).sync()
      })
    },
    keeps: false,
    death: unsynced,
  },
  {
    name: 'a trail that leaves what others have taken back',
    prepare: async () => {
      await site.with('b', async (store) => {
        await sync(store)
        await store.as(author).devices.remove([site.deviceIdOf('c')], alone)
      })
      await site.with('c', (store) => writeAndSync(store, '/c/late.md'))
      await onDisk(join)
      await site.with('b', sync)
    },
    keeps: true,
    death: killed,
  },
  {
    name: 'a trail that git has cloned, and nobody verified',
    prepare: async () => {
      git(['clone', '--quiet', '--bare', site.remote, site.directoryOf('auditor')], '/')
      await site.with('b', (store) => writeAndSync(store, '/b/new.md'))
    },
    keeps: false,
    death: killed,
  },
  {
    name: 'a trail with nothing to do',
    prepare: () => onDisk(join),
    keeps: false,
    death: unsynced,
  },
]

async function writeAndSync(store: MemoryStore, path: string): Promise<void> {
  await write(store, path, 'new\n')
  await store.as(author).sync()
}

function join(disk: FaultyDisk): Promise<unknown> {
  return joinTrail({ ...site.optionsOf('auditor', disk), ...trusting, url: site.remote })
}

function update(disk: FaultyDisk): Promise<unknown> {
  return syncTrail({ ...site.optionsOf('auditor', disk), acceptRolledBack: true })
}

/** Without a fault; returns what file operations there were. */
async function onDisk(act: (disk: FaultyDisk) => Promise<unknown>): Promise<string[]> {
  const disk = new FaultyDisk()
  try {
    await act(disk)
    return disk.log
  } finally {
    disk.release()
  }
}

/** The process dies when it puts a new anchor into its place for the nth time. */
class AnchorlessDisk extends FaultyDisk {
  #left: number

  constructor(nth: number) {
    super()
    this.#left = nth
  }

  override rename(from: string, to: string): void {
    if (to.endsWith('.anchor')) this.#left -= 1
    if (this.#left === 0) this.die('nothing')
    super.rename(from, to)
  }
}

/** With FULL=1 every death; by default one, and each that leaves store and anchor apart. */
function deathsOf(log: string[], death: Death): readonly (() => FaultyDisk)[] {
  const anchored = log.filter((what) => /^rename .*\.anchor$/.test(what))
  const faults = operationsOf(log.length, 1).map((at): Fault => ({ kind: 'death', at, ...death }))
  return [
    ...anchored.map((_, index) => () => new AnchorlessDisk(index + 1)),
    ...faults
      .filter((fault) => !full || !wasBefore({ log }, fault))
      .map((fault) => () => new FaultyDisk(fault)),
  ]
}

/** Dies in it, at the latest after it; returns whether it was acknowledged. */
async function dying(disk: FaultyDisk, act: (disk: FaultyDisk) => Promise<unknown>) {
  try {
    await act(disk)
    return true
  } catch (error) {
    if (!disk.dead) throw error
    return false
  } finally {
    disk.die('nothing')
    disk.release()
  }
}

/** Verifies it, as its device remembers it; returns the head. */
async function auditedHead(): Promise<string> {
  const disk = new FaultyDisk()
  try {
    return (await auditStore(site.optionsOf('auditor', disk))).head
  } finally {
    disk.release()
  }
}

describe.each(scenarios.map((one) => [one.name, one] as const))('%s', (_, scenario) => {
  test.each(full ? everyDeath : [scenario.death])(
    'survives a death $moment an operation, losing $loss',
    { tags: 'slow' },
    async (death) => {
      await start()
      await scenario.prepare()
      const reset = site.keep()
      const old = branchOf(site.directoryOf('auditor'))
      for (const newDisk of deathsOf(await onDisk(update), death)) {
        reset()
        const disk = newDisk()
        const done = await dying(disk, update)
        await expectOldOrNew(old, done)
          .then(() => onDisk(update))
          .then(() => expectCurrent(disk.operations, scenario.keeps))
          .catch(withSteps(disk))
      }
    },
  )
})

describe('joining a trail', () => {
  test.each(full ? everyDeath : [killed])(
    'survives a death $moment an operation, losing $loss',
    { tags: 'slow' },
    async (death) => {
      await start()
      const reset = site.keep()
      for (const newDisk of deathsOf(await onDisk(join), death)) {
        reset()
        const disk = newDisk()
        const done = await dying(disk, join)
        const isThere = existsSync(site.directoryOf('auditor'))
        if (done) expect(isThere).toBe(true)
        await onDisk(isThere ? update : join)
          .then(() => expectCurrent(disk.operations, false))
          .catch(withSteps(disk))
      }
    },
  )
})

async function expectOldOrNew(old: string, done: boolean): Promise<void> {
  const head = await auditedHead()
  expect(done ? [site.remoteHead()] : [old, site.remoteHead()]).toContain(head)
}

async function expectCurrent(at: number, keeps: boolean): Promise<void> {
  const head = site.remoteHead()
  expect(await auditedHead()).toBe(head)
  const directory = site.directoryOf('auditor')
  expect(branchOf(directory)).toBe(head)
  expect(git(['rev-parse', 'refs/remotes/origin/main'], directory).trim()).toBe(head)
  if (!keeps) expect(storedIn(directory)).toEqual(shownBy(site.remote))
  if (at % thoroughEvery !== 0) return
  await site.with('b', (store) => writeAndSync(store, '/after.md'))
  await onDisk(update)
  expect(await auditedHead()).toBe(site.remoteHead())
  expectTidy(site, 'auditor')
  expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
}

function branchOf(directory: string): string {
  return git(['rev-parse', 'refs/heads/main'], directory).trim()
}

function storedIn(directory: string): readonly string[] {
  const all = ['cat-file', '--batch-check=%(objectname)', '--batch-all-objects']
  return git(all, directory).trim().split('\n').toSorted()
}

function shownBy(directory: string): readonly string[] {
  const all = ['rev-list', '--objects', '--no-object-names', 'main']
  return git(all, directory).trim().split('\n').toSorted()
}

function withSteps({ log, operations: at }: FaultyDisk): (error: unknown) => never {
  return (error) => {
    const steps = log.slice(Math.max(0, at - 4), at).join(', ')
    throw new Error(`after a death at ${at}: ${steps}`, { cause: error })
  }
}
