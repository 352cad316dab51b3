// The contract of HostRecords, on each kind.

import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe } from 'vitest'
import { parseEngineAddress } from '../../src/engine/address.ts'
import { EnginePool } from '../../src/engine/pool.ts'
import { schema } from '../../src/engine/schema.ts'
import { type SeenGenerations as SqlGenerations, SqlRecords } from '../../src/engine/sql-records.ts'
import { DataDirectory } from '../../src/hosting/data-directory.ts'
import type { HostBackend, HostNotice } from '../../src/hosting/host-backend.ts'
import { generateIdentity } from '../../src/index.ts'
import { newHostPlace } from '../support/hosts.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { requires } from '../support/tools.ts'
import { RowDatabase, type SeenGenerations, VolatileRecords } from '../support/volatile-records.ts'
import {
  describeHostRecords,
  type OpenedRecords,
  type RecordsSite,
  testTables,
} from './host-records.contract.ts'

const first = () => ({ notes: [], tags: [{ id: 'first', time: 0, count: 0 }] })

function optionsOf(acceptRolledBack = false) {
  const codes: string[] = []
  const notice = ({ error }: HostNotice): void => {
    codes.push(error instanceof Error && 'code' in error ? String(error.code) : 'unexpected')
  }
  const role = 'catalogue' as const
  return { codes, options: { role, tables: testTables, first, notice, acceptRolledBack } }
}

async function openOn(
  { openRecords }: Pick<HostBackend, 'openRecords'>,
  acceptRolledBack?: boolean,
): Promise<OpenedRecords> {
  const { codes, options } = optionsOf(acceptRolledBack)
  return { records: await openRecords(options), codes }
}

describeHostRecords('in a data directory', async (): Promise<RecordsSite> => {
  const place = newHostPlace()
  const open = async (of: typeof place, acceptRolledBack?: boolean): Promise<OpenedRecords> => {
    const directory = new DataDirectory(of)
    await directory.make()
    return openOn({ openRecords: (options) => directory.openRecords(options) }, acceptRolledBack)
  }
  const path = `${place.dataDirectory}/catalogue`
  const change = (work: (bytes: Uint8Array) => Uint8Array) => async (): Promise<void> => {
    writeFileSync(path, work(Uint8Array.from(readFileSync(path))))
  }
  return {
    open: (acceptRolledBack) => open(place, acceptRolledBack),
    save() {
      const bytes = readFileSync(path)
      return () => {
        writeFileSync(`${path}.back`, bytes)
        renameSync(`${path}.back`, path)
      }
    },
    attacks: {
      cut: change((bytes) => bytes.subarray(0, -1)),
      flip: change((bytes) => bytes.with(bytes.length >> 1, (bytes[bytes.length >> 1] ?? 0) ^ 1)),
      async swap() {
        const directory = new DataDirectory(place)
        const { options } = optionsOf()
        await directory.openRecords({ ...options, role: 'credentials' })
        copyFileSync(`${place.dataDirectory}/credentials`, path)
      },
      async foreign() {
        const other = { ...newHostPlace(), identity: await generateIdentity() }
        await open(other)
        copyFileSync(`${other.dataDirectory}/catalogue`, path)
      },
    },
  }
})

