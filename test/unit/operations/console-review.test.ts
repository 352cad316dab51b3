// What the console lists for a review: what others wrote since the last look, and that a look is
// remembered; and how an undo is taken back.

import { describe, expect, test } from 'vitest'
import { memberSubject } from '../../../src/operations/console/subject.ts'
import { bareRemote, firstClone, joinClone, sync } from '../../support/clones.ts'
import { session } from '../../support/console-store.ts'
import { askerOf, consoleUser, newConsole } from '../../support/console.ts'
import { contentsOf } from '../../support/stores.ts'

const anna = { actor: { type: 'user', id: 'anna' } } as const

async function written() {
  const made = await newConsole()
  const { store } = made
  await session(store, 's-1', 'first reason').write('/a.md', 'one\ntwo\n')
  await session(store, 's-1', 'second reason').write('/a.md', 'one\n2\nthree\n')
  await session(store, 's-2').write('/b.md', 'b\n')
  await store.as(anna).write('/own.md', 'by the user of this device\n')
  return made
}

describe('the review', () => {
  test('has a card for each session, newest first, with reasons and lines', async () => {
    const { ask } = await written()
    const { data, total } = await ask('review.list', {})
    expect(total).toBe(2)
    expect(data).toMatchObject([
      { kind: 'writer', group: { session: 's-2', reasons: [] } },
      {
        kind: 'writer',
        group: { session: 's-1', reasons: ['second reason', 'first reason'], since: undefined },
        memories: [{ path: '/a.md', operation: 'created', added: 3, removed: 0, hidden: 0 }],
      },
    ])
    expect(await ask('review.pending', {})).toEqual({ writers: 2, merges: [] })
  })

  test('shows of a kept session only what it wrote later', async () => {
    const { store, ask } = await written()
    const [, first] = (await ask('review.list', {})).data
    const versionId = first?.versionId ?? ''
    expect(await ask('review.keep', { versionIds: [versionId, 'memver_other'] })).toEqual({
      kept: 1,
      changed: 0,
    })
    expect((await ask('review.list', {})).data).toMatchObject([{ group: { session: 's-2' } }])
    // A link to a kept session shows all of it.
    const kept = await ask('review.show', { versionId })
    expect(kept).toMatchObject({ isReviewed: true, memories: [{ added: 3, removed: 0 }] })
    await session(store, 's-1').write('/a.md', 'one\n2\nthree\nfour\n')
    const { data } = await ask('review.list', {})
    expect(data).toMatchObject([
      { group: { session: 's-1', versions: 1 }, memories: [{ operation: 'modified', added: 1 }] },
      { group: { session: 's-2' } },
    ])
    const shown = await ask('review.show', { versionId })
    expect(shown).toMatchObject({ isReviewed: false, memories: [{ added: 1, removed: 0 }] })
    expect(shown.group.since).toBe(shown.group.versionId)
  })

  test('keeps all cards that were listed and no other', async () => {
    const { store, ask } = await written()
    const { versionIds } = await ask('review.list', { limit: 1 })
    await session(store, 's-3').write('/c.md', 'c')
    expect(await ask('review.keep', { versionIds })).toEqual({ kept: 2, changed: 0 })
    expect((await ask('review.list', {})).data).toMatchObject([{ group: { session: 's-3' } }])
  })

  test('keeps a card that has changed up to the shown version', async () => {
    const { store, ask } = await written()
    const { versionIds } = await ask('review.list', {})
    await session(store, 's-1').write('/later.md', 'later')
    expect(await ask('review.keep', { versionIds })).toEqual({ kept: 2, changed: 1 })
    expect((await ask('review.list', {})).data).toMatchObject([
      { group: { session: 's-1', versions: 1 }, memories: [{ path: '/later.md' }] },
    ])
  })

  test('lists what a sync brings of a kept session', async () => {
    const url = bareRemote()
    const first = await firstClone(url)
    await session(first.store, 's-1').write('/start.md', 'start')
    await sync(first)
    const second = await joinClone(first, url)
    const ask = askerOf(memberSubject(consoleUser(first.store)))
    // Earlier in the order of the history than the version that is kept.
    await session(second.store, 's-1').write('/elsewhere.md', 'poison')
    for (const text of ['1', '2', '3']) await session(first.store, 's-1').write('/here.md', text)
    const { versionIds } = await ask('review.list', {})
    expect(await ask('review.keep', { versionIds })).toEqual({ kept: 1, changed: 0 })
    await sync(second)
    await sync(first)
    const { data, versionIds: both } = await ask('review.list', {})
    expect(data.filter(({ kind }) => kind === 'writer')).toMatchObject([
      { group: { session: 's-1', versions: 1 }, memories: [{ path: '/elsewhere.md' }] },
    ])
    await ask('review.keep', { versionIds: both })
    expect((await ask('review.list', {})).total).toBe(0)
  })

  test('keeps concurrent versions of one session by one look', async () => {
    const url = bareRemote()
    const first = await firstClone(url)
    await sync(first)
    const second = await joinClone(first, url)
    await session(second.store, 's-1').write('/elsewhere.md', 'text')
    for (const text of ['1', '2', '3']) await session(first.store, 's-1').write('/here.md', text)
    await sync(second)
    await sync(first)
    const ask = askerOf(memberSubject(consoleUser(first.store)))
    const { data, versionIds } = await ask('review.list', {})
    expect(data).toMatchObject([{ group: { session: 's-1', versions: 4 } }])
    await session(second.store, 's-1').write('/later.md', 'later')
    await sync(second)
    await sync(first)
    expect(await ask('review.keep', { versionIds })).toEqual({ kept: 1, changed: 1 })
    expect((await ask('review.list', {})).data).toMatchObject([
      { group: { session: 's-1', versions: 1 }, memories: [{ path: '/later.md' }] },
    ])
  })

  test('continues page by page', async () => {
    const { ask } = await written()
    const first = await ask('review.list', { limit: 1 })
    const second = await ask('review.list', { limit: 1, after: first.nextPage })
    expect([...first.data, ...second.data]).toEqual((await ask('review.list', {})).data)
    expect(second.nextPage).toBeUndefined()
  })
})

