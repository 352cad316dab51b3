// Restore and rollback through the façade: the state a memory gets, the requests that are refused,
// the memories that are left alone, and that a revert is an ordinary change.

import { describe, expect, test } from 'vitest'
import type { Change, MemoryStore } from '../../../src/index.ts'
import { author, contentsOf, newStore, reopen } from '../../support/stores.ts'
import { git } from '../../support/temporary.ts'

const create = (path: string, content: string): Change => ({ type: 'create', path, content })
const edit = (path: string, content: string): Change => ({
  type: 'edit',
  path,
  edit: () => content,
})
const remove = (path: string): Change => ({ type: 'delete', path })
const rename = (path: string, to: string): Change => ({ type: 'rename', path, to })

/** A store after one commit per list of changes, with the versions that each commit wrote. */
async function written(...commits: readonly (readonly Change[])[]): Promise<{
  readonly store: MemoryStore
  readonly versions: readonly string[]
  readonly times: readonly number[]
}> {
  let now = 1_700_000_000_000
  const { store } = await newStore({ clock: () => now })
  const versions: string[] = []
  const times: number[] = []
  for (const changes of commits) {
    now += 1000
    const { versionIds } = await store.as(author).apply(changes)
    versions.push(versionIds[0] ?? '')
    times.push(now)
  }
  now += 1000
  return { store, versions, times }
}

async function idAt(store: MemoryStore, path: string): Promise<string> {
  return (await store.read(path))?.memoryId ?? ''
}

async function newestVersion(store: MemoryStore) {
  const { data: versions } = await store.history.versions({ limit: 1 })
  return versions[0]
}

