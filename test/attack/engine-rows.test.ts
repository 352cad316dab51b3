// T81: an administrator of the database changes the rows of shared stores, without a key. A new
// server refuses a row that was changed, moved or taken from another store, and does not wait
// forever. No row tells a text, a path or a name.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { generateIdentity, type Identity, type MemoryStore } from '../../src/index.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { author, leastStretch } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const founder = { type: 'session', id: 'founder' } as const

interface SharedSite {
  readonly url: string
  readonly database: string
  readonly identity: Identity
  /** Two stores with the same number of entries. */
  readonly ids: readonly string[]
}

describe.skipIf(postgres.missing)(`rows of an engine${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  async function open({ url, identity }: Pick<SharedSite, 'url' | 'identity'>) {
    return EngineBackend.open({ url, identity, replicaDirectory: temporaryDirectory() })
  }

  async function newSite(): Promise<SharedSite> {
    const url = server.database()
    const identity = await generateIdentity()
    await initEngine({ url })
    const backend = await open({ url, identity })
    const ids: string[] = []
    for (const name of ['canary-name-one', 'canary-name-two']) {
      const secrets = { refuseSecrets: false, passphrase: 'canary-passphrase' }
      const options = { actor: founder, name, stretch: leastStretch, ...secrets }
      const store = await backend.createStore(options, async (id) => void ids.push(id))
      const me = store.as({ ...author, reason: 'canary-reason' })
      for (let n = 0; n < 4; n += 1) await me.write(`/canary-path-${n}.md`, `canary-text ${n}`)
      await store.close()
    }
    await backend.close()
    return { url, database: url.slice(url.lastIndexOf('/') + 1), identity, ids }
  }

  /** What a new server reads of a store, or the code with which it refuses it. */
  async function readAnew(site: SharedSite, id: string | undefined): Promise<string> {
    const backend = await open(site)
    let store: MemoryStore | undefined
    try {
      store = await backend.openStore(id ?? '')
      return (await store.read('/canary-path-3.md'))?.content ?? 'nothing'
    } catch (error) {
      return error instanceof Error && 'code' in error ? String(error.code) : String(error)
    } finally {
      await store?.close().catch(() => undefined)
      await backend.close()
    }
  }

  const first = (ids: readonly string[]): string => `store = '${ids[0]}'`
  const attacks: readonly (readonly [string, (ids: readonly string[]) => string, RegExp])[] = [
    [
      'a bit of an entry',
      (ids) => `update gl_log set body = set_byte(body, 60,
      get_byte(body, 60) # 1) where ${first(ids)} and number = 3`,
      /^envelope_/,
    ],
    [
      'the end of an entry',
      (ids) => `update gl_log set body = substr(body, 1, 200)
      where ${first(ids)} and number = 3`,
      /^envelope_/,
    ],
    [
      'two entries, by each other',
      (ids) => `update gl_log as a set body = b.body from gl_log as b
      where a.store = '${ids[0]}' and b.store = a.store and a.number + b.number = 7
      and a.number in (3, 4)`,
      /^envelope_/,
    ],
    [
      'an entry, by that of another store',
      (ids) => `update gl_log as a set body = b.body
      from gl_log as b where a.store = '${ids[0]}' and b.store = '${ids[1]}'
      and a.number = b.number and a.number = 3`,
      /^envelope_/,
    ],
    [
      'an entry, which is missing',
      (ids) => `delete from gl_log where ${first(ids)}
      and number = 3`,
      /^journal_corrupt$/,
    ],
    [
      'the newest number, which no entry has',
      (ids) => `update gl_store set number = 99
      where ${first(ids)}`,
      /^journal_corrupt$/,
    ],
    [
      'the base, by one without parts',
      (ids) => `update gl_store set base = 3,
      base_id = repeat('a', 32) where ${first(ids)}`,
      /^journal_corrupt$/,
    ],
    [
      'the newest entries, which are missing',
      (ids) => `begin; delete from gl_log
      where ${first(ids)} and number > 3; update gl_store set number = 3 where ${first(ids)};
      commit`,
      /^rolled_back$/,
    ],
    [
      'all of a store',
      (ids) => `begin; delete from gl_log where ${first(ids)};
      delete from gl_store where ${first(ids)}; commit`,
      /^not_found$/,
    ],
  ]

  test.each(attacks)('%s', async (_, attack, refusal) => {
    const site = await newSite()
    expect(await readAnew(site, site.ids[0])).toBe('canary-text 3')
    server.sql(attack(site.ids), site.database)
    expect(await readAnew(site, site.ids[0])).toMatch(refusal)
    expect(await readAnew(site, site.ids[1])).toBe('canary-text 3')
  })

  test('tell no text, path, name, reason or passphrase', async () => {
    const site = await newSite()
    const tables = server.sql(
      `select tablename from pg_tables where schemaname = 'public'`,
      site.database,
    )
    for (const table of tables.split('\n')) {
      const rows = server.sql(`select t::text from ${table} as t`, site.database)
      const bytes = rows.replaceAll(/\\x([0-9a-f]+)/g, (__, hex: string) =>
        Buffer.from(hex, 'hex').toString('latin1'),
      )
      expect(bytes, table).not.toContain('canary')
    }
  })

  test('of another identity are refused', async () => {
    const site = await newSite()
    const stranger = { ...site, identity: await generateIdentity() }
    expect(await readAnew(stranger, site.ids[0])).toMatch(/^envelope_/)
  })
})
