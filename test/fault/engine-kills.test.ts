// A server of a shared store that is killed before or after each statement that it sends to the
// database, while another one writes: changes that either has acknowledged are there once, and the
// store verifies from genesis.
// @module-tag slow

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { generateIdentity } from '../../src/index.ts'
import { formatIdentity } from '../../src/keys/identity.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
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

describe.skipIf(postgres.missing)(`a server that is killed${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  test.each(moments)('%s each of its statements', async (moment) => {
    const root = temporaryDirectory()
    const url = server.database()
    const database = url.slice(url.lastIndexOf('/') + 1)
    const identity = await generateIdentity()
    writeFileSync(`${root}/identity`, formatIdentity(identity), { mode: 0o600 })
    await initEngine({ url })
    const backend = await EngineBackend.open({ url, identity, replicaDirectory: `${root}/other` })
    const fresh = await EngineBackend.open({ url, identity, replicaDirectory: `${root}/fresh` })
    const step = full ? 1 : 9
    const [first, most] = full ? [1, KILLS_FULL] : [1 + ((seed - 1) % step), Infinity]
    let [at, kills, isDone] = [first, 0, false]
    while (!isDone && kills < most) {
      let id = ''
      const actor = { type: 'session', id: 'founder' } as const
      const options = { actor, refuseSecrets: false, stretch: leastStretch }
      const store = await backend.createStore(options, async (storeId) => void (id = storeId))
      await store.as(author).write('/log.md', '')
      const acknowledged: string[] = []
      for (let run = 0; run < RUNS_PER_STORE && !isDone && kills < most; run += 1) {
        const name = `${moment}-${at}.${kills}`
        const given = [url, `${root}/identity`, id, `${root}/killed`, name, String(at), moment]
        const killed = runScript('test/support/engine-writer.mjs', given)
        await store.as(author).append('/log.md', `other.${at}\n`)
        acknowledged.push(`other.${at}`)
        const lines = await killed
        acknowledged.push(...lines.filter((line) => line.startsWith(`${name}.`)))
        if (lines.includes(`redacted ${name}`))
          expect(await store.read(`/secret-${name}.md`)).toBe(undefined)
        if (!lines.includes('done')) kills += 1
        else if (full) at = 0
        else isDone = true
        at += step
      }
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
    expect(server.sql('select count(*) from gl_mark', database)).toBe('0')
    await backend.close()
    await fresh.close()
  })
})

/** The lines that a script printed until it ended, or was killed. */
function runScript(script: string, given: readonly string[]): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...given], { stdio: ['ignore', 'pipe', 'pipe'] })
    let [output, errors] = ['', '']
    child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()))
    child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()))
    child.on('close', () => {
      if (errors === '') resolve(output.split('\n'))
      else reject(new Error(errors))
    })
  })
}
