// Every pack of a sync is one that stock git takes, whatever the history did: memories that are
// deleted and written again bring trees back that the host has already, and so do clones that split
// the same directory apart. A host that indexes what it gets refuses a pack whose deltas go round
// in a circle, and would refuse every later push too.

import { readdirSync, rmSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change, DirectoryListing } from '../../src/index.ts'
import { type World, worldsOf } from '../support/clone-templates.ts'
import { checkWithGit, type Clone, firstClone, headOf, joinClone } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { installedGit, otherGits, type StockGit } from '../support/gits.ts'
import { full, sample, seed } from '../support/seed.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

/** As many memories as one directory holds: one more splits it into sixteen. */
const shared = Array.from({ length: 16 }, (_, n) => `/shared/${n}.md`)

/** Two clones that have these memories and nothing to send. */
function worldsWith(paths: readonly string[]): () => Promise<World<'a' | 'b'>> {
  return worldsOf(async (url) => {
    const a = await firstClone(url)
    await apply(a, ...paths.map(create))
    await a.store.as(author).sync()
    const b = await joinClone(a, url)
    await a.store.as(author).sync()
    return { a, b }
  })
}

const newWorld = worldsWith(shared)
/** Its directories of the second level are about to be split or to be joined again. */
const newLargeWorld = worldsWith(Array.from({ length: 256 }, (_, n) => `/many/${n}.md`))

interface Host {
  readonly a: Clone
  readonly b: Clone
  readonly remote: string
  readonly sync: (clone: Clone) => Promise<unknown>
}

/** From this many objects on, the receiver runs `git index-pack --fix-thin --strict`. */
const limits = { 'every push': 1, 'large pushes': 100 } as const

async function hostOf(
  { environment }: StockGit,
  { a, b, remote }: World<'a' | 'b'>,
  indexes: keyof typeof limits = 'every push',
): Promise<Host> {
  git(['config', 'receive.unpackLimit', String(limits[indexes])], remote)
  git(['config', 'receive.fsckObjects', 'true'], remote)
  const access = { environment }
  return { a, b, remote, sync: ({ store }) => store.as(author).sync({ access }) }
}

function create(path: string): Change {
  return { type: 'create', path, content: `${path}\n` }
}

function remove(path: string): Change {
  return { type: 'delete', path }
}

function edit(path: string): Change {
  return { type: 'edit', path, edit: (content) => `${content}more\n` }
}

function apply({ store }: Clone, ...changes: readonly Change[]): Promise<unknown> {
  return store.as(author).apply(changes)
}

async function expectInStep({ a, b, remote, sync }: Host): Promise<void> {
  for (const clone of [a, b, a]) await sync(clone)
  expect(await headOf(a)).toBe(await headOf(b))
  expect(git(['rev-parse', 'main'], remote).trim()).toBe(await headOf(a))
  expect(await contentsOf(a.store)).toEqual(await contentsOf(b.store))
  checkWithGit(remote)
}

/** On one clone: a tree of before comes back. */
async function comeAndGo({ a, sync }: Host): Promise<void> {
  await apply(a, ...shared.slice(8).map(remove))
  await sync(a)
  await apply(a, create('/passing.md'))
  await apply(a, remove('/passing.md'))
  await apply(a, create('/staying.md'))
}

/** On both clones, which make most of the sixteen trees alike, and on one of them go on. */
async function splitTwice({ a, b, sync }: Host): Promise<void> {
  await apply(a, create('/of-a.md'))
  await sync(a)
  await apply(b, create('/of-b.md'))
  for (const path of shared.slice(8)) await apply(b, edit(path))
}

const scenarios: readonly (readonly [what: string, act: (host: Host) => Promise<void>])[] = [
  ['a memory that came and went', comeAndGo],
  ['a directory that two clones split', splitTwice],
]

/** Rows of the installed git, and some of those of the others. */
function rowsOf<T>(cases: readonly T[], oneIn: number): readonly (readonly [StockGit, T])[] {
  const rows = (stock: StockGit): (readonly [StockGit, T])[] => cases.map((one) => [stock, one])
  return [...rows(installedGit), ...sample(otherGits.flatMap(rows), oneIn)]
}

describe('a host that indexes every push takes it', () => {
  for (const [stock, [what, act]] of rowsOf(scenarios, 2)) {
    test.skipIf(stock.missing)(
      `${what}: ${stock.name}${stock.note}`,
      { tags: 'slow' },
      async () => {
        const host = await hostOf(stock, await newWorld())
        await act(host)
        await expectInStep(host)
      },
    )
  }
})

