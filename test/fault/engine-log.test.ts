// The log in a database that fails: connections that are lost around a commit, waits for the
// standby that are cancelled, a primary that dies. An acknowledged entry is never lost and never
// there twice.

import { connect, createServer, type Socket } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseEngineAddress } from '../../src/engine/address.ts'
import { EngineFailure, EnginePool } from '../../src/engine/pool.ts'
import { schema } from '../../src/engine/schema.ts'
import { SqlLogs } from '../../src/engine/sql-log.ts'
import { StoreError } from '../../src/errors.ts'
import type { SharedLog } from '../../src/git/replica/shared-log.ts'
import { freePort } from '../support/free-port.ts'
import { type PostgresServer, startPostgres, until } from '../support/postgres.ts'
import { full } from '../support/seed.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const encoder = new TextEncoder()

async function openPool(url: string): Promise<EnginePool> {
  const pool = await EnginePool.open({ address: parseEngineAddress(url), connections: 4 })
  onTestFinished(() => pool.close().catch(() => undefined))
  return pool
}

async function openLog(url: string, server: string): Promise<SharedLog> {
  return new SqlLogs(await openPool(url), server).log('memstore_1')
}

async function makeLog(url: string): Promise<void> {
  const pool = await EnginePool.open({ address: parseEngineAddress(url), connections: 1 })
  for (const text of schema) await pool.repeat({ name: '', text }, [])
  await new SqlLogs(pool, 'maker').create('memstore_1')
  await pool.close()
}

/**
 * Appends texts of its own until `isOver`; which were acknowledged, and which may have been kept.
 */
async function write(log: SharedLog, name: string, isOver: () => boolean) {
  const [acknowledged, unknown]: [string[], string[]] = [[], []]
  for (let n = 1; !isOver(); n += 1) {
    const text = `${name} ${n}`
    try {
      let isDone = false
      while (!isDone) {
        const position = await log.position()
        isDone = await log.append((position?.number ?? 0) + 1, encoder.encode(text))
      }
      acknowledged.push(text)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      unknown.push(text)
    }
  }
  return { acknowledged, unknown }
}

/** All texts of the log, whose numbers have no gap. */
async function textsOf(log: SharedLog): Promise<readonly string[]> {
  const texts: string[] = []
  for (;;) {
    const entries = await log.entries(texts.length, 1_000_000)
    if (entries.length === 0) return texts
    for (const { number, body } of entries) {
      expect(number).toBe(texts.length + 1)
      texts.push(new TextDecoder().decode(body))
    }
  }
}

