// A pooler in front of the database that gives a connection to one transaction at a time: PgBouncer
// as Debian has it, which knows no prepared statements.
// @module-tag slow

import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseEngineAddress } from '../../src/engine/address.ts'
import { checkEngine } from '../../src/engine/check.ts'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine, scrubEngine } from '../../src/engine/engine.ts'
import { EnginePool } from '../../src/engine/pool.ts'
import { SqlLogs } from '../../src/engine/sql-log.ts'
import { describeHost, describeServers } from '../contract/host.contract.ts'
import { describeSharedLog } from '../contract/shared-log.contract.ts'
import { type HostPlace, newHost, newHostPlace, settings } from '../support/hosts.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const pgbouncer = requires('pgbouncer')
const missing = postgres.missing || pgbouncer.missing

describe.skipIf(missing)(`behind a pooler${postgres.note}${pgbouncer.note}`, () => {
  let server: PostgresServer
  let port = 0
  let newest = ''
  beforeAll(async () => {
    server = await startPostgres()
    port = await server.startPooler()
  })

  function newAddress(): string {
    newest = server.database().replace(`:${server.port}/`, `:${port}/`)
    return newest
  }

  async function newPlace(): Promise<HostPlace> {
    const engine = { url: newAddress(), unnamed: true, connections: 4 }
    await initEngine(engine)
    const replicaDirectory = temporaryDirectory()
    return {
      ...newHostPlace(),
      open: ({ identity, clock }) => {
        return EngineBackend.open({
          ...engine,
          replicaDirectory,
          identity,
          ...(clock && { clock }),
        })
      },
    }
  }
  describeHost('a database', newPlace)
  describeServers('a database', newPlace)

  let pool: EnginePool | undefined
  describeSharedLog('in a database', async () => {
    const url = newAddress()
    await initEngine({ url, unnamed: true })
    pool = await EnginePool.open({ address: parseEngineAddress(url), unnamed: true })
    const store = `memstore_${randomBytes(8).toString('hex')}`
    const logs = new SqlLogs(pool, 'a')
    await logs.create(store)
    return [logs.log(store), new SqlLogs(pool, 'b').log(store)]
  })

  test('a redaction of one server reaches the other, and unfinished stores are swept', async () => {
    const place = await newPlace()
    const [one, other] = [await newHost({}, place), await newHost({}, place)]
    const { caller, host } = one
    const { storeId } = await host.create(caller, settings)
    await host.use(caller, storeId, (_, me) => me.write('/a.md', 'secret text'))
    const before = await other.host.use(caller, storeId, (store) => store.read('/a.md'))
    expect(before?.content).toBe('secret text')
    const request = { select: { path: '/a.md' }, reason: 'legal', current: 'delete' } as const
    await host.use(caller, storeId, (_, me) => me.redact(request))
    const after = await other.host.use(caller, storeId, (store) => store.read('/a.md'))
    expect(after).toBeUndefined()
    const left = `memstore_${'0'.repeat(26)}`
    const name = new URL(newest).pathname.slice(1)
    server.sql(`insert into gl_store values ('${left}', 1, 0, null, 0)`, name)
    server.sql(`insert into gl_mark values ('${left}', 'making', now() - interval '1 day')`, name)
    await (await newHost({}, place)).host.close()
    expect(server.sql(`select count(*) from gl_store where store = '${left}'`, name)).toBe('0')
    await one.host.close()
    await other.host.close()
  })

  test('a check finds it, and prepared statements are refused with the remedy', async () => {
    const url = newAddress()
    await initEngine({ url, unnamed: true })
    const warned = await checkEngine({ url, connections: 1 }, Date.now)
    expect(warned.warnings).toContainEqual(expect.stringContaining('--engine-unnamed'))
    const report = await checkEngine({ url, unnamed: true }, Date.now)
    expect(report).toMatchObject({ isPooled: true })
    expect(report.warnings.filter((warning) => warning.includes('pooler'))).toEqual([])
    const named = await EnginePool.open({ address: parseEngineAddress(url), connections: 8 })
    const ping = { name: 'gl_ping', text: 'select pg_sleep(0.01)' }
    const many = Array.from({ length: 40 }, () => named.repeat(ping, []))
    await expect(Promise.all(many)).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringContaining('--engine-unnamed'),
    })
    await named.close()
  })

  test('tables are rewritten', async () => {
    const engine = { url: newAddress(), unnamed: true }
    await initEngine(engine)
    await scrubEngine(engine)
  })
})
