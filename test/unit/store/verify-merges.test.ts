// Histories of clones that diverged and were merged: verification from genesis, verification on top
// of known commits, and the reference decoder agree with each clone, for any order of arrival.
// FORMAT §6.4, §8.

import * as fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { assert } from '../../../src/errors.ts'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import type { Oid } from '../../../src/git/objects/object.ts'
import type { Snapshot } from '../../../src/store/snapshot/snapshot.ts'
import { verifyDescent, verifyHistory, VersionMap } from '../../../src/store/verify/verify.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { type Clones, standardClones } from '../../support/forged-clones.ts'
import { writeForged } from '../../support/forged-disk.ts'
import { MergeWorld } from '../../support/merge-world.ts'
import { full, seed } from '../../support/seed.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { referenceVerdict } from '../../support/verdict.ts'

const LENGTH = full ? 120 : 40

let start: () => Clones
beforeAll(async () => {
  start = await standardClones('verify merges')
})

type Step =
  | { readonly type: 'write'; readonly clone: number; readonly memory: number }
  | { readonly type: 'delete'; readonly clone: number; readonly memory: number }
  | { readonly type: 'settings'; readonly clone: number }
  | { readonly type: 'sync'; readonly clone: number; readonly from: number }

const index = fc.nat(2)
const memory = fc.nat(4)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('write'), clone: index, memory }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('delete'), clone: index, memory }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('settings'), clone: fc.nat(1) }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('sync'), clone: index, from: index }) },
)

test(
  'a head verifies to the state of its clone, from genesis or a known head',
  { tags: 'slow' },
  async () => {
    let merges = 0
    const run = async (steps: readonly Step[]): Promise<void> => {
      const world = await MergeWorld.create(start())
      for (const [number, one] of steps.entries()) {
        if ((await take(world, one, number)) === 'merged') merges += 1
      }
      for (const clone of world.clones) {
        const evidence = world.headOf(clone)
        const { snapshot } = await verifyHistory(world.source, evidence.head)
        expect(stateOf(snapshot)).toEqual(stateOf(clone.snapshot))
        expect(await referenceVerdict(evidence)).toBe('accepted')
      }
    }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: LENGTH, maxLength: LENGTH }), run),
      {
        seed,
        numRuns: full ? 40 : 4,
      },
    )
    expect(merges).toBeGreaterThan(full ? 20 : 10)
  },
)

test.each([0, 2])(
  'with %i threads a history with merges verifies to the same state',
  { tags: 'slow' },
  async (threads) => {
    const world = await braid(full ? 60 : 25)
    const [clone] = world.clones
    assert(clone !== undefined, 'there is a clone')
    const { objects, head, storeId, epochs } = world.headOf(clone)
    const directory = `${temporaryDirectory()}/store`
    await writeForged({ objects, head }, directory)
    const stored = await openDiskObjectStore({ directory })
    const heights: number[] = []
    const { snapshot, commits } = await verifyHistory({ objects: stored, storeId, epochs }, head, {
      threads,
      onCommit: ({ record }) => heights.push(record.height),
    })
    expect(stateOf(snapshot)).toEqual(stateOf(clone.snapshot))
    expect(heights.length).toBe(commits)
    expect(new Set(heights).size).toBeLessThan(commits)
    await stored.close()
  },
)

test('a refused head does not move the snapshot', { tags: 'slow' }, async () => {
  const world = await braid(12)
  const [ours, theirs] = world.clones
  assert(ours !== undefined && theirs !== undefined, 'there are clones')
  await world.sync(theirs, ours)
  const before = stateOf(ours.snapshot)
  for (const name of ['one', 'two', 'three']) await world.rename(theirs, name)
  const { head } = theirs.snapshot
  const broken = new Map(world.objects)
  broken.delete(theirs.snapshot.settings.oid)
  const source = { ...world.source, objects: { read: (oid: Oid) => broken.get(oid) } }
  const attempt = verifyDescent(source, ours.snapshot, head.commit)
  await expect(attempt).rejects.toMatchObject({ code: 'object_missing' })
  expect(stateOf(ours.snapshot)).toEqual(before)
  const verified = await verifyDescent(world.source, ours.snapshot, head.commit)
  expect(verified && stateOf(verified)).toEqual(stateOf(theirs.snapshot))
})

