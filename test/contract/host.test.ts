// The contract of a host, on each kind of backend.

import { beforeAll, describe } from 'vitest'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { type HostPlace, newHostPlace, newSharedPlace } from '../support/hosts.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { describeHost, describeServers } from './host.contract.ts'

describeHost('a data directory', async () => newHostPlace())
describeHost('rows', async () => newSharedPlace())
describeServers('rows', async () => newSharedPlace())

const postgres = requires('postgres')

describe.skipIf(postgres.missing)(`with a database${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  async function newPlace(): Promise<HostPlace> {
    const url = server.database()
    await initEngine({ url, connections: 2 })
    const engine = { url, connections: 4, replicaDirectory: temporaryDirectory() }
    return {
      ...newHostPlace(),
      open: ({ identity, clock }) => {
        return EngineBackend.open({ ...engine, identity, ...(clock && { clock }) })
      },
    }
  }
  describeHost('a database', newPlace)
  describeServers('a database', newPlace)
})
