// A redaction below servers that share a database, and `engine scrub`: afterwards no table file of
// the primary and no replica holds the erased bytes. Out of reach, and therefore not searched, is
// the write-ahead log (pg_wal), which keeps them until its files are used again; so are standbys
// that have not followed, snapshots and backups.
// @module-tag slow

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseEngineAddress } from '../../src/engine/address.ts'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine, scrubEngine } from '../../src/engine/engine.ts'
import { EnginePool } from '../../src/engine/pool.ts'
import { generateIdentity } from '../../src/index.ts'
import { type PostgresServer, startPostgres, until } from '../support/postgres.ts'
import { author, leastStretch } from '../support/stores.ts'
import { gitBytes, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const PIECE = 32
const CHUNK = 1996
const secret = 'canary-of-the-erasure'

describe.skipIf(postgres.missing)(`an erasure in a database${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  test('leaves nothing in a table file of the primary, nor in a replica', async () => {
    const root = temporaryDirectory()
    const url = server.database()
    const database = url.slice(url.lastIndexOf('/') + 1)
    const sql = (text: string): string => server.sql(text, database)
    const identity = await generateIdentity()
    await initEngine({ url })
    const open = (name: string): Promise<EngineBackend> => {
      return EngineBackend.open({ url, identity, replicaDirectory: `${root}/${name}` })
    }
    const backends = {
      writer: await open('writer'),
      reader: await open('reader'),
      resting: await open('resting'),
      stopped: await open('stopped'),
    }
    const ids: string[] = []
    const actor = { type: 'session', id: 'founder' } as const
    const options = { actor, refuseSecrets: false, stretch: leastStretch }
    const store = await backends.writer.createStore(options, async (id) => void ids.push(id))
    const [id = ''] = ids
    const me = store.as(author)
    await me.write('/kept.md', 'kept')
    await me.write('/secrets/short.md', `${secret} 1`)
    // More than an entry holds: its objects are in parts.
    const large = Array.from({ length: 8 }, (_, n) => {
      const content = `${secret} ${n} ${'x'.repeat(90_000)}`
      return { type: 'write', path: `/secrets/${n}.md`, content } as const
    })
    await me.apply(large)
    // In the base of the store, and in its log.
    await store.maintenance.compact()
    await me.write('/secrets/short.md', `${secret} 2`)
    const reader = await backends.reader.openStore(id)
    expect((await reader.read('/secrets/short.md'))?.content).toBe(`${secret} 2`)
    for (const name of ['resting', 'stopped'] as const) {
      const other = await backends[name].openStore(id)
      expect((await other.read('/secrets/3.md'))?.content).toContain(secret)
      await other.close()
    }
    await backends.stopped.close()

    // These bytes are found before the redaction, and must not be found after it.
    sql('analyze')
    const bodies = sql(
      `select encode(body, 'hex') from gl_log
       union all select encode(body, 'hex') from gl_part
       union all select encode(body, 'hex') from gl_own
         where body is not null and name in ('state', 'state-changes', 'reads')`,
    )
    const pieces = bodies.split('\n').flatMap((hex) => piecesOf(Buffer.from(hex, 'hex')))
    expect(pieces.length).toBeGreaterThan(10)
    const tables = (): Buffer => {
      sql('checkpoint')
      return bytesBelow(join(server.directory, 'base'))
    }
    expect(missing(pieces, tables())).toEqual([])
    const before = bytesBelow(root)
    const objects = new Map(objectsBelow(`${root}/stopped/0/${id}`))

    const select = { path: '/secrets' }
    const { certificate } = await me.redact({ select, reason: 'legal', current: 'delete' })
    await scrubEngine({ url })
    expect(found([...pieces, Buffer.from(secret)], tables())).toEqual([])
    const erased = (certificate?.object_ids ?? []).flatMap((oid) => objects.get(oid) ?? [])
    const visible = found(erased.flatMap(piecesOf), before)
    expect(visible.length).toBeGreaterThan(9)

    // A server that reads, one that has closed the store, and one that starts again.
    expect(await reader.read('/secrets/short.md')).toBeUndefined()
    const resting = await backends.resting.openStore(id)
    expect(await resting.read('/secrets/short.md')).toBeUndefined()
    const replica = `${root}/stopped/0/${id}`
    expect(existsSync(replica)).toBe(true)
    backends.stopped = await open('stopped')
    await expect.poll(() => existsSync(replica)).toBe(false)
    expect(found([...visible, Buffer.from(secret)], bytesBelow(root))).toEqual([])
    for (const one of [store, reader, resting]) {
      expect((await one.maintenance.findResidue()).found).toEqual([])
      expect((await one.read('/kept.md'))?.content).toBe('kept')
      await one.close()
    }
    for (const backend of Object.values(backends)) await backend.close()
  })

  test('is not reported while an earlier transaction keeps its rows', async () => {
    const url = server.database()
    await initEngine({ url })
    const address = parseEngineAddress(url)
    const pool = await EnginePool.open({ address, connections: 1 })
    await pool.transaction(async (query) => {
      await query({ name: '', text: 'set transaction isolation level repeatable read' }, [])
      // Not of a table of the engine: nothing waits for it.
      await query({ name: '', text: 'select 1' }, [])
      server.sql('select pg_current_xact_id()')
      await expect(scrubEngine({ url }, 0)).rejects.toMatchObject({ code: 'locked' })
      return true
    })
    await scrubEngine({ url })
    await pool.close()
  })

  test('waits for tables that are in use, for as long as that takes', async () => {
    const url = server.database()
    await initEngine({ url })
    const address = parseEngineAddress(url)
    const pool = await EnginePool.open({ address, connections: 1 })
    const waiting = `from pg_stat_activity where query like 'vacuum full%' and state = 'active'`
    let scrubbing: Promise<void> | undefined
    await pool.transaction(async (query) => {
      await query({ name: '', text: 'lock table gl_own in access share mode' }, [])
      scrubbing = scrubEngine({ url, answerMs: 50 })
      const long = `${waiting} and clock_timestamp() - query_start > interval '300 ms'`
      await until(() => server.sql(`select count(*) ${long}`) !== '0')
      expect(server.sql(`select count(*) ${waiting}`)).toBe('1')
      return true
    })
    await scrubbing
    await pool.close()
  })
})

/** Some bytes of sealed ones, each of one page of a table: a longer row is split at 1,996 bytes. */
function piecesOf(bytes: Buffer): readonly Buffer[] {
  const last = Math.floor((bytes.length - PIECE - 1) / CHUNK) * CHUNK
  return [200, last + 200].flatMap((at) => {
    return at + PIECE > bytes.length ? [] : [bytes.subarray(at, at + PIECE)]
  })
}

function found(pieces: readonly Buffer[], bytes: Buffer): readonly Buffer[] {
  return pieces.filter((piece) => bytes.includes(piece))
}

function missing(pieces: readonly Buffer[], bytes: Buffer): readonly Buffer[] {
  return pieces.filter((piece) => !bytes.includes(piece))
}

function bytesBelow(directory: string): Buffer {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
  return Buffer.concat(files)
}

/** The objects of a replica at rest, by their ids. */
function* objectsBelow(place: string): Generator<[oid: string, bytes: Buffer]> {
  const repository = readdirSync(place).find((name) => name.startsWith('repository-')) ?? ''
  const batch = ['cat-file', '--batch-all-objects', '--batch']
  const output = gitBytes(batch, join(place, repository))
  for (let at = 0; at < output.length;) {
    const end = output.indexOf('\n', at)
    const [oid = '', , size = ''] = output.toString('latin1', at, end).split(' ')
    yield [oid, output.subarray(end + 1, end + 1 + Number(size))]
    at = end + Number(size) + 2
  }
}
