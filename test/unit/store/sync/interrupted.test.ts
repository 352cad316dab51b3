// Syncs that end between fetch and takeover: a concurrent redaction elsewhere erases the versions
// that they fetched, though those were never in the history of this clone.

import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreSession } from '../../../../src/store/session/session.ts'
import { bareRemote, type Clone, put, sync } from '../../../support/clones.ts'
import { expectInStep, pairsOfClones, redact } from '../../../support/hostile-remotes.ts'
import { patience } from '../../../support/patience.ts'
import { author, contentsOf, reopen, type TestPlace } from '../../../support/stores.ts'
import { copyDirectory, git, temporaryDirectory } from '../../../support/temporary.ts'

const newWorld = pairsOfClones()

/**
 * Ends where the merge would be written: the fetched objects are part of the store by then. Returns
 * the clone, opened again.
 */
async function interruptedSync({ place, store }: Clone): Promise<Clone> {
  await store.close()
  const interrupted = await reopen(place, {
    clock: () => {
      throw new Error('interrupted')
    },
  })
  await expect(interrupted.as(author).sync()).rejects.toThrow('interrupted')
  await interrupted.close()
  return { place, store: await reopen(place) }
}

async function leakTo(a: Clone): Promise<string> {
  const secret = await put(a, '/key.txt', 'sk-leaked')
  await put(a, '/key.txt', 'revoked')
  await sync(a)
  return secret
}

test('fetched versions are erased when a later head redacts them', { tags: 'slow' }, async () => {
  let { remote, a, b } = await newWorld()
  const secret = await leakTo(a)
  await put(b, '/b.md')
  b = await interruptedSync(b)
  await redact(a, secret)
  await sync(a)
  await sync(b)
  const { found, pending } = await b.store.maintenance.findResidue({})
  expect({ found, pending }).toEqual({ found: [], pending: 0 })
  await sync(a)
  await expectInStep(remote, [a, b])
})

test('versions that several syncs fetched in a row are erased', { tags: 'slow' }, async () => {
  let { remote, a, b } = await newWorld()
  const secrets = [await leakTo(a)]
  await put(b, '/b.md')
  b = await interruptedSync(b)
  secrets.push(await put(a, '/second.txt', 'sk-second'))
  await put(a, '/second.txt', 'revoked, too')
  await sync(a)
  b = await interruptedSync(b)
  for (const secret of secrets) await redact(a, secret)
  await sync(a)
  await sync(b)
  expect((await b.store.maintenance.findResidue({})).found).toEqual([])
  await sync(a)
  await expectInStep(remote, [a, b])
})

test('the redaction may come long after the head was adopted', { tags: 'slow' }, async () => {
  let { remote, a, b } = await newWorld()
  const secret = await leakTo(a)
  await put(b, '/b.md')
  b = await interruptedSync(b)
  await sync(b)
  await redact(b, secret)
  await sync(b)
  await sync(a)
  for (const { store } of [a, b])
    expect((await store.maintenance.findResidue({})).found).toEqual([])
  await expectInStep(remote, [a, b])
})

test('several heads above the common commits', { tags: 'slow' }, async () => {
  let { remote, a, b } = await newWorld()
  const secrets = [await leakTo(a)]
  const first = await put(a, '/first.txt', 'gone soon')
  await put(a, '/first.txt', 'gone')
  await sync(a)
  await put(b, '/b.md')
  b = await interruptedSync(b)
  // All above it has another name from here on: the two heads share what lies below, the leak too.
  await redact(a, first)
  secrets.push(await put(a, '/third.txt', 'sk-third'))
  await put(a, '/third.txt', 'revoked')
  await sync(a)
  b = await interruptedSync(b)
  for (const secret of secrets) await redact(a, secret)
  await sync(a)
  await sync(b)
  expect((await b.store.maintenance.findResidue({})).found).toEqual([])
  await sync(a)
  await expectInStep(remote, [a, b])
})

test('a head that is not settled yet is checked again', { tags: 'slow' }, async () => {
  let { remote, a, b } = await newWorld()
  const secret = await leakTo(a)
  await put(b, '/b.md')
  b = await interruptedSync(b)
  // The remote is put back, and later shows the redaction again.
  const other = bareRemote()
  git(['push', '--quiet', other, 'main~2:refs/heads/main'], remote)
  await b.store.remotes.add('other', other)
  await b.store.as(author).sync({ remote: 'other' })
  await redact(a, secret)
  await sync(a)
  await b.store.as(author).sync({ remote: 'origin' })
  expect((await b.store.maintenance.findResidue({})).found).toEqual([])
})

/** Runs before the next writes of this process, as if the steps before them took long. */
function beforeWrites(work: (session: StoreSession) => Promise<unknown>): () => void {
  // oxlint-disable-next-line typescript/unbound-method -- called with the session
  const { writing } = StoreSession.prototype
  const writes = vi.spyOn(StoreSession.prototype, 'writing')
  writes.mockImplementation(async function (this: StoreSession, ...given) {
    await work(this)
    return writing.apply(this, given)
  })
  const stop = (): void => writes.mockRestore()
  onTestFinished(stop)
  return stop
}