describe('restore of one memory', () => {
  test('to a version, by path: its content and path, as a new version', async () => {
    const { store, versions } = await written(
      [create('/a', 'one')],
      [edit('/a', 'two')],
      [rename('/a', '/b')],
    )
    const memoryId = await idAt(store, '/b')
    const made = await store
      .as(author)
      .restore({ memory: '/b', to: { versionId: versions[0] ?? '' } })
    expect(made).toMatchObject({
      versionIds: [expect.stringMatching(/^memver_/)],
      steps: [
        {
          memoryId,
          operation: 'modified',
          before: { path: '/b', content: 'two' },
          after: { path: '/a', content: 'one' },
        },
      ],
      left: [],
    })
    expect(await contentsOf(store)).toEqual({ '/a': 'one' })
    expect(await idAt(store, '/a')).toBe(memoryId)
    expect(await newestVersion(store)).toMatchObject({
      versionId: made.versionIds[0],
      commit: made.commit,
      baseVersionId: versions[2],
      createdBy: author.actor,
      reason: `restore to ${versions[0]}`,
    })
    await store.maintenance.verify()
    await store.close()
  })

  test('after its deletion, by path or id: the same memory, with its creation time', async () => {
    const { store, versions, times } = await written(
      [create('/a', 'one')],
      [edit('/a', 'two')],
      [remove('/a')],
    )
    const { data: all } = await store.history.versions()
    const memoryId = all[0]?.memoryId ?? ''
    const made = await store
      .as(author)
      .restore({ memory: '/a', to: { versionId: versions[0] ?? '' } })
    expect(made.steps).toMatchObject([{ memoryId, operation: 'created', before: undefined }])
    expect(await newestVersion(store)).toMatchObject({
      operation: 'created',
      baseVersionId: versions[2],
    })
    expect(await store.read('/a')).toMatchObject({
      memoryId,
      content: 'one',
      createdAt: times[0],
      updatedAt: (times[2] ?? 0) + 1000,
    })
    await store.as(author).apply([remove('/a')])
    await store.as(author).restore({ memory: memoryId, to: { time: times[1] ?? 0 } })
    expect(await contentsOf(store)).toEqual({ '/a': 'two' })
    await store.maintenance.verify()
    await store.close()
  })

  test('by path: the live memory, otherwise the last one', async () => {
    const { store, times } = await written(
      [create('/a', 'first')],
      [remove('/a')],
      [create('/a', 'second')],
      [rename('/a', '/b')],
      [edit('/b', 'moved')],
    )
    const second = await idAt(store, '/b')
    const made = await store.as(author).restore({ memory: '/a', to: { time: times[2] ?? 0 } })
    expect(made.steps).toMatchObject([{ memoryId: second, after: { content: 'second' } }])
    await store.close()
  })

  test('to its current state: no commit', async () => {
    const { store, versions } = await written([create('/a', 'one')], [edit('/a', 'one, again')])
    const { head } = await store.status()
    const made = await store
      .as(author)
      .restore({ memory: '/a', to: { versionId: versions[1] ?? '' } })
    expect(made).toEqual({ commit: undefined, versionIds: [], steps: [], left: [] })
    expect((await store.status()).head).toBe(head)
    await store.close()
  })

  test('refusals name the reason and change nothing', async () => {
    const { store, versions, times } = await written(
      [create('/a', 'one')],
      [edit('/a', 'two')],
      [create('/b', 'other')],
      [remove('/b')],
      [rename('/a', '/c')],
      [create('/a/b', 'in the way')],
    )
    const { head } = await store.status()
    const [one = '', , other = '', deletion = ''] = versions
    const unknown = `memver_${'0'.repeat(26)}`
    const cases = [
      [{ memory: '/b', to: { versionId: deletion } }, 'invalid_input'],
      [{ memory: '/c', to: { versionId: other } }, 'invalid_input'],
      [{ memory: '/c', to: { versionId: one } }, 'path_conflict'],
      [{ memory: '/b', to: { time: times[3] ?? 0 } }, 'not_found'],
      [{ memory: '/b', to: { time: times[1] ?? 0 } }, 'not_found'],
      [{ memory: '/b', to: { time: 5 } }, 'not_found'],
      [{ memory: '/none', to: { versionId: one } }, 'not_found'],
      [{ memory: 'none', to: { versionId: one } }, 'invalid_path'],
      [{ memory: 'mem_none', to: { versionId: one } }, 'invalid_input'],
      [{ memory: '/c', to: { versionId: unknown } }, 'not_found'],
    ] as const
    for (const [request, code] of cases) {
      for (const dryRun of [true, false]) {
        const refusal = store.as(author).restore(request, { dryRun })
        await expect(refusal, JSON.stringify(request)).rejects.toMatchObject({
          name: 'StoreError',
          code,
        })
      }
    }
    expect((await store.status()).head).toBe(head)
    await store.close()
  })

  test('an erased version is refused as such', async () => {
    const { store, versions } = await written([create('/a', 'secret')], [edit('/a', 'clean')])
    const [versionId = ''] = versions
    await store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'leaked_secret' })
    const refusal = store.as(author).restore({ memory: '/a', to: { versionId } })
    await expect(refusal).rejects.toMatchObject({ code: 'redacted' })
    await store.close()
  })
})

