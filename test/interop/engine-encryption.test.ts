// The encryption of the connection to a database: whose certificate is believed, for which host.

import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseEngineAddress } from '../../src/engine/address.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { EnginePool } from '../../src/engine/pool.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const openssl = requires('openssl')
const missing = postgres.missing || openssl.missing

describe.skipIf(missing)(`a database with TLS${postgres.note}${openssl.note}`, () => {
  let server: PostgresServer
  let ca: string
  let other: string
  beforeAll(async () => {
    server = await startPostgres({ listen_addresses: '127.0.0.1,::1' })
    other = readFileSync(server.encrypt('other.example'), 'utf8')
    ca = readFileSync(server.encrypt('localhost'), 'utf8')
  })

  const addressOf = (host: string, mode = 'verify-full'): string => {
    const url = server.database().replace('127.0.0.1', host)
    return `${url}?sslmode=${mode}`
  }

  test.each(['verify-full', 'require'])('is used encrypted with sslmode=%s', async (mode) => {
    await initEngine({ url: addressOf('localhost', mode), ca, connections: 1 })
    const pool = await EnginePool.open({ address: parseEngineAddress(addressOf('localhost')), ca })
    const text = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'
    expect((await pool.repeat({ name: 'ssl', text }, [])).rows).toEqual([{ ssl: true }])
    await pool.close()
  })

  test('is refused with a certificate that no one vouches for', async () => {
    const refused = { code: 'storage_failed', message: expect.stringContaining('--engine-ca') }
    await expect(initEngine({ url: addressOf('localhost') })).rejects.toMatchObject(refused)
    await expect(initEngine({ url: addressOf('localhost'), ca: other })).rejects.toMatchObject(
      refused,
    )
  })

  test.each(['127.0.0.1', '[::1]'])('is refused at another host name, %s', async (host) => {
    await expect(initEngine({ url: addressOf(host), ca })).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringContaining('another host'),
    })
  })

  test('is refused in plaintext off this machine', async () => {
    const url = addressOf('db.example.com', 'disable')
    await expect(initEngine({ url })).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

describe.skipIf(postgres.missing)(`a database without TLS${postgres.note}`, () => {
  test('is refused where TLS is asked for', async () => {
    const server = await startPostgres()
    await expect(initEngine({ url: `${server.database()}?sslmode=require` })).rejects.toMatchObject(
      {
        code: 'storage_failed',
        message: expect.stringContaining('TLS'),
      },
    )
  })
})
