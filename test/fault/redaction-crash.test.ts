// Redaction, repacking and reverts, as the store does them, with a death, a power failure or an
// error of the disk at every single operation. Afterwards the store is the old one or the new one:
// it verifies, can be written and repeats the call; the new one has erased all of it once closed.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { hasCode } from '../../src/errors.ts'
import { openDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import type { Oid } from '../../src/git/objects/object.ts'
import type { MemoryStore } from '../../src/index.ts'
import {
  broken,
  type Death,
  everyDeath,
  everyError,
  failedOnce,
  type Failure,
  fullOnce,
  killed,
  unplugged,
  unsynced,
  wasBefore,
} from '../support/deaths.ts'
import { expectErased } from '../support/erasure.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import {
  agent,
  checkpoint,
  compact,
  oldLeak,
  open,
  pattern,
  type Place,
  placeIn,
  prepareCutOff,
  prepareLarge,
  prepareLong,
  prepareSmall,
  redact,
  restore,
  rollback,
  someVersions,
  undo,
} from '../support/redaction-places.ts'
import { full, sample } from '../support/seed.ts'
import { contentsOf } from '../support/stores.ts'
import { copyDirectory, git, sharedDirectory } from '../support/temporary.ts'

/** One run of stock git's check takes as long as some crashes. */
const fsckEvery = full ? 10 : 41
const tracedMax = 60

const root = sharedDirectory()

type Text = string | undefined

/** What can be told of a store from outside, the same for the same past. */
interface State {
  readonly live: Readonly<Record<string, string>>
  /** By version id: path and content of the versions that the template has. */
  readonly past: ReadonlyMap<string, readonly [path: Text, content: Text]>
  readonly versions: number
}

interface Template {
  readonly root: string
  readonly old: State
  readonly next: State
  /** How many file operations the action takes, from opening to closing. */
  readonly operations: number
  /** What the action erases of the template's objects, and the blobs among them. */
  readonly dead: ReadonlySet<Oid>
  readonly blobs: readonly Uint8Array[]
}

interface Scenario {
  readonly name: string
  /** Makes the store, and returns the objects that are dead in it already. */
  readonly prepare: (place: Place) => Promise<readonly Oid[]>
  /** The certificate's object ids, if it erases. */
  readonly act: (store: MemoryStore) => Promise<readonly Oid[]>
  readonly erases: boolean
  /** Whether it changes what can be told from outside. */
  readonly changes: boolean
  /** A scenario that ends early would prove nothing. 60 if left out. */
  readonly operationsMin?: number
  /** Every n-th operation, starting with another one for each kind of fault. */
  readonly stride: number
  /** With FULL=1; if left out, the kinds of death strike each operation by turns, and so errors. */
  readonly strideInFull?: number
  readonly deaths: readonly Death[]
  readonly errors: readonly Failure[]
}

