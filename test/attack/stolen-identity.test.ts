// T83: a thief has the identity that all servers share, and the database before and after its
// rotation. Afterwards it opens no log, no list and no store there, also from its own copy of the
// repository, and writes nothing that a server takes.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { openAdministrationOf } from '../../src/hosting/administration.ts'
import { rotateIdentity } from '../../src/hosting/rotate-identity.ts'
import {
  generateIdentity,
  generateOperatorSecret,
  type Identity,
  openStore,
} from '../../src/index.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { author } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const { actor } = author

describe.skipIf(postgres.missing)(`a stolen identity${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  async function rotated() {
    const url = server.database()
    await initEngine({ url })
    const [stolen, next] = [await generateIdentity(), await generateIdentity()]
    const open = (identity: Identity): Promise<EngineBackend> =>
      EngineBackend.open({ url, connections: 4, identity, replicaDirectory: temporaryDirectory() })
    const host = await openAdministrationOf(await open(stolen))
    const operatorSecret = await generateOperatorSecret()
    const { storeId } = await host.createStore({ name: 'notes', actor, operatorSecret })
    const { token } = await host.createKey('key')
    await host.use(storeId, (store) => store.as(author).write('/a.md', 'from before'))
    await host.close()
    // A thief's own copy, from before.
    const before = `${temporaryDirectory()}/before`
    const thief = await open(stolen)
    await thief.copyStore(storeId, before)
    await thief.close()
    const [from, to] = [await open(stolen), await open(next)]
    const report = await rotateIdentity({ from, to, actor, notice: () => undefined })
    expect(report).toEqual({ stores: 1, failed: [], shared: [] })
    await from.close()
    await to.close()
    const after = await openAdministrationOf(await open(next))
    await after.use(storeId, (store) => store.as(author).write('/new.md', 'canary-new-text'))
    await after.close()
    const name = new URL(url).pathname.slice(1)
    return { open, stolen, next, storeId, token, before, name }
  }

  test('opens no list, no log and no row of the servers', async () => {
    const { open, stolen, storeId } = await rotated()
    await expect(openAdministrationOf(await open(stolen))).rejects.toMatchObject({
      code: 'wrong_key',
    })
    const thief = await open(stolen)
    await expect(thief.openStore(storeId)).rejects.toMatchObject({
      code: expect.stringMatching(/^envelope_/),
    })
    await thief.close()
  })

  test('reads nothing new in a repository of the store, and writes nothing there', async () => {
    const { open, stolen, next, storeId } = await rotated()
    const owner = await open(next)
    const directory = `${temporaryDirectory()}/stolen`
    await owner.copyStore(storeId, directory)
    await owner.close()
    const place = { directory, stateDirectory: temporaryDirectory(), storeId }
    await expect(openStore({ ...place, identity: stolen })).rejects.toMatchObject({
      code: 'wrong_key',
    })
    const again = await openStore({ ...place, identity: next })
    const active = (await again.devices.list()).filter(({ removed }) => removed === undefined)
    expect(active.map(({ isThis }) => isThis)).toEqual([true])
    await again.close()
  })

  test('learns nothing new from its copy, whose state no server takes', async () => {
    const { open, stolen, next, storeId, before, name } = await rotated()
    const place = { directory: before, stateDirectory: temporaryDirectory(), storeId }
    const copy = await openStore({ ...place, identity: stolen })
    expect((await copy.read('/a.md'))?.content, 'it knew that').toBe('from before')
    expect(await copy.read('/new.md')).toBeUndefined()
    await copy.as(author).write('/forged.md', 'from the thief')
    await copy.close()
    // It writes to the database, too: its own state in place of the servers'.
    const thief = await open(stolen)
    server.sql(`delete from gl_store where store = '${storeId}'`, name)
    server.sql(`delete from gl_log; delete from gl_part`, name)
    await thief.restoreStore(storeId, before)
    await thief.close()
    const servers = await open(next)
    await expect(servers.openStore(storeId)).rejects.toMatchObject({
      code: expect.stringMatching(/^envelope_/),
    })
    await servers.close()
  })
})
