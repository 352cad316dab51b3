// The radix tree of FORMAT §2.1 against trees that the reference builds from scratch, and against
// stock git: whatever was added and removed before, the same memories have the same tree.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { toHex } from '../../src/bytes.ts'
import {
  decodeTree,
  encodeTree,
  type GitObject,
  type NewObject,
  newObject,
} from '../../src/git/objects/object.ts'
import { findBlob, type LiveVersion, MemoryTree } from '../../src/store/snapshot/memory-tree.ts'
import { atOnce } from '../../src/time-slice.ts'
import { noise } from '../support/pack-fixtures.ts'
import { buildRadixTree } from '../support/reference/tree.ts'
import { full, seed } from '../support/seed.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'

type Step =
  | { readonly type: 'set'; readonly memoryId: string; readonly blob: string }
  | { readonly type: 'remove'; readonly memoryId: string }
  /** Removes all memories but `keep`: down to a boundary, and up again from it. */
  | { readonly type: 'thin'; readonly keep: number }

// Numbers, because they shrink fast.
const hex = (digits: number): fc.Arbitrary<string> =>
  fc.nat({ max: 16 ** digits - 1 }).map((value) => value.toString(16).padStart(digits, '0'))

// Two digits make directories that overflow at several depths; two places to differ at the end make
// whole crowds that share thirty digits.
const memoryId = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.nat({ max: 63 }).map((value) => {
      return value.toString(2).padStart(6, '0').replaceAll('1', 'f').padEnd(32, '7')
    }),
  },
  { weight: 2, arbitrary: hex(2).map((end) => end.padStart(32, 'a')) },
  { weight: 1, arbitrary: hex(4).map((text) => toHex(noise(text, 16))) },
)
const blobOid = hex(8).map((text) => text.repeat(5))
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ type: fc.constant('set' as const), memoryId, blob: blobOid }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('remove' as const), memoryId }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('thin' as const),
      keep: fc.constantFrom(0, 1, 15, 16, 17, 18),
    }),
  },
)
const steps = fc.array(step, { minLength: 1, maxLength: 150, size: 'max' })

/** A tree with the plain set of blobs that it should hold, and every git tree it has made. */
class Trial {
  readonly blobs: Map<string, string>
  readonly trees: Map<string, GitObject>
  #tree: MemoryTree

  constructor(original?: Trial) {
    this.blobs = new Map(original?.blobs)
    this.trees = new Map(original?.trees)
    this.#tree = original === undefined ? MemoryTree.of() : original.#tree
  }

  take(taken: Step): void {
    switch (taken.type) {
      case 'set':
        this.blobs.set(taken.memoryId, taken.blob)
        this.#tree = this.#tree.with(versionOf(taken.memoryId, taken.blob))
        return undefined
      case 'remove':
        return this.#remove(taken.memoryId)
      case 'thin':
        for (const id of [...this.blobs.keys()].slice(taken.keep)) this.#remove(id)
        return undefined
      default:
        throw new Error('Not a step')
    }
  }

