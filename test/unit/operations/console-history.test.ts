// What the console is told of who wrote what, and how it takes that back, from a real store.

import { describe, expect, test } from 'vitest'
import type { MemoryStore } from '../../../src/index.ts'
import { memberSubject } from '../../../src/operations/console/subject.ts'
import { readMerge, settleMerge } from '../../../src/operations/merges.ts'
import { bareRemote, firstClone, joinClone, sync } from '../../support/clones.ts'
import { askerOf, consoleUser, newConsole } from '../../support/console.ts'
import { author, contentsOf } from '../../support/stores.ts'

const DAY = 24 * 3600 * 1000
/** Noon in UTC. */
const NOON = Date.UTC(2026, 4, 10, 12)

function session(store: MemoryStore, id: string) {
  return store.as({ actor: { type: 'session', id }, session: id })
}

/** Two sessions and a user, over two days. */
async function history() {
  let now = NOON
  const { store, ask } = await newConsole({ clock: () => now })
  const step = (by = 1000): void => {
    now += by
  }
  await session(store, 's-1').write('/a.md', 'a')
  step()
  await session(store, 's-2').write('/b.md', 'b')
  step()
  await session(store, 's-1').write('/a.md', 'aa')
  step()
  await session(store, 's-1').move('/a.md', '/moved/a.md')
  step(DAY)
  await session(store, 's-1').write('/c.md', 'c')
  step()
  await store.as({ actor: { type: 'user', id: 'anna' } }).delete('/b.md')
  return { store, ask }
}

const all = { filter: {}, timeZone: 'UTC' }