describe('an undo', () => {
  test('needs no review any more, and is taken back by its own change', async () => {
    const { store, ask } = await written()
    const before = await contentsOf(store)
    const [, first] = (await ask('review.list', {})).data
    const undo = { versionId: first?.versionId ?? '', by: 'session' } as const
    const { plan } = await ask('undo.plan', undo)
    const done = await ask('undo.run', { ...undo, plan })
    expect(Object.keys(await contentsOf(store))).not.toContain('/a.md')
    // The console of this test writes as a session of its own.
    const cards = (await ask('review.list', {})).data
    expect(cards).toMatchObject([{ group: { session: 'agent-1' } }, { group: { session: 's-2' } }])
    const back = { versionId: done.versionId ?? '', by: 'change' } as const
    const again = await ask('undo.plan', back)
    expect(again.steps).toHaveLength(1)
    await ask('undo.run', { ...back, plan: again.plan })
    expect(await contentsOf(store)).toEqual(before)
  })

  test('leaves a card that it takes back only in part for a review', async () => {
    const { store, ask } = await newConsole()
    await session(store, 's-1').write('/a.md', 'poison\n')
    await store.as(anna).write('/b.md', 'one\n')
    await session(store, 's-1').write('/b.md', 'one\ntwo\n')
    const [card] = (await ask('review.list', {})).data
    const versionId = card?.versionId ?? ''
    const { createdAt } = await store.history.version(versionId)
    const late = { versionId, by: 'session', since: createdAt + 1 } as const
    const early = { versionId, by: 'session', until: createdAt - 1 } as const
    const sessionsOf = async () =>
      (await ask('review.list', {})).data.map((one) => one.kind === 'writer' && one.group.session)
    for (const undo of [late, early]) {
      const { plan } = await ask('undo.plan', undo)
      await ask('undo.run', { ...undo, plan })
      expect(await sessionsOf()).toContain('s-1')
    }
  })

  test('keeps the card of a memory that it leaves alone', async () => {
    const { store, ask } = await newConsole()
    await store.as(anna).write('/a.md', 'one\n')
    await session(store, 's-1').write('/a.md', 'poison\n')
    await store.as(anna).write('/a.md', 'poison and more\n')
    const [card] = (await ask('review.list', {})).data
    const undo = { versionId: card?.versionId ?? '', by: 'session' } as const
    const { plan } = await ask('undo.plan', undo)
    expect((await ask('undo.run', { ...undo, plan })).left).toHaveLength(1)
    expect((await ask('review.list', {})).data).toMatchObject([{ group: { session: 's-1' } }])
  })

  test('by an actor reviews no session of others', async () => {
    const { store, ask } = await newConsole()
    const bot = { type: 'api', id: 'bot' } as const
    await store.as({ actor: bot }).write('/alone.md', 'bot\n')
    await session(store, 's-1').write('/a.md', 'by s-1\n')
    await store.as({ actor: bot, session: 's-1' }).write('/b.md', 'bot in s-1\n')
    const { data } = await store.history.versions({ path: '/b.md' })
    const undo = { versionId: data[0]?.versionId ?? '', by: 'actor' } as const
    const { plan } = await ask('undo.plan', undo)
    await ask('undo.run', { ...undo, plan })
    const cards = (await ask('review.list', {})).data
    expect(cards).toMatchObject([{ group: { session: 'agent-1' } }, { group: { session: 's-1' } }])
  })

  test('names for what it leaves alone the version to restore', async () => {
    const { store, ask } = await newConsole()
    const { memories } = await store.as(anna).write('/a.md', 'one\ntwo\n')
    await session(store, 's-1').write('/a.md', 'one\n2\n')
    await store.as(anna).write('/a.md', 'one\n22\n')
    const { data } = await ask('review.list', {})
    const { left, steps } = await ask('undo.plan', {
      versionId: data[0]?.versionId ?? '',
      by: 'session',
    })
    expect(steps).toEqual([])
    expect(left).toMatchObject([{ reason: 'overlap', before: memories[0]?.versionId }])
  })
})
