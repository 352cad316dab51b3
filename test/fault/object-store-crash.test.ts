// A process dies, or the power fails, at every single operation of a scenario. Afterwards the store
// opens at the head before or after the change that was under way, never behind an acknowledged
// commit; all objects of the head exist; no lock is left.
// @module-tag slow

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { expectAllReadable } from '../contract/object-store.contract.ts'
import {
  type Death,
  everyDeath,
  killed,
  unplugged,
  unsynced,
  wasBefore,
} from '../support/deaths.ts'
import { type Fault, FaultyDisk, SimulatedDeath } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'
import { TestHistory } from '../support/transitions.ts'

/** One run of stock git's check takes as long as forty crashes. */
const fsckEvery = full ? 10 : 97

interface Run {
  readonly directory: string
  readonly history: TestHistory
  /** Transitions whose commit was acknowledged, and those that were attempted. */
  acknowledged: number
  attempted: number
}

interface Scenario {
  readonly name: string
  /** A scenario that ends early would prove nothing. */
  readonly operationsMin: number
  /** Makes what the scenario starts from, with a disk that never fails. */
  readonly prepare: (run: Run) => Promise<void>
  readonly act: (run: Run, disk: FaultyDisk) => Promise<void>
}

/** By default each moment and each loss appears once. */
const deaths: readonly Death[] = full ? everyDeath : [killed, unsynced, unplugged]

const scenarios: readonly Scenario[] = [
  {
    name: 'creating a store and its first commit',
    operationsMin: 50,
    prepare: async () => {},
    act: async (run, disk) => {
      const store = await create(run, disk)
      await commit(run, store, 1)
      await store.close()
    },
  },
  {
    name: 'commits one by one and in a batch',
    operationsMin: 15,
    prepare: async (run) => (await create(run, new FaultyDisk())).close(),
    act: async (run, disk) => {
      const store = await open(run, disk)
      await commit(run, store, 1)
      await commit(run, store, 3)
      await commit(run, store, 1)
    },
  },
  {
    name: 'checkpoints with commits in between',
    operationsMin: 70,
    prepare: async (run) => (await create(run, new FaultyDisk())).close(),
    act: async (run, disk) => {
      const store = await open(run, disk)
      await commit(run, store, 4)
      await Promise.all([store.checkpoint(), commit(run, store, 1)])
      await commit(run, store, 1)
      await store.checkpoint()
      await store.close()
    },
  },
  {
    name: 'a long journal that gives its space back, and grows again',
    operationsMin: 60,
    prepare: async (run) => (await create(run, new FaultyDisk())).close(),
    act: async (run, disk) => {
      const store = await open(run, disk)
      await commit(run, store, 1, 100_000)
      await store.checkpoint()
      await commit(run, store, 1, 100_000)
      await commit(run, store, 1)
      await store.checkpoint()
      await commit(run, store, 1)
    },
  },
  {
    name: 'a checkpoint that merges packs',
    operationsMin: 50,
    prepare: async (run) => {
      const store = await create(run, new FaultyDisk())
      for (const count of [6, 2]) {
        await commit(run, store, count)
        await store.checkpoint()
      }
      await store.close()
    },
    act: async (run, disk) => {
      const store = await open(run, disk)
      await commit(run, store, 3)
      await store.checkpoint()
    },
  },
  {
    name: 'opening after a crash in the middle of a checkpoint, and another commit',
    operationsMin: 70,
    prepare: async (run) => {
      const disk = new FaultyDisk()
      const store = await create(run, disk)
      await commit(run, store, 3)
      const packer = inlinePacker(disk, run.directory)
      const dying = await openDiskObjectStore({
        directory: run.directory,
        disk,
        idleMs: Infinity,
        packer: {
          ...packer,
          async write() {
            await commit(run, store, 2)
            disk.die('nothing')
          },
        },
      })
      await expect(dying.checkpoint()).rejects.toThrow(SimulatedDeath)
    },
    act: async (run, disk) => {
      const store = await open(run, disk)
      await commit(run, store, 1)
      await store.close()
    },
  },
  {
    name: 'taking over from a process that died while it held the lock',
    operationsMin: 8,
    prepare: async (run) => {
      const disk = new FaultyDisk()
      const store = await create(run, disk)
      await commit(run, store, 2)
      await store.exclusive(async () => disk.die('nothing'))
    },
    act: async (run, disk) => {
      const store = await open(run, disk)
      await commit(run, store, 1)
    },
  },
]

describe.each(scenarios)('$name', (scenario) => {
  test.each(deaths)('survives a death, $moment, at each operation, losing $loss', async (death) => {
    const template = await prepared(scenario)
    let at = 1
    while (await survives(scenario, template, { kind: 'death', at, ...death })) at += full ? 1 : 23
    expect(at).toBeGreaterThan(scenario.operationsMin)
  })
})

