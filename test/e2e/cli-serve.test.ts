// `serve` as an unattended process, and the verbs that manage it while it runs.

import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { connectToServer } from '../support/mcp-client.ts'
import { patience } from '../support/patience.ts'
import { git } from '../support/temporary.ts'
import { type Home, newHome } from './cli-process.ts'
import { type Asked, ask, newKey, serve } from './serving.ts'

const dataOf = (home: Home): string => join(home.directory, '.local/share/gitlocket/server')

describe('serve', { tags: 'slow' }, () => {
  test('takes a text that the operator lets through on its machine, while it runs', async () => {
    const home = newHome()
    const token = await newKey(home)
    const server = await serve(home)
    const { body } = await ask(server.url, token, 'memory_stores', { name: 'notes' })
    const id = String(body['id'])
    // Put together here, so that no scanner takes it for a leak.
    const content = `token ghp_${'aB3dE5gH7jK9'.repeat(3)}`
    const create = async (): Promise<Asked> =>
      ask(server.url, token, `memory_stores/${id}/memories`, { path: '/a.md', content })
    expect((await create()).status).toBe(400)
    home.file('refused', content)
    const store = join(dataOf(home), 'stores', id)
    await home.ok('--store', store, 'guard', 'allow', '--file', 'refused')
    expect((await create()).status).toBe(200)
    await server.stop()
  })

  test('serves until SIGTERM, logs no path and no text, and ends with 0', async () => {
    const home = newHome()
    const token = await newKey(home)
    const server = await serve(home)
    const store = await ask(server.url, token, 'memory_stores', { name: 'canary-name' })
    const memories = `memory_stores/${String(store.body['id'])}/memories`
    const memory = { path: '/canary-path.md', content: 'canary-content' }
    expect(await ask(server.url, token, memories, memory)).toMatchObject({ status: 200 })
    expect(await ask(server.url, token, memories, memory)).toMatchObject({ status: 409 })
    const { exitCode, stdout, stderr } = await server.stop()
    expect(exitCode).toBe(0)
    expect(stdout).toBe(`Serving on ${server.url}\n`)
    const [made, ...lines] = stderr.trimEnd().split('\n')
    expect(made).toMatch(/^Made an operator secret at .*: keep a copy elsewhere/)
    const route = '/v1/memory_stores/:memory_store_id/memories'
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { method: 'POST', route: '/v1/memory_stores', status: 200 },
      { method: 'POST', route, status: 200 },
      { method: 'POST', route, status: 409, error: 'path_conflict' },
    ])
    expect(stderr).not.toMatch(/canary/)
    expect(stderr).not.toContain(token)
    expect(readFileSync(join(home.directory, '.config/gitlocket/operator-secret'), 'utf8')).toMatch(
      /^GLKO1-/,
    )
  })

  test('continues without a reader of its log', async () => {
    const home = newHome()
    const server = await serve(home)
    server.child.stderr?.destroy()
    for (const status of [401, 401, 401]) {
      expect((await ask(server.url, 'nobody', 'memory_stores')).status).toBe(status)
    }
    expect((await server.stop()).exitCode).toBe(0)
  })

  test('lets git fetch a store with a key for it, until the key is revoked', async () => {
    const home = newHome()
    const server = await serve(home, ['--web-git', '--web-origin', 'https://app.example'])
    await home.ok('store', 'create', 'notes')
    const made = await home.json('api-key', 'create', '--name', 'page', '--web-git', 'notes')
    const { token, memory_store_id: storeId } = made
    const list = await home.ok('api-key', 'list')
    expect(list).toContain(`\t${String(storeId)}\t${String(made['id'])}\n`)
    const url = `${server.url.replace('://', `://x:${String(token)}@`)}/git/${String(storeId)}.git`
    expect(git(['ls-remote', url], '/')).toContain('\trefs/heads/main\n')
    await home.ok('api-key', 'revoke', 'page')
    expect(() => git(['ls-remote', url], '/')).toThrow('Authentication failed')
    const { stderr } = await server.stop()
    expect(stderr).toContain('"route":"/git/:store/info/refs","status":200')
    expect(stderr).not.toContain(String(token))
    const wrong = await home.run(['serve', '--web-origin', 'https://app.example'])
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('--web-git')])
  })

  test('prints JSON with --json, and ends on Ctrl-C too', async () => {
    const home = newHome()
    const server = await serve(home, ['--json'])
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    const front = await fetch(server.url, { headers: { accept: 'text/html' } })
    expect([front.status, front.headers.get('content-type')]).toEqual([
      200,
      'text/plain; charset=utf-8',
    ])
    expect(await front.text()).toContain('gitlocket api-key create')
    const { exitCode, stdout } = await server.stop('SIGINT')
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { type: 'serve', url: server.url },
      { type: 'serve', ended: true },
    ])
    expect(exitCode).toBe(0)
  })

  test('shows figures on a port of their own, and drains before it stops', async () => {
    const home = newHome()
    const server = await serve(home, ['--metrics-port', '0', '--drain', '1m'])
    const ready = () => fetch(`${server.url}/readyz`).then(({ status }) => status)
    expect(await ready()).toBe(200)
    const stopped = server.stop()
    await expect.poll(ready).toBe(503)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    expect((await ask(server.url, 'nobody', 'memory_stores')).status).toBe(401)
    server.child.kill('SIGKILL')
    const { stdout } = await stopped
    expect(stdout).toMatch(/^Serving on .*\nMetrics: http:\/\/127\.0\.0\.1:\d+\/metrics\n$/)
  })

  test('serves a store that is made while it runs, to a client of MCP', async () => {
    const home = newHome()
    const server = await serve(home)
    const token = await newKey(home)
    const url = `${server.url}/mcp`
    await expect(connectToServer(url, { token, era: '2025-11-25' })).rejects.toThrow('store create')
    const set = await home.ok('setup', 'cursor', '--url', url, '--write')
    expect(set).toContain('`gitlocket store create` on the server')
    const made = await home.json('store', 'create', 'notes')
    const client = await connectToServer(url, { token, era: '2025-11-25' })
    await client.value('memory_write', { path: '/memories/notes/a.md', content: 'kept' })
    await client.close()
    expect(await home.ok('store', 'list')).toMatch(
      new RegExp(`^notes\twrkspc_.*\t${String(made['id'])}\n$`),
    )
    const other = await home.json('workspace', 'create', 'other')
    expect(await home.json('store', 'list', '--workspace', String(other['id']))).toMatchObject({
      data: [],
    })
    const unknown = await home.run(['store', 'create', 'x', '--workspace', 'wrkspc_none'])
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      3,
      expect.stringContaining('no workspace "wrkspc_none"'),
    ])
    expect((await server.stop()).exitCode).toBe(0)
    const stores = await home.json('store', 'list')
    expect(stores['data']).toMatchObject([{ id: made['id'], type: 'memory_store', name: 'notes' }])
  })

  test('takes keys and workspaces that are made and revoked while it runs', async () => {
    const home = newHome()
    const server = await serve(home)
    await home.ok('workspace', 'create', 'other')
    const first = await newKey(home, '--name', 'first')
    const second = await newKey(home, '--workspace', 'other')
    const store = await ask(server.url, first, 'memory_stores', { name: 'notes' })
    const path = `memory_stores/${String(store.body['id'])}`
    expect(await ask(server.url, first, path)).toMatchObject({ status: 200 })
    expect(await ask(server.url, second, path)).toMatchObject({ status: 404 })
    const { data } = await home.json('api-key', 'list')
    const [{ id }] = Object(data)
    expect(await home.ok('api-key', 'revoke', 'first')).toBe(
      `Revoked ${id}, and ended its sessions\n`,
    )
    expect(await ask(server.url, first, path)).toMatchObject({ status: 401 })
    expect(await home.ok('api-key', 'list')).toContain(`\t${id}\n`)
    const unknown = await home.run(['api-key', 'revoke', 'apikey_none'])
    expect([unknown.exitCode, unknown.stderr]).toEqual([3, expect.stringContaining('api-key list')])
    expect((await home.json('workspace', 'list'))['data']).toMatchObject([
      { name: 'default' },
      { name: 'other' },
    ])
    expect((await server.stop()).exitCode).toBe(0)
  })

  test('shares its stores with the command line, which it follows', async () => {
    const home = newHome()
    const token = await newKey(home)
    const server = await serve(home)
    const { body } = await ask(server.url, token, 'memory_stores', { name: 'notes' })
    const id = String(body['id'])
    const store = ['--store', join(dataOf(home), 'stores', id)]
    await home.ok(...store, 'create', 'a.md', '--text', 'by hand')
    const listed = await ask(server.url, token, `memory_stores/${id}/memories`)
    expect(listed.body['data']).toMatchObject([{ path: '/a.md' }])
    await home.ok(...store, 'settings', '--name', 'renamed')
    await server.stop()
    const again = await serve(home)
    await ask(again.url, token, `memory_stores/${id}/memories`)
    const after = await ask(again.url, token, `memory_stores/${id}`)
    expect(after.body).toMatchObject({ name: 'renamed' })
    await again.stop()
  })

  test('syncs the stores that have a remote', async () => {
    const home = newHome()
    const token = await newKey(home)
    const server = await serve(home, ['--sync', '1s'])
    const { body } = await ask(server.url, token, 'memory_stores', { name: 'notes' })
    const remote = bareRemote()
    const store = join(dataOf(home), 'stores', String(body['id']))
    await home.ok('--store', store, 'remote', 'add', 'origin', remote)
    await expect.poll(() => existsSync(join(remote, 'refs/heads/main')), patience).toBe(true)
    expect((await server.stop()).exitCode).toBe(0)
  })
})

