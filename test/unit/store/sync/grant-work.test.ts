// What a grant in force wrote on top of a removed device's commit is written again by the device
// that leaves both out, once and without that device's texts (decision 0077).

import { expect, test } from 'vitest'
import type { Change, MemoryStore, SyncReport } from '../../../../src/index.ts'
import { worldsOf } from '../../../support/clone-templates.ts'
import {
  alone,
  bareRemote,
  type Clone,
  firstClone,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import {
  create,
  giveMore,
  hold,
  holderAgent,
  syncHolder,
  writeAs,
} from '../../../support/grant-holders.ts'
import { author, contentsOf } from '../../../support/stores.ts'

/** Three devices in step, of which the second is removed and does not know it. */
const threeDevices = worldsOf(async (url) => {
  const owner = await firstClone(url)
  await put(owner, '/notes.md', 'one\ntwo\n')
  await put(owner, '/list.md', 'a\n')
  await sync(owner)
  const removed = await joinClone(owner, url)
  const third = await joinClone(owner, url)
  await syncAll([owner, removed, third])
  return { owner, removed, third }
})

interface Prepared {
  readonly owner: Clone
  readonly removed: Clone
  readonly third: Clone
  readonly remote: string
  readonly grantId: string
  /** A machine that begins with the grant, and has sent its changes when it resolves. */
  readonly send: (...changes: readonly (readonly Change[])[]) => Promise<void>
}

async function prepare(): Promise<Prepared> {
  const { owner, removed, third, remote } = await threeDevices()
  const { grant, grantId } = await giveMore(owner)
  await syncAll([owner, removed, third])
  await owner.store.as(author).devices.remove([idOf(removed)], alone)
  const send: Prepared['send'] = async (...changes) => {
    const store = await hold({ url: remote, grant })
    for (const some of changes) await writeAs(store, ...some)
    await syncHolder(store)
    await store.close()
  }
  return { owner, removed, third, remote, grantId, send }
}

const edit = (path: string, content: string): Change => ({
  type: 'edit',
  path,
  edit: () => content,
})

function whyLost({ grantWork }: SyncReport): readonly (readonly [string | undefined, string])[] {
  return grantWork.notAgain.map(({ path, why }) => [path, why])
}

async function versionsOf(store: MemoryStore, path: string): Promise<number> {
  return (await store.history.versions({ path })).data.length
}

test('a sandbox that has ended loses nothing, and its changes keep their author', async () => {
  const { owner, removed, third, grantId, send } = await prepare()
  await put(removed, '/late.md', 'evil\n')
  await sync(removed)
  await send(
    [create('/new.md', 'new\n')],
    [edit('/new.md', 'new\nnewer\n'), edit('/notes.md', 'one\ntwo\nthree\n')],
    [{ type: 'rename', path: '/list.md', to: '/lists/a.md' }],
    [create('/gone.md')],
    [{ type: 'delete', path: '/gone.md' }],
  )
  const report = await sync(owner)
  expect(report.late).toMatchObject([{ deviceId: idOf(removed) }])
  expect(report.grantWork).toMatchObject({ again: [{ grantId, changes: 5 }], notAgain: [] })
  const paths = report.grantWork.again.flatMap(({ memories }) => memories.map(({ path }) => path))
  expect(paths.toSorted()).toEqual(['/lists/a.md', '/new.md', '/notes.md'])
  await sync(third)
  for (const { store } of [owner, third]) {
    expect(await contentsOf(store)).toEqual({
      '/lists/a.md': 'a\n',
      '/new.md': 'new\nnewer\n',
      '/notes.md': 'one\ntwo\nthree\n',
    })
  }
  const { data: versions } = await owner.store.history.versions({ path: '/new.md' })
  expect(versions).toMatchObject([
    { createdBy: holderAgent.actor, session: 'agent-2', deviceId: idOf(owner) },
    { createdBy: holderAgent.actor, session: 'agent-2', deviceId: idOf(owner) },
  ])
  for (const { reason } of versions) {
    expect(reason).toMatch(new RegExp(`^Written again for ${grantId}, record [0-9a-f]{16}$`))
  }
  expect((await sync(owner)).grantWork).toEqual({ again: [], notAgain: [] })
})

test('a pull leaves it to the sync that also sends', async () => {
  const { owner, removed, send } = await prepare()
  await put(removed, '/late.md')
  await sync(removed)
  await send([create('/new.md')])
  const pulled = await owner.store.as(author).sync({ only: 'pull' })
  expect(pulled.late.length).toBe(2)
  expect(pulled.grantWork.again).toEqual([])
  await sync(owner)
  expect(await contentsOf(owner.store)).toHaveProperty('/new.md')
})

test('two devices that leave it out at the same time write nothing twice', async () => {
  const { owner, removed, third, send } = await prepare()
  await put(removed, '/late.md', 'evil\n')
  await sync(removed)
  await send(
    [create('/new.md', 'new\n')],
    [edit('/new.md', 'new\nnewer\n'), edit('/notes.md', 'one\ntwo\nthree\n')],
  )
  // Both know of the removal, by another remote.
  const other = bareRemote()
  for (const { store } of [owner, third]) await store.remotes.add('other', other)
  for (const { store } of [owner, third]) await store.as(author).sync({ remote: 'other' })
  const both = [owner, third].map(({ store }) => store.as(author).sync({ remote: 'origin' }))
  const reports = await Promise.all(both)
  expect(reports.some(({ grantWork }) => grantWork.again.length > 0)).toBe(true)
  for (const remote of ['origin', 'other', 'origin', 'other']) {
    for (const { store } of [owner, third]) await store.as(author).sync({ remote })
  }
  for (const { store } of [owner, third]) {
    expect(await contentsOf(store)).toEqual({
      '/list.md': 'a\n',
      '/new.md': 'new\nnewer\n',
      '/notes.md': 'one\ntwo\nthree\n',
    })
  }
})

test('a device that had taken all of it over writes nothing that has arrived', async () => {
  const { owner, removed, third, send } = await prepare()
  await put(removed, '/late.md', 'evil\n')
  await sync(removed)
  await send([create('/new.md', 'new\n')], [edit('/notes.md', 'one\ntwo\nthree\n')])
  await sync(third)
  expect(await contentsOf(third.store)).toHaveProperty('/late.md')
  await sync(owner)
  await put(owner, '/new.md', 'replaced\n')
  await put(owner, '/notes.md', 'one\ntwo\n')
  await sync(owner)
  const report = await sync(third)
  expect(report.late.map(({ deviceId }) => deviceId)).toEqual([idOf(removed)])
  expect(report.grantWork).toEqual({ again: [], notAgain: [] })
  expect(await contentsOf(third.store)).toEqual(await contentsOf(owner.store))
  expect(await contentsOf(third.store)).toEqual({
    '/list.md': 'a\n',
    '/new.md': 'replaced\n',
    '/notes.md': 'one\ntwo\n',
  })
})

test('a device that had taken it over writes it again if no other one has', async () => {
  const { owner, removed, third, remote, send } = await prepare()
  const other = bareRemote()
  await owner.store.remotes.add('other', other)
  await third.store.remotes.add('other', other)
  await owner.store.as(author).sync({ remote: 'other' })
  await put(removed, '/late.md', 'evil\n')
  await sync(removed)
  await send([create('/new.md', 'new\n')])
  await third.store.as(author).sync({ remote: 'origin' })
  const report = await third.store.as(author).sync({ remote: 'other' })
  expect(report.grantWork.again).toMatchObject([{ changes: 1 }])
  expect(report.sent.commits).toBe(1)
  await owner.store.as(author).sync({ remote: 'other' })
  expect(await contentsOf(owner.store)).toEqual({
    '/list.md': 'a\n',
    '/new.md': 'new\n',
    '/notes.md': 'one\ntwo\n',
  })
  const last = await owner.store.as(author).sync({ remote: 'origin' })
  expect(last.grantWork).toEqual({ again: [], notAgain: [] })
  expect(last.late.map(({ deviceId }) => deviceId)).toEqual([idOf(removed)])
  expect(remote).not.toBe(other)
})

test('an edit of the followed line is kept, next to that of the grant', async () => {
  const { owner, removed, send } = await prepare()
  await put(removed, '/late.md')
  await sync(removed)
  await send([edit('/notes.md', 'one\ntwo\nthree\n')])
  await put(owner, '/notes.md', 'zero\none\ntwo\n')
  await sync(owner)
  expect(await contentsOf(owner.store)).toMatchObject({
    '/notes.md': 'zero\none\ntwo\nthree\n',
  })
})

test('what the store does not take is listed, and the rest is written', async () => {
  const { owner, removed, grantId, send } = await prepare()
  await put(removed, '/late.md')
  await sync(removed)
  await send([create('/large.md', 'x'.repeat(2000))], [create('/small.md', 'small\n')])
  await owner.store.as(author).settings.update({ limits: { contentBytes: 1000, memories: 100 } })
  const report = await sync(owner)
  expect(whyLost(report)).toEqual([['/large.md', 'refused']])
  expect(report.grantWork.again).toMatchObject([{ grantId, changes: 1 }])
  expect(report.late.length).toBe(2)
  expect(await versionsOf(owner.store, '/small.md')).toBe(1)
})
