// Clones that write, rename, delete and merge in any order: a merge is the same whichever side is
// ours, all clones come to one state, and no line is lost unless someone removed it.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { zeroId } from '../../src/format/record.ts'
import { planMerge } from '../../src/store/merge/plan.ts'
import { full, seed } from '../support/seed.ts'
import { type Commit, describeRow, overlaps, Replicas } from './merge-replicas.ts'

const REPLICAS = 3
/** Few, so that they meet: as files and as directories. */
const PATHS = ['/a', '/b', '/a/x', '/a/y', '/b/x', '/a/x/z'] as const

type Command =
  | { readonly type: 'create' | 'rename'; readonly path: (typeof PATHS)[number] }
  | { readonly type: 'edit'; readonly at: number; readonly drop: number; readonly add: number }
  | { readonly type: 'delete' }
  | { readonly type: 'sync'; readonly other: number; readonly keepsOurs: boolean }
  | { readonly type: 'cross'; readonly other: number }

interface Step {
  readonly replica: number
  readonly memory: number
  readonly command: Command
}

const path = fc.constantFrom(...PATHS)
const other = fc.integer({ min: 1, max: REPLICAS - 1 })
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('create' as const), path }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('edit' as const),
      at: fc.nat(7),
      drop: fc.nat(2),
      add: fc.nat(2),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('rename' as const), path }) },
  { weight: 1, arbitrary: fc.constant({ type: 'delete' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('sync' as const), other, keepsOurs: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cross' as const), other }) },
)
const steps = fc.array(fc.record({ replica: fc.nat(REPLICAS - 1), memory: fc.nat(5), command }), {
  maxLength: full ? 80 : 50,
  size: 'max',
})

class World {
  readonly replicas: Replicas = new Replicas(REPLICAS)
  /** Lines that were written, and those that were removed by someone who had seen them. */
  readonly written: Set<string> = new Set()
  readonly removed: Set<string> = new Set()
  #lines = 0

  perform({ replica, memory, command: given }: Step): void {
    const { replicas } = this
    if (given.type === 'sync' || given.type === 'cross') {
      const theirs = (replica + given.other) % REPLICAS
      checkMerge(replicas, replicas.head(replica), replicas.head(theirs))
      if (given.type === 'sync') replicas.sync(replica, theirs, given.keepsOurs)
      else replicas.cross(replica, theirs)
      return
    }
    if (given.type === 'create') this.#create(replica, given.path)
    else this.#change(replica, memory, given)
  }

  #create(replica: number, wanted: string): void {
    const { replicas } = this
    if (replicas.isTaken(replica, wanted)) return
    const content = this.#newLines(3).join('')
    const created = replicas.head(replica).height
    replicas.write(replica, { memoryId: replicas.newId(), path: wanted, content, created })
  }

  #change(replica: number, memory: number, given: Command): void {
    const { replicas } = this
    const texts = [...replicas.texts(replica).values()]
    const before = texts[memory % texts.length]
    if (before === undefined) return
    if (given.type === 'delete') {
      this.#remove(linesOf(before.content))
      replicas.write(replica, { ...before, content: undefined })
    } else if (given.type === 'rename') {
      if (!replicas.isTaken(replica, given.path)) {
        replicas.write(replica, { ...before, path: given.path })
      }
    } else if (given.type === 'edit') {
      const lines = linesOf(before.content)
      this.#remove(lines.splice(given.at, given.drop, ...this.#newLines(given.add)))
      replicas.write(replica, { ...before, content: lines.join('') })
    }
  }

  #remove(lines: readonly string[]): void {
    for (const line of lines) this.removed.add(line)
  }

  #newLines(count: number): string[] {
    const lines = Array.from({ length: count }, () => `line ${(this.#lines += 1)}\n`)
    for (const line of lines) this.written.add(line)
    return lines
  }
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n/g) ?? []
}

/**
 * The merge follows FORMAT §6.4, and is the same from the other side, unless that side gives way:
 * then memories that only ours changed have no row.
 */
function checkMerge(replicas: Replicas, p: Commit, q: Commit): void {
  const { input } = replicas.inputOf(p, q)
  const ours = planMerge(input)
  const theirs = planMerge(replicas.inputOf(q, p).input)
  expect(ours.rows.map(describeRow)).toEqual(theirs.rows.map(describeRow))
  expect(ours.outcomes).toEqual(theirs.outcomes)
  const ids = ours.rows.map(({ memoryId }) => memoryId)
  expect(ids).toEqual([...new Set(ids)].toSorted())
  const bases = ours.rows.flatMap(({ base, secondBase }) => {
    return secondBase === zeroId ? [] : [`${base} ${secondBase}`]
  })
  expect(bases.toSorted()).toEqual(
    input.open.map((memory) => `${memory.ours.versionId} ${memory.theirs.versionId}`).toSorted(),
  )
  const { input: kept } = replicas.inputOf(p, q, true)
  const settled = planMerge(kept).rows.filter(({ secondBase }) => secondBase === zeroId)
  expect(settled.filter(({ memoryId }) => kept.isFixed(memoryId))).toEqual([])
}

function stateOf(replicas: Replicas, replica: number): readonly string[] {
  return [...replicas.texts(replica)]
    .map(([memoryId, text]) => JSON.stringify([memoryId, text.path, text.content]))
    .toSorted()
}

function checkPaths(replicas: Replicas, replica: number): void {
  const paths = [...replicas.texts(replica).values()].map((text) => text.path)
  const clashes = paths.filter((each, index) => {
    return paths.slice(index + 1).some((later) => overlaps(each, later))
  })
  expect(clashes).toEqual([])
}

const blank = { content: '', created: 0 }

/** Everybody meets everybody, in turns. */
function meet(replicas: Replicas): void {
  for (let turn = 0; turn < 2; turn += 1) {
    for (let replica = 1; replica < REPLICAS; replica += 1) replicas.sync(replica - 1, replica)
  }
}

test('clones come to one state, and keep every line that no one removed', { tags: 'slow' }, () => {
  const property = fc.property(steps, (given) => {
    const world = new World()
    const { replicas } = world
    for (const step of given) {
      world.perform(step)
      checkPaths(replicas, step.replica)
    }
    meet(replicas)
    expect(new Set(replicas.heads).size).toBe(1)
    const final = new Set([...replicas.texts(0).values()].flatMap((text) => linesOf(text.content)))
    const lost = [...world.written].filter((line) => !final.has(line) && !world.removed.has(line))
    expect(lost).toEqual([])
  })
  fc.assert(property, { seed, numRuns: full ? 5000 : 150 })
})

test(
  'two merges of the same heads are one state, and merging these changes no text',
  { tags: 'slow' },
  () => {
    const property = fc.property(steps, (given) => {
      const world = new World()
      const { replicas } = world
      for (const step of given) world.perform(step)
      // Neither head contains the other.
      for (const replica of [0, 1]) {
        world.perform({ replica, memory: 0, command: { type: 'create', path: '/b/x' } })
        replicas.write(replica, { memoryId: replicas.newId(), path: `/${replica}`, ...blank })
      }
      replicas.cross(0, 1)
      const merged = stateOf(replicas, 0)
      expect(stateOf(replicas, 1)).toEqual(merged)
      replicas.cross(0, 1)
      expect(stateOf(replicas, 1)).toEqual(merged)
      replicas.sync(0, 1)
      expect(stateOf(replicas, 0)).toEqual(merged)
    })
    fc.assert(property, { seed, numRuns: full ? 5000 : 150 })
  },
)