describe('the timeline', () => {
  test('groups by session and day, newest first', async () => {
    const { ask } = await history()
    const { data, nextPage } = await ask('timeline.groups', all)
    expect(nextPage).toBeUndefined()
    const found = data.map(({ day, session: of, actor, memories, versions }) => {
      return [day, of ?? actor?.id, memories, versions]
    })
    expect(found).toEqual([
      ['2026-05-11', 'anna', 1, 1],
      ['2026-05-11', 's-1', 1, 1],
      ['2026-05-10', 's-1', 1, 3],
      ['2026-05-10', 's-2', 1, 1],
    ])
    expect(data[2]).toMatchObject({ created: 1, modified: 2, deleted: 0, redacted: 0, first: NOON })
  })

  test('begins a day at midnight in the time zone', async () => {
    const { ask } = await history()
    const days = async (timeZone: string): Promise<readonly string[]> => [
      ...new Set(
        (await ask('timeline.groups', { filter: {}, timeZone })).data.map(({ day }) => day),
      ),
    ]
    expect(await days('Pacific/Kiritimati')).toEqual(['2026-05-12', '2026-05-11'])
    expect(await days('America/New_York')).toEqual(['2026-05-11', '2026-05-10'])
    const wrong = ask('timeline.groups', { filter: {}, timeZone: 'Nowhere' })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_input' })
  })

  test('continues page by page, even if a group has grown', async () => {
    const { store, ask } = await history()
    const first = await ask('timeline.groups', { ...all, limit: 2 })
    const rest = await ask('timeline.groups', { ...all, limit: 2, after: first.nextPage })
    expect([...first.data, ...rest.data]).toEqual((await ask('timeline.groups', all)).data)
    await session(store, 's-3').write('/d.md', 'd')
    const { data } = await ask('timeline.groups', all)
    expect(data[0]).toMatchObject({ session: 's-3' })
    expect(data).toHaveLength(5)
  })

  test('filters by each condition', async () => {
    const { store, ask } = await history()
    const { data: everything } = await ask('timeline.groups', all)
    const count = async (filter: object): Promise<number> => {
      const { data } = await ask('timeline.groups', { filter, timeZone: 'UTC' })
      return data.reduce((sum, { versions }) => sum + versions, 0)
    }
    expect(await count({ session: 's-1' })).toBe(4)
    expect(await count({ actorId: 'anna' })).toBe(1)
    expect(await count({ operation: 'created' })).toBe(3)
    expect(await count({ path: '/moved' })).toBe(1)
    expect(await count({ since: NOON + DAY })).toBe(2)
    expect(await count({ until: NOON })).toBe(1)
    expect(await count({ deviceId: everything[0]?.deviceIds[0] })).toBe(6)
    expect(await count({ deviceId: 'dev_other' })).toBe(0)
    expect(await count({ redacted: true })).toBe(0)
    const { data } = await ask('timeline.group', {
      ...all,
      versionId: everything[2]?.versionId ?? '',
    }).then(({ memories }) => ({ data: memories }))
    const select = { versionIds: [data[0]?.before ?? data[0]?.after ?? ''] }
    await store.as(author).redact({ select, reason: 'legal', current: 'overwrite' })
    expect(await count({ redacted: true })).toBeGreaterThan(0)
  })

  test('a group lists its changes per memory, from before to after', async () => {
    const { ask } = await history()
    const { data } = await ask('timeline.groups', all)
    const ofGroup = async (index: number) => {
      const { versionId = '' } = data[index] ?? {}
      return (await ask('timeline.group', { ...all, versionId })).memories
    }
    expect(await ofGroup(0)).toEqual([
      {
        memoryId: expect.any(String),
        path: '/b.md',
        movedFrom: undefined,
        operation: 'deleted',
        versions: 1,
        redacted: 0,
        before: expect.any(String),
        after: expect.any(String),
        hidden: 0,
      },
    ])
    expect(await ofGroup(2)).toMatchObject([
      { path: '/moved/a.md', operation: 'created', versions: 3, before: undefined },
    ])
  })

  test('counts the hidden characters of each memory of a group', async () => {
    const { store, ask } = await history()
    const me = session(store, 's-3')
    await me.write('/hides.md', 'Milk\u200b and\u202e e\u{e0041}ggs ❤️\r\n')
    await me.write('/shows.md', 'Milk\u200b')
    await me.write('/shows.md', 'Milk')
    await me.write('/gone.md', 'Milk\u200b')
    await me.delete('/gone.md')
    const { versionId = '' } = (await ask('timeline.groups', all)).data[0] ?? {}
    const { memories } = await ask('timeline.group', { ...all, versionId })
    expect(Object.fromEntries(memories.map(({ path, hidden }) => [path, hidden]))).toEqual({
      '/gone.md': 0,
      '/hides.md': 3,
      '/shows.md': 0,
    })
  })

  test('any version of a group names it', async () => {
    const { ask } = await history()
    const { memories: tree } = await ask('memories.tree', {})
    const { memoryId = '' } = tree.find(({ path }) => path === '/moved/a.md') ?? {}
    const { data } = await ask('memory.versions', { memoryId })
    const groups = await Promise.all(
      data.map(({ versionId }) => ask('timeline.group', { ...all, versionId })),
    )
    expect(new Set(groups.map(({ group }) => group.versionId)).size).toBe(1)
  })
})

