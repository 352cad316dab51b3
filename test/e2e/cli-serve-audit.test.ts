// `serve audit`, over both kinds of host: every change of every store at least once, continued from
// any line, without a path or a text.
// @module-tag slow

import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type PostgresServer, startPostgres, until } from '../support/postgres.ts'
import { requires } from '../support/tools.ts'
import { ended, type Ended, type Home, mainFile, newHome } from './cli-process.ts'
import { ask, newKey, serve } from './serving.ts'

type Line = Readonly<Record<string, unknown>>

const CANARY = 'canary-7f3a'

/** A host with its stores, and how a command names one. */
interface Host {
  readonly home: Home
  newStore(): Promise<string>
  /** Runs a command on a store. */
  run(storeId: string, ...words: readonly string[]): Promise<void>
}

function hostAt(home: Home): Host {
  const stores = join(home.directory, '.local/share/gitlocket/server/stores')
  const isShared = home.variables['GITLOCKET_ENGINE'] !== undefined
  return {
    home,
    newStore: async () => String((await home.json('store', 'create', CANARY))['id']),
    run: async (id, ...words) => {
      const { exitCode, stderr } = await home.call([
        '--store',
        isShared ? id : join(stores, id),
        ...words,
      ])
      expect(exitCode, stderr).toBe(0)
    },
  }
}

function linesOf(text: string): readonly Line[] {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
}

async function audit(home: Home, ...words: readonly string[]): Promise<readonly Line[]> {
  return linesOf(await home.ok('serve', 'audit', ...words))
}

const since = ({ cursor }: Line): string => `--since=${String(cursor)}`
const idsOf = (lines: readonly Line[]): readonly unknown[] => lines.map(({ id }) => id)
const activitiesOf = (lines: readonly Line[]): readonly unknown[] => {
  return lines.map(({ activity }) => activity)
}

/** `serve audit --follow` as a process of its own. */
function follow(home: Home, ...words: readonly string[]) {
  const child = home.start(['serve', 'audit', '--follow', ...words])
  onTestFinished(() => void child.kill('SIGKILL'))
  const end = ended(child)
  const found: Line[] = []
  const waiting = new Set<() => void>()
  if (child.stdout !== null) {
    createInterface(child.stdout).on('line', (line) => {
      found.push(JSON.parse(line))
      for (const look of waiting) look()
    })
  }
  return {
    /** Resolves once there is such a line. */
    line(wanted: (line: Line) => boolean): Promise<Line> {
      const seen = new Promise<Line>((resolve) => {
        const look = (): void => {
          const line = found.find(wanted)
          if (line !== undefined) resolve(line)
        }
        waiting.add(look)
        look()
      })
      const early = end.then(({ stderr }) => Promise.reject(new Error(`It ended: ${stderr}`)))
      return Promise.race([seen, early])
    },
    stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
      child.kill(signal)
      return end
    },
  }
}

describe('the audit of a directory', () => {
  behavesWith(async () => {
    const home = newHome()
    await home.call(['store', 'create', 'first'])
    return hostAt(home)
  })
})

const postgres = requires('postgres')

describe.skipIf(postgres.missing)(`the audit of a database${postgres.note}`, () => {
  let database: PostgresServer
  beforeAll(async () => {
    database = await startPostgres()
  })

  behavesWith(async () => {
    const home = newHome()
    home.variables['GITLOCKET_ENGINE'] = database.database()
    await home.call(['engine', 'init'])
    await home.call(['store', 'create', 'first'])
    return hostAt(home)
  })
})

