// Erasing, with a death, a power failure or an error of the disk at every single operation: of
// staging, the commit, the checkpoint that purges, and the purge that another process finishes.
// Afterwards the store is the old one or the new one, whole; and once a new one has been
// checkpointed, nothing that was erased is left in any byte of the directory.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type ErrorCode, StoreError } from '../../src/errors.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore, Transition } from '../../src/git/object-store.ts'
import { newObject } from '../../src/git/objects/object.ts'
import { expectAllReadable } from '../contract/object-store.contract.ts'
import {
  type Death,
  everyDeath,
  killed,
  unplugged,
  unsynced,
  wasBefore,
} from '../support/deaths.ts'
import { eraseBlob, expectErased, testSecret } from '../support/erasure.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'
import { TestHistory } from '../support/transitions.ts'

/** One run of stock git's check takes as long as forty crashes. */
const fsckEvery = full ? 10 : 61
/** Every n-th operation is struck: by one kind of death, and by all others. */
const stride = full ? { first: 1, others: 1 } : { first: 31, others: 61 }

// The same in every run: made from a seed. The erased blob is in a pack, others in the journal.
const before = new TestHistory(21).take(9)
const erasure = eraseBlob(before, 2)
const after = new TestHistory(22, erasure.transition.next).take(2)
const [made, packed] = [erasure.transition.objects.slice(0, 9), 6]

interface Run {
  readonly directory: string
  /** Whether the erasing transition was acknowledged. */
  erased: boolean
  /** How many transitions after it were acknowledged. */
  added: number
}

interface Scenario {
  readonly name: string
  /** A scenario that ends early would prove nothing. */
  readonly operationsMin: number
  /** Without FULL=1 a scenario that shares its ways with another meets fewer kinds of fault. */
  readonly deaths: readonly Death[]
  readonly withErrors: boolean
  readonly prepare: (run: Run) => Promise<void>
  readonly act: (run: Run, disk: FaultyDisk) => Promise<void>
}

const scenarios: readonly Scenario[] = [
  {
    name: 'staging and committing what erases, then a checkpoint',
    operationsMin: 110,
    deaths: [killed, unsynced, unplugged],
    withErrors: true,
    prepare: prepareOld,
    act: async (run, disk) => {
      const store = await open(run.directory, disk)
      await erase(run, store)
      await store.checkpoint()
      await add(run, store)
      await store.close()
    },
  },
  {
    name: 'committing what erases, then closing with objects staged in vain',
    operationsMin: 110,
    deaths: [unsynced],
    withErrors: false,
    prepare: prepareOld,
    act: async (run, disk) => {
      const store = await open(run.directory, disk)
      await erase(run, store)
      await add(run, store)
      await store.exclusive(() => store.stage(made))
      await store.close()
    },
  },
  {
    name: 'finishing the purge of a process that died after its commit',
    operationsMin: 70,
    deaths: [killed, unplugged],
    withErrors: false,
    prepare: async (run) => {
      await prepareOld(run)
      const disk = new FaultyDisk()
      await erase(run, await open(run.directory, disk))
      disk.die('contents and names')
    },
    act: async (run, disk) => {
      const store = await open(run.directory, disk)
      await add(run, store)
      await store.close()
    },
  },
  {
    name: 'a repository that stock git has worked on',
    operationsMin: 120,
    deaths: [killed],
    withErrors: false,
    prepare: async (run) => {
      await prepareOld(run)
      const stock = (...args: string[]): string => git(args, run.directory)
      stock('tag', '-a', '-m', 'a tag', 'old', 'main')
      stock('branch', 'copy', 'main~2')
      stock('pack-refs', '--all')
      stock('update-ref', 'refs/heads/main', 'main')
      stock('branch', 'loose', 'main~1')
      stock('commit-graph', 'write', '--reachable')
      stock('multi-pack-index', 'write')
      stock('update-server-info')
    },
    act: async (run, disk) => {
      const store = await open(run.directory, disk)
      await erase(run, store)
      await store.checkpoint()
    },
  },
]

const errors: readonly (readonly [code: ErrorCode, times: number])[] = [
  ['storage_full', 1],
  ['storage_failed', Infinity],
]

