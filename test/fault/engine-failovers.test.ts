// Two servers write to several stores while the primary of their database dies again and again, and
// its synchronous standby takes its place: everything that either has acknowledged is there once,
// on both and on a new server.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { hasCode } from '../../src/errors.ts'
import { generateIdentity, type Identity, type MemoryStore } from '../../src/index.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { full } from '../support/seed.ts'
import { author, leastStretch } from '../support/stores.ts'
import { sharedDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')
const STORES = 3
/** Changes of each writer, before a primary dies and after it. */
const CHANGES = 2

interface FailoverServer {
  readonly stores: readonly MemoryStore[]
  close(): Promise<void>
}

/** What a writer has done in one store. */
interface Written {
  readonly acknowledged: string[]
  /** Paths of texts that were redacted. */
  readonly redacted: string[]
}

describe.skipIf(postgres.missing)(`a primary that dies below stores${postgres.note}`, () => {
  const ids: string[] = []
  let root: string
  let primary: PostgresServer
  let standby: PostgresServer
  let database: string
  let identity: Identity
  beforeAll(async () => {
    primary = await startPostgres()
    const url = primary.database()
    database = url.slice(url.lastIndexOf('/') + 1)
    identity = await generateIdentity()
    await initEngine({ url })
    root = sharedDirectory()
    const backend = await EngineBackend.open({ url, identity, replicaDirectory: `${root}/maker` })
    const actor = { type: 'session', id: 'founder' } as const
    const options = { actor, refuseSecrets: false, stretch: leastStretch }
    for (let n = 0; n < STORES; n += 1) {
      const store = await backend.createStore(options, async (id) => void ids.push(id))
      await store.as(author).write('/log.md', '')
      await store.close()
    }
    await backend.close()
    standby = await primary.addStandby()
  })

  async function open(name: string): Promise<FailoverServer> {
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
    const url = `postgres://gl@${hosts}/${database}`
    const backend = await EngineBackend.open({ url, identity, replicaDirectory: `${root}/${name}` })
    const stores = await Promise.all(ids.map((id) => backend.openStore(id)))
    const close = async (): Promise<void> => {
      for (const store of stores) await store.close()
      await backend.close()
    }
    return { stores, close }
  }

  test('loses nothing that was acknowledged, and doubles nothing', async () => {
    const rounds = full ? 20 : 2
    const acknowledged = ids.map((): string[] => [])
    for (let round = 0; round < rounds; round += 1) {
      const servers = [await open('a'), await open('b')]
      let isOver = false
      const writers = servers.flatMap(({ stores }, server) => {
        return stores.map((store, at) => {
          const written: Written = { acknowledged: [], redacted: [] }
          const name = `${round}.${server}`
          // Redactions are long work, and append to the log several times.
          const redacts = at === 0 && server === round % 2
          const done = write({ store, name, redacts, written, isOver: () => isOver })
          return { at, store, written, done }
        })
      })
      const counts = (): readonly number[] => {
        return writers.map(({ written }) => written.acknowledged.length)
      }
      const allDo = async (more: number): Promise<void> => {
        const before = counts()
        await expect
          .poll(() => counts().every((count, at) => count >= (before[at] ?? 0) + more))
          .toBe(true)
      }
      await allDo(CHANGES)
      primary.kill()
      standby.promote()
      await allDo(CHANGES)
      isOver = true
      await Promise.all(writers.map(({ done }) => done))
      for (const { at, store, written } of writers) {
        acknowledged[at]?.push(...written.acknowledged)
        for (const path of written.redacted) expect(await store.read(path)).toBeUndefined()
      }
      await expectSame(servers)
      for (const server of servers) await server.close()
      primary = standby
      if (round + 1 < rounds) standby = await primary.addStandby()
    }
    const fresh = await open('fresh')
    for (const [at, store] of fresh.stores.entries()) {
      const lines = (await store.read('/log.md'))?.content.trimEnd().split('\n') ?? []
      expect(new Set(lines).size, 'none twice').toBe(lines.length)
      expect(acknowledged[at]?.filter((line) => !lines.includes(line))).toEqual([])
      await store.maintenance.verify()
    }
    await fresh.close()
  })
})

interface WritingOptions {
  readonly store: MemoryStore
  readonly name: string
  /** Whether texts are written and erased in between. */
  readonly redacts: boolean
  readonly written: Written
  readonly isOver: () => boolean
}

/** Appends lines of its own until `isOver`. A line whose outcome is unknown is not repeated. */
async function write({ store, name, redacts, written, isOver }: WritingOptions): Promise<void> {
  const me = store.as(author)
  for (let n = 1; !isOver(); n += 1) {
    const line = `${name}.${n}`
    try {
      await me.append('/log.md', `${line}\n`)
      written.acknowledged.push(line)
      if (!redacts) continue
      const path = `/secret-${line}.md`
      await me.write(path, `secret ${line}`)
      await me.redact({ select: { path }, reason: 'legal', current: 'delete' })
      written.redacted.push(path)
    } catch (error) {
      if (!hasCode(error, 'storage_failed', 'locked')) throw error
    }
  }
}

async function expectSame(servers: readonly FailoverServer[]): Promise<void> {
  const states = await Promise.all(
    servers.map(({ stores }) =>
      Promise.all(
        stores.map(async (store) => {
          const log = await store.read('/log.md')
          return [(await store.status()).head, log?.content]
        }),
      ),
    ),
  )
  expect(states[1]).toEqual(states[0])
}