describe('a server refuses', { tags: 'slow' }, () => {
  test('a second one, addresses of the network without TLS, and half an option', async () => {
    const home = newHome()
    const server = await serve(home)
    expect(await home.run(['serve', '--port', '0'])).toMatchObject({ exitCode: 10 })
    await server.stop()
    expect(await home.run(['serve', '--host', '0.0.0.0'])).toMatchObject({ exitCode: 2 })
    expect(await home.run(['serve', '--tls-cert', 'x'])).toMatchObject({ exitCode: 2 })
    expect(await home.run(['serve', '--max-memory', '1M'])).toMatchObject({ exitCode: 2 })
    for (const interval of ['0s', '5w']) {
      const refused = home.run(['serve', '--host', '0.0.0.0', '--sync', interval])
      expect((await refused).stderr).toContain('--sync must be')
    }
  })

  test('its first start, and starts again with the identity that was made then', async () => {
    for (const words of [
      ['serve', '--host', '0.0.0.0'],
      ['workspace', 'create', ''],
    ]) {
      const home = newHome()
      expect(await home.run(words)).toMatchObject({ exitCode: 2 })
      expect(existsSync(home.identityFile)).toBe(true)
      expect((await (await serve(home)).stop()).exitCode).toBe(0)
    }
  })

  test.each(['catalogue', 'credentials'])(
    'a damaged file that reveals old %s, and starts again as the hint says',
    async (role) => {
      const home = newHome()
      const token = await newKey(home)
      const servers = join(home.stateDirectory, 'servers')
      const [own = ''] = readdirSync(servers)
      const file = join(servers, own, role)
      const bytes = readFileSync(file)
      bytes[100] = (bytes[100] ?? 0) ^ 1
      writeFileSync(file, bytes)
      for (const words of [
        ['serve', '--port', '0'],
        ['api-key', 'list'],
      ]) {
        const { exitCode, stderr } = await home.run(words)
        expect([exitCode, stderr]).toEqual([11, expect.stringContaining('--accept-rolled-back')])
        expect(stderr).not.toContain('doctor')
      }
      const { stderr } = await home.run(['api-key', 'list'])
      const [, followed = ''] = /`gitlocket serve ([^`]+)`/.exec(stderr) ?? []
      const mended = await serve(home, followed.split(' '))
      expect((await ask(mended.url, token, 'memory_stores')).status).toBe(200)
      await mended.stop()
      const again = await serve(home)
      expect((await ask(again.url, token, 'memory_stores')).status).toBe(200)
      await again.stop()
    },
  )

  test('to start on stores whose identity is missing, and takes one from a variable', async () => {
    const home = newHome()
    await newKey(home)
    const text = readFileSync(home.identityFile, 'utf8')
    renameSync(home.identityFile, `${home.identityFile}.away`)
    const { exitCode, stderr } = await home.run(['serve', '--port', '0'])
    expect([exitCode, stderr]).toEqual([8, expect.stringContaining('no identity file')])
    expect(stderr).toContain(`\nserver: ${dataOf(home)}\n`)
    const server = await serve(home, [], { GITLOCKET_IDENTITY: text })
    expect((await server.stop()).exitCode).toBe(0)
    expect(existsSync(home.identityFile)).toBe(false)
  })
})

describe('if the machine of a server is lost', { tags: 'slow' }, () => {
  /** Its only store, as anybody may have a copy of it. */
  async function storeMadeBy(home: Home, words: readonly string[] = []): Promise<string> {
    const token = await newKey(home)
    const server = await serve(home, words)
    const { body } = await ask(server.url, token, 'memory_stores', { name: 'notes' })
    expect((await server.stop()).exitCode).toBe(0)
    return join(dataOf(home), 'stores', String(body['id']))
  }

  /** The directories of stores are named after them. */
  const named = (store: string): string => `${store}#${store.split('/').at(-1) ?? ''}`

  test('the operator secret recovers a store', async () => {
    const [home, other] = [newHome(), newHome()]
    const store = await storeMadeBy(home)
    const GITLOCKET_OPERATOR_SECRET_FILE = join(home.directory, '.config/gitlocket/operator-secret')
    const joined = await other.call(
      ['--store', 'clone', 'join', named(store), '--trust-first-contact'],
      {
        GITLOCKET_OPERATOR_SECRET_FILE,
      },
    )
    expect(joined).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('owner') })
  })

  test('a new operator secret takes the place of one that is known', async () => {
    const [home, other] = [newHome(), newHome()]
    const store = await storeMadeBy(home)
    const file = join(home.directory, '.config/gitlocket/operator-secret')
    renameSync(file, `${file}.old`)
    home.file('new', String((await home.json('key', 'operator'))['operator_secret']))
    renameSync(join(home.directory, 'new'), file)
    expect(await home.json('serve', 'rotate-operator')).toMatchObject({ rotated: 1, failed: [] })
    expect(await home.json('serve', 'rotate-operator')).toMatchObject({ rotated: 0, unchanged: 1 })
    const joining = (secret: string) =>
      other.call(['--store', 'clone', 'join', named(store), '--trust-first-contact'], {
        GITLOCKET_OPERATOR_SECRET_FILE: secret,
      })
    expect(await joining(`${file}.old`)).toMatchObject({ exitCode: 8 })
    expect(await joining(file)).toMatchObject({ exitCode: 0 })
    renameSync(join(store, 'HEAD'), join(store, 'away'))
    expect(await home.call(['serve', 'rotate-operator'])).toMatchObject({
      exitCode: 11,
      stdout: expect.stringContaining(`  not ${store.split('/').at(-1)}: run it again\n`),
    })
  })

  test('an owner whose card the server had opens a store, which has no recovery key', async () => {
    const [home, other] = [newHome(), newHome()]
    const { card } = await other.json('device', 'card')
    const store = await storeMadeBy(home, ['--owner-card', home.file('card', String(card))])
    await other.ok('--store', 'clone', 'join', named(store), '--trust-first-contact')
    expect(await other.json('--store', 'clone', 'status')).toMatchObject({ role: 'owner' })
    expect(existsSync(join(home.directory, '.config/gitlocket/operator-secret'))).toBe(false)
  })

  test('a backup that was made while it ran is restored, with its keys', async () => {
    const home = newHome()
    const token = await newKey(home)
    const server = await serve(home)
    const { body } = await ask(server.url, token, 'memory_stores', { name: 'notes' })
    const path = `memory_stores/${String(body['id'])}`
    await ask(server.url, token, `${path}/memories`, { path: '/a.md', content: 'a' })
    const backup = join(home.directory, 'backup')
    expect(await home.json('serve', 'backup', backup)).toMatchObject({ stores: 1, failed: [] })
    await ask(server.url, token, `${path}/memories`, { path: '/b.md', content: 'b' })
    await server.stop()
    const lost = `${dataOf(home)}.lost`
    renameSync(dataOf(home), lost)
    const { exitCode, stderr } = await home.run(['serve', '--port', '0'])
    expect([exitCode, stderr]).toEqual([12, expect.stringContaining('--accept-rolled-back')])
    rmSync(dataOf(home), { recursive: true })
    expect(await home.ok('serve', 'restore', backup)).toMatch(/^Restored to .*: 1 store\n$/)
    const again = await serve(home)
    const listed = await ask(again.url, token, `${path}/memories`)
    expect(listed.body['data']).toMatchObject([{ path: '/a.md' }])
    expect((await again.stop()).exitCode).toBe(0)
  })
})