function behavesWith(newHost: () => Promise<Host>): void {
  test('has every change once, and the rest after each line', async () => {
    const host = await newHost()
    const { home } = host
    const before = (await audit(home)).length
    const [one, two] = [await host.newStore(), await host.newStore()]
    const reason = ['--reason', CANARY]
    await host.run(one, 'create', `${CANARY}.md`, '--text', CANARY, '--session', 's1', ...reason)
    await host.run(two, 'create', 'b.md', '--text', CANARY)
    await host.run(one, 'mv', `${CANARY}.md`, `b/${CANARY}.md`)
    await host.run(one, 'rm', `b/${CANARY}.md`)
    await host.run(two, 'settings', '--name', `${CANARY}-2`)
    await host.run(two, 'key', 'rotate')
    const text = await home.ok('serve', 'audit')
    const all = linesOf(text)
    expect(text).not.toContain(CANARY)
    expect(new Set(idsOf(all)).size).toBe(all.length)
    const of = (id: string): readonly Line[] => all.filter((line) => line['memory_store_id'] === id)
    expect(all).toHaveLength(before + of(one).length + of(two).length)
    const made = ['store_created', 'device_added', 'recovery_key_set', 'epoch_began']
    expect(activitiesOf(of(one))).toEqual([
      ...made,
      'memory_created',
      'memory_modified',
      'memory_deleted',
    ])
    expect(activitiesOf(of(two))).toEqual([
      ...made,
      'memory_created',
      'settings_changed',
      'epoch_began',
    ])
    expect(of(one)[made.length]).toMatchObject({
      type: 'audit_event',
      actor: { type: 'user_actor', user_id: 'alice' },
      session_id: 's1',
      height: 1,
    })
    for (const [index, line] of all.entries()) {
      expect(idsOf(await audit(home, since(line)))).toEqual(idsOf(all.slice(index + 1)))
    }
  })

  test('follows a server, a new store and a deletion, until SIGTERM', async () => {
    const { home } = await newHost()
    const token = await newKey(home)
    const server = await serve(home, ['--replicas', `${home.directory}/served`])
    const following = follow(home)
    const made = await ask(server.url, token, 'memory_stores', { name: CANARY })
    const id = String(made.body['id'])
    const memory = { path: `/${CANARY}.md`, content: CANARY }
    await ask(server.url, token, `memory_stores/${id}/memories`, memory)
    const is =
      (activity: string) =>
      (line: Line): boolean => {
        return line['memory_store_id'] === id && line['activity'] === activity
      }
    const created = await following.line(is('memory_created'))
    const keys = await home.json('api-key', 'list')
    expect(Object.keys(created).toSorted()).toEqual(Object.keys(documented()).toSorted())
    const { api_key_id: keyId, type } = Object(created['actor'])
    expect(type).toBe('api_actor')
    expect(keys['data']).toMatchObject([{ id: keyId }])
    await fetch(`${server.url}/v1/memory_stores/${id}`, {
      method: 'DELETE',
      headers: { 'x-api-key': token, 'anthropic-beta': 'agent-memory-2026-07-22' },
    })
    const deleted = await following.line(is('store_deleted'))
    expect(await following.stop()).toMatchObject({ exitCode: 0, stderr: '' })
    expect(idsOf(await audit(home, since(deleted)))).not.toContain(deleted['id'])
    const rest = await audit(home, since(created))
    const ofIt = rest.filter((line) => line['memory_store_id'] === id)
    expect(activitiesOf(ofIt)).toEqual(['store_deleted'])
    expect((await server.stop()).exitCode).toBe(0)
    // The export had the store open when it was erased.
    const kept = [join(home.directory, '.local'), `${home.directory}/served`].flatMap(namesBelow)
    expect(kept.filter((name) => name.includes(id))).toEqual([])
  })

  test('continues after a redaction', async () => {
    const host = await newHost()
    const { home } = host
    const id = await host.newStore()
    await host.run(id, 'create', 'a.md', '--text', `secret ${CANARY}`)
    await host.run(id, 'write', 'a.md', '--text', 'harmless')
    await host.run(id, 'create', 'b.md', '--text', 'kept')
    const before = (await audit(home)).filter((line) => line['memory_store_id'] === id)
    const version = before.find(({ activity }) => activity === 'memory_created')
    const redact = ['redact', String(version?.['memory_version_id']), '--yes']
    await host.run(id, ...redact, '--reason-code', 'personal_data')
    for (const [index, line] of before.entries()) {
      const rest = (await audit(home, since(line))).filter((one) => one['memory_store_id'] === id)
      expect(idsOf(rest.slice(0, -1))).toEqual(idsOf(before.slice(index + 1)))
      expect(rest.at(-1)).toMatchObject({
        activity: 'version_redacted',
        memory_version_id: version?.['memory_version_id'],
        reason: 'personal_data',
      })
    }
  })

  test('is for the identity of the server alone', async () => {
    const host = await newHost()
    await host.newStore()
    const stranger = newHome()
    Object.assign(stranger.variables, host.home.variables)
    await stranger.json('device', 'card')
    const data = join(host.home.directory, '.local/share/gitlocket/server')
    const { exitCode, stdout, stderr } = await stranger.call(['serve', 'audit', '--data', data])
    expect([exitCode, stdout]).toEqual([8, ''])
    expect(stderr).toContain('another identity')
  })
}