describe.each(scenarios)('$name', (scenario) => {
  test.each(full ? everyDeath : scenario.deaths)(
    'survives a death, $moment, at each operation, losing $loss',
    { tags: 'slow' },
    async (death) => {
      const template = await prepared(scenario)
      const step = death.loss === 'nothing' ? stride.first : stride.others
      let at = 1
      while (await survives(scenario, template, { kind: 'death', at, ...death })) at += step
      expect(at).toBeGreaterThan(scenario.operationsMin)
    },
  )

  test.each(full || scenario.withErrors ? errors : [])(
    'survives %s, %d times, at each operation',
    { tags: 'slow' },
    async (code, times) => {
      const template = await prepared(scenario)
      let at = 1
      while (await survives(scenario, template, { kind: 'error', at, times, code }))
        at += stride.others
      expect(at).toBeGreaterThan(scenario.operationsMin)
    },
  )
})

test.each([
  ['at once', false],
  ['after another process has cancelled it', true],
])('a frame that only the device has outlives a power failure %s', async (_, withHeir) => {
  const run = { directory: temporaryDirectory(), erased: false, added: 0 }
  await prepareOld(run)
  const first = new FaultyDisk()
  const store = await open(run.directory, first)
  const { transition } = erasure
  const attempt = store.exclusive(async () => {
    await store.stage(transition.objects)
    // The device has the frame, and reports that it has not; the zeros over it never get there.
    const [write, sync] = [first.write.bind(first), first.sync.bind(first)]
    let isWritten = false
    let failures = 0
    first.write = (fd, bytes, at) => {
      write(fd, bytes, at)
      const isJournal = first.log.at(-1)?.startsWith('write journal') === true
      if (isJournal && Buffer.from(bytes).includes(transition.next, 'hex')) isWritten = true
    }
    first.sync = async (fd) => {
      if (!isWritten || failures === 0) await sync(fd)
      if (!isWritten) return
      failures += 1
      throw new StoreError('storage_failed', 'Simulated fault')
    }
    await store.commit([{ ...transition, objects: [] }])
  })
  await expect(attempt).rejects.toMatchObject({ code: 'storage_failed' })
  first.die(withHeir ? 'nothing' : 'contents')
  if (withHeir) {
    const second = new FaultyDisk(undefined, first)
    const heir = await open(run.directory, second)
    await heir.exclusive(async () => expect(heir.head).toBe(transition.expected))
    second.die('contents')
  }
  await expectRecovery(run, 1)
})

test('a write that a full disk refused can be repeated in the same turn', async () => {
  const run = { directory: temporaryDirectory(), erased: true, added: 0 }
  await prepareOld(run)
  const disk = new FaultyDisk()
  const [write, remove] = [disk.write.bind(disk), disk.remove.bind(disk)]
  const store = await open(run.directory, disk)
  const { transition } = erasure
  const [staged, [commit]] = [transition.objects.slice(0, -1), transition.objects.slice(-1)]
  const text = Buffer.from(commit?.body ?? []).toString('latin1')
  const again = newObject('commit', Buffer.from(text.replace(/change\n$/, 'again\n'), 'latin1'))
  await store.exclusive(async () => {
    await store.stage(staged)
    // The pack and the list are on the disk, the frame is not, and neither can be taken back.
    const refuse = (): void => {
      if (intentsIn(run).length > 0) throw new StoreError('storage_full', 'Simulated fault')
    }
    disk.write = (...args) => (refuse(), write(...args))
    disk.remove = (path) => (refuse(), remove(path))
    const refused = store.commit([{ ...transition, objects: commit === undefined ? [] : [commit] }])
    await expect(refused).rejects.toMatchObject({ code: 'storage_full' })
    expect(intentsIn(run)).toHaveLength(1)
    Object.assign(disk, { write, remove })
    // The same history once more, below another commit: its pack has the same name.
    await store.stage(staged)
    await store.commit([{ ...transition, objects: [again], next: again.oid }])
  })
  await store.checkpoint()
  expect(intentsIn(run)).toEqual([])
  const live = [...erasure.live.filter(({ oid }) => oid !== commit?.oid), again]
  expectErased(run.directory, store, erasure)
  expectAllReadable(store, [{ ...transition, objects: live, next: again.oid }])
  await store.close()
})

async function prepared(scenario: Scenario): Promise<Run> {
  const run = { directory: temporaryDirectory(), erased: false, added: 0 }
  await scenario.prepare(run)
  return run
}

