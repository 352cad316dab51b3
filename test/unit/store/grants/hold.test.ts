// The holder of a grant: opens a store that it has nothing of, reads and changes memories without
// the earlier history, and syncs. What it does not have is refused; what it fetches is verified.

import { describe, expect, test } from 'vitest'
import {
  type Change,
  type GrantedOptions,
  type MemoryStore,
  openGranted,
} from '../../../../src/index.ts'
import {
  bareRemote,
  type Clone,
  firstClone,
  joinClone,
  put,
  sync,
} from '../../../support/clones.ts'
import { environment } from '../../../support/faulty-remotes.ts'
import { fetching, on, packet, result, startGitServer } from '../../../support/git-server.ts'
import { author, contentsOf, leastStretch } from '../../../support/stores.ts'
import { git, temporaryDirectory } from '../../../support/temporary.ts'

const agent = { actor: { type: 'session', id: 'agent-2' }, session: 'agent-2' } as const

interface World {
  readonly url: string
  readonly granter: Clone
  readonly grant: string
  readonly grantId: string
}

/** A store of some commits and a grant. */
async function given(role: 'writer' | 'reader' = 'writer'): Promise<World> {
  const url = bareRemote()
  const granter = await firstClone(url)
  for (let n = 0; n < 8; n += 1) await put(granter, `/notes/${n}.md`, `text ${n}\n`)
  await granter.store.as(author).apply([{ type: 'delete', path: '/notes/7.md' }])
  await sync(granter)
  const { text, grantId } = await granter.store.as(author).grants.give({ role, label: 'ci' })
  return { url, granter, grant: text, grantId }
}

function places(): Pick<GrantedOptions, 'directory' | 'stateDirectory'> {
  const root = temporaryDirectory()
  return { directory: `${root}/store`, stateDirectory: `${root}/state` }
}

function hold(
  { url, grant }: Pick<World, 'url' | 'grant'>,
  at: Partial<GrantedOptions> = {},
): Promise<MemoryStore> {
  return openGranted({ url, grant, stretch: leastStretch, ...places(), ...at })
}

function write(store: MemoryStore, changes: readonly Change[]): Promise<unknown> {
  return store.as(agent).apply(changes)
}

function syncStore(store: MemoryStore) {
  return store.as(agent).sync()
}