test('reports commits that do not descend from the known head, and changes nothing', async () => {
  const world = await braid(3)
  const [ours, theirs] = world.clones
  assert(ours !== undefined && theirs !== undefined, 'there are clones')
  await world.rename(ours, 'ours')
  await world.rename(theirs, 'theirs')
  const { snapshot } = await verifyHistory(world.source, ours.snapshot.head.commit)
  await world.sync(theirs, ours)
  const { commit } = theirs.snapshot.head
  const before = stateOf(snapshot)
  expect(await verifyDescent(world.source, snapshot, commit)).toBeUndefined()
  expect(stateOf(snapshot)).toEqual(before)
})

test('long branches are kept whole until they are merged', { tags: 'slow' }, async () => {
  const world = await MergeWorld.create(start())
  const [left, right] = world.clones
  assert(left !== undefined && right !== undefined, 'there are clones')
  for (let round = 0; round < 60; round += 1) {
    for (const [number, clone] of [left, right].entries()) {
      const path = pathOf(clone.snapshot, round === 0 ? 0 : number)
      assert(path !== undefined, 'there is a memory')
      await world.change(clone, { type: 'edit', path, edit: () => `${number} ${round}\n` })
    }
  }
  expect(await world.sync(left, right)).toBe('merged')
  const evidence = world.headOf(left)
  const { snapshot } = await verifyHistory(world.source, evidence.head)
  expect(stateOf(snapshot)).toEqual(stateOf(left.snapshot))
  expect(await referenceVerdict(evidence)).toBe('accepted')
})

/** Two clones that each have something new whenever they merge: no commit is an ancestor of all. */
async function braid(rounds: number): Promise<MergeWorld> {
  const world = await MergeWorld.create(start())
  const [left, right] = world.clones
  assert(left !== undefined && right !== undefined, 'there are clones')
  for (let round = 0; round < rounds; round += 1) {
    for (const [number, clone] of [right, left].entries()) {
      const path = pathOf(clone.snapshot, number)
      assert(path !== undefined, 'there is a memory')
      const edit = (content: string): string => `${content.slice(-64)}${round}\n`
      await world.change(clone, { type: 'edit', path, edit })
    }
    await world.sync(right, left)
    await world.rename(right, `name ${round}`)
    const path = pathOf(left.snapshot, 0)
    assert(path !== undefined, 'there is a memory')
    await world.change(left, { type: 'edit', path, edit: () => `left ${round}\n` })
    await world.sync(left, right)
  }
  return world
}

/** Each memory has its own path, so that no two clones claim the same one. */
async function take(world: MergeWorld, one: Step, number: number): Promise<string> {
  const clone = world.clones[one.clone]
  if (clone === undefined) return 'nothing'
  if (one.type === 'settings') await world.rename(clone, `name ${number}`)
  if (one.type === 'sync') {
    const from = world.clones[one.from]
    return from === undefined || from === clone ? 'nothing' : world.sync(clone, from)
  }
  if (one.type === 'write' || one.type === 'delete') {
    const path = pathOf(clone.snapshot, one.memory)
    if (path === undefined && one.type === 'write') {
      await world.change(clone, { type: 'create', path: `/${number}.md`, content: `${number}\n` })
    } else if (path !== undefined && one.type === 'write') {
      const edit = (content: string): string => `${content.slice(-64)}${number}\n`
      await world.change(clone, { type: 'edit', path, edit })
    } else if (path !== undefined) await world.change(clone, { type: 'delete', path })
  }
  return 'wrote'
}

function pathOf(snapshot: Snapshot, memoryNumber: number): string | undefined {
  const lives = [...snapshot.current.live()].map(({ live }) => live)
  return lives.toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1))[memoryNumber]?.path
}

/** All contents of a snapshot, with the trees that it encodes. */
function stateOf(snapshot: Snapshot): unknown {
  const { head, keyring, settings, current, devices, redacted } = snapshot
  const byKey = <T>([a]: readonly [string, T], [b]: readonly [string, T]): number =>
    a < b ? -1 : 1
  return {
    head: { ...head, record: toHex(head.record) },
    keyring: toHex(keyring.record),
    settings: { ...settings, record: toHex(settings.record) },
    current: [...current].toSorted(byKey),
    devices: [...devices]
      .map(([id, state]) => [id, { ...state, record: toHex(state.record) }] as const)
      .toSorted(byKey),
    redacted: [...redacted].toSorted(),
    memories: atOnce(snapshot.current.tree.encode([])),
    count: snapshot.count,
  }
}

test('a version that is added twice belongs to the records of two commits', () => {
  const versions = new VersionMap()
  versions.add('1'.repeat(32), '2'.repeat(32))
  versions.add('3'.repeat(32), '2'.repeat(32))
  const again = expect.objectContaining({ code: 'duplicate_record' })
  expect(() => versions.add('1'.repeat(32), '2'.repeat(32))).toThrow(again)
})
