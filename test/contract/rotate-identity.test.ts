// A host gets a new identity, in a data directory and in a database: stores, keys and sessions are
// the same, the old identity opens nothing, and a run that died is repeated.

import { readdirSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { DataDirectory } from '../../src/hosting/data-directory.ts'
import type { RotatingBackend } from '../../src/hosting/host-backend.ts'
import { type IdentityRotationReport, rotateIdentity } from '../../src/hosting/rotate-identity.ts'
import { generateIdentity, type Identity } from '../../src/index.ts'
import { bareRemote } from '../support/clones.ts'
import { callerOf, type HostPlace, newHost, newHostPlace, settings } from '../support/hosts.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { author } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

interface Kind {
  readonly place: HostPlace
  readonly open: (identity: Identity) => Promise<RotatingBackend>
}

/** An id that no store has. */
const unknownStore = `memstore_${'0'.repeat(26)}`

type NewKind = () => Promise<Kind>

const { actor } = author
const next = await generateIdentity()

async function filled({ place }: Kind) {
  const { host, caller, token } = await newHost({}, place)
  const storeIds: string[] = []
  for (const name of ['one', 'two']) {
    const { storeId } = await host.create(caller, { ...settings, name })
    storeIds.push(storeId)
    await host.use(caller, storeId, async (store, me) => {
      await me.write('/a.md', `text of ${name}`)
      if (name === 'one') {
        await store.remotes.add('origin', bareRemote())
        await me.sync()
      }
      await me.write('/b.md', 'later')
    })
  }
  const [first = ''] = storeIds
  const resource = { memory_store_id: first, access: 'read_write', instructions: null } as const
  const session = await host.createSession(caller, { resources: [resource], expiresIn: 3600 })
  await host.close()
  return { tokens: [token, session.token], storeIds, first }
}

type Filled = Awaited<ReturnType<typeof filled>>

async function rotating<T>(
  { place, open }: Kind,
  work: (from: RotatingBackend, to: RotatingBackend) => Promise<T>,
): Promise<T> {
  const [from, to] = [await open(place.identity), await open(next)]
  try {
    return await work(from, to)
  } finally {
    await from.close()
    await to.close()
  }
}

function rotate(kind: Kind): Promise<IdentityRotationReport> {
  const notice = ({ error }: { readonly error: unknown }): never => {
    throw error
  }
  return rotating(kind, (from, to) => rotateIdentity({ from, to, actor, notice }))
}

async function expectRotated(kind: Kind, { tokens, storeIds, first }: Filled): Promise<void> {
  const { place, open } = kind
  const { host } = await newHost({}, { ...place, identity: next })
  const callers = await Promise.all(tokens.map((token) => callerOf(host, token)))
  for (const caller of callers) {
    await host.use(caller, first, async (store, me) => {
      expect((await store.read('/a.md'))?.content).toBe('text of one')
      expect((await store.read('/b.md'))?.content).toBe('later')
      await me.write('/new.md', 'after the rotation')
      await me.sync()
      const devices = await store.devices.list()
      const active = devices.filter(({ removed }) => removed === undefined)
      expect(active.map(({ isThis, role }) => [isThis, role])).toEqual([[true, 'owner']])
      expect(devices).toHaveLength(2)
      await store.maintenance.verify()
    })
  }
  const { data } = await host.list(await callerOf(host, tokens[0] ?? ''), { limit: 20 })
  expect(data.map(({ name }) => name).toSorted()).toEqual(['one', 'two'])
  await host.close()
  await expect(newHost({}, place)).rejects.toMatchObject({
    code: expect.stringMatching(/wrong_key|freshness_corrupt/),
  })
  const thief = await open(place.identity)
  for (const storeId of storeIds)
    await expect(thief.openStore(storeId)).rejects.toMatchObject({ code: expect.any(String) })
  await thief.close()
}

function describeRotation(newKind: NewKind): void {
  test('gives all to it, and nothing to the old one', async () => {
    const kind = await newKind()
    const before = await filled(kind)
    expect(await rotate(kind)).toEqual({ stores: 2, failed: [], shared: [] })
    await expectRotated(kind, before)
    expect(await rotate(kind), 'once more').toEqual({ stores: 2, failed: [], shared: [] })
    await expectRotated(kind, before)
  })

  test('is refused while a server runs, and for the same identity', async () => {
    const kind = await newKind()
    const { host } = await newHost({}, kind.place)
    await expect(rotate(kind)).rejects.toMatchObject({ code: 'locked' })
    await host.close()
    const same = await kind.open(kind.place.identity)
    const rotation = { from: same, to: same, actor, notice: () => undefined }
    await expect(rotateIdentity(rotation)).rejects.toMatchObject({ code: 'invalid_input' })
    await same.close()
  })

  test('names stores with further devices, and those that fail', async () => {
    const kind = await newKind()
    const before = await filled(kind)
    const { host } = await newHost({}, kind.place)
    const caller = await callerOf(host, before.tokens[0] ?? '')
    const thief = await generateIdentity()
    const { formatDeviceCard } = await import('../../src/index.ts')
    await host.use(caller, before.first, async (_store, me) => {
      await me.devices.add(formatDeviceCard(thief), 'owner')
    })
    await host.close()
    const told: unknown[] = []
    const report = await rotating(kind, (from, to) => {
      const call = from.rotateStore.bind(from)
      from.rotateStore = (storeId, ...rest) =>
        call(storeId === before.first ? storeId : unknownStore, ...rest)
      const notice = ({ about }: { readonly about: string }): number => told.push(about)
      return rotateIdentity({ from, to, actor, notice })
    })
    const second = before.storeIds[1] ?? ''
    expect(report).toEqual({ stores: 1, failed: [second], shared: [before.first] })
    expect(told).toEqual([second])
    expect(await rotate(kind)).toEqual({ stores: 2, failed: [], shared: [before.first] })
  })

  // An error ends the run here; e2e/cli-engine.test.ts kills its process.
  test.each([
    ['before a store', 'store', 1],
    ['within a store', 'change', 1],
    ['before the second store', 'store', 2],
    ['before the first list', 'list', 1],
    ['before the second list', 'list', 2],
  ] as const)('is repeated after a crash %s', async (_where, step, count) => {
    const kind = await newKind()
    const before = await filled(kind)
    let left: number = count
    const at = (name: typeof step): void => {
      if (name === step) left -= 1
      if (left === 0) throw new TypeError('crash')
    }
    const crashed = rotating(kind, (from, to) => {
      const rotateStore = from.rotateStore.bind(from)
      from.rotateStore = async (storeId, identity, change) => {
        at('store')
        return rotateStore(storeId, identity, async (place) => {
          await change(place)
          at('change')
        })
      }
      const takeRecords = to.takeRecords.bind(to)
      to.takeRecords = async (...words) => {
        at('list')
        return takeRecords(...words)
      }
      return rotateIdentity({ from, to, actor, notice: () => undefined })
    })
    await expect(crashed).rejects.toThrow('crash')
    expect(await rotate(kind)).toEqual({ stores: 2, failed: [], shared: [] })
    await expectRotated(kind, before)
  })

  test('does not run twice at once', async () => {
    const kind = await newKind()
    await filled(kind)
    const [one, two] = [await kind.open(kind.place.identity), await kind.open(kind.place.identity)]
    const order: string[] = []
    let start = (): void => undefined
    const started = new Promise<void>((resolve) => {
      start = resolve
    })
    const first = one.hold('rotation', async () => {
      start()
      await two.openStore('memstore_none').catch(() => undefined)
      order.push('first')
    })
    await started
    await two.hold('rotation', async () => order.push('second'))
    await first
    expect(order).toEqual(['first', 'second'])
    await one.close()
    await two.close()
  })
}

describe('the identity of a data directory', () => {
  describeRotation(async () => {
    const place = newHostPlace()
    const open = async (identity: Identity) => new DataDirectory({ ...place, identity })
    return { place, open }
  })

  test('leaves no file of the old one', async () => {
    const place = newHostPlace()
    const open = async (identity: Identity) => new DataDirectory({ ...place, identity })
    const kind = { place, open }
    const { storeIds } = await filled(kind)
    const filesOf = (): string[] =>
      [place.dataDirectory, place.stateDirectory]
        .flatMap((root) => readdirSync(root, { recursive: true }).map(String))
        .filter((path) => path.includes('dev_'))
    const names = (paths: string[]): Set<string> =>
      new Set(paths.map((path) => /dev_[0-9a-z]+/.exec(path)?.[0] ?? ''))
    const [old = ''] = names(filesOf())
    await rotate(kind)
    expect(names(filesOf()).has(old)).toBe(false)
    expect(readdirSync(`${place.dataDirectory}/stores`).toSorted()).toEqual(storeIds.toSorted())
  })
})

const postgres = requires('postgres')

describe.skipIf(postgres.missing)(`the identity of a database${postgres.note}`, () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })

  describeRotation(async () => {
    const url = server.database()
    await initEngine({ url, connections: 2 })
    const open = async (identity: Identity) =>
      EngineBackend.open({ url, connections: 4, identity, replicaDirectory: temporaryDirectory() })
    const place = {
      ...newHostPlace(),
      open: ({ identity }: { identity: Identity }) => open(identity),
    }
    return { place, open }
  })
})