const scenarios: readonly Scenario[] = [
  {
    name: 'the redaction of an old version',
    prepare: prepareSmall,
    act: (store) => redact(store, oldLeak),
    erases: true,
    changes: true,
    stride: 23,
    deaths: [killed, unsynced, unplugged],
    errors: everyError,
  },
  {
    name: 'a redaction that deletes the memory first',
    prepare: prepareSmall,
    act: (store) => redact(store, { path: '/doomed.md' }, 'delete'),
    erases: true,
    changes: true,
    stride: 23,
    deaths: [unplugged],
    errors: [fullOnce],
  },
  {
    name: 'a redaction that overwrites what matches',
    prepare: prepareSmall,
    act: (store) => redact(store, { matching: pattern }, 'overwrite'),
    erases: true,
    changes: true,
    stride: 23,
    deaths: [killed],
    errors: [failedOnce],
  },
  // To make their stores takes eight seconds and three.
  ...sample<Scenario>(
    [
      {
        name: 'a redaction that stages a long history',
        prepare: prepareLong,
        act: (store) => redact(store, oldLeak),
        erases: true,
        changes: true,
        stride: 397,
        strideInFull: 29,
        deaths: [killed],
        errors: [],
      },
      {
        name: 'a redaction that writes more than the journal takes',
        prepare: prepareLarge,
        act: (store) => redact(store, { matching: pattern }, 'overwrite'),
        erases: true,
        changes: true,
        stride: 173,
        strideInFull: 5,
        deaths: [unplugged],
        errors: [],
      },
    ],
    2,
  ),
  {
    name: 'the erasing that a dead process has left to do',
    prepare: prepareCutOff,
    act: checkpoint,
    erases: true,
    changes: false,
    operationsMin: 40,
    stride: 19,
    deaths: [unsynced],
    errors: [broken],
  },
  {
    name: 'a repack with an erasing that a dead process has left to do',
    prepare: prepareCutOff,
    act: compact,
    erases: true,
    changes: false,
    operationsMin: 40,
    stride: 19,
    deaths: [killed],
    errors: [],
  },
  {
    name: 'a repack',
    prepare: prepareSmall,
    act: compact,
    erases: false,
    changes: false,
    operationsMin: 40,
    stride: 19,
    deaths: [unplugged],
    errors: [],
  },
  {
    name: 'a restore',
    prepare: prepareSmall,
    act: restore,
    erases: false,
    changes: true,
    operationsMin: 20,
    stride: 13,
    deaths: [killed],
    errors: [fullOnce],
  },
  {
    name: 'a rollback',
    prepare: prepareSmall,
    act: rollback,
    erases: false,
    changes: true,
    operationsMin: 20,
    stride: 13,
    deaths: [unplugged],
    errors: [],
  },
  {
    name: 'an undo',
    prepare: prepareSmall,
    act: undo,
    erases: false,
    changes: true,
    operationsMin: 20,
    stride: 13,
    deaths: [unsynced],
    errors: [],
  },
]

describe.each(scenarios.map((one) => [one.name, one] as const))('%s', (_, scenario) => {
  let template: Template | undefined

  test.each(full ? everyDeath : scenario.deaths)(
    'survives a death $moment an operation, losing $loss',
    { tags: 'slow' },
    async (death) => {
      template ??= await newTemplate(scenario)
      const kind = everyDeath.indexOf(death)
      const by = { kind, of: everyDeath.length }
      await strike(scenario, template, by, (at) => ({ kind: 'death', at, ...death }))
    },
  )

  test.each(full ? everyError : scenario.errors)(
    'survives %s, %d times, at an operation, and continues',
    { tags: 'slow' },
    async (code, times) => {
      template ??= await newTemplate(scenario)
      const kind = everyError.findIndex((one) => one[0] === code && one[1] === times)
      const by = { kind, of: everyError.length }
      await strike(scenario, template, by, (at) => ({ kind: 'error', at, times, code }))
    },
  )
})

async function strike(
  scenario: Scenario,
  template: Template,
  { kind, of }: { readonly kind: number; readonly of: number },
  fault: (at: number) => Fault,
): Promise<void> {
  const stride = full ? (scenario.strideInFull ?? of) : scenario.stride * 7
  const { operations } = template
  // A prime, so that kinds start apart: as many as there are leave out no operation.
  let at = 1 + (((kind + 2) * 37) % Math.min(stride, operations))
  // That nothing is struck any more is what FULL=1 tries out; it takes as long as a crash.
  const last = full ? Infinity : operations
  while (at <= last && (await survives(scenario, template, fault(at)))) at += stride
  expect(full ? at : operations).toBeGreaterThan(scenario.operationsMin ?? 60)
}