describe('the lines of an audit', () => {
  async function newHost(): Promise<Host> {
    const host = hostAt(newHome())
    await host.home.call(['store', 'create', 'first'])
    return host
  }

  test('repeat the rest of a file that was cut off, and leave nothing out', async () => {
    const host = await newHost()
    const { home } = host
    for (const path of ['a.md', 'b.md']) {
      await host.run(await host.newStore(), 'create', path, '--text', 'hello')
    }
    const all = await audit(home, '--since=')
    const [last] = all.slice(-1)
    const [run = ''] = String(last?.['cursor']).split('.')
    const file = runsOf(home).find((path) => path.endsWith(run)) ?? ''
    truncateSync(file, Math.floor(readFileSync(file).length / 2))
    const repeated = await audit(home, since(last ?? {}))
    expect(repeated.length).toBeGreaterThan(0)
    expect(idsOf(all)).toEqual(expect.arrayContaining([...idsOf(repeated)]))
    truncateSync(file, 0)
    const others = all.filter((line) => line['memory_store_id'] !== last?.['memory_store_id'])
    expect(idsOf(await audit(home, since(last ?? {})))).toEqual(idsOf(others))
  })

  test.each(['x', '0'.repeat(16), `${'0'.repeat(16)}.0`, '../catalogue.0'])(
    'do not continue after the cursor %j',
    async (cursor) => {
      const { home } = await newHost()
      const { exitCode, stdout, stderr } = await home.call(['serve', 'audit', '--since', cursor])
      expect([exitCode, stdout]).toEqual([2, ''])
      expect(stderr).toContain('leave out --since')
    },
  )

  test('of other stores are printed if one cannot be read', async () => {
    const host = await newHost()
    const { home } = host
    const [lost, kept] = [await host.newStore(), await host.newStore()]
    const stores = join(home.directory, '.local/share/gitlocket/server/stores')
    rmSync(join(stores, lost, 'HEAD'))
    const { exitCode, stdout, stderr } = await home.call(['serve', 'audit'])
    expect(exitCode).toBe(11)
    expect(JSON.parse(stderr)).toMatchObject({ about: lost, code: 'not_a_store' })
    const found = new Set(linesOf(stdout).map((line) => line['memory_store_id']))
    expect([found.has(lost), found.has(kept), found.size]).toEqual([false, true, 2])
  })

  test('need a server', async () => {
    const home = newHome()
    const { exitCode, stderr } = await home.call(['serve', 'audit'])
    expect(exitCode).toBe(3)
    expect(stderr).toContain('no data of a server')
    expect(readdirSync(home.directory)).not.toContain('.local')
  })

  test('end with a reader that closes, and wait for one that is slow', async () => {
    const host = await newHost()
    const { home } = host
    const env = { ...home.environment(), gitlocket: `${process.execPath} ${mainFile}` }
    const line = 'set -o pipefail; $gitlocket serve audit --follow | head -n 1'
    const reading = ended(spawn('bash', ['-c', line], { cwd: home.directory, env, stdio: 'pipe' }))
    const id = await host.newStore()
    await host.run(id, 'import', filesIn(home))
    expect((await reading).exitCode).toBe(0)
    // More than a pipe holds, and no one reads.
    const before = runsOf(home).length
    const child = home.start(['serve', 'audit', '--follow'])
    const exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
    await until(() => runsOf(home).length > before)
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
    let text = ''
    for await (const chunk of child.stdout ?? []) text += String(chunk)
    expect(linesOf(text.slice(0, text.lastIndexOf('\n'))).length).toBeLessThan(FILES)
  })
})

const FILES = 1000

/** The line of docs/SERVER.md. */
function documented(): Line {
  const text = readFileSync(new URL('../../docs/SERVER.md', import.meta.url), 'utf8')
  return JSON.parse(/^\{"type":"audit_event".*$/m.exec(text)?.[0] ?? '')
}

function namesBelow(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory, { recursive: true, encoding: 'utf8' }) : []
}

/** The files that cursors need. */
function runsOf({ stateDirectory }: Home): readonly string[] {
  const root = join(stateDirectory, 'audit')
  if (!existsSync(root)) return []
  return readdirSync(root).flatMap((host) =>
    readdirSync(join(root, host)).map((run) => join(root, host, run)),
  )
}

/** A directory with more files than lines fit into a pipe. */
function filesIn(home: Home): string {
  for (let number = 0; number < FILES; number += 1) home.file(`many/${number}.md`, `text ${number}`)
  return join(home.directory, 'many')
}
