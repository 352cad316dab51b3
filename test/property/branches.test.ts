// Histories of branches that part and meet at random, compared with a plain account of every
// commit: its past, and the contents of the store. The history in RAM is the same however it was
// loaded, and questions about the past are answered by the commits below the asked one.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatId } from '../../src/format/id.ts'
import { blameLines } from '../../src/store/history/blame.ts'
import { catchUp } from '../../src/store/history/catch-up.ts'
import { comparePoints } from '../../src/store/history/history-diff.ts'
import { History } from '../../src/store/history/history.ts'
import { openPast, type PastView } from '../../src/store/history/past.ts'
import type { Point } from '../../src/store/history/points.ts'
import { appendSegment, segmentEncoder } from '../../src/store/local/history-cache.ts'
import { planRollback } from '../../src/store/revert/restore.ts'
import type { RevertPlan } from '../../src/store/revert/revert-plan.ts'
import { planUndo } from '../../src/store/revert/undo.ts'
import { snapshotAt } from '../../src/store/verify/snapshot-at.ts'
import { atOnce } from '../../src/time-slice.ts'
import { revertSource } from '../support/apart.ts'
import { type Branches, inCanonicalOrder, type MemoryThen, type Node } from '../support/branches.ts'
import { commitsOf, versionsOf } from '../support/histories.ts'
import { full, seed } from '../support/seed.ts'
import { grow, type Grown, linesIn, sessionName, worlds } from './branch-worlds.ts'

type State = Record<string, string>

async function historyUpTo(branches: Branches, ...heads: readonly Node[]): Promise<History> {
  const history = new History()
  for (const { oid } of heads) await catchUp(history, branches.source, oid, {})
  return history
}

/** All values of a history, with the parents by position. */
function valuesOf(history: History): unknown {
  const commits = commitsOf(history)
  return {
    commits,
    versions: versionsOf(history),
    parents: commits.map((commit) => history.parentsOf(commit).map(({ position }) => position)),
    memories: Array.from(history.memoryIds(), (memoryId) => {
      return history.ofMemory(memoryId).map(({ versionId }) => versionId)
    }),
    tips: commits.map(({ position }) => history.tipsBefore(position).map(({ oid }) => oid)),
  }
}

function stateOf(memories: Iterable<MemoryThen | undefined>): State {
  const live = [...memories].filter((memory) => memory !== undefined)
  return Object.fromEntries(live.map(({ path, content }) => [path, content]))
}

/** Of each memory the last version in canonical order, wherever clones were apart. */
function stateAfter(nodes: Iterable<Node>): State {
  const memories = new Map<string, MemoryThen | undefined>()
  for (const { rows, memories: then } of inCanonicalOrder(nodes)) {
    for (const { memoryId } of rows) memories.set(memoryId, then.get(memoryId))
  }
  return stateOf(memories.values())
}

async function contentsOf(view: PastView): Promise<State> {
  const found: [string, string][] = []
  const pending = [await view.list('/')]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'file') found.push([node.path, (await view.read(node.path))?.content ?? ''])
    pending.push(...node.children)
  }
  return Object.fromEntries(found)
}

/** Every state by commit; some by version and by time. */
async function checkStates({ branches, head }: Grown, history: History): Promise<void> {
  const source = { contents: branches.contents, loadHistory: async () => history }
  const stateAt = async (point: Point) => contentsOf(await openPast(source, point, {}))
  const nodes = inCanonicalOrder(head.past)
  for (const node of nodes) {
    const state = stateOf(node.memories.values())
    expect(await stateAt({ commit: node.oid })).toEqual(state)
    const [row] = node.rows
    if (row === undefined) continue
    expect(await stateAt({ versionId: formatId('version', row.versionId) })).toEqual(state)
    for (const time of [node.time, node.time - 1]) {
      const by = nodes.filter((one) => one.time <= time)
      expect(await stateAt({ time })).toEqual(stateAfter(by.flatMap((one) => [...one.past])))
    }
  }
}

