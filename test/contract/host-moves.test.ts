// A host moves from a data directory to servers that share stores, and back, by its backup: heads,
// ids, keys and sessions are the same.

import { rmSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend, type EnginePlaces } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { backupHostOf, restoreHostTo } from '../../src/hosting/backup.ts'
import { DataDirectory } from '../../src/hosting/data-directory.ts'
import type { HostBackend, HostNotice } from '../../src/hosting/host-backend.ts'
import { type Host, openHostOn } from '../../src/hosting/host.ts'
import { generateIdentity } from '../../src/index.ts'
import { bareRemote } from '../support/clones.ts'
import { callerOf, type HostPlace, newHost, newHostPlace, settings } from '../support/hosts.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { SharedPlace, VolatileBackend } from '../support/volatile-host.ts'

/** Opens a backend at an empty place, again and again. */
type Place = (identity: HostPlace) => Promise<() => Promise<HostBackend>>

interface Moved {
  readonly place: HostPlace
  readonly token: string
  readonly sessionToken: string
  readonly storeId: string
  readonly head: string
}

async function started(): Promise<Moved> {
  const { host, caller, token, place } = await newHost()
  const { storeId } = await host.create(caller, settings)
  await host.create(caller, { ...settings, name: 'second' })
  const head = await host.use(caller, storeId, async (store, me) => {
    for (const name of ['a', 'b', 'c']) await me.write(`/${name}.md`, `text of ${name}`)
    await store.maintenance.checkpoint()
    await me.write('/d.md', 'in the journal')
    await store.remotes.add('origin', '/nowhere/store.git')
    return (await store.summary()).head
  })
  const resource = { memory_store_id: storeId, access: 'read_write', instructions: null } as const
  const session = await host.createSession(caller, { resources: [resource], expiresIn: 3600 })
  await host.close()
  return { place, token, sessionToken: session.token, storeId, head }
}

async function expectSame(host: Host, moved: Moved, names = ['notes', 'second']): Promise<void> {
  const { storeId, head } = moved
  const caller = await callerOf(host, moved.token)
  const session = await callerOf(host, moved.sessionToken)
  const { data } = await host.list(caller, { limit: 20 })
  expect(data.map(({ name }) => name).toSorted()).toEqual(names)
  await host.use(session, storeId, async (store) => {
    expect((await store.summary()).head).toBe(head)
    expect((await store.read('/d.md'))?.content).toBe('in the journal')
    expect((await store.remotes.list()).map(({ name }) => name)).toEqual(['origin'])
    await store.maintenance.verify()
  })
}

function describeMoves(kind: string, newPlace: Place): void {
  test(`moves to ${kind} and back`, async () => {
    const moved = await started()
    const { place } = moved
    const notices: HostNotice[] = []
    const notice = (one: HostNotice): number => notices.push(one)
    const [to, back] = [`${temporaryDirectory()}/to`, `${temporaryDirectory()}/back`]
    const report = { stores: 2, failed: [] }
    expect(await backupHostOf(new DataDirectory(place), to, notice)).toEqual(report)
    const open = await newPlace(place)
    expect(await restoreHostTo(to, await open(), notice)).toEqual(report)
    const taken = restoreHostTo(to, await open(), notice)
    await expect(taken, 'it is no longer empty').rejects.toMatchObject({ code: 'invalid_input' })

    const { operatorSecret } = place
    const asked = await open()
    expect(await asked.hasRemote(moved.storeId)).toBe(true)
    await asked.close()
    const host = await openHostOn(await open(), { operatorSecret, notice })
    await expectSame(host, moved)
    const caller = await callerOf(host, moved.sessionToken)
    const head = await host.use(caller, moved.storeId, async (store, me) => {
      await me.write('/e.md', 'written after the move')
      return (await store.summary()).head
    })
    const key = await callerOf(host, moved.token)
    const { storeId } = await host.create(key, { ...settings, name: 'third' })
    await host.use(key, storeId, (_, me) => me.write('/new.md', 'in the log alone'))
    const running = backupHostOf(await open(), back, notice)
    const grown = { stores: 3, failed: [] }
    expect(await running, 'while a server runs').toEqual(grown)
    await host.close()

    rmSync(place.dataDirectory, { recursive: true })
    expect(await restoreHostTo(back, new DataDirectory(place), notice)).toEqual(grown)
    const again = await newHost({}, place)
    await expectSame(again.host, { ...moved, head }, ['notes', 'second', 'third'])
    const read = await again.host.use(key, storeId, (store) => store.read('/new.md'))
    expect(read?.content).toBe('in the log alone')
    await again.host.close()
    expect(notices).toEqual([])
  })

  test(`leaves nothing of another identity's backup in ${kind}`, async () => {
    const { place } = await started()
    const to = `${temporaryDirectory()}/to`
    await backupHostOf(new DataDirectory(place), to)
    const open = await newPlace({ ...newHostPlace(), identity: await generateIdentity() })
    await expect(restoreHostTo(to, await open())).rejects.toMatchObject({ code: 'wrong_key' })
    const backend = await open()
    expect(await backend.contents()).toBe('nothing')
    await backend.close()
  })
}