  /** The root, once it is the one that the reference builds: a hash of all below it. */
  compare(): string | undefined {
    const made: NewObject[] = []
    const root = atOnce(this.#tree.encode(made))
    for (const { oid, type, body } of made) this.trees.set(oid, { type, body })
    expect(root).toBe(buildRadixTree(this.blobs)?.root)
    expect(this.#tree.count).toBe(this.blobs.size)
    return root
  }

  compareLookups(root: string | undefined): void {
    const objects = { read: (oid: string) => this.trees.get(oid) }
    for (const [id, blob] of this.blobs) {
      expect(this.#tree.find(id)?.live.blob).toBe(blob)
      expect(findBlob(objects, root ?? '', id)).toBe(blob)
      const near = id.slice(0, -1) + (id.endsWith('0') ? '1' : '0')
      expect(this.#tree.find(near)?.live.blob).toBe(this.blobs.get(near))
      expect(findBlob(objects, root ?? '', near)).toBe(this.blobs.get(near))
    }
  }

  #remove(id: string): void {
    this.blobs.delete(id)
    this.#tree = this.#tree.without(id)
  }
}

test('the tree depends only on the set of memories', { tags: 'slow' }, () => {
  const property = fc.property(steps, (taken) => {
    const trial = new Trial()
    let root: string | undefined
    for (const each of taken) {
      trial.take(each)
      root = trial.compare()
    }
    trial.compareLookups(root)
  })
  fc.assert(property, { seed, numRuns: full ? 5000 : 50 })
})

test('many changes at once make the same tree as one by one', { tags: 'slow' }, () => {
  const property = fc.property(steps, (taken) => {
    const [often, once] = [new Trial(), new Trial()]
    for (const each of taken) {
      often.take(each)
      once.take(each)
      often.compare()
    }
    const root = once.compare()
    expect(often.compare()).toBe(root)
    once.compareLookups(root)
  })
  fc.assert(property, { seed, numRuns: full ? 5000 : 50 })
})

test('a copy and its original change independently', { tags: 'slow' }, () => {
  const property = fc.property(steps, steps, steps, (before, here, there) => {
    const original = new Trial()
    for (const each of before) original.take(each)
    original.compare()
    const copy = new Trial(original)
    for (const each of there) copy.take(each)
    const root = copy.compare()
    for (const each of here) original.take(each)
    original.compareLookups(original.compare())
    expect(copy.compare()).toBe(root)
    copy.compareLookups(root)
  })
  fc.assert(property, { seed, numRuns: full ? 5000 : 50 })
})

function versionOf(id: string, blob: string): LiveVersion {
  const versionId = ''
  const unknown = { versionId, path: '', size: 0, sha256: '', created: 0, updated: 0, kid: '' }
  return { versionId, operation: 'created', created: 0, live: { memoryId: id, blob, ...unknown } }
}

/** The tree of the memories as git has it, whose ids it takes from there; and how to set one. */
function trusting(original: Trial, root: string | undefined) {
  const versions = Array.from(original.blobs, ([id, blob]) => versionOf(id, blob))
  const top = 'f'.repeat(40)
  const body = encodeTree(root === undefined ? [] : [{ mode: '40000', name: 'm', oid: root }])
  const { oid } = newObject('tree', body)
  original.trees.set(oid, { type: 'tree', body })
  const objects = { read: (wanted: string) => original.trees.get(wanted) }
  let tree = MemoryTree.of(versions).trusting(objects, original.blobs.size > 0 ? oid : top)
  const set = (id: string, blob: string | undefined): void => {
    tree.reveal(id)
    tree = blob === undefined ? tree.without(id) : tree.with(versionOf(id, blob))
  }
  return { now: () => tree, set }
}

test('encodes only the directories above a change of a tree in git', { tags: 'slow' }, () => {
  const property = fc.property(steps, steps, (before, after) => {
    const original = new Trial()
    for (const each of before) original.take(each)
    const { now, set } = trusting(original, original.compare())
    for (const each of after) {
      original.take(each)
      if (each.type === 'set') set(each.memoryId, each.blob)
      else if (each.type === 'remove') set(each.memoryId, undefined)
      else
        for (const id of idsOf(now(), before, after)) {
          if (!original.blobs.has(id)) set(id, undefined)
        }
      expect(atOnce(now().encode([]))).toBe(original.compare())
    }
  })
  fc.assert(property, { seed, numRuns: full ? 5000 : 50 })
})

function idsOf(tree: MemoryTree, ...all: readonly (readonly Step[])[]): readonly string[] {
  const ids = all.flat().flatMap((each) => (each.type === 'thin' ? [] : each.memoryId))
  return [...new Set(ids)].filter((id) => tree.find(id) !== undefined)
}

test('one change in ten thousand memories encodes few trees', { tags: 'slow' }, () => {
  const original = new Trial()
  const ids = Array.from({ length: 10_000 }, (_, n) => toHex(noise(`memory ${n}`, 16)))
  for (const id of ids) original.take({ type: 'set', memoryId: id, blob: '1'.repeat(40) })
  const { now, set } = trusting(original, original.compare())
  const [first = ''] = ids
  set(first, '2'.repeat(40))
  const made: NewObject[] = []
  const root = atOnce(now().encode(made))
  original.take({ type: 'set', memoryId: first, blob: '2'.repeat(40) })
  expect(root).toBe(original.compare())
  expect(made.length).toBeLessThan(6)
})

test('refuses a tree in git whose other memories have changed', () => {
  const original = new Trial()
  const [one, two] = ['a'.repeat(32), 'b'.repeat(32)]
  for (const id of [one, two]) {
    original.take({ type: 'set', memoryId: id, blob: '1'.repeat(40) })
  }
  const root = original.compare()
  original.blobs.set(two, '2'.repeat(40))
  const { set } = trusting(original, root)
  expect(() => set(one, '3'.repeat(40))).toThrow(/not those of the tree/)
})

test('git mktree makes the same trees of the same entries', { tags: 'slow' }, () => {
  const directory = temporaryDirectory()
  git(['init', '--quiet', '--bare', '.'], directory)
  const property = fc.property(steps, (taken) => {
    const trial = new Trial()
    for (const each of taken) trial.take(each)
    trial.compare()
    const trees = [...trial.trees]
    const input = trees.map(([, { body }]) => listing(body)).join('\n')
    const made = trees.length === 0 ? '' : git(['mktree', '--missing', '--batch'], directory, input)
    expect(made.split('\n').slice(0, -1)).toEqual(trees.map(([oid]) => oid))
  })
  fc.assert(property, { seed, numRuns: full ? 500 : 8 })
})

/** A tree as git ls-tree prints it. */
function listing(body: Uint8Array): string {
  const lines = decodeTree(body).map(({ mode, name, oid }) =>
    mode === '40000' ? `040000 tree ${oid}\t${name}\n` : `${mode} blob ${oid}\t${name}\n`,
  )
  return lines.join('')
}
