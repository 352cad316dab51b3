// The history in RAM: its contents after commits, redactions and rewritten pasts.

import { describe, expect, test, vi } from 'vitest'
import { catchUp } from '../../../src/store/history/catch-up.ts'
import { readVersionContent } from '../../../src/store/history/contents.ts'
import type { VersionEntry } from '../../../src/store/history/history-rows.ts'
import { History } from '../../../src/store/history/history.ts'
import { describeVersion } from '../../../src/store/history/versions.ts'
import { IdIndex } from '../../../src/store/tables/id-index.ts'
import { bareRemote, firstClone, joinClone, put, sync } from '../../support/clones.ts'
import {
  appendMade,
  commitsOf,
  historyOf,
  type MadeCommit,
  makeHistory,
  memoryNamed,
  oidAt,
  type ReadHistory,
  versionAt,
  versionsOf,
} from '../../support/histories.ts'
import { author, newStore } from '../../support/stores.ts'
import { inSlices, mostInOneTurn } from '../../support/turns.ts'

const commits: readonly MadeCommit[] = [
  {},
  { rows: [{ memory: 'a' }], note: 'why a' },
  { rows: [{ memory: 'b' }, { memory: 'c' }], note: 'why both' },
  { kind: 'settings' },
  { rows: [{ memory: 'a' }, { memory: 'd' }], note: 'why again' },
  { kind: 'redact', redacts: [versionAt(1, 'a')], reason: 'legal' },
  { rows: [{ memory: 'b', operation: 'deleted' }] },
  { kind: 'redact', redacts: [versionAt(1, 'a'), versionAt(2, 'b')] },
]

/** The results of all queries of a history. */
function valuesOf(history: History): unknown {
  const versionIds = commits.flatMap(({ rows = [] }, height) =>
    rows.map(({ memory }) => versionAt(height, memory)),
  )
  return {
    commits: commitsOf(history),
    versions: versionsOf(history),
    found: versionIds.map((id) => [idOf(history.find(id)), history.findMemory(id)]),
    places: versionIds.map((id) => history.indexOf(id)),
    redactions: versionIds.map((id) => history.findRedaction(id)?.position),
    memories: ['a', 'b', 'c', 'd'].map((name) => memoryValues(history, memoryNamed(name))),
    all: [...history.memoryIds()],
    rows: commitsOf(history).map(({ height }) => history.rowsAt(height).map(idOf)),
    head: history.head?.oid,
  }
}

function idOf(entry: VersionEntry | undefined): string | undefined {
  return entry?.versionId
}

function memoryValues(history: History, memoryId: string): unknown {
  const ids = history.ofMemory(memoryId).map(idOf)
  return [ids, idOf(history.firstOf(memoryId)), idOf(history.newestOf(memoryId))]
}

describe('truncating', () => {
  test.each(commits.map((_, height) => height))(
    'at height %i leaves the same as a history of this height',
    (height) => {
      const history = makeHistory(commits)
      history.truncate(height)
      expect(valuesOf(history)).toEqual(valuesOf(makeHistory(commits.slice(0, height))))
      for (const commit of commits.slice(height)) appendMade(history, commit)
      expect(valuesOf(history)).toEqual(valuesOf(makeHistory(commits)))
    },
  )

  test.each([
    { cached: 8, height: 5, left: 5, stale: true },
    { cached: 3, height: 5, left: 3, stale: false },
    { cached: 5, height: 5, left: 5, stale: false },
    { cached: 8, height: 8, left: 8, stale: false },
  ])('at $height with $cached cached commits leaves $left', ({ cached, height, left, stale }) => {
    const history = makeHistory(commits)
    history.cachedCommits = cached
    history.truncate(height)
    expect([history.cachedCommits, history.cacheIsStale]).toEqual([left, stale])
  })
})

test('links versions to their predecessors and memories without an index of ids', () => {
  const find = vi.spyOn(IdIndex.prototype, 'find')
  const bases = [versionAt(1, 'a'), versionAt(2, 'a')]
  const history = makeHistory([
    {},
    { rows: [{ memory: 'a' }] },
    { rows: [{ memory: 'a' }] },
    { rows: [{ memory: 'a', bases }] },
  ])
  find.mockClear()
  const described = Array.from(history.versions, (entry) => {
    return [entry.bases.map(idOf), describeVersion(history, entry).movedFrom]
  })
  expect(described).toEqual([
    [[], undefined],
    [bases.slice(0, 1), undefined],
    [bases, undefined],
  ])
  expect(find).not.toHaveBeenCalled()
  find.mockRestore()
})

