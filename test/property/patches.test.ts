// Patches between any two points of random histories: with one, stock git turns the files of either
// point into those of the other, forwards, backwards and with -R, however memories moved between
// paths.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pointPatch } from '../../src/cli/commands/diff.ts'
import { plainInk } from '../../src/cli/terminal/ink.ts'
import { StoreError } from '../../src/errors.ts'
import type { Change, MemoryStore } from '../../src/index.ts'
import { full, seed } from '../support/seed.ts'
import { author, newStore } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const git = requires('git')

type State = Readonly<Record<string, string>>

/** Few, and in each other's way. */
const path = fc.constantFrom('/a', '/b', '/a/x', '/a/y', '/b/a/x', '/ü "q"\\', '/日 本')
const content = fc.constantFrom(
  '',
  '\n',
  'one\n',
  'one',
  'one\r\ntwo\r\n',
  'one\rtwo',
  'a\u2028b\u0085c\fd\n',
  `${Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n')}\n`,
  '--- a/a\n+++ b/b\n@@ -1 +1 @@\n',
)

type Step =
  | { readonly type: 'apply'; readonly changes: readonly Change[] }
  | { readonly type: 'swap' | 'replace'; readonly paths: readonly [string, string] }
  | { readonly type: 'redact'; readonly place: number }

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ type: fc.constant('create' as const), path, content }),
  fc.record({ type: fc.constant('delete' as const), path }),
  fc.record({ type: fc.constant('rename' as const), path, to: path }),
  fc
    .tuple(path, content)
    .map(([at, text]) => ({ type: 'edit' as const, path: at, edit: (old: string) => old + text })),
)

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        type: fc.constant('apply' as const),
        changes: fc.array(change, { minLength: 1, maxLength: 2 }),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constantFrom('swap' as const, 'replace' as const),
        paths: fc.tuple(path, path),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('redact' as const), place: fc.nat(30) }),
    },
  ),
  { minLength: 12, maxLength: full ? 40 : 20, size: 'max' },
)

/** One step, done if the store takes it. */
async function take(store: MemoryStore, step: Step): Promise<void> {
  try {
    if (step.type === 'redact') await redactOne(store, step.place)
    else await store.as(author).apply(changesOf(step))
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
  }
}

function changesOf(step: Exclude<Step, { readonly type: 'redact' }>): readonly Change[] {
  if (step.type === 'apply') return step.changes
  if (step.type === 'swap') return swapped(step.paths)
  const [at, to] = step.paths
  return [
    { type: 'delete', path: to },
    { type: 'rename', path: at, to },
  ]
}

function swapped([a, b]: readonly [string, string]): readonly Change[] {
  return [
    { type: 'rename', path: a, to: '/between' },
    { type: 'rename', path: b, to: a },
    { type: 'rename', path: '/between', to: b },
  ]
}

async function redactOne(store: MemoryStore, place: number): Promise<void> {
  const { data: versions } = await store.history.versions({ redacted: false })
  const version = versions[place % Math.max(1, versions.length)]
  if (version === undefined) return
  await store
    .as(author)
    .redact({ select: { versionIds: [version.versionId] }, reason: 'unspecified' })
}

async function stateAt(store: MemoryStore, versionId: string): Promise<State> {
  const view = await store.at({ versionId })
  const found: Record<string, string> = {}
  const pending = [await view.list('/')]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'file') found[node.path] = (await view.read(node.path))?.content ?? ''
    pending.push(...node.children)
  }
  return found
}

function applied(patch: string, before: State, options: readonly string[]): State {
  const directory = temporaryDirectory()
  for (const [at, text] of Object.entries(before)) {
    mkdirSync(dirname(join(directory, at)), { recursive: true })
    writeFileSync(join(directory, at), text)
  }
  const env = { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', HOME: directory }
  if (options.includes('--index')) {
    execFileSync('git', ['init', '--quiet'], { cwd: directory, env })
    execFileSync('git', ['-c', 'core.autocrlf=false', 'add', '-A'], { cwd: directory, env })
  }
  const words = ['apply', '--whitespace=nowarn', '--allow-empty', ...options, '-']
  const { status, stderr } = spawnSync('git', words, {
    cwd: directory,
    input: patch,
    encoding: 'utf8',
    env,
  })
  expect({ status, stderr, patch: status === 0 ? '' : patch }).toEqual({
    status: 0,
    stderr: '',
    patch: '',
  })
  rmSync(join(directory, '.git'), { recursive: true, force: true })
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile())
  const found = files.map((entry) => {
    const file = join(entry.parentPath, entry.name)
    return [file.slice(directory.length), readFileSync(file, 'utf8')]
  })
  rmSync(directory, { recursive: true })
  return Object.fromEntries(found)
}