describeHostRecords('as rows', async (): Promise<RecordsSite> => {
  const { owner } = new DataDirectory(newHostPlace())
  const database = new RowDatabase()
  const seen: SeenGenerations = new Map()
  const rows = database.of('catalogue')
  const open = async (acceptRolledBack?: boolean): Promise<OpenedRecords> => {
    const { codes, options } = optionsOf(acceptRolledBack)
    return { records: await VolatileRecords.open({ ...options, owner, rows, seen }), codes }
  }
  const change = (work: (body: Uint8Array) => Uint8Array) => async (): Promise<void> => {
    const notes = rows.tables.get('notes')
    for (const [id, row] of notes ?? []) notes?.set(id, { ...row, body: work(row.body) })
  }
  return {
    open,
    save() {
      const { head } = rows
      const tables = [...rows.tables].map(([name, table]) => [name, new Map(table)] as const)
      return () => {
        rows.head = head
        for (const [name, table] of tables) rows.tables.set(name, new Map(table))
      }
    },
    attacks: {
      cut: change((body) => body.subarray(0, -1)),
      flip: change((body) => body.with(body.length >> 1, (body[body.length >> 1] ?? 0) ^ 1)),
      async swap() {
        const notes = rows.tables.get('notes')
        const [one, other] = [...(notes?.values() ?? [])]
        if (one === undefined || other === undefined) throw new Error('two notes are needed')
        notes?.set(one.id, { ...one, body: other.body })
        notes?.set(other.id, { ...other, body: one.body })
      },
      async foreign() {
        const place = { ...newHostPlace(), identity: await generateIdentity() }
        const { owner: stranger } = new DataDirectory(place)
        const theirs = new RowDatabase().of('catalogue')
        const { options } = optionsOf()
        const parts = { ...options, owner: stranger, rows: theirs, seen: new Map() }
        const records = await VolatileRecords.open(parts)
        const record = { id: 'n1', owner: 'a', time: 1, text: 'forged' }
        await records.change([{ kind: 'add', table: 'notes', record }])
        const row = theirs.tables.get('notes')?.get('n1')
        if (row !== undefined) rows.tables.get('notes')?.set('n1', row)
      },
    },
  }
})

const postgres = requires('postgres')

describe.skipIf(postgres.missing)(`with a database${postgres.note}`, () => {
  let server: PostgresServer
  const pools: EnginePool[] = []
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => Promise.all(pools.map((pool) => pool.close())))

  async function newDatabase(): Promise<readonly [EnginePool, string]> {
    const url = server.database()
    const pool = await EnginePool.open({ address: parseEngineAddress(url), connections: 4 })
    pools.push(pool)
    for (const text of schema) await pool.repeat({ name: '', text }, [])
    return [pool, url.slice(url.lastIndexOf('/') + 1)]
  }

  describeHostRecords('in PostgreSQL', async (): Promise<RecordsSite> => {
    const { owner } = new DataDirectory(newHostPlace())
    const [pool, database] = await newDatabase()
    const seen: SqlGenerations = new Map()
    const sql = (text: string): string => server.sql(text, database)
    const open = async (acceptRolledBack?: boolean): Promise<OpenedRecords> => {
      const { codes, options } = optionsOf(acceptRolledBack)
      return { records: await SqlRecords.open({ ...options, pool, owner, seen }), codes }
    }
    let copies = 0
    return {
      open,
      save() {
        copies += 1
        const name = `copy_${copies}`
        sql(`create table ${name}_r as select * from gl_record`)
        sql(`create table ${name}_l as select * from gl_list`)
        return () => {
          sql(`begin; delete from gl_record; insert into gl_record select * from ${name}_r;
            delete from gl_list; insert into gl_list select * from ${name}_l; commit`)
        }
      },
      attacks: {
        async cut() {
          sql(`update gl_record set body = substr(body, 1, octet_length(body) - 1)`)
        },
        async flip() {
          sql(`update gl_record set body = set_byte(body, octet_length(body) / 2,
            get_byte(body, octet_length(body) / 2) # 1)`)
        },
        async swap() {
          sql(`update gl_record as a set body = b.body from gl_record as b
            where a.kind = 'notes' and b.kind = 'notes' and a.id <> b.id`)
        },
        async foreign() {
          const place = { ...newHostPlace(), identity: await generateIdentity() }
          const { owner: stranger } = new DataDirectory(place)
          const [theirs, other] = await newDatabase()
          const { options } = optionsOf()
          const parts = { ...options, pool: theirs, owner: stranger, seen: new Map() }
          const records = await SqlRecords.open(parts)
          const record = { id: 'n1', owner: 'a', time: 1, text: 'forged' }
          await records.change([{ kind: 'add', table: 'notes', record }])
          const body = server.sql(`select body from gl_record where id = 'n1'`, other)
          sql(`update gl_record set body = '${body}' where id = 'n1'`)
        },
      },
    }
  })
})