test('a commit on top of unsynced ones of a dead process survives a power failure', async () => {
  const run = newRun(temporaryDirectory())
  const first = new FaultyDisk()
  const store = await create(run, first)
  await commit(run, store, 1)
  // Dies at the fdatasync: the frame is in the page cache, where the next process finds it.
  first.sync = () => {
    first.die('nothing')
    return Promise.reject(new SimulatedDeath('the process died'))
  }
  await expect(commit(run, store, 1)).rejects.toMatchObject({ code: 'storage_failed' })

  const second = new FaultyDisk(undefined, first)
  const heir = await open(run, second)
  expect(heir.head).toBe(run.history.head)
  run.acknowledged = run.attempted
  await commit(run, heir, 1)
  second.die('contents')
  await expectRecovery(run, 1)
})

interface Template {
  readonly directory: string
  readonly acknowledged: number
}

async function prepared(scenario: Scenario): Promise<Template> {
  const run = newRun(temporaryDirectory())
  await scenario.prepare(run)
  return { directory: run.directory, acknowledged: run.acknowledged }
}

function newRun(directory: string): Run {
  return { directory, history: new TestHistory(5), acknowledged: 0, attempted: 0 }
}

/** One death and the recovery. False if the scenario ended before the fault's turn came. */
async function survives(scenario: Scenario, template: Template, fault: Fault): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'gitlocket-crash-'))
  const disk = new FaultyDisk(fault)
  try {
    copyDirectory(template.directory, directory)
    const run = newRun(directory)
    // The same transitions as in the template: the history is made from a seed.
    run.history.take(template.acknowledged)
    run.acknowledged = template.acknowledged
    run.attempted = template.acknowledged
    const end = await scenario.act(run, disk).catch((error: unknown) => error)
    if (!disk.dead) {
      if (end !== undefined) throw end
      return false
    }
    if (full && wasBefore(disk, fault)) return true
    await expectRecovery(run, fault.at).catch((error: unknown) => {
      throw new Error(`after a death at ${fault.at}: ${disk.log.slice(-4).join(', ')}`, {
        cause: error,
      })
    })
    return true
  } finally {
    disk.release()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function expectRecovery(run: Run, at: number): Promise<void> {
  const disk = new FaultyDisk()
  try {
    const store = await openOrCreate(run, disk)
    const { transitions } = run.history
    const reached = transitions.findIndex(({ next }) => next === store.head) + 1
    expect(store.head === undefined ? 0 : reached).toBeGreaterThanOrEqual(run.acknowledged)
    expect(reached).toBeLessThanOrEqual(run.attempted)
    expect(reached > 0 || store.head === undefined).toBe(true)
    expectAllReadable(store, transitions.slice(0, reached))
    await commitAfter(store, store.head)
    const head = store.head
    await store.close()
    expectClosed(run.directory, head, at)
  } finally {
    disk.release()
  }
}

/** What a closed store looks like to stock git, and that nothing of ours is left. */
function expectClosed(directory: string, head: string | undefined, at: number): void {
  const own = join(directory, 'gitlocket')
  expect(readdirSync(own).toSorted()).toEqual(['journal-a', 'journal-b'])
  for (const name of readdirSync(own)) expect(statSync(join(own, name)).size).toBe(0)
  expect(readdirSync(join(directory, 'objects/pack')).filter((n) => n.startsWith('tmp'))).toEqual(
    [],
  )
  expect(readdirSync(join(directory, 'refs/heads'))).toEqual(['main'])
  if (at % fsckEvery !== 1) return
  expect(git(['rev-parse', 'main'], directory).trim()).toBe(head)
  git(['fsck', '--strict', '--full', '--no-dangling'], directory)
}

async function openOrCreate(run: Run, disk: FaultyDisk): Promise<ObjectStore> {
  try {
    return await open(run, disk)
  } catch (error) {
    // Creating was interrupted: nothing was acknowledged, and it can simply be done again.
    if (run.acknowledged > 0) throw error
    return create(run, disk)
  }
}

function create(run: Run, disk: FaultyDisk): Promise<ObjectStore> {
  return createDiskObjectStore(optionsOf(run, disk))
}

function open(run: Run, disk: FaultyDisk): Promise<ObjectStore> {
  return openDiskObjectStore(optionsOf(run, disk))
}

function optionsOf(run: Run, disk: FaultyDisk): Parameters<typeof openDiskObjectStore>[0] {
  const packer = inlinePacker(disk, run.directory)
  return { directory: run.directory, disk, packer, idleMs: Infinity, lockWaitMs: 300 }
}

async function commit(run: Run, store: ObjectStore, count: number, size?: number): Promise<void> {
  const transitions = Array.from({ length: count }, () => run.history.next(size))
  run.attempted += count
  await store.exclusive(() => store.commit(transitions))
  run.acknowledged += count
}

async function commitAfter(store: ObjectStore, head: string | undefined): Promise<void> {
  const history = new TestHistory(99, head)
  await store.exclusive(() => store.commit([history.next()]))
}
