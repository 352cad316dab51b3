// Servers over a database: how old their reads may be, and which stores a round of syncs opens.

import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend, type EnginePlaces } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import {
  type HostPlace,
  newHost,
  newHostPlace,
  type OpenedHost,
  settings,
} from '../support/hosts.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const HOUR_MS = 3_600_000

describe.skipIf(postgres.missing)(`servers over a database${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  /** A place, and further servers of it. */
  async function newPlace(): Promise<(options?: Partial<EnginePlaces>) => HostPlace> {
    const url = server.database()
    await initEngine({ url, connections: 2 })
    const place = newHostPlace()
    return (options) => ({
      ...place,
      open: ({ identity }) => {
        const replicaDirectory = temporaryDirectory()
        return EngineBackend.open({ url, connections: 4, replicaDirectory, identity, ...options })
      },
    })
  }

  test('answer reads as old as they may be, and decide writes on the newest state', async () => {
    const placeOf = await newPlace()
    const exact = await newHost({}, placeOf())
    const { caller } = exact
    const [old, recent] = [
      await newHost({}, placeOf({ maxStaleMs: HOUR_MS })),
      await newHost({}, placeOf({ maxStaleMs: 1 })),
    ]
    const { storeId } = await exact.host.create(caller, settings)
    const write = ({ host }: OpenedHost, path: string): Promise<unknown> => {
      return host.use(caller, storeId, (_, me) =>
        me.apply([{ type: 'create', path, content: 'text' }]),
      )
    }
    const paths = ({ host }: OpenedHost): Promise<readonly string[]> => {
      return host.use(caller, storeId, async (store) => {
        return (await store.memories()).data.map(({ path }) => path)
      })
    }
    for (const one of [exact, old, recent]) expect(await paths(one)).toEqual([])
    await write(exact, '/a.md')
    expect(await paths(old)).toEqual([])
    await expect.poll(() => paths(recent)).toEqual(['/a.md'])
    await expect(write(old, '/a.md')).rejects.toMatchObject({ code: 'path_conflict' })
    await write(old, '/b.md')
    expect(await paths(old)).toEqual(['/a.md', '/b.md'])
    expect(await paths(exact)).toEqual(['/a.md', '/b.md'])
    for (const { host } of [exact, old, recent]) await host.close()
  })

  test('know without opening a store whether it has a remote', async () => {
    const place = (await newPlace())()
    const { host, caller } = await newHost({}, place)
    const backend = await place.open?.(place)
    const { storeId } = await host.create(caller, settings)
    const hasRemote = (): Promise<boolean> | undefined => backend?.hasRemote(storeId)
    expect(await hasRemote()).toBe(false)
    await host.use(caller, storeId, async (store) => {
      await store.remotes.add('origin', '/nowhere/one.git')
      await store.remotes.add('second', '/nowhere/two.git')
    })
    expect(await hasRemote()).toBe(true)
    await host.use(caller, storeId, (store) => store.remotes.remove('origin'))
    await host.use(caller, storeId, (_, me) => me.write('/a.md', 'text'))
    expect(await hasRemote()).toBe(true)
    await host.use(caller, storeId, (store) => store.remotes.remove('second'))
    expect(await hasRemote()).toBe(false)
    await backend?.close()
    await host.close()
  })
})