describe('a grant on a machine that has nothing', () => {
  test('opens the store without its history, and verifies it', async () => {
    const world = await given()
    const at = places()
    const store = await hold(world, at)
    expect(await contentsOf(store)).toEqual(await contentsOf(world.granter.store))
    const log = git(['log', '--oneline', 'main'], at.directory).trim().split('\n')
    expect(log).toHaveLength(1)
    git(['fsck', '--strict'], at.directory)
    const { beginning, role, deviceId, remotes } = await store.status()
    expect(remotes[0]?.unsent).toBe(0)
    expect(beginning?.deviceId).toBe((await world.granter.store.status()).deviceId)
    expect([role, deviceId]).toEqual(['writer', world.grantId])
    await store.close()
  })

  test('changes memories, which a clone verifies from genesis', async () => {
    const world = await given()
    const store = await hold(world)
    await write(store, [
      { type: 'create', path: '/new.md', content: 'by the holder' },
      { type: 'edit', path: '/notes/1.md', edit: () => 'changed' },
    ])
    await write(store, [{ type: 'delete', path: '/notes/2.md' }])
    await syncStore(store)
    await sync(world.granter)
    expect(await contentsOf(world.granter.store)).toEqual(await contentsOf(store))
    const fresh = await joinClone(world.granter, world.url)
    await fresh.store.maintenance.verify()
    expect(await contentsOf(fresh.store)).toEqual(await contentsOf(store))
    const [version] = (await fresh.store.history.versions({ session: 'agent-2' })).data
    expect(version?.deviceId).toBe(world.grantId)
    await store.close()
  })

  test('opens again from its directory, without the remote', async () => {
    const world = await given()
    const at = places()
    const store = await hold(world, at)
    await write(store, [{ type: 'create', path: '/kept.md', content: 'unsent' }])
    await store.close()
    const again = await hold({ ...world, url: '/nowhere.git' }, at)
    expect((await again.read('/kept.md'))?.content).toBe('unsent')
    expect((await again.status()).beginning).toBeDefined()
    await again.close()
  })

  test('takes what others write, and merges with them', async () => {
    const world = await given()
    const [one, two] = [await hold(world), await hold(world)]
    for (const store of [one, two]) {
      const name = store === one ? 'one' : 'two'
      await write(store, [{ type: 'create', path: `/of-${name}.md`, content: name }])
      const edit = (text: string): string => `${text}${name}\n`
      await write(store, [{ type: 'edit', path: '/notes/0.md', edit }])
    }
    await put(world.granter, '/notes/3.md', 'by the granter')
    await syncStore(one)
    await syncStore(two)
    await sync(world.granter)
    await syncStore(one)
    await syncStore(two)
    await sync(world.granter)
    const contents = await contentsOf(world.granter.store)
    expect(await contentsOf(one)).toEqual(contents)
    expect(await contentsOf(two)).toEqual(contents)
    expect(contents['/notes/0.md']).toContain('one')
    expect(contents['/notes/0.md']).toContain('two')
    const fresh = await joinClone(world.granter, world.url)
    await fresh.store.maintenance.verify()
    expect(await contentsOf(fresh.store)).toEqual(contents)
    await one.close()
    await two.close()
  })

  test('reads on after the keys have changed', async () => {
    const world = await given()
    const store = await hold(world)
    await world.granter.store.as(author).keys.rotate({ reseal: true })
    await put(world.granter, '/after.md', 'sealed anew')
    await sync(world.granter)
    await syncStore(store)
    expect((await store.read('/after.md'))?.content).toBe('sealed anew')
    await store.close()
  })

  test('reads on after another process of its clone has fetched new keys', async () => {
    const world = await given()
    const at = places()
    const store = await hold(world, at)
    await world.granter.store.as(author).keys.rotate()
    await put(world.granter, '/after.md', 'under new keys')
    await sync(world.granter)
    const other = await hold(world, at)
    await syncStore(other)
    await other.close()
    expect((await store.read('/after.md'))?.content).toBe('under new keys')
    await write(store, [{ type: 'create', path: '/mine.md', content: 'mine' }])
    await store.close()
  })

  test('takes new keys by two processes of its clone at once', async () => {
    const world = await given()
    const at = places()
    const stores = [await hold(world, at), await hold(world, at), await hold(world, at)]
    await world.granter.store.as(author).keys.rotate()
    await sync(world.granter)
    await Promise.all(stores.map(syncStore))
    for (const store of stores) await store.close()
  })

  test('waits for the keys of its granter while another owner has changed them', async () => {
    const world = await given()
    const store = await hold(world)
    const owner = await joinClone(world.granter, world.url)
    await owner.store.as(author).keys.rotate()
    await sync(owner)
    await expect(syncStore(store)).rejects.toMatchObject({
      code: 'wrong_key',
      message: expect.stringContaining('once that device has synced'),
    })
    await sync(world.granter)
    await syncStore(store)
    await store.close()
  })

  test('ends, and reports unsent changes', async () => {
    const world = await given()
    const at = places()
    const store = await hold(world, at)
    await write(store, [{ type: 'create', path: '/unsent.md', content: 'unsent' }])
    await world.granter.store.as(author).grants.end([world.grantId])
    const over = { code: 'grant_expired' }
    await expect(syncStore(store)).rejects.toMatchObject(over)
    // It can still be copied from here.
    expect((await store.read('/unsent.md'))?.content).toBe('unsent')
    const change = write(store, [{ type: 'delete', path: '/notes/0.md' }])
    await expect(change).rejects.toMatchObject(over)
    await store.close()
    const again = await hold(world, at)
    expect((await again.read('/unsent.md'))?.content).toBe('unsent')
    const later = write(again, [{ type: 'delete', path: '/notes/0.md' }])
    await expect(later).rejects.toMatchObject(over)
    await again.close()
    await expect(hold(world)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('waits for keys that a remote does not show for it, and keeps unsent changes', async () => {
    const world = await given()
    const at = places()
    const store = await hold(world, at)
    await write(store, [{ type: 'create', path: '/unsent.md', content: 'unsent' }])
    // Otherwise the granter would keep no wraps any more.
    const owner = world.granter.store.as(author)
    await owner.grants.give({ role: 'writer', label: 'other' })
    await owner.grants.end([world.grantId])
    await owner.keys.rotate()
    await sync(world.granter)
    const waits = { code: 'wrong_key', message: expect.stringContaining('are kept') }
    await expect(syncStore(store)).rejects.toMatchObject(waits)
    await store.close()
    const again = await hold(world, at)
    expect((await again.read('/unsent.md'))?.content).toBe('unsent')
    await write(again, [{ type: 'delete', path: '/notes/0.md' }])
    await expect(syncStore(again)).rejects.toMatchObject(waits)
    await again.close()
  })

  test('has ended where nothing is unsent', async () => {
    const world = await given()
    const at = places()
    const store = await hold(world, at)
    await world.granter.store.as(author).grants.end([world.grantId])
    await syncStore(store)
    const change = write(store, [{ type: 'delete', path: '/notes/0.md' }])
    await expect(change).rejects.toMatchObject({ code: 'grant_expired' })
    await store.close()
    await expect(hold(world, at)).rejects.toMatchObject({ code: 'grant_expired' })
  })

  test('ends by time', async () => {
    const world = await given()
    const clock = (): number => Date.now() + 9 * 3_600_000
    await expect(hold(world, { clock })).rejects.toMatchObject({ code: 'grant_expired' })
  })

  test('that is over by time still sends and shows earlier changes', async () => {
    const world = await given()
    const at = places()
    const [later, over] = [Date.now() + 9 * 3_600_000, { code: 'grant_expired' }]
    const first = await hold(world, at)
    await write(first, [{ type: 'create', path: '/unsent.md', content: 'unsent' }])
    await first.close()
    const store = await hold(world, { ...at, clock: () => later })
    expect((await store.read('/unsent.md'))?.content).toBe('unsent')
    await expect(write(store, [{ type: 'delete', path: '/unsent.md' }])).rejects.toMatchObject(over)
    await syncStore(store)
    await store.close()
    await expect(hold(world, { ...at, clock: () => later })).rejects.toMatchObject(over)
    await sync(world.granter)
    expect((await world.granter.store.read('/unsent.md'))?.content).toBe('unsent')
  })

  test('of a reader changes nothing', async () => {
    const world = await given('reader')
    const store = await hold(world)
    const change = write(store, [{ type: 'delete', path: '/notes/0.md' }])
    await expect(change).rejects.toMatchObject({ code: 'permission_denied' })
    await put(world.granter, '/more.md')
    await sync(world.granter)
    await syncStore(store)
    expect(await store.read('/more.md')).toBeDefined()
    await store.close()
  })

  test('needs the earlier history for older versions, and fetches it', async () => {
    const world = await given()
    const store = await hold(world)
    const needed = { code: 'history_needed' }
    expect((await store.history.versions()).data).toEqual([])
    const { memoryId = '' } = (await store.read('/notes/0.md')) ?? {}
    await expect(store.history.blame('/notes/0.md')).rejects.toMatchObject(needed)
    await expect(store.at({ time: Date.now() - 86_400_000 })).rejects.toMatchObject(needed)
    await expect(store.maintenance.verify()).rejects.toMatchObject(needed)
    await expect(store.maintenance.report()).rejects.toMatchObject(needed)
    await expect(store.maintenance.findResidue()).rejects.toMatchObject(needed)
    await write(store, [{ type: 'edit', path: '/notes/0.md', edit: () => 'new' }])
    const { data } = await store.history.versions({ memoryId })
    expect(data).toHaveLength(1)
    expect(data[0]?.session).toBe('agent-2')
    await store.as(agent).undo?.({ session: 'agent-2' })
    await syncStore(store)
    const commits = await store.history.fetchAll()
    expect(commits).toBe(Number(git(['rev-list', '--count', 'main'], world.url)))
    await store.maintenance.verify()
    expect((await store.status()).beginning).toBeUndefined()
    const [granter] = await store.devices.list()
    expect(granter?.lastRecord).toBeGreaterThan(0)
    expect((await store.history.versions({ memoryId })).data.length).toBeGreaterThan(1)
    await store.close()
  })
})

test('begins once more if the remote has moved between two of its requests', async () => {
  const { url: repository, grant } = await given()
  const server = await startGitServer({ repository })
  const { url } = server
  const moved = result('git-upload-pack', packet('ERR upload-pack: not our ref'))
  server.fault = on(fetching, (response) => {
    server.fault = undefined
    moved(response)
  })
  const held = await openGranted({ ...places(), grant, url, access: { environment } })
  expect((await held.read('/notes/1.md'))?.content).toBe('text 1\n')
  await held.close()
})