describe('a redaction', () => {
  const rewritten = new Map(
    [2, 3, 4, 5, 6, 7, 8, 9].map((height) => [height, oidAt(height, 'new')]),
  )

  test('changes the ids of the commits and erases their details', () => {
    const history = makeHistory(commits)
    const entry = history.find(versionAt(2, 'b'))
    history.applyRedaction(rewritten, new Set([versionAt(2, 'b'), versionAt(2, 'c')]))
    const expected = commits.map((commit, height) => {
      if (height !== 2) return commit
      const rows = [
        { memory: 'b', path: undefined },
        { memory: 'c', path: undefined },
      ]
      return { rows }
    })
    const made = makeHistory(expected)
    made.applyRedaction(rewritten, new Set())
    expect(valuesOf(history)).toEqual(valuesOf(made))
    expect(entry?.path).toBeUndefined()
    expect(commitsOf(history).map(({ oid }) => oid)).toEqual([
      oidAt(0),
      oidAt(1),
      ...[2, 3, 4, 5, 6, 7].map((height) => oidAt(height, 'new')),
    ])
  })

  test.each([
    { redacted: versionAt(4, 'a'), note: undefined },
    { redacted: versionAt(4, 'd'), note: 'why again' },
  ])('leaves the reason unless it takes the first row', ({ redacted, note }) => {
    const history = makeHistory(commits)
    history.applyRedaction(new Map(), new Set([redacted]))
    expect(commitsOf(history)[4]?.note).toBe(note)
  })

  test('keeps a path that another version has, and existing entries remain readable', () => {
    const history = makeHistory([{}, { rows: [{ memory: 'a' }] }, { rows: [{ memory: 'a' }] }])
    const [first, second] = [versionAt(1, 'a'), versionAt(2, 'a')]
    history.applyRedaction(new Map(), new Set([first]))
    expect([history.find(first)?.path, history.find(second)?.path]).toEqual([undefined, '/a'])
    history.applyRedaction(new Map(), new Set([second]))
    appendMade(history, { rows: [{ memory: 'b', path: '/a' }] })
    expect(versionsOf(history).map(({ path }) => path)).toEqual([undefined, undefined, '/a'])
  })

  test('makes cached commits stale from the first changed one', () => {
    const history = makeHistory(commits)
    history.cachedCommits = 8
    history.applyRedaction(rewritten, new Set([versionAt(2, 'b')]))
    expect([history.cachedCommits, history.cacheIsStale]).toEqual([2, true])
  })

  test('of versions and heights that are not loaded yet changes nothing', () => {
    const history = makeHistory(commits.slice(0, 3))
    history.applyRedaction(new Map([[3, oidAt(3, 'new')]]), new Set([versionAt(4, 'a')]))
    expect(valuesOf(history)).toEqual(valuesOf(makeHistory(commits.slice(0, 3))))
  })
})

/** The number of objects that are read. */
async function counted(read: ReadHistory, history: History): Promise<number> {
  const { objects, ...rest } = read.contents
  let count = 0
  const counting = {
    read(oid: string) {
      count += 1
      return objects.read(oid)
    },
  }
  objects.refresh()
  await catchUp(history, { ...rest, objects: counting }, objects.head ?? '', {})
  return count
}