async function checkDifferences({ branches, head }: Grown, history: History): Promise<void> {
  const nodes = inCanonicalOrder(head.past)
  for (const [index, from] of nodes.entries()) {
    const to = nodes[(index * 7 + 3) % nodes.length] ?? head
    const points = { from: { commit: from.oid }, to: { commit: to.oid } }
    const { changes } = atOnce(comparePoints(history, branches.contents, points, {}))
    const state = stateOf(from.memories.values())
    for (const { before } of changes) if (before !== undefined) delete state[before.path]
    for (const { after } of changes) if (after !== undefined) state[after.path] = after.content
    expect(state).toEqual(stateOf(to.memories.values()))
  }
}

async function checkLines({ branches, head, origins }: Grown, history: History): Promise<void> {
  for (const node of head.past) {
    for (const memory of node.memories.values()) {
      if (memory === undefined) continue
      const at = { commit: node.oid }
      const found = atOnce(blameLines(history, branches.contents, memory.path, at))
      const lines = found.map(({ line, version }) => [line, version.versionId])
      const expected = linesIn(memory.content).map((line) => {
        return [line, formatId('version', origins.get(line) ?? '')]
      })
      expect(lines).toEqual(expected)
    }
  }
}

/** The memories of the store once a plan is carried out. */
function carriedOut({ head }: Grown, { steps }: RevertPlan): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const [memoryId, memory] of head.memories) {
    if (memory !== undefined) texts.set(formatId('memory', memoryId), memory.content)
  }
  for (const { memoryId, after } of steps) {
    if (after === undefined) texts.delete(memoryId)
    else texts.set(memoryId, after.content)
  }
  return texts
}

function assertProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
  runs: number,
): Promise<void> {
  const property = fc.asyncProperty(arbitrary, check)
  return fc.assert(property, { seed, numRuns: full ? 10 * runs : runs / 2 })
}

const any = worlds({ removes: true })

test('every earlier state can be read, compared and traced', { tags: 'slow' }, async () => {
  await assertProperty(
    any,
    async (world) => {
      const grown = await grow(world)
      const history = await historyUpTo(grown.branches, grown.head)
      await checkStates(grown, history)
      await checkDifferences(grown, history)
      await checkLines(grown, history)
    },
    12,
  )
})

test(
  'the history knows the order, the past of each commit, and the cuts',
  { tags: 'slow' },
  async () => {
    await assertProperty(
      any,
      async (world) => {
        const { branches, head } = await grow(world)
        const history = await historyUpTo(branches, head)
        const nodes = inCanonicalOrder(head.past)
        const grown = commitsOf(history).slice(-nodes.length)
        expect(grown.map(({ oid }) => oid)).toEqual(nodes.map(({ oid }) => oid))
        for (const [index, commit] of grown.entries()) {
          const { past } = nodes[index] ?? head
          const has = history.pastOf(commit)
          expect(grown.map(({ position }) => has(position))).toEqual(
            nodes.map((node) => past.has(node)),
          )
          expect(commit.isCut).toBe(nodes.slice(0, index).every((node) => past.has(node)))
          expect(history.findCommit(commit.oid, commit.height)?.position).toBe(commit.position)
          const height = commit.height - 1
          expect(history.findCommit(commit.oid, height)).toBeUndefined()
        }
      },
      20,
    )
  },
)

test('the history is the same however it was loaded', { tags: 'slow' }, async () => {
  const arrivals = fc.array(fc.nat(), { maxLength: 6 })
  await assertProperty(
    fc.tuple(any, arrivals, fc.integer({ min: 1, max: 7 })),
    async ([world, picks, length]) => {
      const { branches, head } = await grow(world)
      const { nodes } = branches
      const met = picks.map((pick) => nodes[pick % nodes.length] ?? head)
      const whole = await historyUpTo(branches, head)
      const expected = valuesOf(whole)
      expect(valuesOf(await historyUpTo(branches, ...met, head))).toEqual(expected)
      const inSlices = new History()
      for (const { oid } of [...met, head]) {
        await catchUp(inSlices, branches.source, oid, { atOnce: length - 1 })
      }
      expect(valuesOf(inSlices)).toEqual(expected)
      const read = new History()
      for (let start = 0; start < whole.commits.length; start += length) {
        const end = Math.min(start + length, whole.commits.length)
        expect(appendSegment(read, segmentEncoder(whole, start)(end))).toBe(true)
      }
      expect(valuesOf(read)).toEqual(expected)
      const [cached = head] = met
      await catchUp(read, branches.source, cached.oid, {})
      expect(valuesOf(read)).toEqual(valuesOf(await historyUpTo(branches, cached)))
    },
    20,
  )
})

