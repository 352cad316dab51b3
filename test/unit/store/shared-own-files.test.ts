// What a device keeps for itself, where several servers share it: a new server verifies little, no
// server undoes what another one noted, and none brings back what a redaction erased.

import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { parseId } from '../../../src/format/id.ts'
import { generateIdentity } from '../../../src/index.ts'
import { Anchor } from '../../../src/store/local/anchor.ts'
import { Reads } from '../../../src/store/local/reads.ts'
import { RemoteStateFile } from '../../../src/store/local/remote-state-file.ts'
import { findWritten } from '../../../src/store/local/state-cache.ts'
import { beforeGenesis } from '../../../src/store/snapshot/snapshot.ts'
import { bareRemote } from '../../support/clones.ts'
import { VolatileOwnRows } from '../../support/own-files.ts'
import {
  type LogEngine,
  newSharedStore,
  openShared,
  placeOf,
  type SharedStore,
} from '../../support/shared-stores.ts'
import { author, contentsOf } from '../../support/stores.ts'
import { VolatileLog } from '../../support/volatile-shared-log.ts'

/** One store, its log and its rows. */
function engineOfOne() {
  let log = new VolatileLog()
  const own = new VolatileOwnRows()
  const engine: LogEngine = {
    make: async () => undefined,
    server: () => () => log.server(),
    ownFiles: () => own.handle(),
  }
  const restore = (to: VolatileLog): void => {
    log = to
  }
  return { engine, own, restore, log: () => log }
}

function ownerOf({ identity, storeId }: SharedStore) {
  return { storeId: parseId('store', storeId), identity, random: systemRandom }
}

const DAY = 24 * 60 * 60 * 1000

test('a new server verifies from where another one has left off', async () => {
  const { engine, own } = engineOfOne()
  const { store: a, shared } = await newSharedStore(engine)
  for (let n = 0; n < 8; n += 1) await a.as(author).write(`/${n}.md`, String(n))
  await a.close()
  const b = await openShared(engine, shared)
  await b.as(author).write('/b.md', 'b')
  let verified = 0
  const progress = (done: number): void => {
    verified = Math.max(verified, done)
  }
  const c = await openShared(engine, shared, placeOf(), { progress })
  expect(verified).toBe(1)
  expect(await contentsOf(c)).toEqual(await contentsOf(b))
  await b.close()
  await c.close()
  expect((await findWritten(ownerOf(shared), own.handle()))?.height).toBe(9)
})

test('a write of a server notes nothing, and no sequence number is left out', async () => {
  const { engine, own } = engineOfOne()
  const { store: a, shared } = await newSharedStore(engine)
  const b = await openShared(engine, shared)
  const before = own.rows.get('anchor')?.revision
  for (let n = 0; n < 6; n += 1) await (n % 2 === 0 ? a : b).as(author).write(`/${n}.md`, 'text')
  expect(own.rows.get('anchor')?.revision).toBe(before)
  await a.close()
  await b.close()
  const anchor = await Anchor.open(ownerOf(shared), own.handle())
  expect(anchor.verified?.height).toBe(6)
  expect(await anchor.reserve(7, { ...beforeGenesis, height: 6 })).toBe(8)
})

test('an engine that was restored is refused, and its sequence numbers are left out', async () => {
  const { engine, own, restore, log } = engineOfOne()
  const { store: a, shared } = await newSharedStore(engine)
  await a.as(author).write('/a.md', 'before the backup')
  const backup = copyOf(log())
  await a.as(author).write('/b.md', 'after it')
  await a.close()
  restore(backup)
  // As with an anchor that is kept elsewhere: it was not restored.
  own.rows.delete('state')
  own.rows.delete('state-changes')
  await expect(openShared(engine, shared)).rejects.toMatchObject({ code: 'rolled_back' })
  const b = await openShared(engine, shared, placeOf(), { acceptRolledBack: true })
  await b.as(author).write('/c.md', 'since then')
  await b.close()
  const c = await openShared(engine, shared)
  expect(Object.keys(await contentsOf(c)).toSorted()).toEqual(['/a.md', '/c.md'])
  const anchor = await Anchor.open(ownerOf(shared), own.handle())
  expect(await anchor.reserve(2, beforeGenesis)).toBe(3 + 2 ** 20)
  await c.maintenance.verify()
  await c.close()
})