describe('catching up', () => {
  test('reads each commit once, and later only new ones', async () => {
    const { store, place } = await newStore()
    for (const name of ['a', 'b', 'c']) {
      await store.as(author).apply([{ type: 'create', path: `/${name}`, content: name }])
    }
    const read = await historyOf(store, place)
    const history = new History()
    expect(await counted(read, history)).toBe(4)
    expect(await counted(read, history)).toBe(0)
    await store.as({ ...author, reason: 'done' }).apply([{ type: 'delete', path: '/b' }])
    expect(await counted(read, history)).toBe(1)
    expect(history.head).toMatchObject({ height: 4, kind: 'change', note: 'done' })
    expect(versionsOf(history).map(({ path, operation }) => [path, operation])).toEqual([
      ['/a', 'created'],
      ['/b', 'created'],
      ['/c', 'created'],
      ['/b', 'deleted'],
    ])
    await read.close()
    await store.close()
  })

  test('after a redaction elsewhere reads only rewritten commits', async () => {
    const { store, place } = await newStore()
    const ids: string[] = []
    for (let n = 0; n < 10; n += 1) {
      const { versionIds } = await store
        .as({ ...author, reason: `reason ${n}` })
        .apply([{ type: 'create', path: `/${n}`, content: `text ${n}` }])
      ids.push(...versionIds)
    }
    const read = await historyOf(store, place)
    const { history } = read
    const kept = commitsOf(history).slice(0, 7)
    const request = { select: { versionIds: [ids[6] ?? ''] }, reason: 'legal' } as const
    await store.as(author).redact({ ...request, current: 'delete' })
    // Seven commits are kept, the last is read; four are rewritten, one deletes and one redacts.
    expect(await counted(read, history)).toBe(7)
    expect(commitsOf(history).slice(0, 7)).toEqual(kept)
    const fresh = new History()
    await catchUp(fresh, read.contents, read.contents.objects.head ?? '', {})
    expect(valuesOf(history)).toEqual(valuesOf(fresh))
    expect(history.commits).toHaveLength(13)
    expect(commitsOf(history)[7]?.note).toBeUndefined()
    const paths = versionsOf(history).map(({ path }) => path ?? 'redacted')
    expect(paths.join(' ')).toBe('/0 /1 /2 /3 /4 /5 redacted /7 /8 /9 redacted')
    await read.close()
    await store.close()
  })

  test(
    'after a merge reads new commits, and as much of known ones as their order needs',
    { tags: 'slow' },
    async () => {
      const url = bareRemote()
      const ours = await firstClone(url)
      await sync(ours)
      const others = await joinClone(ours, url)
      await sync(ours)
      for (let n = 0; n < 5; n += 1) await put(others, `/theirs/${n}`)
      await sync(others)
      for (let n = 0; n < 20; n += 1) await put(ours, `/ours/${n}`)
      const read = await historyOf(ours.store, ours.place)
      await sync(ours)
      // Five of theirs, five of ours at the same heights, the merge, perhaps the common one.
      expect(await counted(read, read.history)).toBeLessThanOrEqual(12)
      const fresh = new History()
      await catchUp(fresh, read.contents, read.contents.objects.head ?? '', {})
      expect(valuesOf(read.history)).toEqual(valuesOf(fresh))
      await read.close()
    },
  )

  test('gives way between commits of many versions', { tags: 'slow' }, async () => {
    const { store, place } = await newStore()
    for (const name of ['a', 'b', 'c']) {
      const paths = Array.from({ length: 500 }, (_, n) => `/${name}/${n}`)
      await store.as(author).apply(paths.map((path) => ({ type: 'create', path, content: path })))
    }
    const read = await historyOf(store, place)
    const { contents } = read
    contents.objects.refresh()
    const turns: number[] = []
    await inSlices((turn) => {
      const progress = (done: number): void => void (done > 0 && turns.push(turn()))
      return catchUp(new History(), contents, contents.objects.head ?? '', { progress })
    })
    expect(turns).toHaveLength(4)
    expect(mostInOneTurn(turns)).toBe(1)
    await read.close()
    await store.close()
  })

  test('gives the same as the history of the redacting process', async () => {
    const { store, place } = await newStore()
    await store.as(author).apply([{ type: 'create', path: '/a', content: 'one' }])
    await store.as(author).apply([{ type: 'edit', path: '/a', edit: () => 'two' }])
    await store.as(author).apply([{ type: 'create', path: '/b', content: 'b' }])
    const { data: versions } = await store.history.versions()
    const [, , first] = versions
    await store
      .as(author)
      .redact({ select: { versionIds: [first?.versionId ?? ''] }, reason: 'legal' })
    const read = await historyOf(store, place)
    expect((await store.history.versions()).data.map(({ commit }) => commit)).toEqual(
      versionsOf(read.history)
        .map(({ commit }) => commit.oid)
        .toReversed(),
    )
    const contents = versionsOf(read.history).map((entry) =>
      readVersionContent(read.contents, entry),
    )
    expect(contents).toEqual([undefined, 'two', 'b'])
    await read.close()
    await store.close()
  })
})
