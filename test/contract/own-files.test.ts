// The contract of OwnFiles, on each implementation.

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe } from 'vitest'
import { MemoryDisk } from '../../src/disk/memory-disk.ts'
import { parseEngineAddress } from '../../src/engine/address.ts'
import { EnginePool } from '../../src/engine/pool.ts'
import { schema } from '../../src/engine/schema.ts'
import { SqlOwnFiles } from '../../src/engine/sql-own.ts'
import { OwnDirectory } from '../../src/store/local/own-files.ts'
import { ownDirectory, VolatileOwnRows } from '../support/own-files.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { describeOwnFiles, describeSharedOwnFiles } from './own-files.contract.ts'

const pathsBelow = (root: string) => ({
  anchor: `${root}/state/device.anchor`,
  remotes: `${root}/state/device.remotes`,
  grants: `${root}/state/device.grants`,
  reads: `${root}/store/cache/reads`,
  state: `${root}/store/cache/state`,
  'state-changes': `${root}/store/cache/state-changes`,
})

describeOwnFiles('in a directory', async () => {
  const paths = pathsBelow(temporaryDirectory())
  return () => ownDirectory(paths)
})

describeOwnFiles('in RAM', async () => {
  const disk = new MemoryDisk()
  return () => new OwnDirectory(disk, pathsBelow('/place'))
})

const inMemory = async () => {
  const rows = new VolatileOwnRows()
  return () => rows.handle()
}
describeOwnFiles('in memory', inMemory)
describeSharedOwnFiles('in memory', inMemory)

const postgres = requires('postgres')

describe.skipIf(postgres.missing)(`with a database${postgres.note}`, () => {
  let pool: EnginePool
  beforeAll(async () => {
    const address = parseEngineAddress((await startPostgres()).database())
    pool = await EnginePool.open({ address, connections: 4 })
    for (const text of schema) await pool.repeat({ name: '', text }, [])
  })
  afterAll(() => pool.close())

  const inPostgres = async () => {
    const store = `memstore_${randomBytes(8).toString('hex')}`
    return () => new SqlOwnFiles(pool, store)
  }
  describeOwnFiles('in PostgreSQL', inPostgres)
  describeSharedOwnFiles('in PostgreSQL', inPostgres)
})
