// Histories with merges, of which stock git and a store fetch the same parts, step by step: after
// each step both have the same commits, and the store has no commit without its parents that is not
// on its boundary. With every git that is installed.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createDiskObjectStore,
  type DiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import { installedGit, otherGits, type StockGit } from '../support/gits.ts'
import { bareRepository } from '../support/pack-fixtures.ts'
import { full, sample, seed } from '../support/seed.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { fetchPack } from '../support/transfer.ts'

const ALL = 2 ** 31 - 1

/**
 * Commits, each on the one before or on a merge of that with an earlier one, so far back; 0 for no
 * merge. Then the depth of a fetch.
 */
const growth = fc.record({
  commits: fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 2, max: 12 })), { maxLength: 8 }),
  depth: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(ALL)),
})

class Graph {
  readonly repository: string
  readonly #commits: string[] = []

  constructor() {
    this.repository = join(temporaryDirectory(), 'remote.git')
    mkdirSync(this.repository)
    bareRepository(this.repository)
    this.grow([0])
  }

  get head(): string {
    return this.#commits.at(-1) ?? ''
  }

  /** Side branches begin at a commit of before, with a commit of their own. */
  grow(distances: readonly number[]): void {
    for (const distance of distances) {
      const first = this.#commits.at(-1)
      const base = this.#commits.at(-distance)
      const side = distance === 0 || base === undefined ? undefined : this.#commit([base])
      this.#commits.push(this.#commit([first, side].flatMap((one) => one ?? [])))
    }
    git(['update-ref', 'refs/heads/main', this.head], this.repository)
  }

  #commit(parents: readonly string[]): string {
    const text = `${this.#commits.length} ${parents.join(' ')}`
    const blob = git(['hash-object', '-w', '--stdin'], this.repository, text).trim()
    const tree = git(['mktree'], this.repository, `100644 blob ${blob}\tfile\n`).trim()
    const before = parents.flatMap((parent) => ['-p', parent])
    return git(['commit-tree', tree, '-m', text, ...before], this.repository).trim()
  }
}

async function fetchPart(
  store: DiskObjectStore,
  graph: Graph,
  { environment }: StockGit,
  deepen: number,
): Promise<void> {
  const { exchange, head: before } = store
  const request = { want: graph.head, haves: before === undefined ? [] : [before], deepen }
  const access = { url: graph.repository, environment }
  await fetchPack(access, { ...request, shallow: exchange.shallow(), into: exchange })
  if (before === graph.head) return
  await store.exclusive(() => store.commit([{ objects: [], expected: before, next: graph.head }]))
  await store.checkpoint()
}

function partsOf(directory: string): readonly string[] {
  return git(['rev-list', 'main'], directory).trim().split('\n').toSorted()
}

const gits = [installedGit, ...sample(otherGits, 1)]

test.for(gits.filter(({ missing }) => !missing).map((one) => [one.name, one] as const))(
  'from %s, a store fetches the parts that git does',
  { tags: 'slow' },
  async ([, stock]) => {
    const plan = fc.array(growth, { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(plan, async (steps) => {
        const graph = new Graph()
        const [ours, theirs] = [temporaryDirectory(), temporaryDirectory()]
        bareRepository(theirs)
        const store = await createDiskObjectStore({
          directory: join(ours, 's'),
          mayBeShallow: true,
        })
        for (const { commits, depth } of steps) {
          graph.grow(commits)
          await fetchPart(store, graph, stock, depth)
          const how = ['fetch', '--quiet', `--depth=${depth}`, '--update-head-ok']
          const url = `file://${graph.repository}`
          git([...how, url, '+main:main'], theirs, undefined)
          expect(partsOf(join(ours, 's'))).toEqual(partsOf(theirs))
          expect(git(['fsck', '--strict', '--full', '--no-dangling'], join(ours, 's'))).toBe('')
        }
        await store.close()
      }),
      { seed, numRuns: full ? 40 : 4 },
    )
  },
)