describe('sessions', () => {
  test('are listed by session or actor, and found by a part of their name', async () => {
    const { ask } = await history()
    const names = async (by: 'session' | 'actor', query?: string) =>
      (await ask('sessions.list', { by, query })).data.map(({ session: of, actor, versions }) => [
        by === 'session' ? of : actor?.id,
        versions,
      ])
    expect(await names('session')).toEqual([
      ['s-1', 4],
      ['s-2', 1],
    ])
    expect(await names('actor')).toEqual([
      ['anna', 1],
      ['s-1', 4],
      ['s-2', 1],
    ])
    expect(await names('session', 'S-2')).toEqual([['s-2', 1]])
  })

  test('one is undone as it was displayed', async () => {
    const { store, ask } = await history()
    const { data } = await ask('sessions.list', { by: 'session', query: 's-1' })
    const { versionId = '' } = data[0] ?? {}
    const input = { versionId, by: 'session' as const }
    const before = await contentsOf(store)
    const { plan, steps, commit } = await ask('undo.plan', input)
    expect(commit).toBeUndefined()
    expect(await contentsOf(store)).toEqual(before)
    expect(steps.map(({ operation, before: was }) => [operation, was?.path])).toEqual([
      ['deleted', '/c.md'],
      ['deleted', '/moved/a.md'],
    ])
    const done = await ask('undo.run', { ...input, plan, reason: 'wrong' })
    expect(done.commit).toMatch(/^[0-9a-f]{40}$/)
    expect(await contentsOf(store)).toEqual({})
    const anna = (await ask('sessions.list', { by: 'actor', query: 'anna' })).data[0]?.versionId
    const noSession = ask('undo.plan', { versionId: anna ?? '', by: 'session' })
    await expect(noSession).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('restore', () => {
  test('brings a version or a moment back, and a deleted memory to its last text', async () => {
    const { store, ask } = await history()
    const { deleted } = await ask('memories.tree', { deleted: true })
    const { memoryId = '' } = deleted[0] ?? {}
    const { plan } = await ask('restore.plan', { memoryId })
    await ask('restore.run', { memoryId, plan })
    expect((await contentsOf(store))['/b.md']).toBe('b')
    const { memories } = await ask('memories.tree', {})
    const moved = memories.find(({ path }) => path === '/moved/a.md')?.memoryId ?? ''
    const { data } = await ask('memory.versions', { memoryId: moved })
    const { versionId = '' } = data.at(-1) ?? {}
    const earlier = { memoryId: moved, versionId }
    const shown = await ask('restore.plan', earlier)
    expect(shown.steps).toMatchObject([{ after: { path: '/a.md', content: 'a' } }])
    await ask('restore.run', { ...earlier, plan: shown.plan })
    expect((await contentsOf(store))['/a.md']).toBe('a')
  })
})

describe('merges', () => {
  test('are listed until they are reviewed, with both inputs', { tags: 'slow' }, async () => {
    const url = bareRemote()
    const first = await firstClone(url)
    await first.store.as(author).write('/a.md', 'one\ntwo\nthree\n')
    await sync(first)
    const second = await joinClone(first, url)
    await first.store.as(author).write('/a.md', 'ONE\ntwo\nthree\n')
    await second.store.as(author).write('/a.md', 'one\ntwo\nTHREE\n')
    await sync(first)
    await sync(second)
    const ask = askerOf(memberSubject(consoleUser(second.store)))
    const { merges } = await ask('merges.list', {})
    expect(merges).toMatchObject([{ path: '/a.md', isSeen: false, combination: 'combined' }])
    expect((await ask('review.pending', {})).merges).toHaveLength(1)
    const { versionId = '' } = merges[0] ?? {}
    const shown = await ask('merges.show', { versionId })
    expect(new Set(shown.inputs.map(({ content }) => content))).toEqual(
      new Set(['ONE\ntwo\nthree\n', 'one\ntwo\nTHREE\n']),
    )
    expect(shown.result.content).toBe('ONE\ntwo\nTHREE\n')
    await ask('merges.looked', { versionIds: [versionId, 'memver_other'] })
    expect((await ask('merges.list', {})).merges[0]?.isSeen).toBe(true)
    expect((await ask('review.pending', {})).merges).toEqual([])
    const other = ask('merges.show', { versionId: 'memver_other' })
    await expect(other).rejects.toMatchObject({ code: 'not_found' })
  })

  test(
    'are settled by either side, and only on the text that was seen',
    { tags: 'slow' },
    async () => {
      const { second, first, ask, versionId } = await overlapping()
      const { settling } = await ask('merges.show', { versionId })
      const [ours, theirs] = ['one\nzwei\nthree\nFOUR\n', 'one\nTWO\nthree\nFOUR\n']
      expect(settling).toMatchObject({
        ours: { isThisDevice: true, text: { path: '/a.md', content: ours } },
        theirs: { isThisDevice: false, text: { path: '/a.md', content: theirs } },
      })
      const expectedSha256 = settling?.sha256 ?? ''
      await second.store.as(author).append('/a.md', 'five')
      const choice = { keep: 'ours' } as const
      const stale = ask('merges.settle', { versionId, choice, expectedSha256 })
      await expect(stale).rejects.toMatchObject({ code: 'precondition_failed' })
      expect((await ask('review.pending', {})).merges).toHaveLength(1)
      const again = (await ask('merges.show', { versionId })).settling?.sha256 ?? ''
      const settled = await ask('merges.settle', { versionId, choice, expectedSha256: again })
      expect((await contentsOf(second.store))['/a.md']).toBe(`${ours}five\n`)
      expect((await ask('review.pending', {})).merges).toEqual([])
      const { data } = await second.store.history.versions({ limit: 1 })
      expect(data).toMatchObject([{ commit: settled.commit, reason: 'Kept one side of a merge' }])
      await sync(second)
      await sync(first)
      expect((await contentsOf(first.store))['/a.md']).toBe(`${ours}five\n`)
    },
  )

  test('that were edited in the same lines since are not settled', { tags: 'slow' }, async () => {
    const { second, ask, versionId } = await overlapping()
    await second.store.as(author).edit('/a.md', (now) => now.replace('zwei', 'deux'))
    const { settling } = await ask('merges.show', { versionId })
    expect(settling).toMatchObject({ ours: { text: undefined }, theirs: { text: undefined } })
    const expectedSha256 = settling?.sha256 ?? ''
    const kept = ask('merges.settle', { versionId, choice: { keep: 'ours' }, expectedSha256 })
    await expect(kept).rejects.toMatchObject({ code: 'precondition_failed' })
    const choice = { content: 'mine\n' }
    await ask('merges.settle', { versionId, choice, expectedSha256 })
    expect((await contentsOf(second.store))['/a.md']).toBe('mine\n')
  })

  test(
    'are settled at the path to which another process moved the memory',
    { tags: 'slow' },
    async () => {
      const { second, versionId } = await overlapping()
      const open = await readMerge(second.store, await second.store.history.conflicts(), versionId)
      await second.store.as(author).move('/a.md', '/moved.md')
      await settleMerge(second.store.as(author), open, { choice: { keep: 'ours' } })
      expect(Object.keys(await contentsOf(second.store))).toEqual(['/moved.md'])
    },
  )

  test('keep both without another version', { tags: 'slow' }, async () => {
    const { second, ask, versionId } = await overlapping()
    const { head } = await second.store.summary()
    const expectedSha256 = (await ask('merges.show', { versionId })).settling?.sha256 ?? ''
    const settle = { versionId, choice: { keep: 'both' }, expectedSha256 } as const
    expect((await ask('merges.settle', settle)).commit).toBeUndefined()
    expect((await ask('review.pending', {})).merges).toEqual([])
    expect((await second.store.summary()).head).toBe(head)
  })
})

/** A merge of which both sides changed line 2, and the other one line 4 too. */
async function overlapping() {
  const url = bareRemote()
  const first = await firstClone(url)
  await first.store.as(author).write('/a.md', 'one\ntwo\nthree\nfour\n')
  await sync(first)
  const second = await joinClone(first, url)
  await first.store.as(author).write('/a.md', 'one\nTWO\nthree\nFOUR\n')
  await second.store.as(author).write('/a.md', 'one\nzwei\nthree\nfour\n')
  await sync(first)
  await sync(second)
  const ask = askerOf(memberSubject(consoleUser(second.store)))
  const { versionId = '' } = (await ask('merges.list', {})).merges[0] ?? {}
  return { first, second, ask, versionId }
}