/** One fault and the recovery. False if the scenario ended before the fault's turn came. */
async function survives(scenario: Scenario, template: Run, fault: Fault): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'gitlocket-purge-'))
  const disk = new FaultyDisk(fault)
  try {
    copyDirectory(template.directory, directory)
    const run = { ...template, directory }
    const end = await scenario.act(run, disk).catch((error: unknown) => error)
    if (disk.operations < fault.at) {
      if (end !== undefined) throw end
      return false
    }
    // An error is reported with its code; a death is not reported.
    if (!disk.dead && end !== undefined) expect(end).toBeInstanceOf(StoreError)
    disk.die('nothing')
    if (full && wasBefore(disk, fault)) return true
    await expectRecovery(run, fault.at).catch((error: unknown) => {
      const steps = disk.log.slice(fault.at - 4, fault.at).join(', ')
      throw new Error(`after a fault at ${fault.at}: ${steps}`, { cause: error })
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
    const store = await open(run.directory, disk)
    const isOld = store.head === before.at(-1)?.next
    if (isOld) await expectOld(run, store)
    else await expectNew(run, store)
    await store.close()
    expectClosed(run.directory, at)
    await expectErasedOnDisk(run.directory, disk)
  } finally {
    disk.release()
  }
}

/** Nothing has happened, and it can be done again. */
async function expectOld(run: Run, store: ObjectStore): Promise<void> {
  expect({ erased: run.erased, added: run.added }).toEqual({ erased: false, added: 0 })
  expectAllReadable(store, before)
  await store.exclusive(async () => {
    expect(store.status().purgePending).toBe(0)
    expect(intentsIn(run)).toEqual([])
  })
  await store.checkpoint()
  expectAllReadable(store, before)
  const unwanted = new Set(erasure.transition.objects.map(({ oid }) => oid))
  expect([...store.objectIds()].filter((oid) => unwanted.has(oid))).toEqual([])
  await erase(run, store)
}

function intentsIn({ directory }: Run): readonly string[] {
  return readdirSync(join(directory, 'gitlocket')).filter((name) => {
    return name.startsWith('purge') && !name.endsWith('.tmp')
  })
}

async function expectNew(run: Run, store: ObjectStore): Promise<void> {
  const reached = [erasure.transition, ...after].findIndex(({ next }) => next === store.head)
  expect(reached).toBeGreaterThanOrEqual(run.added)
  expectAllReadable(store, newHistory(reached))
  await store.checkpoint()
  expect(store.status().purgePending).toBe(0)
  expectErased(run.directory, store, erasure)
  expectAllReadable(store, newHistory(reached))
  const more = new TestHistory(99, store.head)
  await store.exclusive(() => store.commit([more.next()]))
}

function newHistory(added: number): Transition[] {
  return [{ ...erasure.transition, objects: erasure.live }, ...after.slice(0, added)]
}

async function expectErasedOnDisk(directory: string, disk: FaultyDisk): Promise<void> {
  const store = await open(directory, disk)
  expectErased(directory, store, erasure)
  expectAllReadable(store, newHistory(0))
  await store.close()
}

function expectClosed(directory: string, at: number): void {
  expect(readdirSync(join(directory, 'gitlocket')).toSorted()).toEqual(['journal-a', 'journal-b'])
  const packFiles = readdirSync(join(directory, 'objects/pack'))
  expect(packFiles.filter((name) => !/^pack-[0-9a-f]{40}\.(pack|idx)$/.test(name))).toEqual([])
  expect(readdirSync(join(directory, 'refs/heads'))).toEqual(['main'])
  if (at % fsckEvery !== 1) return
  expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
}

async function prepareOld(run: Run): Promise<void> {
  const disk = new FaultyDisk()
  const store = await createDiskObjectStore(optionsOf(run.directory, disk))
  await store.exclusive(() => store.commit(before.slice(0, packed)))
  await store.checkpoint()
  await store.exclusive(() => store.commit(before.slice(packed)))
  await store.close()
}

async function erase(run: Run, store: ObjectStore): Promise<void> {
  const { transition } = erasure
  await store.exclusive(async () => {
    await store.stage(made)
    await store.commit([{ ...transition, objects: transition.objects.slice(made.length) }])
  })
  run.erased = true
}

async function add(run: Run, store: ObjectStore): Promise<void> {
  for (const transition of after.slice(run.added, run.added + 1)) {
    await store.exclusive(() => store.commit([transition]))
    run.added += 1
  }
}

function open(directory: string, disk: FaultyDisk): Promise<ObjectStore> {
  return openDiskObjectStore(optionsOf(directory, disk))
}

function optionsOf(directory: string, disk: FaultyDisk): Parameters<typeof openDiskObjectStore>[0] {
  const packer = inlinePacker(disk, directory)
  return { directory, disk, packer, idleMs: Infinity, lockWaitMs: 300, secret: testSecret }
}