test(
  'a segment continues no history but the one that it was made of',
  { tags: 'slow' },
  async () => {
    await assertProperty(
      any,
      async (world) => {
        const { branches, head } = await grow(world)
        const history = await historyUpTo(branches, head)
        const commits = commitsOf(history)
        for (const start of commits.keys()) {
          const bytes = segmentEncoder(history, start)(commits.length)
          for (const node of branches.nodes) {
            const found = await historyUpTo(branches, node)
            const same = valuesOf(found)
            const other = new History()
            appendSegment(other, segmentEncoder(found, 0)(Math.min(start, found.commits.length)))
            const isSame = commitsOf(other).every(({ oid }, index) => commits[index]?.oid === oid)
            const isWhole = other.commits.length === start
            expect(appendSegment(other, bytes)).toBe(isSame && isWhole)
            if (!isSame || !isWhole) continue
            expect(valuesOf(other)).toEqual(valuesOf(history))
            await catchUp(other, branches.source, node.oid, {})
            expect(valuesOf(other)).toEqual(same)
          }
        }
      },
      2,
    )
  },
)

test('the snapshot at a cut is the one of its commit', { tags: 'slow' }, async () => {
  await assertProperty(
    any,
    async (world) => {
      const { branches, head } = await grow(world)
      const history = await historyUpTo(branches, head)
      for (const node of head.past) {
        const commit = history.findCommit(node.oid, node.height)
        if (commit?.isCut !== true) continue
        const made = atOnce(snapshotAt(branches.source, history, commit.position))
        const { head: at, current, devices, settings, redacted, count } = node.snapshot
        expect(made).toMatchObject({ head: at, settings, count })
        expect(new Map(made.current)).toEqual(new Map(current))
        expect([made.devices, made.redacted]).toEqual([devices, redacted])
        expect(made.keyring.oid).toBe(node.snapshot.keyring.oid)
      }
    },
    12,
  )
})

test('a rollback brings back the state of any commit', { tags: 'slow' }, async () => {
  await assertProperty(
    any,
    async (world) => {
      const grown = await grow(world)
      const history = await historyUpTo(grown.branches, grown.head)
      const source = revertSource(grown.branches, history, grown.head)
      for (const { oid, memories } of grown.head.past) {
        const plan = await planRollback(source, { to: { commit: oid } })
        expect(plan.left).toEqual([])
        const texts = [...memories].filter(([, memory]) => memory !== undefined)
        expect(carriedOut(grown, plan)).toEqual(
          new Map(texts.map(([id, memory]) => [formatId('memory', id), memory?.content])),
        )
      }
    },
    12,
  )
})

test.each([
  { removes: true, also: 'says what it leaves' },
  { removes: false, also: 'keeps all lines of others' },
])(
  'an undo takes every line of a session out of what it changes, and $also',
  { tags: 'slow' },
  async ({ removes }) => {
    await assertProperty(
      fc.tuple(worlds({ removes }), fc.nat({ max: 2 })),
      async ([world, number]) => {
        const grown = await grow(world)
        const history = await historyUpTo(grown.branches, grown.head)
        const session = sessionName(number)
        const plan = await planUndo(revertSource(grown.branches, history, grown.head), {
          session,
        })
        const gone = grown.linesOf.get(session) ?? new Set()
        const left = new Set(plan.left.map(({ memoryId }) => memoryId))
        const texts = carriedOut(grown, plan)
        for (const [id, memory] of grown.head.memories) {
          const memoryId = formatId('memory', id)
          if (left.has(memoryId) || memory === undefined) continue
          const now = linesIn(texts.get(memoryId) ?? '')
          expect(now.filter((line) => gone.has(line))).toEqual([])
          if (removes) continue
          const others = linesIn(memory.content).filter((line) => !gone.has(line))
          expect(now).toEqual(expect.arrayContaining(now.length === 0 ? [] : others))
        }
      },
      60,
    )
  },
)