/** One clone redacts what the other one, which does not know it yet, builds on and sends. */
async function redactBelow(a: Clone, b: Clone): Promise<void> {
  const secret = await leakTo(a)
  await sync(b)
  await redact(b, secret)
  await put(a, '/a.md')
  await sync(a)
  await put(b, '/b.md')
}

async function expectNothingLeft(remote: string, [a, b]: readonly [Clone, Clone]): Promise<void> {
  await sync(a)
  await expectInStep(remote, [a, b])
  const contents = { '/a.md': '/a.md', '/b.md': '/b.md', '/key.txt': 'revoked' }
  expect(await contentsOf(a.store)).toMatchObject(contents)
  for (const { store } of [a, b]) {
    const { found, pending } = await store.maintenance.findResidue()
    expect({ found, pending }).toEqual({ found: [], pending: 0 })
  }
}

test('a purge may take a head while it is verified once more', { tags: 'slow' }, async () => {
  const { remote, a, b } = await newWorld()
  await redactBelow(a, b)
  const stop = beforeWrites((session) => session.objects.checkpoint())
  await sync(b)
  stop()
  await expectNothingLeft(remote, [a, b])
})

test('the background checkpoint may erase it while it is verified', { tags: 'slow' }, async () => {
  const { remote, a, b } = await newWorld()
  await redactBelow(a, b)
  let purged = 0
  const stop = beforeWrites(async ({ objects }) => {
    if (objects.status().purgePending === 0) return
    // As if verification took longer than the idle time, as it does with a thousand commits.
    await vi.waitUntil(() => objects.status().purgePending === 0, patience)
    purged += 1
  })
  await sync(b)
  stop()
  expect(purged).toBeGreaterThan(0)
  await expectNothingLeft(remote, [a, b])
})

test(
  'the next sync completes one that ended between the merge and its purge',
  { tags: 'slow' },
  async () => {
    const { remote, a, b } = await newWorld()
    await redactBelow(a, b)
    const stop = beforeWrites(async ({ objects }) => {
      if (objects.status().purgePending === 0) return
      await objects.checkpoint()
      throw new Error('interrupted')
    })
    await expect(sync(b)).rejects.toThrow('interrupted')
    stop()
    // Each time the head is fetched and marked dead again.
    const again = beforeWrites((session) => session.objects.checkpoint())
    await sync(b)
    again()
    await expectNothingLeft(remote, [a, b])
  },
)

test('the rest of a head is erased after a redaction of its base', { tags: 'slow' }, async () => {
  let { remote, a, b } = await newWorld()
  const early = await put(a, '/early.txt', 'sk-early')
  await put(a, '/early.txt', 'revoked')
  await sync(a)
  await sync(b)
  const secret = await leakTo(a)
  await put(b, '/b.md')
  b = await interruptedSync(b)
  await redact(b, early)
  await redact(a, secret)
  await put(a, '/a.md')
  await sync(a)
  // oxlint-disable-next-line typescript/unbound-method -- called with the session
  const { loadHistory } = StoreSession.prototype
  const loads = vi.spyOn(StoreSession.prototype, 'loadHistory')
  onTestFinished(() => loads.mockRestore())
  loads.mockImplementation(async function (this: StoreSession, options) {
    // Brought again and marked dead again is what the head builds on that was noted.
    await this.objects.checkpoint()
    return loadHistory.call(this, options)
  })
  await sync(b)
  loads.mockRestore()
  await expectNothingLeft(remote, [a, b])
})

/**
 * Where the files are that a process leaves if it is killed between a merge, which marks the head
 * of the remote dead, and the purge.
 */
async function killedBeforePurge({ place, store }: Clone): Promise<TestPlace> {
  const root = temporaryDirectory()
  const left = { ...place, directory: `${root}/store`, stateDirectory: `${root}/state` }
  const stop = beforeWrites(async ({ objects }) => {
    if (objects.status().purgePending === 0) return
    copyDirectory(place.directory, left.directory)
    copyDirectory(place.stateDirectory, left.stateDirectory)
    throw new Error('killed')
  })
  await expect(sync({ store })).rejects.toThrow('killed')
  stop()
  await store.close()
  return left
}

test('a purge may erase fetched objects before they are merged', { tags: 'slow' }, async () => {
  const { remote, a, b } = await newWorld()
  await redactBelow(a, b)
  const place = await killedBeforePurge(b)
  await put(a, '/more.md')
  await sync(a)
  const killed = { place, store: await reopen(place) }
  let writes = 0
  const stop = beforeWrites(async ({ objects }) => {
    writes += 1
    await objects.checkpoint()
  })
  await sync(killed)
  stop()
  // The first one did not find what the head builds on.
  expect(writes).toBeGreaterThan(1)
  await expectNothingLeft(remote, [a, killed])
})
