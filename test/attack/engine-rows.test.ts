// T81: an administrator of the database changes the rows of shared stores, without a key. A new
// server refuses a row that was changed, moved or taken from another store, and does not wait
// forever. Rows of a list are refused unless the newest change left them, also those of a change
// that the administrator made fail. No row tells a text, a path or a name.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { openAdministrationOf } from '../../src/hosting/administration.ts'
import type { HostNotice } from '../../src/hosting/host-backend.ts'
import { type Host, openHostOn } from '../../src/hosting/host.ts'
import { generateIdentity, type Identity, type MemoryStore } from '../../src/index.ts'
import { callerOf, newHostPlace, settings } from '../support/hosts.ts'
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

  interface KeysSite {
    readonly url: string
    readonly sql: (text: string) => string
    readonly start: (acceptRolledBack?: boolean) => Promise<StartedHost>
    readonly running: StartedHost
    /** Of a key that is revoked, of another one, and of a session that has ended. */
    readonly tokens: Readonly<Record<'revoked' | 'other' | 'ended', string>>
  }

  interface StartedHost {
    readonly host: Host
    readonly notices: HostNotice[]
  }

  /** A server that knows of a revoked key and an ended session, whose old rows are in `saved`. */
  async function newKeys(): Promise<KeysSite> {
    const url = server.database()
    const place = newHostPlace()
    await initEngine({ url })
    const backend = () => open({ url, identity: place.identity })
    const administration = await openAdministrationOf(await backend())
    const start = async (acceptRolledBack = false): Promise<StartedHost> => {
      const notices: HostNotice[] = []
      const notice = (one: HostNotice): number => notices.push(one)
      const { operatorSecret } = place
      const options = { operatorSecret, notice, acceptRolledBack }
      return { host: await openHostOn(await backend(), options), notices }
    }
    const running = await start()
    const { host } = running
    const revoked = await administration.createKey('revoked', undefined)
    const other = await administration.createKey('other', undefined)
    const caller = await callerOf(host, other.token)
    const { storeId } = await host.create(caller, settings)
    const resource = { memory_store_id: storeId, access: 'read_only', instructions: null } as const
    const ended = await host.createSession(caller, { resources: [resource], expiresIn: 3600 })
    const sql = (text: string): string => server.sql(text, url.slice(url.lastIndexOf('/') + 1))
    for (const name of ['record', 'list', 'change']) {
      sql(`create table saved_${name} as select * from gl_${name} where list = 'credentials'`)
    }
    await administration.revokeKey(revoked.key.keyId)
    await host.endSession(caller, ended.sessionId)
    await administration.close()
    const tokens = { revoked: revoked.token, other: other.token, ended: ended.token }
    for (const token of [tokens.revoked, tokens.ended]) {
      expect(await host.authenticate(token)).toBeUndefined()
    }
    return { url, sql, start, running, tokens }
  }

  const oldKey = `update gl_record as r set body = s.body, generation = s.generation
    from saved_record as s where s.kind = 'keys' and r.kind = 'keys' and r.id = s.id`
  const oldSession = `insert into gl_record select * from saved_record where kind = 'sessions'`
  const puttingBack: readonly (readonly [string, 'revoked' | 'ended' | 'other', string])[] = [
    ['a revoked key, by its old row', 'revoked', oldKey],
    ['an ended session, by its old row', 'ended', oldSession],
    [
      'a revoked key and the changes of its list',
      'revoked',
      `begin; ${oldKey}; delete from gl_change;
        insert into gl_change select list, generation + 1, kind, id, hash from saved_change;
        commit`,
    ],
    ['a key, which is missing', 'other', `delete from gl_record where kind = 'keys'`],
  ]

  test.each(puttingBack)('%s', async (_, name, attack) => {
    const { sql, start, running, tokens } = await newKeys()
    const { host, notices } = running
    await host.ready()
    sql(attack)
    const rolledBack = { code: 'rolled_back' }
    await expect(host.authenticate(tokens[name])).rejects.toMatchObject(rolledBack)
    await expect(host.authenticate(tokens[name])).rejects.toMatchObject(rolledBack)
    expect(notices).toMatchObject([{ about: 'credentials', error: rolledBack }])
    await expect(host.ready()).rejects.toMatchObject(rolledBack)
    await expect(start()).rejects.toMatchObject(rolledBack)
    await host.close()
    // The operator takes the rows as they are.
    const accepted = await start(true)
    const isKnown = (await accepted.host.authenticate(tokens[name])) !== undefined
    expect(isKnown).toBe(name !== 'other')
    await accepted.host.ready()
    await accepted.host.close()
    await (await start()).host.close()
  })

  test('are answered for once they are put right', async () => {
    const { sql, running, tokens } = await newKeys()
    const { host } = running
    sql(`create table right_record as select * from gl_record`)
    sql(oldKey)
    await expect(host.authenticate(tokens.revoked)).rejects.toMatchObject({ code: 'rolled_back' })
    sql(`begin; delete from gl_record; insert into gl_record select * from right_record; commit`)
    expect(await host.authenticate(tokens.revoked)).toBeUndefined()
    // The last reading of all rows is believed for some seconds.
    for (let isReady = false; !isReady;) {
      isReady = await host.ready().then(
        () => true,
        () => false,
      )
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await host.close()
  })

  /**
   * A store whose new name was refused by the database, which kept the sealed row, and then another
   * one accepted: both rows have the same generation.
   */
  async function newNames() {
    const { start, running, sql, tokens } = await newKeys()
    const { host } = running
    const caller = await callerOf(host, tokens.other)
    const storeId = (await host.list(caller, { limit: 1 })).data[0]?.storeId ?? ''
    sql(`create function keep() returns trigger language plpgsql as $$ begin
        execute format('copy (select encode(%L::bytea, ''hex'')) to %L', new.body,
          current_setting('data_directory') || '/' || current_database());
        raise exception 'not now';
      end $$;
      create trigger keep before update on gl_record for each row execute function keep()`)
    const renamed = (name: string) => host.updateSettings(caller, storeId, () => ({ name }))
    await expect(renamed('kept')).rejects.toMatchObject({ code: 'storage_failed' })
    sql(`drop trigger keep on gl_record;
      create table kept_row as select decode(trim(trailing e'\n' from pg_read_file(
        current_setting('data_directory') || '/' || current_database())), 'hex') as body`)
    await renamed('committed')
    expect((await host.get(caller, storeId)).name).toBe('committed')
    return { start, running, sql, caller, storeId }
  }

  const kept = `update gl_record set body = kept_row.body from kept_row where kind = 'stores'`

  test('of a change that failed, in place of that of the same number', async () => {
    const { start, running, sql, caller, storeId } = await newNames()
    const { host, notices } = running
    sql(`create table right_record as select * from gl_record`)
    sql(kept)
    const rolledBack = { code: 'rolled_back' }
    for (const one of [host, (await start()).host]) {
      await expect(one.get(caller, storeId)).rejects.toMatchObject(rolledBack)
      await expect(one.list(caller, { limit: 1 })).rejects.toMatchObject(rolledBack)
      await expect(one.ready()).rejects.toMatchObject(rolledBack)
      if (one !== host) await one.close()
    }
    expect(notices).toMatchObject([{ about: 'catalogue', error: rolledBack }])
    sql(`begin; delete from gl_record; insert into gl_record select * from right_record; commit`)
    await host.ready()
    expect((await host.get(caller, storeId)).name).toBe('committed')
    await host.close()
  })

  test('of a change that failed are refused by a start, or accepted as they are', async () => {
    const { start, running, sql, caller, storeId } = await newNames()
    await running.host.close()
    // Any other hash: what the digest has is not found.
    sql(`${kept}; update gl_record set hash = sha256(body) where kind = 'stores'`)
    await expect(start()).rejects.toMatchObject({ code: 'rolled_back' })
    const accepted = await start(true)
    expect((await accepted.host.get(caller, storeId)).name).toBe('kept')
    await accepted.host.close()
    const { host } = await start()
    expect((await host.get(caller, storeId)).name).toBe('kept')
    await host.close()
  })

  test('of a list put back and written past are refused by a server that saw it', async () => {
    const { sql, start, running, tokens } = await newKeys()
    sql(`begin; delete from gl_record where list = 'credentials';
      insert into gl_record select * from saved_record;
      delete from gl_change where list = 'credentials';
      insert into gl_change select * from saved_change;
      delete from gl_list where list = 'credentials';
      insert into gl_list select * from saved_list; commit`)
    // A new server remembers nothing, and its changes hide the older number.
    const { host } = await start()
    const caller = await callerOf(host, tokens.revoked)
    const [store] = (await host.list(caller, { limit: 1 })).data
    const memory_store_id = store?.storeId ?? ''
    const resource = { memory_store_id, access: 'read_only', instructions: null } as const
    for (let n = 0; n < 4; n += 1) {
      await host.createSession(caller, { resources: [resource], expiresIn: 3600 })
    }
    for (const token of [tokens.revoked, tokens.other]) {
      const asked = running.host.authenticate(token)
      await expect(asked).rejects.toMatchObject({ code: 'rolled_back' })
    }
    await host.close()
    await running.host.close()
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
