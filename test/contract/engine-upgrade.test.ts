// A rolling upgrade of servers that share a database: servers of two releases serve the same
// stores, and the older ones refuse new formats. The newer release is this one under the number of
// the next format.
// @module-tag slow

import { existsSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { checkEngine } from '../../src/engine/check.ts'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { Engine, initEngine, upgradeEngine } from '../../src/engine/engine.ts'
import { parseId } from '../../src/format/id.ts'
import { openAdministrationOf } from '../../src/hosting/administration.ts'
import type { Caller } from '../../src/hosting/credentials.ts'
import type { Host } from '../../src/hosting/host.ts'
import { openServer } from '../../src/server/serve-host.ts'
import { SealedLog } from '../../src/store/local/sealed-log.ts'
import { callerOf, newHostPlace, settings } from '../support/hosts.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const OLD = 2
const NEW = 3
/** That of the layout before the format was frozen. */
const UNRELEASED = 1

describe.skipIf(postgres.missing)(`servers of two releases${postgres.note}`, () => {
  let database: PostgresServer
  beforeAll(async () => {
    database = await startPostgres()
  })

  interface Site {
    readonly url: string
    readonly open: (format: number) => Promise<EngineBackend>
    /** A host and what `/readyz` answers for it. */
    readonly serve: (format: number) => Promise<Served>
  }

  interface Served {
    readonly host: Host
    readonly ready: () => Promise<readonly [status: number, state: unknown]>
    readonly close: () => Promise<void>
  }

  async function newSite(): Promise<Site> {
    const url = database.database()
    const { identity, operatorSecret } = newHostPlace()
    await initEngine({ url, format: OLD })
    const open = (format: number): Promise<EngineBackend> => {
      const replicaDirectory = temporaryDirectory()
      return EngineBackend.open({ url, identity, format, replicaDirectory, connections: 4 })
    }
    const serve = async (format: number): Promise<Served> => {
      const backend = await open(format)
      const { host, server } = await openServer({ backend, operatorSecret })
      const ready = async () => {
        const answer = await server.fetch(new Request('http://localhost/readyz'))
        return [answer.status, Object(await answer.json()).status] as const
      }
      return { host, ready, close: () => server.close() }
    }
    return { url, open, serve }
  }

  async function newCaller({ open }: Site, host: Host): Promise<Caller> {
    const administration = await openAdministrationOf(await open(OLD))
    const { token } = await administration.createKey('test', undefined)
    await administration.close()
    return callerOf(host, token)
  }

  const write = (host: Host, caller: Caller, id: string, path: string): Promise<unknown> => {
    return host.use(caller, id, (_, me) => me.write(path, `text of ${path}`))
  }

  test('serve the same stores while both write, before the newer one is the floor', async () => {
    const site = await newSite()
    const old = await site.serve(OLD)
    const caller = await newCaller(site, old.host)
    const { storeId } = await old.host.create(caller, settings)
    await expect(site.open(NEW)).rejects.toThrow('run `gitlocket engine init` of this one')
    const paths = Array.from({ length: 8 }, (_, n) => `/before-${n}.md`)
    const writing = Promise.all(paths.map((path) => write(old.host, caller, storeId, path)))
    await initEngine({ url: site.url, format: NEW })
    const next = await site.serve(NEW)
    const more = ['/new-1.md', '/new-2.md', '/old-1.md', '/old-2.md']
    await Promise.all([
      writing,
      ...more.map((path) => {
        return write(path.includes('new') ? next.host : old.host, caller, storeId, path)
      }),
    ])
    for (const { host, ready } of [old, next]) {
      for (const path of [...paths, ...more]) {
        const memory = await host.use(caller, storeId, (store) => store.read(path))
        expect(memory?.content).toBe(`text of ${path}`)
      }
      expect(await ready()).toEqual([200, 'ok'])
    }
    await Promise.all([old.close(), next.close()])
  })

  test('are counted: the floor rises once no older one runs, and never falls', async () => {
    const site = await newSite()
    const old = await site.serve(OLD)
    await initEngine({ url: site.url, format: NEW })
    const next = await site.serve(NEW)
    const checked = await checkEngine({ url: site.url, format: NEW }, Date.now)
    expect(checked).toMatchObject({ servers: 2, olderServers: 1 })
    const upgrade = { url: site.url, format: NEW }
    await expect(upgradeEngine(upgrade)).rejects.toMatchObject({
      code: 'locked',
      message: expect.stringContaining('A server of an earlier release, last seen'),
    })
    await old.close()
    expect(await upgradeEngine(upgrade)).toEqual({ before: OLD, after: NEW })
    expect(await upgradeEngine(upgrade)).toEqual({ before: NEW, after: NEW })
    expect(await next.ready()).toEqual([200, 'ok'])
    await next.close()
    const tooOld = { code: 'upgrade_required' }
    await expect(site.open(OLD)).rejects.toMatchObject(tooOld)
    await expect(initEngine({ url: site.url, format: OLD })).rejects.toMatchObject(tooOld)
    await expect(upgradeEngine({ url: site.url, format: OLD })).rejects.toMatchObject(tooOld)
    await (await site.open(NEW)).close()
  })

  test('do not wait for a server that has died', async () => {
    const site = await newSite()
    const old = await site.serve(OLD)
    await initEngine({ url: site.url, format: NEW })
    const died = `update gl_server set at = now() - interval '121 seconds'`
    database.sql(died, site.url.slice(site.url.lastIndexOf('/') + 1))
    expect(await upgradeEngine({ url: site.url, format: NEW })).toEqual({ before: OLD, after: NEW })
    // It lives after all, and stops being ready.
    expect(await old.ready()).toEqual([503, 'upgrade_required'])
    await old.close()
  })

  test('an older one refuses a store with newer entries, and serves the others', async () => {
    const site = await newSite()
    const old = await site.serve(OLD)
    const caller = await newCaller(site, old.host)
    const [changed, other] = [
      await old.host.create(caller, settings),
      await old.host.create(caller, settings),
    ]
    await write(old.host, caller, changed.storeId, '/a.md')
    await appendLater(site, changed.storeId)
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const refused = write(old.host, caller, changed.storeId, '/b.md')
      await expect(refused).rejects.toMatchObject({ code: 'upgrade_required' })
      await write(old.host, caller, other.storeId, `/${attempt}.md`)
      expect(await old.ready()).toEqual([503, 'upgrade_required'])
    }
    await old.close()
  })

  /** What a server of a later release would append: its form is unknown to this one. */
  async function appendLater({ url, open }: Site, storeId: string): Promise<void> {
    const engine = await Engine.open({ url })
    const backend = await open(OLD)
    const owner = { ...backend.owner, storeId: parseId('store', storeId) }
    const log = new SealedLog(engine.logs.log(storeId), owner)
    const { number = 0 } = (await log.position()) ?? {}
    expect(await log.append(number + 1, Uint8Array.of(NEW, 1, 2, 3))).toBe(true)
    await backend.close()
    await engine.close()
  }

  test('refuse a database from before the format was frozen, and change nothing', async () => {
    const url = database.database()
    const name = url.slice(url.lastIndexOf('/') + 1)
    await initEngine({ url })
    database.sql(
      `update gl_engine set format = ${UNRELEASED}, floor = ${UNRELEASED};
        alter table gl_record drop column hash;
        alter table gl_change drop column hash, add column removed boolean not null;
        insert into gl_record values ('credentials', 'keys', 'a', '', 0, 0, 1, 1, '\\x00')`,
      name,
    )
    const contents = (): readonly string[] => {
      const columns = database.sql(
        `select table_name, column_name, data_type from information_schema.columns
          where table_schema = 'public' order by 1, 2`,
        name,
      )
      const tables = new Set(columns.split('\n').map((line) => line.split('|')[0]))
      return [columns, ...[...tables].map((one) => database.sql(`table ${one}`, name))]
    }
    const before = contents()
    const { identity } = newHostPlace()
    const replicaDirectory = `${temporaryDirectory()}/replicas`
    for (const attempt of [
      () => EngineBackend.open({ url, identity, replicaDirectory }),
      () => initEngine({ url }),
      () => upgradeEngine({ url }),
      () => checkEngine({ url }, Date.now),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'upgrade_required',
        message: expect.stringContaining('`export` the memories of each store with that release'),
      })
    }
    expect(contents()).toEqual(before)
    expect(existsSync(replicaDirectory)).toBe(false)
    // A server of that release.
    const refused = Engine.open({ url: (await newSite()).url, format: UNRELEASED })
    await expect(refused).rejects.toMatchObject({ code: 'upgrade_required' })
  })

  test('are not ready while the database is away, and ready again with it', async () => {
    const own = await startPostgres()
    const url = own.database()
    const { identity, operatorSecret } = newHostPlace()
    await initEngine({ url })
    const place = { url, identity, replicaDirectory: temporaryDirectory() }
    const { server } = await openServer({
      backend: await EngineBackend.open(place),
      operatorSecret,
    })
    const ready = async (): Promise<number> => {
      return (await server.fetch(new Request('http://localhost/readyz'))).status
    }
    expect(await ready()).toBe(200)
    own.stop()
    expect(await ready()).toBe(503)
    own.start()
    expect(await ready()).toBe(200)
    await server.close()
  })
})