describe('a host', () => {
  describeMoves('rows', async ({ identity }) => {
    const shared = new SharedPlace()
    const place = { ...newHostPlace(), identity }
    return async () => new VolatileBackend(shared, place)
  })
})

const postgres = requires('postgres')

describe.skipIf(postgres.missing)(`a host with a database${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  const newPlaces = async ({ identity }: HostPlace) => {
    const url = server.database()
    await initEngine({ url, connections: 2 })
    const [replicaDirectory, stateDirectory] = [temporaryDirectory(), temporaryDirectory()]
    return { url, connections: 4, identity, replicaDirectory, stateDirectory }
  }

  describeMoves('a database', async (place) => {
    const places = await newPlaces(place)
    return () => EngineBackend.open(places)
  })

  test('is refused half filled and filled anew after a crash', async () => {
    const moved = await started()
    const { operatorSecret } = moved.place
    const to = `${temporaryDirectory()}/to`
    await backupHostOf(new DataDirectory(moved.place), to)
    const places = await newPlaces(moved.place)
    // Stops for good after its first store, as a killed process does.
    const dying = await EngineBackend.open(places)
    const restoreStore = dying.restoreStore.bind(dying)
    let count = 0
    const stopped = new Promise<void>((resolve) => {
      dying.restoreStore = async (storeId, from) => {
        count += 1
        if (count === 1) return restoreStore(storeId, from)
        resolve()
        return new Promise(() => undefined)
      }
    })
    void restoreHostTo(to, dying)
    await stopped

    const refused = openHostOn(await EngineBackend.open(places), { operatorSecret })
    await expect(refused).rejects.toThrow('half filled')
    const backup = backupHostOf(await EngineBackend.open(places), `${temporaryDirectory()}/none`)
    await expect(backup).rejects.toMatchObject({ code: 'not_found' })
    // A claim of a dead process ends by itself.
    server.sql('delete from gl_job', new URL(places.url).pathname.slice(1))
    const report = { stores: 2, failed: [] }
    expect(await restoreHostTo(to, await EngineBackend.open(places))).toEqual(report)
    const host = await openHostOn(await EngineBackend.open(places), { operatorSecret })
    await expectSame(host, moved)
    await host.close()
    await dying.close()
  })

  /** A host in a database, which can be put back to its present state. */
  async function shared() {
    const moved = await started()
    const { operatorSecret } = moved.place
    const to = `${temporaryDirectory()}/to`
    await backupHostOf(new DataDirectory(moved.place), to)
    const places = await newPlaces(moved.place)
    await restoreHostTo(to, await EngineBackend.open(places))
    const open = async (): Promise<Host> => {
      const own = { ...places, replicaDirectory: temporaryDirectory() }
      return openHostOn(await EngineBackend.open(own), { operatorSecret })
    }
    const name = new URL(places.url).pathname.slice(1)
    const tables = ['gl_store', 'gl_log', 'gl_part', 'gl_list', 'gl_record', 'gl_own']
    for (const table of tables) server.sql(`create table old_${table} as table ${table}`, name)
    const putBack = (without = ''): void => {
      for (const table of tables.filter((one) => one !== without)) {
        server.sql(`delete from ${table}; insert into ${table} select * from old_${table}`, name)
      }
      // A claim of a dead process ends by itself.
      server.sql('delete from gl_job', name)
    }
    return { moved, places, open, putBack, name }
  }

  const accept = async (places: EnginePlaces, storeId: string): Promise<void> => {
    const accepting = await EngineBackend.open(places)
    const report = await accepting.acceptRestored(() => undefined)
    expect(report).toEqual({ stores: 2, failed: [], unsynced: [storeId] })
    await accepting.close()
  }

  test('is refused when it was put back, and accepted once', async () => {
    const { moved, places, open, putBack } = await shared()
    const running = await open()
    const session = await callerOf(running, moved.sessionToken)
    await running.use(session, moved.storeId, async (_store, me) => {
      await me.write('/lost.md', 'lost')
      await me.write('/lost2.md', 'lost')
    })
    await running.createSession(await callerOf(running, moved.token), {
      resources: [{ memory_store_id: moved.storeId, access: 'read_only', instructions: null }],
      expiresIn: 60,
    })
    putBack('gl_own')
    const refused = running.authenticate(moved.token)
    await expect(refused).rejects.toThrow('gitlocket serve accept-restored')
    const reading = running.use(session, moved.storeId, (store) => store.read('/d.md'))
    await expect(reading).rejects.toMatchObject({ code: 'rolled_back' })

    await accept(places, moved.storeId)
    expect(await running.authenticate(moved.token), 'it need not be started again').toBeDefined()
    await running.close()
    const again = await open()
    await expectSame(again, moved)
    await again.use(await callerOf(again, moved.sessionToken), moved.storeId, async (store, me) => {
      await me.write('/new.md', 'new')
      expect(await store.read('/lost.md')).toBeUndefined()
      await store.maintenance.verify()
    })
    await again.close()
  })

  test('takes what it lost from a remote, and writes on', async () => {
    const { moved, places, open, putBack } = await shared()
    const { storeId } = moved
    const running = await open()
    const writer = await callerOf(running, moved.sessionToken)
    await running.use(writer, storeId, async (store, me) => {
      await me.write('/lost.md', 'lost')
      await store.remotes.remove('origin')
      await store.remotes.add('copy', bareRemote())
      await me.sync()
    })
    const remote = await running.use(writer, storeId, (store) => store.remotes.list())
    await running.close()
    // The anchors were put back with the rest: no server that starts notices.
    putBack()
    await accept(places, moved.storeId)
    const again = await open()
    await again.use(await callerOf(again, moved.sessionToken), storeId, async (store, me) => {
      await store.remotes.remove('origin')
      await store.remotes.add('copy', remote[0]?.url ?? '')
      await me.sync()
      expect((await store.read('/lost.md'))?.content).toBe('lost')
      await me.write('/newer.md', 'newer')
      await me.sync()
      await store.maintenance.verify()
    })
    await again.close()
  })

  test.each([
    ['openStore', 2],
    ['copyStore', 1],
    ['openRecords', 2],
  ] as const)('is accepted again after a crash before %s %i', async (step, last) => {
    const { moved, places, open, putBack, name } = await shared()
    const running = await open()
    const session = await callerOf(running, moved.sessionToken)
    await running.use(session, moved.storeId, (_store, me) => me.write('/lost.md', 'lost'))
    await running.close()
    putBack('gl_own')
    // Stops for good, as a killed process does.
    const dying = await EngineBackend.open({ ...places, replicaDirectory: temporaryDirectory() })
    let count = 0
    const stopped = new Promise<void>((resolve) => {
      const stop = (): Promise<never> => {
        resolve()
        return new Promise(() => undefined)
      }
      const call = dying[step].bind(dying)
      Object.assign(dying, {
        [step]: (...words: Parameters<typeof call>) => {
          count += 1
          return count === last ? stop() : Reflect.apply(call, dying, words)
        },
      })
    })
    void dying.acceptRestored(() => undefined)
    await stopped
    server.sql('delete from gl_job', name)
    await accept(places, moved.storeId)
    await accept(places, moved.storeId)
    const again = await open()
    await expectSame(again, moved)
    await again.close()
    await dying.close()
  })
})
