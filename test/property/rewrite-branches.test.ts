// rewrite(history, R) of FORMAT §10 where branches part and meet: it commutes, records are kept
// byte for byte, every tree is tree(X) without R in the one shape that its memories have, and
// objects that are no longer reachable are listed.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseCommit } from '../../src/format/commit.ts'
import { decodeTree, type GitObject, type Oid } from '../../src/git/objects/object.ts'
import { decodeCommit, openDetail } from '../../src/store/commits/decoded-commit.ts'
import { catchUp } from '../../src/store/history/catch-up.ts'
import { History, type HistorySource } from '../../src/store/history/history.ts'
import { rewriteHead, type Rewritten } from '../../src/store/redaction/rewrite.ts'
import { MemoryTree } from '../../src/store/snapshot/memory-tree.ts'
import { atOnce } from '../../src/time-slice.ts'
import { Branches, type Node, type Write } from '../support/branches.ts'
import { full, seed } from '../support/seed.ts'

const DEVICES = 3
/** More than a directory lists flat. */
const MEMORIES = 40

type Step = { readonly by: number } & (
  | { readonly type: 'write'; readonly memories: readonly number[]; readonly deletes: boolean }
  | { readonly type: 'merge'; readonly other: number }
)

const by = fc.nat({ max: DEVICES - 1 })
const memories = fc.uniqueArray(fc.nat({ max: MEMORIES - 1 }), { minLength: 1, maxLength: 4 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      by,
      type: fc.constant('write' as const),
      memories,
      deletes: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ by, type: fc.constant('merge' as const), other: by }) },
)
const worlds = fc.record({
  filled: fc.integer({ min: 0, max: 22 }),
  steps: fc.array(step, { minLength: 4, maxLength: 40, size: 'max' }),
})
const choice = fc.array(fc.boolean(), { minLength: 1, maxLength: 24 })

interface World {
  readonly branches: Branches
  readonly head: Node
}

async function worldOf(plan: {
  readonly filled: number
  readonly steps: readonly Step[]
}): Promise<World> {
  const branches = await Branches.start(DEVICES)
  let now = branches.root.time
  const at = (device: number) => ({ by: device, time: (now += 1) })
  const content = (number: number): Write => {
    return { memory: `m${number}`, path: `/${number}`, content: `${number} at ${now}\n` }
  }
  const all = Array.from({ length: plan.filled }, (_, number) => content(number))
  const first = all.length === 0 ? branches.root : await branches.write(branches.root, at(0), all)
  const heads = Array.from({ length: DEVICES }, () => first)
  const join = async (device: number, other: number): Promise<void> => {
    const [ours, theirs] = [heads[device] ?? first, heads[other] ?? first]
    heads[device] = theirs.past.has(ours)
      ? theirs
      : ((await branches.merge(ours, theirs, at(device))) ?? ours)
  }
  for (const one of plan.steps) {
    const on = heads[one.by] ?? first
    if (one.type === 'merge') await join(one.by, one.other)
    else {
      const writes = one.memories.flatMap((number): Write[] => {
        const write = content(number)
        const isLive = livePaths(on).has(write.path)
        if (one.deletes && isLive) return [{ ...write, content: undefined }]
        // Two devices that make one memory each do not make the same: it is of one of them.
        return isLive || one.by === number % DEVICES ? [write] : []
      })
      if (writes.length > 0) heads[one.by] = await branches.write(on, at(one.by), writes)
    }
  }
  for (let other = 1; other < DEVICES; other += 1) await join(0, other)
  return { branches, head: heads[0] ?? first }
}

function livePaths(node: Node): ReadonlySet<string> {
  return new Set([...node.memories.values()].flatMap((memory) => memory?.path ?? []))
}

/** A store's objects with what rewrites make, which every rewrite keeps to itself. */
class Scratch {
  readonly objects: Map<Oid, GitObject> = new Map()
  readonly source: HistorySource

  constructor({ source }: Branches) {
    const read = (oid: Oid) => this.objects.get(oid) ?? source.objects.read(oid)
    this.source = { ...source, objects: { read } }
  }

  async rewrite(head: Oid, versionIds: readonly string[]): Promise<Rewritten | undefined> {
    const history = new History()
    await catchUp(history, this.source, head, {})
    return rewriteHead({
      source: this.source,
      history,
      versionIds: new Set(versionIds),
      emit: async (objects) => {
        for (const { oid, type, body } of objects)
          this.objects.set(oid, { type, body: body.slice() })
      },
    })
  }

  async rewriteAll(head: Oid, sets: readonly (readonly string[])[]): Promise<Oid> {
    let at = head
    for (const set of sets) at = (await this.rewrite(at, set))?.head ?? at
    return at
  }