test('no cache holds what a redaction of another server has erased', async () => {
  const { engine, own } = engineOfOne()
  const { store: a, shared } = await newSharedStore(engine)
  await a.as(author).write('/secret.md', 'a secret text')
  await a.as(author).write('/kept.md', 'kept')
  await a.close()
  const place = placeOf()
  const [b, c] = [await openShared(engine, shared, place), await openShared(engine, shared)]
  await b.history.versions()
  await b.as(author).write('/b.md', 'b')
  const old = await findWritten(ownerOf(shared), own.handle())
  expect(old?.height).toBe(2)
  await c.as(author).redact({
    select: { path: '/secret.md' },
    reason: 'legal',
    current: 'delete',
  })
  expect(own.rows.get('state')?.bytes).toBeUndefined()
  // It would write the state from before the redaction, which is the newest that it knows.
  await b.close()
  expect(own.rows.get('state')?.bytes).toBeUndefined()
  await c.close()
  const d = await openShared(engine, shared, place)
  expect(await contentsOf(d)).toEqual({ '/kept.md': 'kept', '/b.md': 'b' })
  await d.close()
  const written = await findWritten(ownerOf(shared), own.handle())
  expect(written?.height).toBeGreaterThan(2)
})

test('a server that follows a redaction empties its own caches', async () => {
  const { engine } = engineOfOne()
  const { store: a, shared } = await newSharedStore(engine)
  const place = placeOf()
  for (let n = 0; n < 300; n += 1) void a.as(author).write(`/${n % 9}.md`, String(n))
  await a.as(author).write('/secret.md', 'a secret text')
  const b = await openShared(engine, shared, place)
  await b.history.versions()
  await b.close()
  const segments = () => readdirSync(place.directory, { recursive: true }).filter(isSegment)
  expect(segments()).not.toEqual([])
  const again = await openShared(engine, shared, place)
  await a.as(author).redact({ select: { path: '/secret.md' }, reason: 'legal', current: 'delete' })
  expect(await again.read('/secret.md')).toBeUndefined()
  await again.close()
  expect(segments()).toEqual([])
  await a.close()
})

function isSegment(name: string | Buffer): boolean {
  return /versions-\d+$/.test(String(name))
}

test('each server knows what a remote has shown to another one', async () => {
  const { engine } = engineOfOne()
  const { store: a, shared } = await newSharedStore(engine)
  const b = await openShared(engine, shared)
  await a.remotes.add('origin', bareRemote())
  await a.as(author).write('/a.md', 'text')
  expect((await b.status()).remotes).toMatchObject([{ name: 'origin', unsent: undefined }])
  await a.as(author).sync()
  expect((await b.status()).remotes).toMatchObject([{ name: 'origin', unsent: 0 }])
  await a.close()
  await b.close()
})

test('notes of two servers at once are both kept', async () => {
  const own = new VolatileOwnRows()
  const identity = await generateIdentity()
  const owner = { storeId: '5'.repeat(32), identity, random: systemRandom }
  const a = new RemoteStateFile(owner, own.handle())
  const b = new RemoteStateFile(owner, own.handle())
  const head = { oid: 'a'.repeat(40), height: 3, record: new Uint8Array(32) }
  const names = ['one', 'two', 'three', 'four']
  await Promise.all(names.map((name, n) => (n % 2 === 0 ? a : b).note(name, 'url', head)))
  const found = await a.list()
  expect(found.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
})

test('reads of servers are merged by the later day of each memory', async () => {
  const own = new VolatileOwnRows()
  const identity = await generateIdentity()
  const owner = { storeId: '5'.repeat(32), identity, random: systemRandom }
  const days = { early: 100, late: 105 }
  const early = new Reads(owner, own.handle(), () => days.early * DAY)
  const late = new Reads(owner, own.handle(), () => days.late * DAY)
  early.note('aa')
  early.note('bb')
  late.note('bb')
  await Promise.all([late.save(() => true), early.save(() => true)])
  expect(await early.hasNews()).toBe(false)
  const reader = new Reads(owner, own.handle(), () => days.late * DAY)
  await reader.load()
  expect(reader.lastRead('bb')).toBe((days.late + 1) * DAY)
  expect(reader.lastRead('aa')).toBeLessThanOrEqual((days.late + 1) * DAY)
  // A note that only repeats the file is not news.
  reader.note('bb')
  expect(await reader.hasNews()).toBe(false)
  reader.note('cc')
  expect(await reader.hasNews()).toBe(true)
})

function copyOf(log: VolatileLog): VolatileLog {
  const copy = new VolatileLog()
  copy.number = log.number
  copy.base = log.base
  for (const [number, row] of log.rows) copy.rows.set(number, row)
  for (const [id, parts] of log.parts) copy.parts.set(id, new Map(parts))
  return copy
}
