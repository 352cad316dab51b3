// Servers that share a database, as their users start them: two commands from nothing.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { requires } from '../support/tools.ts'
import { ended, type Home, newHome } from './cli-process.ts'
import { type Asked, ask, newKey, serve, type Served } from './serving.ts'

const postgres = requires('postgres')
const openssl = requires('openssl')

describe.skipIf(postgres.missing)(`an engine${postgres.note}`, () => {
  let database: PostgresServer
  beforeAll(async () => {
    database = await startPostgres()
  })

  /** A machine whose programs know the engine. */
  function machineOf(url: string): Home {
    const home = newHome()
    home.variables['GITLOCKET_ENGINE'] = url
    return home
  }

  const serveOne = (home: Home, name: string): Promise<Served> => {
    return serve(home, ['--replicas', `${home.directory}/${name}`])
  }

  test('is made and served by two commands, as often as wanted', async () => {
    const home = machineOf(database.database())
    const { stderr } = await home.call(['engine', 'init'])
    expect(stderr).toContain('Made an operator secret')
    expect(await home.json('engine', 'init')).toMatchObject({ type: 'engine_init', ready: true })
    const token = await newKey(home)
    const [one, two] = await Promise.all([serveOne(home, 'one'), serveOne(home, 'two')])
    const made = await ask(one.url, token, 'memory_stores', { name: 'notes' })
    const id = String(made.body['id'])
    const memories = `memory_stores/${id}/memories`
    const create = (server: Served, path: string): Promise<Asked> => {
      return ask(server.url, token, memories, { path, content: `text of ${path}` })
    }
    for (const [at, server] of [one, two, one, two].entries()) {
      expect((await create(server, `/${at}.md`)).status).toBe(200)
    }
    // Killed, it loses nothing that it has answered, and the other one continues.
    await one.stop('SIGKILL')
    expect((await create(two, '/after.md')).status).toBe(200)
    const again = await serveOne(home, 'one')
    const listed = await ask(again.url, token, memories)
    expect(listed.body['data']).toHaveLength(5)
    const list = await home.json('store', 'list')
    expect(list['data']).toMatchObject([{ id, name: 'notes' }])
    await home.ok('api-key', 'revoke', token.split('_', 2).join('_').replace('glk', 'apikey'))
    for (const { url } of [again, two]) {
      expect((await ask(url, token, memories)).status).toBe(401)
    }
    expect((await two.stop()).exitCode).toBe(0)
    expect((await again.stop()).exitCode).toBe(0)
  })

  test('has stores that every command opens by their ids', async () => {
    const home = machineOf(database.database())
    await home.call(['engine', 'init'])
    const id = String((await home.json('store', 'create', 'notes'))['id'])
    await home.ok('--store', id, 'create', 'a.md', '--text', 'from one command')
    expect(await home.ok('--store', id, 'cat', 'a.md')).toContain('from one command')
    await home.ok('--store', id, 'rm', 'a.md')
    expect(await home.ok('--store', id, 'ls')).not.toContain('a.md')
    const stranger = newHome()
    stranger.variables['GITLOCKET_ENGINE'] = home.variables['GITLOCKET_ENGINE'] ?? ''
    const { exitCode, stderr } = await stranger.call(['store', 'list'])
    expect([exitCode, stderr]).toEqual([8, expect.stringContaining('another identity')])
  })

  test('is upgraded once no server of an earlier release runs', async () => {
    const home = machineOf(database.database())
    const early = await home.call(['engine', 'upgrade'])
    expect([early.exitCode, early.stderr]).toEqual([9, expect.stringContaining('engine init')])
    await home.call(['engine', 'init'])
    expect(await home.json('engine', 'upgrade')).toMatchObject({
      type: 'engine_upgrade',
      format: 2,
      format_before: 2,
    })
    const server = await serveOne(home, 'one')
    const ready = async (): Promise<readonly [number, unknown]> => {
      const answer = await fetch(`${server.url}/readyz`)
      return [answer.status, await answer.json()]
    }
    expect(await ready()).toEqual([200, { status: 'ok' }])
    const sql = (text: string): string => {
      const url = home.variables['GITLOCKET_ENGINE'] ?? ''
      return database.sql(text, url.slice(url.lastIndexOf('/') + 1))
    }
    // This server is one of an earlier release from now on.
    sql('update gl_server set format = 1')
    const refused = await home.call(['engine', 'upgrade'])
    expect(refused.stderr).toContain('A server of an earlier release')
    const checked = await home.call(['engine', 'check'])
    expect(checked.stdout).toContain('Servers     1')
    // And a later release has been made the least.
    sql('update gl_engine set format = 3, floor = 3')
    expect(await ready()).toEqual([503, { status: 'upgrade_required' }])
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    for (const words of [
      ['store', 'list'],
      ['engine', 'init'],
      ['engine', 'upgrade'],
    ]) {
      const { exitCode, stderr } = await home.call(words)
      expect([exitCode, stderr]).toEqual([7, expect.stringContaining('later release')])
    }
    expect((await server.stop()).exitCode).toBe(0)
    expect(sql('select count(*) from gl_server')).toBe('0')
  })

  test('that was put back is refused, and accepted once', async () => {
    const url = database.database()
    const home = machineOf(url)
    await home.call(['engine', 'init'])
    const token = await newKey(home)
    const id = String((await home.json('store', 'create', 'notes'))['id'])
    await home.ok('--store', id, 'create', 'a.md', '--text', 'before the backup')
    await home.ok('--store', id, 'remote', 'add', 'origin', bareRemote())
    expect(await home.ok('--store', id, 'remote', 'list')).toContain('origin')
    const name = new URL(url).pathname.slice(1)
    // The anchors are kept: a restore of all tables is not noticed by a program that starts.
    const tables = ['gl_store', 'gl_log', 'gl_part', 'gl_list', 'gl_record']
    for (const table of tables) database.sql(`create table old_${table} as table ${table}`, name)
    await home.ok('--store', id, 'create', 'b.md', '--text', 'after it')
    await home.ok('--store', id, 'sync')
    for (const table of tables) {
      database.sql(`delete from ${table}; insert into ${table} select * from old_${table}`, name)
    }
    const refused = await home.call(['--store', id, 'ls'])
    expect([refused.exitCode, refused.stderr]).toEqual([
      12,
      expect.stringContaining('gitlocket serve accept-restored'),
    ])
    const { stderr } = await home.call(['serve', '--port', '0', '--accept-rolled-back'])
    expect(stderr).toContain('gitlocket serve accept-restored')

    const accepted = await home.ok('serve', 'accept-restored')
    expect(accepted).toContain('Accepted as restored: 1 store\n')
    expect(accepted).toContain(`gitlocket --store ${id} sync`)
    const again = await home.json('serve', 'accept-restored')
    expect(again).toMatchObject({
      type: 'serve_accept_restored',
      stores: 1,
      failed: [],
      unsynced: [id],
    })
    expect(await home.ok('--store', id, 'ls')).not.toContain('b.md')
    await home.ok('--store', id, 'sync')
    const server = await serveOne(home, 'one')
    const memories = `memory_stores/${id}/memories`
    const written = await ask(server.url, token, memories, { path: '/c.md', content: 'later' })
    expect(written.status).toBe(200)
    expect((await ask(server.url, token, memories)).body['data']).toHaveLength(3)
    await server.stop()
    expect(await home.ok('--store', id, 'sync')).toContain('origin')
  })

  test('is accepted as restored only where there is one', async () => {
    const home = newHome()
    const { exitCode, stderr } = await home.call(['serve', 'accept-restored'])
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Name the engine')])
    const empty = machineOf(database.database())
    await empty.call(['engine', 'init'])
    expect((await empty.call(['serve', 'accept-restored'])).stderr).toContain('no data of a server')
  })

  test('gives its servers a new identity, however often that is killed', async () => {
    const url = database.database()
    const home = machineOf(url)
    const name = new URL(url).pathname.slice(1)
    await home.call(['engine', 'init'])
    const token = await newKey(home)
    const ids: string[] = []
    for (const store of ['one', 'two', 'three', 'four']) {
      const id = String((await home.json('store', 'create', store))['id'])
      await home.ok('--store', id, 'create', 'a.md', '--text', `text of ${store}`)
      ids.push(id)
    }
    const running = await serveOne(home, 'one')
    const rotation = ['serve', 'rotate-identity', '--to', 'next-identity']
    const refused = await home.call(rotation)
    expect([refused.exitCode, refused.stderr]).toEqual([10, expect.stringContaining('end all')])
    await running.stop()
    // Wherever these kills find it, the next run continues.
    for (const ms of [700, 850, 1000, 1200, 1500]) {
      const child = home.start(rotation)
      const end = ended(child)
      const timer = setTimeout(() => child.kill('SIGKILL'), ms)
      await end
      clearTimeout(timer)
      database.sql('delete from gl_job', name)
    }
    expect(await home.json(...rotation)).toMatchObject({
      type: 'serve_rotate_identity',
      stores: 4,
      failed: [],
      shared: [],
    })
    const old = await home.call(['store', 'list'])
    expect([old.exitCode, old.stderr]).toEqual([8, expect.stringContaining('another identity')])
    expect((await home.call(['--store', ids[0] ?? '', 'ls'])).exitCode).not.toBe(0)

    home.variables['GITLOCKET_IDENTITY_FILE'] = `${home.directory}/next-identity`
    const server = await serveOne(home, 'two')
    for (const id of ids) {
      const listed = await ask(server.url, token, `memory_stores/${id}/memories`)
      expect(listed.body['data']).toHaveLength(1)
      expect(await home.ok('--store', id, 'cat', 'a.md')).toContain('text of')
    }
    expect((await server.stop()).exitCode).toBe(0)
    const same = await home.call(rotation)
    expect([same.exitCode, same.stderr]).toEqual([2, expect.stringContaining('the one that')])
  })

  test('is checked, and rewritten', async () => {
    const home = machineOf(database.database())
    const before = await home.call(['engine', 'check'])
    expect(before.stderr).toContain('engine init')
    expect(before.stderr).toContain(`engine: 127.0.0.1:${database.port}/`)
    expect(before.stderr).not.toContain('store:')
    await home.call(['engine', 'init'])
    const checked = await home.call(['engine', 'check', '--json'])
    expect(checked.exitCode).toBe(1)
    expect(JSON.parse(checked.stdout)).toMatchObject({
      type: 'engine_check',
      has_synchronous_standby: false,
      is_pooled: false,
    })
    expect(await home.json('engine', 'scrub')).toMatchObject({ scrubbed: true })
  })

  test.skipIf(openssl.missing)(`is reached with TLS by every command${openssl.note}`, async () => {
    const ca = database.encrypt('localhost')
    const url = `${database.database().replace('127.0.0.1', 'localhost')}?sslmode=verify-full`
    const home = machineOf(url)
    const refused = await home.call(['engine', 'init'])
    expect(refused.stderr).toContain('--engine-ca')
    expect((await home.call(['engine', 'init', '--engine-ca', ca])).exitCode).toBe(0)
    home.variables['GITLOCKET_ENGINE_CA'] = ca
    const id = String((await home.json('store', 'create', 'notes'))['id'])
    await home.ok('--store', id, 'create', 'a.md', '--text', 'sealed on its way')
    expect(await home.ok('--store', id, 'cat', 'a.md')).toContain('sealed on its way')
  })

  test.each([
    ['', 'Name the engine'],
    ['http://x', 'must begin as postgres://'],
    ['postgres://gl@127.0.0.1:1/none', 'is not reached'],
    ['postgres://gl@db.example.com/x?sslmode=disable', '--engine-insecure'],
    ['postgres://gl@127.0.0.1/x?sslmode=prefer', 'sslmode is'],
  ])('at the address %j is refused with a reason', async (url, reason) => {
    const words = url === '' ? [] : ['--engine', url]
    const { exitCode, stderr } = await newHome().call([...words, 'engine', 'check'])
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain(reason)
  })
})
