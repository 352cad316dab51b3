// A server of a shared store that is killed, or stopped for a while, before or after each statement
// that it sends to the database, while another one writes: changes that either has acknowledged are
// there once, and the store verifies from genesis.
// @module-tag slow

import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { generateIdentity, type MemoryStore } from '../../src/index.ts'
import { formatIdentity } from '../../src/keys/identity.ts'
import { type PostgresServer, startPostgres, until } from '../support/postgres.ts'
import { full, seed } from '../support/seed.ts'
import { author, leastStretch } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const moments = ['before', 'after'] as const
/** A store is not used by more: each run adds a megabyte, and then statements that send it. */
const RUNS_PER_STORE = 4
/** For each moment; all statements are taken again and again. */
const KILLS_FULL = 500
/** By default a sample of the statements. */
const STEP = full ? 1 : 9
const STOP_STEP = full ? 1 : 18
const FIRST = 1 + ((seed - 1) % STEP)

interface KillSite {
  readonly root: string
  readonly url: string
  readonly backend: EngineBackend
  readonly fresh: EngineBackend
}

interface SharedLines {
  readonly id: string
  readonly store: MemoryStore
  readonly acknowledged: string[]
}

describe.skipIf(postgres.missing)(`a server that shares a store${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  async function newSite(): Promise<KillSite> {
    const root = temporaryDirectory()
    const url = server.database()
    const identity = await generateIdentity()
    writeFileSync(`${root}/identity`, formatIdentity(identity), { mode: 0o600 })
    await initEngine({ url })
    const open = (name: string): Promise<EngineBackend> => {
      return EngineBackend.open({ url, identity, replicaDirectory: `${root}/${name}` })
    }
    return { root, url, backend: await open('other'), fresh: await open('fresh') }
  }

  async function close({ url, backend, fresh }: KillSite): Promise<void> {
    const database = url.slice(url.lastIndexOf('/') + 1)
    expect(server.sql('select count(*) from gl_mark', database)).toBe('0')
    await backend.close()
    await fresh.close()
  }

  test.each(moments)('is killed %s each of its statements', async (moment) => {
    const site = await newSite()
    let [at, kills, isDone] = [FIRST, 0, false]
    while (!isDone && kills < KILLS_FULL) {
      const shared = await newLines(site)
      const { store, acknowledged } = shared
      for (let run = 0; run < RUNS_PER_STORE && !isDone && kills < KILLS_FULL; run += 1) {
        const name = `${moment}-${kills}`
        const writer = startWriter(site, shared, name, ['SIGKILL', moment, String(at)])
        await store.as(author).append('/log.md', `other.${kills}.${at}\n`)
        acknowledged.push(`other.${kills}.${at}`)
        const lines = await writer.lines
        acknowledged.push(...lines.filter((line) => line.startsWith(`${name}.`)))
        if (lines.includes(`redacted ${name}`)) {
          expect(await store.read(`/secret-${name}.md`)).toBeUndefined()
        }
        const wasKilled = !lines.includes('done')
        if (wasKilled) kills += 1
        else if (!full) isDone = true
        at = wasKilled ? at + STEP : 1
      }
      await check(site, shared)
    }
    await close(site)
  })

  test.each(moments)('is stopped %s each of them, overtaken, and continues', async (moment) => {
    const site = await newSite()
    for (let [at, isDone] = [FIRST, false]; !isDone; at += STOP_STEP) {
      const shared = await newLines(site)
      const { store, acknowledged } = shared
      const me = store.as(author)
      const writer = startWriter(site, shared, 'stopped', ['SIGSTOP', moment, String(at)])
      await until(() => writer.state() !== 'running')
      isDone = writer.state() === 'ended'
      // Its claims end, its entries get numbers of others, and the log loses them all.
      await me.write('/erased.md', 'text')
      for (const line of ['other.1', 'other.2']) {
        await me.append('/log.md', `${line}\n`)
        acknowledged.push(line)
        await store.maintenance.compact()
      }
      await me.redact({ select: { path: '/erased.md' }, reason: 'legal', current: 'delete' })
      writer.resume()
      const lines = await writer.lines
      expect(lines).toContain('done')
      acknowledged.push(...lines.filter((line) => line.startsWith('stopped.')))
      expect(await store.read('/secret-stopped.md')).toBeUndefined()
      await check(site, shared)
    }
    await close(site)
  })
})

async function newLines({ backend }: KillSite): Promise<SharedLines> {
  let id = ''
  const actor = { type: 'session', id: 'founder' } as const
  const options = { actor, refuseSecrets: false, stretch: leastStretch }
  const store = await backend.createStore(options, async (storeId) => void (id = storeId))
  await store.as(author).write('/log.md', '')
  return { id, store, acknowledged: [] }
}

/** Closes the store, and looks at it on a server that has not had it. */
async function check({ fresh }: KillSite, { id, store, acknowledged }: SharedLines): Promise<void> {
  const log = (await store.read('/log.md'))?.content.trimEnd().split('\n') ?? []
  expect(new Set(log).size, 'none twice').toBe(log.length)
  expect(acknowledged.filter((line) => !log.includes(line))).toEqual([])
  await store.maintenance.checkpoint()
  await store.close()
  const again = await fresh.openStore(id)
  expect((await again.read('/log.md'))?.content.trimEnd().split('\n')).toEqual(log)
  await again.maintenance.verify()
  await again.close()
}

interface Writer {
  /** Those that it has printed until it ended, or was killed. */
  readonly lines: Promise<readonly string[]>
  state(): 'running' | 'stopped' | 'ended'
  resume(): void
}

function startWriter(
  { root, url }: KillSite,
  { id }: SharedLines,
  name: string,
  end: readonly string[],
): Writer {
  const given = [url, `${root}/identity`, id, `${root}/killed`, name, ...end]
  const child = spawn(process.execPath, ['test/support/engine-writer.mjs', ...given], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [output, errors] = ['', '']
  child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()))
  const lines = new Promise<readonly string[]>((resolve, reject) => {
    child.on('close', () => {
      if (errors === '') resolve(output.split('\n'))
      else reject(new Error(errors))
    })
  })
  return {
    lines,
    state() {
      if (child.exitCode !== null || child.signalCode !== null) return 'ended'
      const [, state] = /\) (\w) /.exec(readFileSync(`/proc/${child.pid}/stat`, 'utf8')) ?? []
      return state === 'T' ? 'stopped' : 'running'
    },
    resume: () => void child.kill('SIGCONT'),
  }
}
