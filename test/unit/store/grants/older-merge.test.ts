// The holder of a grant after a merge that is based on something older than its clone, as by a
// laptop that was closed for days: the sync fetches all of the history, verifies it from genesis,
// and continues.
// @module-tag slow

import { existsSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import type { MemoryStore, SyncReport } from '../../../../src/index.ts'
import { idOf, put, sync } from '../../../support/clones.ts'
import { environment } from '../../../support/faulty-remotes.ts'
import { answer, fetching, startGitServer } from '../../../support/git-server.ts'
import {
  create,
  type Floored,
  floored,
  forgeStart,
  hold,
  type HolderPlace,
  holderPlace,
  mainAt,
  moveMain,
  syncHolder,
  writeAs,
} from '../../../support/grant-holders.ts'
import { inState, otherText, remake, treeWith } from '../../../support/lying-granters.ts'
import { author, contentsOf } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

let world: Floored['world']
let older: Floored['older']
let at: HolderPlace
beforeEach(async () => {
  ;({ world, older } = await floored())
  at = holderPlace()
})

/** A device that was away for long has synced; the granter has not since. */
async function mergeOlder(path = '/older.md'): Promise<void> {
  await put(older, path)
  await sync(older)
}

/** What holders of the grant wrote, by path. */
async function pathsOf(store: MemoryStore): Promise<readonly string[]> {
  const { data } = await store.history.versions({ session: 'agent-2' })
  return data.map(({ path = '' }) => path).toSorted((a, b) => a.localeCompare(b))
}

/** The remote, the granter and these clones have the same memories, and all verifies. */
async function expectEqual(...stores: readonly MemoryStore[]): Promise<void> {
  for (const store of stores) await syncHolder(store)
  await sync(world.granter)
  for (const store of stores) {
    await syncHolder(store)
    expect(await contentsOf(store)).toEqual(await contentsOf(world.granter.store))
    expect((await store.status()).head).toBe(mainAt(world))
  }
  await world.granter.store.maintenance.verify()
}

test('fetches and verifies all of the history, and sends unsent changes once', async () => {
  const held = await hold(world, at)
  await writeAs(held, create('/one.md'))
  await writeAs(held, { type: 'edit', path: '/d.md', edit: (text) => `${text}\nmore` })
  await mergeOlder()
  const report = await syncHolder(held)
  expect(report.begunAnew).toBeUndefined()
  expect(report.received.commits).toBeGreaterThan(0)
  expect(await contentsOf(held)).toMatchObject({
    '/older.md': '/older.md',
    '/one.md': '/one.md',
    '/d.md': 'text 59\nmore',
  })
  expect((await held.status()).beginning).toBeUndefined()
  await held.maintenance.verify()
  await expectEqual(held)
  expect(await pathsOf(world.granter.store)).toEqual(['/d.md', '/one.md'])
  const commits = Number(git(['rev-list', '--count', 'main'], world.url))
  expect(await held.history.fetchAll()).toBe(commits)
  await held.close()
  const again = await hold(world, at)
  expect((await again.status()).beginning).toBeUndefined()
  await writeAs(again, create('/later.md'))
  await mergeOlder('/older-2.md')
  await expectEqual(again)
  git(['fsck', '--strict'], at.directory)
  await again.close()
})

test('other handles of the clone go on, whatever they have read of it', async () => {
  await (await hold(world, at)).close()
  const [one, read, unread] = [await hold(world, at), await hold(world, at), await hold(world, at)]
  await read.history.versions({ path: '/d.md' })
  for (const [n, store] of [one, read, unread].entries()) await writeAs(store, create(`/${n}.md`))
  await mergeOlder()
  await syncHolder(one)
  for (const store of [read, unread]) {
    expect((await store.read('/older.md'))?.content).toBe('/older.md')
    expect(await pathsOf(store)).toEqual(expect.arrayContaining(['/0.md', '/1.md', '/2.md']))
    expect((await store.status()).beginning).toBeUndefined()
    await writeAs(store, create(store === read ? '/3.md' : '/4.md'))
  }
  await expectEqual(one, read, unread)
  for (const store of [one, read, unread]) await store.close()
})

test('handles that sync at once write nothing twice', async () => {
  const stores = [await hold(world, at), await hold(world, at), await hold(world, at)]
  for (const [n, store] of stores.entries()) await writeAs(store, create(`/${n}.md`))
  await mergeOlder()
  await Promise.all(stores.map((store): Promise<SyncReport> => syncHolder(store)))
  await expectEqual(...stores)
  expect(await pathsOf(world.granter.store)).toEqual(['/0.md', '/1.md', '/2.md'])
  for (const store of stores) await store.close()
})

test('an idle handle survives a fetch of all by another one', async () => {
  await (await hold(world, at)).close()
  const [one, idle] = [await hold(world, at), await hold(world, at)]
  await one.history.fetchAll()
  expect((await idle.status()).beginning).toBeDefined()
  expect(await pathsOf(idle)).toEqual([])
  await writeAs(idle, create('/idle.md'))
  await mergeOlder()
  await syncHolder(idle)
  expect((await idle.status()).beginning).toBeUndefined()
  await expectEqual(one, idle)
  await one.close()
  await idle.close()
})

test('a sync in the background does so, too', async () => {
  const held = await hold(world, at)
  await mergeOlder()
  const failures: unknown[] = []
  const reports: SyncReport[] = []
  const sending = held.syncAutomatically({
    author: { actor: { type: 'session', id: 'agent-2' } },
    report: (_, error) => {
      if (error !== undefined) failures.push(error)
    },
    synced: (report) => void reports.push(report),
  })
  await writeAs(held, create('/one.md'))
  expect(await sending.finish()).toEqual([])
  expect(failures).toEqual([])
  expect(reports.at(-1)?.sent.commits).toBeGreaterThan(0)
  await expectEqual(held)
  await held.close()
})

test('changes nothing once it is cancelled, and continues in the next process', async () => {
  const held = await hold(world, at)
  await writeAs(held, create('/one.md'))
  await mergeOlder()
  const { head } = await held.status()
  const controller = new AbortController()
  const progress = (): void => controller.abort()
  const cancelled = held.as(author).sync({ signal: controller.signal, progress })
  await expect(cancelled).rejects.toMatchObject({ code: 'cancelled' })
  const { head: after, beginning } = await held.status()
  expect([after, beginning === undefined]).toEqual([head, false])
  await held.close()
  const again = await hold(world, at)
  await expectEqual(again)
  expect(await pathsOf(world.granter.store)).toEqual(['/one.md'])
  await again.close()
})

test('names a device that has described a false state', async () => {
  forgeStart(world, (start) => ({
    ...start,
    state: {
      ...start.state,
      memories: start.state.memories.map(({ memoryId, value }) => {
        return { memoryId, value: value && { ...value, created: value.created - 1 } }
      }),
    },
  }))
  const held = await hold(world, at)
  await writeAs(held, create('/one.md'))
  await mergeOlder()
  const { head } = await held.status()
  await expect(syncHolder(held)).rejects.toMatchObject({ code: 'baseline_false' })
  expect((await held.status()).head).toBe(head)
  expect((await held.read('/one.md'))?.content).toBe('/one.md')
  await held.close()
})

test('names a device that has shown a text of its own as that of another one', async () => {
  const honest = mainAt(world)
  const { before, after, change } = otherText(world, '/d.md', 'evil')
  const tree = git(['rev-parse', `${honest}^{tree}`], world.url).trim()
  const forged = remake(world, honest, { tree: treeWith(world, tree, before, after) })
  moveMain(world, forged)
  forgeStart(world, (start) => {
    const shown = { commit: forged, tree: treeWith(world, tree, before, after) }
    return inState(() => shown)(change(start))
  })
  const held = await hold(world, at)
  await writeAs(held, create('/one.md'))
  expect((await held.read('/d.md'))?.content).toBe('evil')
  moveMain(world, honest)
  await mergeOlder()
  const merge = git(['cat-file', 'commit', mainAt(world)], world.url)
  const parents = [...merge.matchAll(/^parent (\S+)$/gm)].map(([, oid = '']) => oid)
  const merged = treeWith(world, /^tree (\S+)/.exec(merge)?.[1] ?? '', before, after)
  const under = parents.map((oid) => (oid === honest ? forged : oid))
  expect(under).toContain(forged)
  moveMain(world, remake(world, mainAt(world), { tree: merged, parents: under }))
  const { head } = await held.status()
  const error = await syncHolder(held).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'baseline_false', cause: { code: 'tree_mismatch' } })
  expect(String(error)).toContain(idOf(world.granter))
  expect((await held.status()).head).toBe(head)
  expect((await held.read('/one.md'))?.content).toBe('/one.md')
  await held.close()
})