describe.skipIf(postgres.missing)(`a database that fails${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  test('connections that are cut at any byte leave each entry once, or not at all', async () => {
    const url = server.database()
    await makeLog(url)
    const cutter = await startCutter(server.port)
    const through = url.replace(String(server.port), String(cutter.port))
    const [a, b] = [await openLog(through, 'a'), await openLog(through, 'b')]
    let isOver = false
    const writing = Promise.all([write(a, 'a', () => isOver), write(b, 'b', () => isOver)])
    for (let cut = 0; cut < (full ? 2000 : 60); cut += 1) await cutter.cutAfter((cut * 997) % 9000)
    isOver = true
    cutter.mend()
    const [ofA, ofB] = await writing
    const texts = await textsOf(a)
    expect(new Set(texts).size).toBe(texts.length)
    const acknowledged = [...ofA.acknowledged, ...ofB.acknowledged]
    expect(acknowledged.length).toBeGreaterThan(20)
    expect(acknowledged.filter((text) => !texts.includes(text))).toEqual([])
  })

  test('a server that stops within a transaction keeps others waiting for seconds', async () => {
    const url = server.database()
    await makeLog(url)
    const [pool, other] = [await openPool(url), await openLog(url, 'b')]
    const stopped = pool.transaction(async (query) => {
      await query({ name: '', text: 'select from gl_store for update' }, [])
      expect(await other.append(1, encoder.encode('text'))).toBe(true)
      return true
    })
    await expect(stopped).rejects.toThrow(EngineFailure)
    // It continues with another connection.
    expect(await pool.repeatTransaction(async () => true)).toBe(true)
  })

  test('sessions that are ended at any time leave each entry there once', async () => {
    const url = server.database()
    await makeLog(url)
    const [a, b] = [await openLog(url, 'a'), await openLog(url, 'b')]
    let isOver = false
    const writing = Promise.all([write(a, 'a', () => isOver), write(b, 'b', () => isOver)])
    const name = url.slice(url.lastIndexOf('/') + 1)
    for (let round = 0; round < (full ? 500 : 20); round += 1) {
      server.sql(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
    }
    isOver = true
    const [ofA, ofB] = await writing
    const texts = await textsOf(a)
    expect(new Set(texts).size).toBe(texts.length)
    const acknowledged = [...ofA.acknowledged, ...ofB.acknowledged]
    expect(acknowledged.filter((text) => !texts.includes(text))).toEqual([])
  })
})

describe.skipIf(postgres.missing)(`a database with a standby${postgres.note}`, () => {
  let primary: PostgresServer
  let standby: PostgresServer
  let url: string
  beforeAll(async () => {
    primary = await startPostgres()
    url = primary.database()
    await makeLog(url)
    standby = await primary.addStandby()
  })

  /** Whether the promise is pending after the database has ended its wait. */
  async function isPending(promise: Promise<unknown>): Promise<boolean> {
    let isOver = false
    promise.then(
      () => (isOver = true),
      () => (isOver = true),
    )
    await new Promise((resolve) => setTimeout(resolve, 300))
    return !isOver
  }

  const waiting = `from pg_stat_activity where wait_event = 'SyncRep'`

  test.each([
    ['cancelled', `select pg_cancel_backend(pid) ${waiting}`],
    ['ended with its session', `select pg_terminate_backend(pid) ${waiting}`],
  ])('a wait for it that is %s acknowledges nothing', async (_, end) => {
    const log = await openLog(url, 'a')
    const { number = 0 } = (await log.position()) ?? {}
    const goOn = standby.pause()
    const appending = log.append(number + 1, encoder.encode(end))
    // The second one is that of the change which settles the first.
    for (let wait = 0; wait < 2; wait += 1) {
      await until(() => primary.sql(`select count(*) ${waiting}`) !== '0')
      primary.sql(end)
    }
    // It is visible to all now, and would be lost with the primary.
    const other = await openLog(url, 'b')
    await expect.poll(async () => (await other.position())?.number).toBe(number + 1)
    expect(await isPending(appending)).toBe(true)
    goOn()
    expect(await appending).toBe(true)
    expect(standby.sql(`select count(*) from gl_log where number = ${number + 1}`, 't1')).toBe('1')
  })

  test('a transaction whose wait is cancelled is not done before a later one is', async () => {
    const pool = await openPool(url)
    const goOn = standby.pause()
    const changing = pool.repeatTransaction(async (query) => {
      await query({ name: '', text: 'update gl_store set base = base' }, [])
      return true
    })
    for (let wait = 0; wait < 2; wait += 1) {
      await until(() => primary.sql(`select count(*) ${waiting}`) !== '0')
      primary.sql(`select pg_cancel_backend(pid) ${waiting}`)
    }
    expect(await isPending(changing)).toBe(true)
    goOn()
    expect(await changing).toBe(true)
  })

  test('a connection that is lost during it leaves the entry there once', async () => {
    const cutter = await startCutter(primary.port)
    const log = await openLog(url.replace(String(primary.port), String(cutter.port)), 'a')
    const { number = 0 } = (await log.position()) ?? {}
    const goOn = standby.pause()
    const appending = log.append(number + 1, encoder.encode('once'))
    await until(() => primary.sql(`select count(*) ${waiting}`) !== '0')
    cutter.cutNow()
    // Its repetition waits for the first one, and then finds the number taken: by itself.
    const locked = `select count(*) from pg_stat_activity where wait_event_type = 'Lock'`
    await until(() => primary.sql(locked) !== '0')
    goOn()
    expect(await appending).toBe(true)
    expect((await log.position())?.number).toBe(number + 1)
  })

  test('a primary that dies loses nothing that was acknowledged', async () => {
    const rounds = full ? 20 : 2
    for (let round = 0; round < rounds; round += 1) {
      const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
      const both = url.replace(/127\.0\.0\.1:\d+/, hosts)
      const [a, b] = [await openLog(both, `a${round}`), await openLog(both, `b${round}`)]
      let isOver = false
      const writing = Promise.all([
        write(a, `a${round}`, () => isOver),
        write(b, `b${round}`, () => isOver),
      ])
      const before = await count(a)
      await expect.poll(() => count(a)).toBeGreaterThan(before + 20)
      primary.kill()
      standby.promote()
      const after = await count(a)
      await expect.poll(() => count(a)).toBeGreaterThan(after + 20)
      isOver = true
      const [ofA, ofB] = await writing
      const texts = await textsOf(a)
      expect(new Set(texts).size).toBe(texts.length)
      const acknowledged = [...ofA.acknowledged, ...ofB.acknowledged]
      expect(acknowledged.filter((text) => !texts.includes(text))).toEqual([])
      primary = standby
      if (round + 1 < rounds) standby = await primary.addStandby()
    }
  })

  async function count(log: SharedLog): Promise<number> {
    return (await log.position())?.number ?? 0
  }
})

interface Cutter {
  readonly port: number
  /** Cuts all connections once one of them has carried that number of bytes. */
  cutAfter(bytes: number): Promise<void>
  cutNow(): void
  mend(): void
}

/** A relay to a port that cuts connections in the middle of what they carry, either way. */
async function startCutter(target: number): Promise<Cutter> {
  const sockets = new Set<Socket>()
  let left = Number.POSITIVE_INFINITY
  let cut: () => void = () => undefined
  const relay = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.on('error', () => undefined)
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    from.on('data', (bytes) => {
      to.write(bytes.subarray(0, Math.min(bytes.length, left)))
      left -= bytes.length
      if (left <= 0) cut()
    })
  }
  const cutNow = (): void => {
    left = Number.POSITIVE_INFINITY
    for (const socket of sockets) socket.destroy()
  }
  const port = await freePort()
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    relay(client, upstream)
    relay(upstream, client)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    port,
    cutAfter: (bytes) =>
      new Promise((resolve) => {
        left = bytes + 1
        cut = () => {
          cutNow()
          resolve()
        }
      }),
    cutNow,
    mend: () => (left = Number.POSITIVE_INFINITY),
  }
}
