// A directory and a store are edited at random, also in the middle of passes, while processes die,
// the power fails and the disk is full. No saved text is lost, and both sides end equal.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { everyDeath, everyError } from '../support/deaths.ts'
import type { Fault } from '../support/faulty-disk.ts'
import { filesBelow, MirrorWorld } from '../support/mirror-world.ts'
import { full, seed } from '../support/seed.ts'

const timeout = full ? 30 * 60_000 : 120_000

const name = fc.constantFrom('a.md', 'b.md', 'deep/c.md', 'deep/d.md', 'e.txt')
const edit = fc.oneof(
  fc.record({ type: fc.constantFrom('saveInPlace', 'saveByRename', 'saveLater'), name }),
  fc.record({ type: fc.constant('moveFile' as const), name, to: name }),
)
const fault: fc.Arbitrary<Fault | undefined> = fc
  .option(
    fc.oneof(
      fc.record({
        kind: fc.constant('death' as const),
        at: fc.integer({ min: 1, max: 60 }),
        death: fc.constantFrom(...everyDeath),
      }),
      fc.record({
        kind: fc.constant('error' as const),
        at: fc.integer({ min: 1, max: 60 }),
        failure: fc.constantFrom(...everyError),
      }),
    ),
    { nil: undefined },
  )
  .map((found) => {
    if (found === undefined) return undefined
    if (found.kind === 'death') return { kind: 'death', at: found.at, ...found.death }
    const [code, times] = found.failure
    return { kind: 'error', at: found.at, times, code }
  })
const step = fc.oneof(
  { weight: 4, arbitrary: edit },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('deleteFile' as const), name }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('append' as const), name }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('deleteMemory' as const), name }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('moveMemory' as const), name, to: name }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('pass' as const),
      fault,
      edits: fc.array(edit, { maxLength: 6 }),
    }),
  },
)

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never

function makeEdit(world: MirrorWorld, made: Edit): void {
  if ('to' in made) world.moveFile(made.name, made.to)
  else world[made.type](made.name)
}

async function take(world: MirrorWorld, taken: Step): Promise<void> {
  switch (taken.type) {
    case 'pass':
      world.pending.push(...taken.edits.map((made) => () => makeEdit(world, made)))
      return world.pass(taken.fault)
    case 'deleteFile':
      return world.deleteFile(taken.name)
    case 'append':
      return world.append(taken.name)
    case 'deleteMemory':
      return world.deleteMemory(taken.name)
    case 'moveMemory':
      return world.moveMemory(taken.name, taken.to)
    case 'moveFile':
    case 'saveByRename':
    case 'saveInPlace':
    case 'saveLater':
      return makeEdit(world, taken)
    default:
      throw new Error('an unknown step')
  }
}

test('a mirror loses no text, whatever happens', { tags: 'slow', timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 4, maxLength: 25, size: 'max' }),
      async (steps) => {
        const world = await MirrorWorld.start()
        for (const taken of steps) await take(world, taken)
        await world.pass()
        await world.settle()
        expect(await world.lost()).toEqual([])
        expect(filesBelow(world.directory)).toEqual(await world.memories())
        await world.store.maintenance.verify()
        await world.store.close()
      },
    ),
    { seed, numRuns: full ? 1000 : 12, endOnFailure: true },
  )
})
