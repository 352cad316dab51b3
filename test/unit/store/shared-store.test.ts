// One store on several servers: what one acknowledged, each other one reads; undo, sync and
// redaction work across them.

import { expect, test } from 'vitest'
import { bareRemote, joinClone } from '../../support/clones.ts'
import { type LogEngine, newSharedStore, openShared, placeOf } from '../../support/shared-stores.ts'
import { author, contentsOf } from '../../support/stores.ts'
import { VolatileLog } from '../../support/volatile-shared-log.ts'

function volatileEngine(): LogEngine & { readonly logs: Map<string, VolatileLog> } {
  const logs = new Map<string, VolatileLog>()
  const find = (storeId: string): VolatileLog => {
    const log = logs.get(storeId)
    if (log === undefined) throw new Error('the log was not made')
    return log
  }
  return {
    logs,
    make: async (storeId) => void logs.set(storeId, new VolatileLog()),
    server: () => (storeId) => find(storeId).server(),
  }
}

test('each server reads what another one has acknowledged', async () => {
  const engine = volatileEngine()
  const { store: a, shared } = await newSharedStore(engine)
  const b = await openShared(engine, shared)
  for (let round = 0; round < 6; round += 1) {
    const [writer, reader] = round % 2 === 0 ? [a, b] : [b, a]
    await writer.as(author).write(`/n${round}.md`, `text ${round}`)
    expect((await reader.read(`/n${round}.md`))?.content).toBe(`text ${round}`)
  }
  await b.as(author).edit('/n0.md', (text) => `${text}, longer`)
  expect(await contentsOf(a)).toEqual(await contentsOf(b))
  await a.close()
  await b.close()
  const c = await openShared(engine, shared)
  expect((await c.maintenance.verify()).commits).toBe(8)
  await c.close()
})

test('an undo on one server takes back what a session wrote on another', async () => {
  const engine = volatileEngine()
  const { store: a, shared } = await newSharedStore(engine)
  const b = await openShared(engine, shared)
  const other = { actor: { type: 'session', id: 'agent-2' }, session: 'agent-2' } as const
  await a.as(author).write('/kept.md', 'kept')
  await a.as(other).write('/kept.md', 'poisoned')
  await b.as(author).undo({ session: 'agent-2' })
  expect((await a.read('/kept.md'))?.content).toBe('kept')
  await a.close()
  await b.close()
})

test('a redaction on one server empties the log, and the other server follows', async () => {
  const engine = volatileEngine()
  const { store: a, shared } = await newSharedStore(engine)
  const b = await openShared(engine, shared)
  await a.as(author).write('/a.md', 'a secret text')
  await a.as(author).write('/b.md', 'another text')
  expect((await b.read('/a.md'))?.content).toBe('a secret text')
  const request = { select: { path: '/a.md' }, reason: 'legal', current: 'delete' } as const
  await a.as(author).redact(request)
  expect(await b.read('/a.md')).toBeUndefined()
  expect((await b.read('/b.md'))?.content).toBe('another text')
  const log = engine.logs.get(shared.storeId)
  expect(log?.rows.size).toBe(0)
  await b.as(author).write('/c.md', 'after it')
  expect((await a.read('/c.md'))?.content).toBe('after it')
  expect((await b.maintenance.verify()).commits).toBe((await a.maintenance.verify()).commits)
  await a.close()
  await b.close()
})

test('a remote and its newest head are those of all servers', async () => {
  const engine = volatileEngine()
  const { store: a, shared } = await newSharedStore(engine)
  const b = await openShared(engine, shared)
  const url = bareRemote()
  await a.remotes.add('origin', url)
  await a.as(author).write('/a.md', 'from a')
  await a.as(author).sync()
  const { identity, recoveryKey } = shared
  const place = { ...placeOf(), identity, recoveryKey }
  const clone = await joinClone({ place, store: a }, url)
  await clone.store.as(author).write('/far.md', 'from far away')
  await clone.store.as(author).sync()
  await b.as(author).sync()
  expect((await a.read('/far.md'))?.content).toBe('from far away')
  await a.as(author).write('/a.md', 'from a again')
  await b.as(author).sync()
  await clone.store.as(author).sync()
  expect((await clone.store.read('/a.md'))?.content).toBe('from a again')
  for (const store of [a, b, clone.store]) await store.close()
})

test('servers that write at the same time lose nothing, and double nothing', async () => {
  const engine = volatileEngine()
  const { store: a, shared } = await newSharedStore(engine)
  const stores = [a, await openShared(engine, shared), await openShared(engine, shared)]
  await a.as(author).write('/log.md', '')
  const work = stores.flatMap((store, server) =>
    Array.from({ length: 20 }, async (_, n) => {
      await store.as(author).append('/log.md', `${server}.${n}\n`)
      await store.as(author).write(`/${server}/${n}.md`, 'text')
    }),
  )
  await Promise.all(work)
  const contents = await contentsOf(a)
  const lines = contents['/log.md']?.trimEnd().split('\n') ?? []
  const expected = stores.flatMap((_, server) =>
    Array.from({ length: 20 }, (__, n) => `${server}.${n}`),
  )
  expect(lines.toSorted()).toEqual(expected.toSorted())
  expect(Object.keys(contents)).toHaveLength(61)
  for (const store of stores) expect(await contentsOf(store)).toEqual(contents)
  for (const store of stores) await store.close()
})

test('a refusal is about the state that is kept, not about one that lost a race', async () => {
  const engine = volatileEngine()
  const { store: a, shared } = await newSharedStore(engine)
  const b = await openShared(engine, shared)
  const tools = [a, b].map((store) => store.as(author))
  for (let round = 0; round < 10; round += 1) {
    const path = `/${round}.md`
    const changes = [{ type: 'create', path, content: String(round) }] as const
    const results = await Promise.allSettled(
      tools.flatMap((one) => [one.apply(changes), one.apply(changes)]),
    )
    const fulfilled = results.filter(({ status }) => status === 'fulfilled')
    expect(fulfilled).toHaveLength(1)
    expect((await a.read(path))?.content).toBe(String(round))
    expect((await b.read(path))?.content).toBe(String(round))
  }
  await a.close()
  await b.close()
})

test('long work is not starved by a server that writes all the time', async () => {
  const engine = volatileEngine()
  const { store: a, shared } = await newSharedStore(engine)
  const b = await openShared(engine, shared)
  await a.as(author).write('/a.md', 'a secret text')
  const over = new AbortController()
  const writing = (async () => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      await b.as(author).write(`/b${n % 50}.md`, `text ${n}`)
    }
  })()
  const request = { select: { path: '/a.md' }, reason: 'legal', current: 'delete' } as const
  await a.as(author).redact(request)
  over.abort()
  await writing
  expect(await b.read('/a.md')).toBeUndefined()
  await a.close()
  await b.close()
})