describe('a push that was refused', () => {
  test('succeeds later by an ordinary sync', { tags: 'slow' }, async () => {
    const host = await hostOf(installedGit, await newWorld())
    git(['config', 'receive.maxInputSize', '1'], host.remote)
    await comeAndGo({ ...host, sync: async () => undefined })
    expect(await failureOf(host.sync(host.a))).toMatchObject({ code: 'push_rejected' })
    git(['config', '--unset', 'receive.maxInputSize'], host.remote)
    await expectInStep(host)
  })

  test(
    'explains what helps if the host has lost a tree that it builds on',
    { tags: 'slow' },
    async () => {
      const host = await hostOf(installedGit, await newWorld())
      const { a, remote } = host
      git(['repack', '-adq'], remote)
      const lost = git(['rev-parse', 'main:m'], remote).trim()
      const kept = git(['rev-list', '--objects', 'main'], remote).split('\n')
      const names = kept
        .map((line) => line.slice(0, 40))
        .filter((oid) => oid !== lost && oid !== '')
      const without = git(
        ['pack-objects', '-q', `${remote}/objects/pack/pack`],
        remote,
        names.join('\n'),
      )
      for (const file of readdirSync(`${remote}/objects/pack`)) {
        if (!file.includes(without.trim())) rmSync(`${remote}/objects/pack/${file}`)
      }
      await apply(a, edit('/shared/0.md'))
      expect(await failureOf(host.sync(a))).toMatchObject({
        code: 'push_rejected',
        message: expect.stringContaining('`sync --repair` sends everything, without deltas'),
      })
      await a.store
        .as(author)
        .sync({ access: { environment: installedGit.environment }, repair: true })
      await expectInStep(host)
    },
  )
})

type Work = 'create' | 'remove' | 'edit' | 'rename'

interface Step {
  readonly clone: 'a' | 'b'
  readonly work: Work | 'sync'
  readonly picks: readonly number[]
  /** In one commit, or in one each. */
  readonly atOnce: boolean
}

const steps = fc.array(
  fc.record<Step>({
    clone: fc.constantFrom('a', 'b'),
    work: fc.constantFrom('create', 'create', 'remove', 'remove', 'edit', 'rename', 'sync', 'sync'),
    picks: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
    atOnce: fc.boolean(),
  }),
  { minLength: 6, maxLength: full ? 40 : 12 },
)

async function take(host: Host, { clone, work, picks, atOnce }: Step): Promise<void> {
  const { store } = host[clone]
  if (work === 'sync') {
    await host.sync(host[clone])
    return
  }
  const root = await store.list('/')
  const live = new Set(root === undefined ? [] : pathsIn(root))
  const changes = picks.flatMap((pick) => plan(work, pick, live) ?? [])
  const batches = atOnce ? [changes] : changes.map((change) => [change])
  for (const batch of batches) if (batch.length > 0) await store.as(author).apply(batch)
}

function pathsIn({ type, path, children }: DirectoryListing): string[] {
  return type === 'file' ? [path] : children.flatMap(pathsIn)
}

/** Few paths, so that removed ones come back. Updates `live` to the remaining paths. */
function plan(work: Work, pick: number, live: Set<string>): Change | undefined {
  const path = [...live][pick % Math.max(live.size, 1)] ?? ''
  const free = `/few/${pick % 24}.md`
  const makes = work === 'create' || work === 'rename'
  if (makes && live.has(free)) return undefined
  if (work !== 'create' && path === '') return undefined
  if (work === 'edit') return edit(path)
  if (makes) live.add(free)
  if (work === 'create') return create(free)
  live.delete(path)
  return work === 'remove' ? remove(path) : { type: 'rename', path, to: free }
}

/** The large ones are slow to copy and to compare. */
const size = full ? fc.boolean() : fc.constant(false)

describe('stock git takes every pack of a random history', () => {
  for (const [stock, indexes] of rowsOf(['every push', 'large pushes'] as const, 6)) {
    test.skipIf(stock.missing)(
      `${stock.name} indexes ${indexes}${stock.note}`,
      { tags: 'slow' },
      async () => {
        const property = fc.asyncProperty(size, steps, async (isLarge, history) => {
          const world = isLarge ? await newLargeWorld() : await newWorld()
          const host = await hostOf(stock, world, indexes)
          for (const step of history) await take(host, step)
          await expectInStep(host)
          for (const { store } of [host.a, host.b]) await store.close()
        })
        await fc.assert(property, { seed, numRuns: full ? 40 : 1 })
      },
    )
  }
})
