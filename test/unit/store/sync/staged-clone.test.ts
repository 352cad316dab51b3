// A sync while the same store is written, synced and administered: it sees one state of it, never
// commits that are not on the disk yet, and applies the rights in force when it merges, not before.

import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreSession } from '../../../../src/store/session/session.ts'
import type { Build } from '../../../../src/store/session/writer.ts'
import {
  alone,
  admit,
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { startGitServer } from '../../../support/git-server.ts'
import { author } from '../../../support/stores.ts'

/** Two writers without a pause, until they are told to stop; the paths of what they wrote. */
function keepWriting({ store }: Clone): () => Promise<readonly string[]> {
  const stop = new AbortController()
  const paths: string[] = []
  const write = async (name: string): Promise<void> => {
    for (let index = 0; !stop.signal.aborted; index += 1) {
      const path = `/${name}/${index}.md`
      await store.as(author).apply([{ type: 'create', path, content: path }])
      paths.push(path)
    }
  }
  const written = Promise.all([write('x'), write('y')])
  return async () => {
    stop.abort()
    await written
    return paths
  }
}

/** What a writer does that stands in the queue before the next one: of a sync, before the merge. */
function beforeNextWrite(work: () => Promise<unknown>): void {
  const spy = vi.spyOn(StoreSession.prototype, 'writing')
  onTestFinished(() => spy.mockRestore())
  spy.mockImplementationOnce(async function <T>(this: StoreSession, ...args: Write<T>): Promise<T> {
    await work()
    return this.writing(...args)
  })
}

type Write<T> = [build: Build<T>, alone?: boolean]

test(
  'receives and sends while commits are on their way to the disk',
  { tags: 'slow' },
  async () => {
    const remote = bareRemote()
    const first = await firstClone(remote)
    await sync(first)
    const second = await joinClone(first, remote)
    const stop = keepWriting(first)
    for (const path of ['/a.md', '/b.md']) {
      await put(second, path)
      await sync(second)
      const { received } = await sync(first)
      expect(await first.store.read(path)).toBeDefined()
      expect(received.commits).toBeGreaterThan(0)
    }
    const paths = await stop()
    await syncAll([first, second])
    for (const path of paths) expect(await second.store.read(path), path).toBeDefined()
    expect(await headOf(first)).toBe(await headOf(second))
    await first.store.maintenance.verify()
  },
)

test(
  'reports the fetched commits as received, without concurrent writes here',
  { tags: 'slow' },
  async () => {
    const remote = bareRemote()
    const first = await firstClone(remote)
    await sync(first)
    const second = await joinClone(first, remote)
    await sync(first)
    for (const path of ['/a.md', '/b.md']) await put(second, path)
    await sync(second)
    beforeNextWrite(() => put(first, '/meanwhile.md'))
    expect((await sync(first)).received.commits).toBe(2)
    expect(await first.store.read('/meanwhile.md')).toBeDefined()
  },
)

test(
  'waits for another sync of the same store, which leaves it nothing to do',
  { tags: 'slow' },
  async () => {
    const repository = bareRemote()
    const server = await startGitServer({ repository })
    const clone = await firstClone(server.url)
    await sync(clone)
    await put(clone, '/a.md')
    const before = server.requests.length
    // In two names: those of one share a run.
    const other = clone.store.as({ ...author, reason: 'Before the machine is shut down' })
    const reports = await Promise.all([sync(clone), other.sync()])
    expect(reports.map(({ sent }) => sent.commits)).toEqual([1, 0])
    const asked = server.requests.slice(before).map(({ method, path }) => {
      return `${method} ${/git-(upload|receive)-pack/.exec(path)?.[0]}`
    })
    expect(asked).toEqual(['GET git-receive-pack', 'POST git-receive-pack', 'GET git-upload-pack'])
  },
)

test(
  'does not adopt commits of a device that is concurrently removed here',
  { tags: 'slow' },
  async () => {
    const remote = bareRemote()
    const first = await firstClone(remote)
    await sync(first)
    const identity = await admit(first, 'writer')
    await sync(first)
    const removed = await joinClone(first, remote, { identity })
    await put(removed, '/late.md')
    await sync(removed)
    await put(first, '/ours.md')
    beforeNextWrite(() => first.store.as(author).devices.remove([idOf(removed)], alone))
    const report = await sync(first)
    expect(report.late.map(({ deviceId }) => deviceId)).toEqual([idOf(removed)])
    expect(await first.store.read('/late.md')).toBeUndefined()
    await first.store.maintenance.verify()
  },
)
