// The contract of SharedLog, on each implementation.

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe } from 'vitest'
import { parseEngineAddress } from '../../src/engine/address.ts'
import { EnginePool } from '../../src/engine/pool.ts'
import { schema } from '../../src/engine/schema.ts'
import { SqlLogs } from '../../src/engine/sql-log.ts'
import { startPostgres } from '../support/postgres.ts'
import { requires } from '../support/tools.ts'
import { VolatileLog } from '../support/volatile-shared-log.ts'
import { describeSharedLog } from './shared-log.contract.ts'

describeSharedLog('in memory', async () => {
  const log = new VolatileLog()
  return [log.server(), log.server()]
})

const postgres = requires('postgres')

describe.skipIf(postgres.missing)(`with a database${postgres.note}`, () => {
  const pools: EnginePool[] = []
  beforeAll(async () => {
    const server = await startPostgres()
    const address = parseEngineAddress(server.database())
    pools.push(await EnginePool.open({ address }), await EnginePool.open({ address }))
    for (const text of schema) await pools[0]?.repeat({ name: '', text }, [])
  })
  afterAll(() => Promise.all(pools.map((pool) => pool.close())))

  describeSharedLog('in PostgreSQL', async () => {
    const [a, b] = pools
    if (a === undefined || b === undefined) throw new Error('the server was not started')
    const store = `memstore_${randomBytes(8).toString('hex')}`
    const logs = new SqlLogs(a, 'a')
    await logs.create(store)
    return [logs.log(store), new SqlLogs(b, 'b').log(store)]
  })
})
