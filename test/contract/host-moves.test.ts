// A host moves from a data directory to servers that share stores, and back, by its backup: heads,
// ids, keys and sessions are the same.

import { rmSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { backupHostOf, restoreHostTo } from '../../src/hosting/backup.ts'
import { DataDirectory } from '../../src/hosting/data-directory.ts'
import type { HostBackend, HostNotice } from '../../src/hosting/host-backend.ts'
import { type Host, openHostOn } from '../../src/hosting/host.ts'
import { generateIdentity } from '../../src/index.ts'
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

async function expectSame(host: Host, moved: Moved): Promise<void> {
  const { storeId, head } = moved
  const caller = await callerOf(host, moved.token)
  const session = await callerOf(host, moved.sessionToken)
  const { data } = await host.list(caller, { limit: 20 })
  expect(data.map(({ name }) => name).toSorted()).toEqual(['notes', 'second'])
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
    const host = await openHostOn(await open(), { operatorSecret, notice })
    await expectSame(host, moved)
    const caller = await callerOf(host, moved.sessionToken)
    const head = await host.use(caller, moved.storeId, async (store, me) => {
      await me.write('/e.md', 'written after the move')
      return (await store.summary()).head
    })
    const running = backupHostOf(await open(), back, notice)
    expect(await running, 'while a server runs').toEqual(report)
    await host.close()

    rmSync(place.dataDirectory, { recursive: true })
    expect(await restoreHostTo(back, new DataDirectory(place), notice)).toEqual(report)
    const again = await newHost({}, place)
    await expectSame(again.host, { ...moved, head })
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
})