test('refuses a head that lacks what the remote has shown, and keeps unsent changes', async () => {
  const held = await hold(world, at)
  const before = mainAt(world)
  await put(world.granter, '/shown.md')
  await sync(world.granter)
  await syncHolder(held)
  await writeAs(held, create('/one.md'))
  moveMain(world, before)
  await mergeOlder()
  await expect(syncHolder(held)).rejects.toMatchObject({ code: 'rolled_back' })
  expect((await held.status()).beginning).toBeDefined()
  expect((await held.read('/one.md'))?.content).toBe('/one.md')
  await held.close()
})

test('explains a failure, after which the next sync continues', async () => {
  const server = await startGitServer({ repository: world.url })
  const { url } = server
  const held = await hold({ ...world, url }, { ...at, access: { environment } })
  await writeAs(held, create('/one.md'))
  await mergeOlder()
  const { head } = await held.status()
  // After the newest commits, those down to the state, and those down to the floor.
  let fetches = 0
  server.fault = (request, response) => {
    if (!fetching.test(`${request.method} ${request.url}`)) return false
    fetches += 1
    if (fetches === 4) answer(500, 'no')(response)
    return fetches === 4
  }
  await expect(syncHolder(held)).rejects.toThrow(/needs all of the history: .*Unsent .* are kept/)
  expect([fetches, (await held.status()).head]).toEqual([4, head])
  server.fault = undefined
  await expectEqual(held)
  expect(await pathsOf(world.granter.store)).toEqual(['/one.md'])
  await held.close()
})

test('a new holder waits for the next sync of the granter, and no longer', async () => {
  await put(world.granter, '/newest.md')
  // Its start is not old in the sync after the merge.
  await sync(world.granter)
  await mergeOlder()
  await expect(hold(world)).rejects.toMatchObject({ code: 'history_needed' })
  await sync(world.granter)
  await (await hold(world)).close()
})

test('a sync of an idle handle keeps what another one has fetched of all', async () => {
  await (await hold(world, at)).close()
  const [one, idle] = [await hold(world, at), await hold(world, at)]
  await one.history.fetchAll()
  await put(world.granter, '/new.md')
  await sync(world.granter)
  await writeAs(idle, create('/idle.md'))
  await syncHolder(idle)
  expect(existsSync(`${at.directory}/shallow`)).toBe(false)
  const again = await hold(world, at)
  expect((await again.status()).beginning).toBeUndefined()
  await writeAs(again, create('/later.md'))
  await expectEqual(one, idle, again)
  await again.maintenance.verify()
  for (const store of [one, idle, again]) await store.close()
})