describe('rollback', () => {
  const story: readonly Change[][] = [
    [create('/a', 'a1'), create('/d/b', 'b1'), create('/d/c', 'c1')],
    [edit('/a', 'a2'), create('/new', 'n')],
    [rename('/d/b', '/x'), rename('/d/c', '/d/b'), rename('/x', '/d/c')],
    [remove('/a'), create('/a', 'another')],
  ]
  const first = { '/a': 'a1', '/d/b': 'b1', '/d/c': 'c1' }

  test(
    'of everything: edits, creations, deletions and swapped names, in one commit',
    { tags: 'slow' },
    async () => {
      const { store, versions, times } = await written(...story)
      const before = await contentsOf(store)
      const { commits } = await store.status()
      const made = await store.as(author).rollback({ to: { time: times[0] ?? 0 } })
      expect(made.steps.map(({ operation, after }) => [operation, after?.path])).toEqual([
        ['deleted', undefined],
        ['created', '/a'],
        ['modified', '/d/b'],
        ['modified', '/d/c'],
        ['deleted', undefined],
      ])
      expect(made.left).toEqual([])
      expect(await contentsOf(store)).toEqual(first)
      expect((await store.status()).commits).toBe(commits + 1)
      expect(await newestVersion(store)).toMatchObject({ commit: made.commit })
      const { data: last } = await store.history.versions({ limit: 5 })
      expect(last.some(({ reason }) => reason === 'rollback to 2023-11-14T22:13:21Z')).toBe(true)
      // A rollback can be rolled back.
      await store.as(author).rollback({ to: { versionId: versions[3] ?? '' } })
      expect(await contentsOf(store)).toEqual(before)
      await store.maintenance.verify()
      await store.close()
    },
  )

  test('rolls back each memory that is or was below a directory, and no other', async () => {
    const { store, times } = await written(
      [create('/d/in', '1'), create('/d/out', '1'), create('/other', '1')],
      [rename('/d/out', '/moved'), rename('/other', '/d/other'), edit('/d/in', '2')],
      [create('/unrelated', '1'), create('/dd', '1')],
    )
    const made = await store.as(author).rollback({ to: { time: times[0] ?? 0 }, path: '/d' })
    expect(made.steps).toHaveLength(3)
    expect(await contentsOf(store)).toEqual({
      '/d/in': '1',
      '/d/out': '1',
      '/other': '1',
      '/unrelated': '1',
      '/dd': '1',
    })
    const { data: versions } = await store.history.versions({ limit: 3 })
    const reasons = versions.map(({ reason }) => reason)
    expect(reasons).toContain('rollback to 2023-11-14T22:13:21Z')
    await store.close()
  })

  test('to a commit, with a reason of the author', async () => {
    const { store } = await written(...story)
    const { data: versions } = await store.history.versions()
    const commit = versions.at(-1)?.commit ?? ''
    const because = { ...author, reason: 'the migration failed' }
    await store.as(because).rollback({ to: { commit: commit.slice(0, 12) } })
    expect(await contentsOf(store)).toEqual(first)
    const { data: last } = await store.history.versions({ limit: 5 })
    expect(new Set(last.map(({ reason }) => reason))).toEqual(new Set([because.reason]))
    await store.close()
  })

  test('to now, or of an empty path, makes no commit', async () => {
    const { store, times } = await written(...story)
    const nothing = { commit: undefined, versionIds: [], steps: [], left: [] }
    expect(await store.as(author).rollback({ to: { time: times[3] ?? 0 } })).toEqual(nothing)
    const elsewhere = { to: { time: times[0] ?? 0 }, path: '/nothing/here' }
    expect(await store.as(author).rollback(elsewhere)).toEqual(nothing)
    await store.close()
  })

  test('a dry run reports the same and does nothing', async () => {
    const { store, times } = await written(...story)
    const { head } = await store.status()
    const request = { to: { time: times[0] ?? 0 } }
    const planned = await store.as(author).rollback(request, { dryRun: true })
    expect((await store.status()).head).toBe(head)
    const { plan } = planned
    const { steps, left } = await store.as(author).rollback(request, { confirmed: plan })
    expect(planned).toEqual({ commit: undefined, versionIds: [], steps, left, plan })
    await store.close()
  })

  test('leaves memories whose path is taken, and those that they block', async () => {
    const { store, times } = await written(
      [create('/d/a', 'a'), create('/d/b', 'b'), create('/d/c', 'c'), create('/q', 'q')],
      [rename('/d/a', '/d/x'), rename('/d/b', '/d/a'), rename('/q', '/d/b'), edit('/d/c', 'new')],
      [create('/q', 'outside of what is rolled back')],
    )
    const before = await contentsOf(store)
    const made = await store.as(author).rollback({ to: { time: times[0] ?? 0 }, path: '/d' })
    expect(made.left.map(({ path, reason }) => [path, reason])).toEqual([
      ['/d/a', 'path_taken'],
      ['/d/b', 'path_taken'],
      ['/q', 'path_taken'],
    ])
    expect(await contentsOf(store)).toEqual({ ...before, '/d/c': 'c' })
    const whole = await store.as(author).rollback({ to: { time: times[0] ?? 0 } })
    expect(whole.left).toEqual([])
    expect(await contentsOf(store)).toEqual({ '/d/a': 'a', '/d/b': 'b', '/d/c': 'c', '/q': 'q' })
    await store.maintenance.verify()
    await store.close()
  })

  test('leaves an erased memory, and those that it blocks', async () => {
    const { store, versions, times } = await written(
      [create('/a', 'secret')],
      [edit('/a', 'clean'), create('/b', '1')],
      [rename('/a', '/c')],
      [rename('/b', '/a'), edit('/a', '2')],
    )
    const [secret = ''] = versions
    await store.as(author).redact({ select: { versionIds: [secret] }, reason: 'leaked_secret' })
    const made = await store.as(author).rollback({ to: { time: times[0] ?? 0 } })
    expect(made.left).toMatchObject([{ path: '/c', reason: 'redacted' }])
    expect(await contentsOf(store)).toEqual({ '/c': 'clean' })
    await store.close()
  })

  test(
    'of more memories than one commit can hold is refused before anything happens',
    { tags: 'slow' },
    async () => {
      const { store, times } = await written([create('/first', '1')])
      const many = (from: number): Change[] => {
        return Array.from({ length: 8200 }, (_, index) => create(`/d/${from + index}`, ''))
      }
      await store.as(author).settings.update({ limits: { contentBytes: 100, memories: 20_000 } })
      await store.as(author).apply(many(0))
      await store.as(author).apply(many(8200))
      const { head } = await store.status()
      const request = { to: { time: times[0] ?? 0 } }
      await expect(store.as(author).rollback(request)).rejects.toMatchObject({
        code: 'change_too_large',
        details: { actual: 16_400, limit: 16_384 },
      })
      expect((await store.status()).head).toBe(head)
      await store.close()
    },
  )

  test('keeps to the limits of the store, and to its archive mark', async () => {
    const { store, times } = await written([create('/a', 'long content')], [edit('/a', 'short')])
    const request = { to: { time: times[0] ?? 0 } }
    await store.as(author).settings.update({ limits: { contentBytes: 5, memories: 9 } })
    await expect(store.as(author).rollback(request)).rejects.toMatchObject({
      code: 'content_too_large',
    })
    const limits = { contentBytes: 99, memories: 9 }
    await store.as(author).settings.update({ limits, archivedAt: 5 })
    await expect(store.as(author).rollback(request)).rejects.toMatchObject({
      code: 'store_archived',
    })
    await store.as(author).rollback({ to: { time: 1_700_000_000_000 } })
    expect(await contentsOf(store)).toEqual({})
    await store.close()
  })
})