/** Some pairs of points; each is tried both ways, and taken back. */
async function checkPairs(store: MemoryStore, picks: readonly number[]): Promise<void> {
  const { data: versions } = await store.history.versions({ limit: 1000 })
  const ids = versions.map(({ versionId }) => versionId)
  for (let index = 0; ids.length > 0 && index + 1 < picks.length; index += 2) {
    const [from = '', to = ''] = picks.slice(index, index + 2).map((pick) => ids[pick % ids.length])
    const [before, after] = [await stateAt(store, from), await stateAt(store, to)]
    const there = pointPatch(
      plainInk,
      await store.history.diff({ versionId: from }, { versionId: to }),
    )
    const back = pointPatch(
      plainInk,
      await store.history.diff({ versionId: to }, { versionId: from }),
    )
    const options = index % 4 === 0 ? [] : ['--index']
    expect(applied(there, before, options)).toEqual(after)
    expect(applied(back, after, options)).toEqual(before)
    expect(applied(there, after, ['-R', ...options])).toEqual(before)
  }
}

describe.skipIf(git.missing)(`git apply${git.note}`, () => {
  test(
    'makes one point of a history from any other',
    { tags: 'slow', timeout: 600_000 },
    async () => {
      const picks = fc.array(fc.nat(1000), { minLength: full ? 20 : 8, maxLength: full ? 20 : 8 })
      const run = async (taken: readonly Step[], pairs: readonly number[]): Promise<void> => {
        const { store } = await newStore()
        const first = ['/a', '/b', '/日 本'].map((at) => create(at, `${at}\n`))
        await store.as(author).apply(first)
        for (const step of taken) await take(store, step)
        await checkPairs(store, pairs)
        await store.close()
      }
      await fc.assert(fc.asyncProperty(steps, picks, run), {
        seed,
        numRuns: full ? 100 : 2,
        endOnFailure: true,
      })
    },
  )

  test.each<[name: string, steps: readonly (readonly Change[])[]]>([
    [
      'a deleted path that another memory took',
      [
        [create('/a', 'one\n'), create('/b', 'two\n')],
        [{ type: 'delete', path: '/a' }],
        [{ type: 'rename', path: '/b', to: '/a' }],
      ],
    ],
    [
      'two that changed places',
      [[create('/a', 'one\n'), create('/b', 'two\n')], swapped(['/a', '/b'])],
    ],
    [
      'a chain',
      [
        [create('/a', 'one\n'), create('/b', 'two\n')],
        [{ type: 'rename', path: '/b', to: '/c' }],
        [{ type: 'rename', path: '/a', to: '/b' }],
        [create('/a', 'three\n')],
      ],
    ],
    [
      'a file that became a directory, and back',
      [
        [create('/a', 'one\n')],
        [{ type: 'rename', path: '/a', to: '/a2' }],
        [{ type: 'rename', path: '/a2', to: '/a/x' }],
        [{ type: 'delete', path: '/a/x' }],
        [create('/a', '')],
      ],
    ],
  ])('and of %s', { tags: 'slow' }, async (_, made) => {
    const { store } = await newStore()
    for (const changes of made) await store.as(author).apply(changes)
    const count = made.flat().length
    const every = Array.from({ length: count }, (__, to) =>
      Array.from({ length: to }, (___, from) => [from, to]),
    )
    await checkPairs(store, every.flat(2))
    await store.close()
  })

  test('and leaves out paths that no file is made of, which the patch names', async () => {
    const { store } = await newStore()
    const made = await store.as(author).apply([create('/.git/config', 'x\n')])
    await store.as(author).apply([{ type: 'rename', path: '/.git/config', to: '/a' }])
    const [versionId = ''] = made.versionIds
    const patch = pointPatch(plainInk, await store.history.diff({ versionId }))
    expect(patch).toMatch(/^# \/\.git\/config is left out: it would be read by git as its own\n/)
    expect(applied(patch, {}, [])).toEqual({ '/a': 'x\n' })
    await store.close()
  })

  test('notes that a redacted version only seems new, or deleted', async () => {
    const { store } = await newStore()
    const { versionIds } = await store.as(author).apply([create('/a', 'secret\n')])
    await store.as(author).apply([{ type: 'edit', path: '/a', edit: () => 'none\n' }])
    const later = await store.as(author).apply([create('/b', 'b\n')])
    const [from = '', to = ''] = [...versionIds, ...later.versionIds]
    await store.as(author).redact({ select: { versionIds: [from] }, reason: 'leaked_secret' })
    const [then, now] = [{ versionId: from }, { versionId: to }]
    const there = await store.history.diff(then, now)
    expect([there.redacted, there.halfRedacted.length]).toEqual([1, 1])
    const patch = pointPatch(plainInk, there)
    const id = there.halfRedacted[0]?.memoryId
    expect(patch).toContain(`# /a appears new: the content of ${id} at --from is redacted\n`)
    expect(applied(patch, {}, [])).toEqual({ '/a': 'none\n', '/b': 'b\n' })
    const back = pointPatch(plainInk, await store.history.diff(now, then))
    expect(back).toContain(`# /a appears deleted: the content of ${id} at --to is redacted\n`)
    expect(applied(back, { '/a': 'none\n', '/b': 'b\n' }, [])).toEqual({})
    await store.close()
  })
})

function create(at: string, text: string): Change {
  return { type: 'create', path: at, content: text }
}