/** One fault and the recovery. False if the scenario ended before the fault's turn came. */
async function survives(scenario: Scenario, template: Template, fault: Fault): Promise<boolean> {
  const copy = mkdtempSync(join(tmpdir(), 'gitlocket-redaction-'))
  const disk = new FaultyDisk(fault)
  try {
    copyDirectory(template.root, copy)
    const done = await attempt(scenario, placeIn(copy), disk, fault)
    const struck = disk.operations >= fault.at
    disk.die('nothing')
    if (full && wasBefore(disk, fault)) return struck
    await expectRecovery(scenario, template, placeIn(copy), { done, at: fault.at })
    return struck
  } catch (error) {
    const steps = disk.log.slice(Math.max(0, fault.at - 4), fault.at).join(', ')
    throw new Error(`after a fault at ${fault.at}: ${steps}`, { cause: error })
  } finally {
    disk.release()
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Whether the action was acknowledged. What fails for a moment is tried again. */
async function attempt(
  scenario: Scenario,
  place: Place,
  disk: FaultyDisk,
  fault: Fault,
): Promise<boolean> {
  const again = fault.kind === 'error' && fault.times === 1
  const store = await tried(disk, again, () => open(place, disk))
  if (store === undefined) return false
  const acted = await tried(disk, again, () => scenario.act(store))
  await tried(disk, false, () => store.close())
  return acted !== undefined
}

/** Undefined if it failed, and was not to be done again, which then has to work. */
async function tried<T>(
  disk: FaultyDisk,
  again: boolean,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (disk.dead) return undefined
    if (!hasCode(error, 'storage_full', 'storage_failed')) throw error
  }
  return again ? work() : undefined
}

async function expectRecovery(
  scenario: Scenario,
  template: Template,
  place: Place,
  { done, at }: { readonly done: boolean; readonly at: number },
): Promise<void> {
  const disk = new FaultyDisk()
  try {
    const store = await open(place, disk)
    const state = await stateOf(store, [...template.old.past.keys()])
    const isNew = done || isDeepStrictEqual(state, template.next)
    expect(state).toEqual(isNew ? template.next : template.old)
    if (!isNew) await scenario.act(store)
    await store.as(agent).apply([{ type: 'create', path: '/after.md', content: 'written' }])
    await store.close()
    await expectNext(scenario, template, place, disk)
    if (at % fsckEvery === 1) {
      expect(git(['fsck', '--strict', '--full', '--no-dangling'], place.directory)).toBe('')
    }
  } finally {
    disk.release()
  }
}

/** The new state, with one more memory, in a store that is closed. */
async function expectNext(
  scenario: Scenario,
  { next, dead, blobs }: Template,
  place: Place,
  disk: FaultyDisk,
): Promise<void> {
  const own = readdirSync(join(place.directory, 'gitlocket')).filter((name) => name !== 'cache')
  expect(own.toSorted()).toEqual(['journal-a', 'journal-b'])
  const objects = await openDiskObjectStore({ directory: place.directory, disk })
  // By their bytes as many as can be searched for in time; the proof looks for all.
  const some = new Set([...dead].slice(0, tracedMax))
  for (const secret of blobs) expectErased(place.directory, objects, { dead: some, secret })
  await objects.close()
  const store = await open(place, disk)
  expect(await contentsOf(store)).toEqual({ ...next.live, '/after.md': 'written' })
  expect(await pastOf(store, [...next.past.keys()])).toEqual(next.past)
  if (scenario.erases) {
    expect((await store.maintenance.findResidue({ objectIds: [...dead] })).found).toEqual([])
  }
  await store.close()
}

async function newTemplate(scenario: Scenario): Promise<Template> {
  const base = mkdtempSync(join(root, 'template-'))
  const dead = [...(await scenario.prepare(placeIn(base)))]
  const dry = mkdtempSync(join(root, 'dry-'))
  copyDirectory(base, dry)
  const disk = new FaultyDisk()
  const store = await open(placeIn(dry), disk)
  const ids = await someVersions(store)
  const old = await stateOf(store, ids)
  dead.push(...(await scenario.act(store)))
  const next = await stateOf(store, ids)
  await store.close()
  const { operations } = disk
  expect(isDeepStrictEqual(old, next)).toBe(!scenario.changes)
  // The action may work on objects that it makes itself; a template does not have them.
  const objects = await openDiskObjectStore({ directory: placeIn(base).directory, disk })
  const found = new Map(dead.map((oid) => [oid, objects.read(oid)]))
  await objects.close()
  const blobs = [...found.values()].flatMap((one) => (one?.type === 'blob' ? [one.body] : []))
  expect(blobs.length > 0).toBe(scenario.erases)
  const known = new Set(dead.filter((oid) => found.get(oid) !== undefined))
  return { root: base, old, next, operations, dead: known, blobs }
}

async function stateOf(store: MemoryStore, ids: readonly string[]): Promise<State> {
  const { versions } = await store.maintenance.verify({ threads: 0 })
  return { live: await contentsOf(store), past: await pastOf(store, ids), versions }
}

async function pastOf(store: MemoryStore, ids: readonly string[]): Promise<State['past']> {
  const versions = await Promise.all(ids.map((id) => store.history.version(id)))
  return new Map(versions.map(({ path, content }, index) => [ids[index] ?? '', [path, content]]))
}