  /** Everything that a commit reaches. */
  reachable(head: Oid): ReadonlySet<Oid> {
    const found = new Set<Oid>()
    for (const waiting = [head]; ;) {
      const oid = waiting.pop()
      if (oid === undefined) return found
      if (found.has(oid)) continue
      found.add(oid)
      waiting.push(...this.#below(oid))
    }
  }

  #below(oid: Oid): readonly Oid[] {
    const object = this.source.objects.read(oid)
    if (object === undefined) throw new Error(`${oid} is missing`)
    if (object.type === 'blob') return []
    if (object.type === 'tree') return decodeTree(object.body).map((entry) => entry.oid)
    const { tree, parents } = parseCommit(object.body)
    return [tree, ...parents]
  }

  /** The tree `m` of a commit. */
  memoriesOf(commit: Oid): Oid | undefined {
    const object = this.source.objects.read(commit)
    const root = this.source.objects.read(parseCommit(object?.body ?? new Uint8Array()).tree)
    return decodeTree(root?.body ?? new Uint8Array()).find(({ name }) => name === 'm')?.oid
  }
}

/** Versions that are not the current one of a live memory at the head. */
function redactable({ head }: World): readonly string[] {
  const live = new Set([...head.snapshot.current.live()].map((one) => one.versionId))
  const rows = [...head.past].flatMap((node) => node.rows)
  return rows.map(({ versionId }) => versionId).filter((versionId) => !live.has(versionId))
}

/** Compares each commit with its rewritten one. */
function checkCommits(scratch: Scratch, world: World, to: Oid, gone: ReadonlySet<string>): void {
  const { storeId, epochs } = scratch.source
  const pairs: [Node, Oid][] = [[world.head, to]]
  const seen = new Set<Oid>()
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [node, oid] = pair
    if (seen.has(oid)) continue
    seen.add(oid)
    const body = scratch.source.objects.read(oid)?.body ?? new Uint8Array()
    const commit = decodeCommit(storeId, epochs, oid, body)
    expect(Buffer.from(commit.hash).toString('hex')).toBe(node.hash)
    const kept = [...openDetail(commit).keys()]
    const rows = node.rows.flatMap(({ versionId }, row) => (gone.has(versionId) ? [] : row))
    expect(kept).toEqual(rows)
    expect(scratch.memoriesOf(oid)).toBe(expectedTree(node, gone))
    node.parents.forEach((parent) => {
      const next = commit.parts.parents.find((name) => recordOf(scratch, name) === parent.hash)
      if (next === undefined) throw new Error('A parent is missing')
      pairs.push([parent, next])
    })
  }
  expect(seen.size).toBe(world.head.past.size)
}

function recordOf(scratch: Scratch, oid: Oid): string {
  const { storeId, epochs, objects } = scratch.source
  const body = objects.read(oid)?.body ?? new Uint8Array()
  return Buffer.from(decodeCommit(storeId, epochs, oid, body).hash).toString('hex')
}

function expectedTree({ snapshot }: Node, gone: ReadonlySet<string>): Oid | undefined {
  const left = [...snapshot.current.live()].filter(({ versionId }) => !gone.has(versionId))
  return atOnce(MemoryTree.of(left).encode([]))
}

test(
  'rewriting branches commutes, keeps the shape of trees, and names the dead',
  { tags: 'slow', timeout: 1_800_000 },
  async () => {
    const property = fc.asyncProperty(worlds, choice, choice, async (plan, first, second) => {
      const world = await worldOf(plan)
      const candidates = redactable(world)
      const pick = (bits: readonly boolean[]): string[] =>
        candidates.filter((_, index) => bits[index % bits.length] === true)
      const [r1, r2] = [pick(first), pick(second)]
      const union = [...new Set([...r1, ...r2])]
      const old = world.head.oid
      const scratch = new Scratch(world.branches)
      const rewritten = await scratch.rewrite(old, union)
      const head = rewritten?.head ?? old
      expect(await new Scratch(world.branches).rewriteAll(old, [r1, r2])).toBe(head)
      expect(await new Scratch(world.branches).rewriteAll(old, [r2, r1])).toBe(head)
      expect(await scratch.rewriteAll(head, [union])).toBe(head)
      checkCommits(scratch, world, head, new Set(union))
      const left = scratch.reachable(head)
      const erased = [...scratch.reachable(old)].filter((oid) => !left.has(oid))
      const dead = new Set(rewritten?.dead)
      expect([...dead].filter((oid) => left.has(oid))).toEqual([])
      // A directory of other memories may disappear because its parent has few memories left.
      const harmless = erased.filter((oid) => !dead.has(oid))
      expect(
        harmless.every((oid) => [...scratch.reachable(oid)].some((one) => left.has(one))),
      ).toBe(true)
      expect(harmless.map((oid) => scratch.source.objects.read(oid)?.type)).not.toContain('blob')
      expect(harmless.map((oid) => scratch.source.objects.read(oid)?.type)).not.toContain('commit')
    })
    await fc.assert(property, { seed, numRuns: full ? 2000 : 30 })
  },
)