test('reverts and other commands of one turn build on one another', async () => {
  const { store, times } = await written([create('/a', '1')], [edit('/a', '2')])
  const [, rolledBack, , restored] = await Promise.all([
    store.as(author).apply([create('/b', 'b')]),
    store.as(author).rollback({ to: { time: times[0] ?? 0 } }),
    store.as(author).apply([edit('/a', '3')]),
    store.as(author).restore({ memory: '/a', to: { time: times[1] ?? 0 } }),
  ])
  expect(rolledBack.steps).toHaveLength(2)
  expect(restored.steps).toMatchObject([{ before: { content: '3' }, after: { content: '2' } }])
  expect(await contentsOf(store)).toEqual({ '/a': '2' })
  await store.maintenance.verify()
  await store.close()
})

test('a cancelled revert changes nothing; progress is reported', async () => {
  const { store, times } = await written([create('/a', '1')], [edit('/a', '2')])
  const { head } = await store.status()
  const request = { to: { time: times[0] ?? 0 } }
  const signal = AbortSignal.abort()
  await expect(store.as(author).rollback(request, { signal })).rejects.toMatchObject({
    code: 'cancelled',
  })
  expect((await store.status()).head).toBe(head)
  const reported: number[][] = []
  await store
    .as(author)
    .rollback(request, { progress: (done, total) => reported.push([done, total]) })
  expect(reported.slice(-2)).toEqual([
    [0, 1],
    [1, 1],
  ])
  await store.close()
})

test('the result of a revert is present after reopening, for stock git too', async () => {
  const { store, place } = await newStore()
  const { versionIds } = await store.as(author).apply([create('/a', '1')])
  await store.as(author).apply([remove('/a')])
  await store.as(author).restore({ memory: '/a', to: { versionId: versionIds[0] ?? '' } })
  await store.close()
  git(['fsck', '--strict'], place.directory)
  const again = await reopen(place)
  expect(await contentsOf(again)).toEqual({ '/a': '1' })
  await again.maintenance.verify()
  await again.close()
})
