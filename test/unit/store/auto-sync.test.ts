// Syncs that no one asks for: when they begin, what they send at the end, and what they report.

import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterEach, describe, expect, type Mock, onTestFinished, test, vi } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import { StoreWriter } from '../../../src/store/store-writer.ts'
import { bareRemote, type Clone, firstClone, headOf, put, sync } from '../../support/clones.ts'
import { patience } from '../../support/patience.ts'
import { author } from '../../support/stores.ts'
import { git } from '../../support/temporary.ts'

/** The head of a bare repository; undefined without one. */
function headAt(remote: string): string {
  return git(['rev-parse', 'main'], remote).trim()
}

/** A clone whose remote has all of it. */
async function syncedClone(): Promise<{ readonly clone: Clone; readonly remote: string }> {
  const remote = bareRemote()
  const clone = await firstClone(remote)
  await sync(clone)
  return { clone, remote }
}

describe('the time of a sync', () => {
  afterEach(() => vi.useRealTimers())

  /** Counts syncs, which `answer` answers, with timers that only `pass` moves. */
  function watchSyncs(answer: () => Promise<unknown>) {
    const syncs = vi.spyOn(StoreWriter.prototype, 'sync')
    onTestFinished(() => syncs.mockRestore())
    syncs.mockImplementation(async () => Object(await answer()))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const isCalled = async (times: number): Promise<void> => {
      while (syncs.mock.calls.length < times) {
        await new Promise((resolve) => void setImmediate(resolve))
      }
      expect(syncs).toHaveBeenCalledTimes(times)
    }
    return { isCalled, pass: (ms: number) => void vi.advanceTimersByTime(ms) }
  }

  /** Resolves once it is called. The functions of vitest that wait would move the timers. */
  async function isReported(report: Mock<(...args: never[]) => void>): Promise<void> {
    while (report.mock.calls.length < 1) {
      await new Promise((resolve) => void setImmediate(resolve))
    }
    expect(report).toHaveBeenCalledTimes(1)
  }

  test('is two seconds after the last write', async () => {
    const { clone } = await syncedClone()
    const { isCalled, pass } = watchSyncs(async () => undefined)
    clone.store.syncAutomatically({ author })
    for (const path of ['/a.md', '/b.md']) {
      await put(clone, path)
      pass(1999)
      await isCalled(0)
    }
    pass(1)
    await isCalled(1)
  })

  test('is five seconds after the first write at the latest', async () => {
    const { clone } = await syncedClone()
    const { isCalled, pass } = watchSyncs(async () => undefined)
    clone.store.syncAutomatically({ author })
    for (const [path, ms] of [
      ['/a.md', 1999],
      ['/b.md', 1999],
      ['/c.md', 1001],
    ] as const) {
      await put(clone, path)
      await isCalled(0)
      pass(ms)
    }
    pass(1)
    await isCalled(1)
  })

  test('is later after each failure, whatever is written', async () => {
    const { clone } = await syncedClone()
    const failure = new StoreError('remote_unreachable', 'Nothing there')
    const { isCalled, pass } = watchSyncs(() => Promise.reject(failure))
    const report = vi.fn<(remote: string, error: unknown) => void>()
    clone.store.syncAutomatically({ author, report })
    await put(clone, '/a.md')
    pass(2000)
    await isCalled(1)
    await isReported(report)
    expect(report).toHaveBeenCalledWith('origin', failure)
    await put(clone, '/b.md')
    pass(4000)
    await isCalled(1)
    pass(15_000)
    await isCalled(2)
  })

  test('is at the start and at each interval if others are asked for', async () => {
    const { clone } = await syncedClone()
    const { isCalled, pass } = watchSyncs(async () => undefined)
    const report = vi.fn<() => void>()
    clone.store.syncAutomatically({ author, report, everyMs: 60_000 })
    await isCalled(1)
    await isReported(report)
    pass(90_000)
    await isCalled(2)
  })
})

test('a write reaches the remote without being asked for', { tags: 'slow' }, async () => {
  const { clone, remote } = await syncedClone()
  clone.store.syncAutomatically({ author })
  await put(clone, '/a.md')
  const head = await headOf(clone)
  await vi.waitUntil(() => headAt(remote) === head, patience)
})

test('closing sends the rest', async () => {
  const { clone, remote } = await syncedClone()
  clone.store.syncAutomatically({ author })
  await put(clone, '/a.md')
  const head = await headOf(clone)
  await clone.store.close()
  expect(headAt(remote)).toBe(head)
})

test('closing asks no remote if nothing was written', async () => {
  const { clone, remote } = await syncedClone()
  rmSync(remote, { recursive: true })
  clone.store.syncAutomatically({ author })
  await clone.store.close()
  await expect(clone.store.read('/a.md')).rejects.toMatchObject({ code: 'store_closed' })
})

test('closing rejects for unsent changes, and closes anyway', async () => {
  const { clone, remote } = await syncedClone()
  rmSync(remote, { recursive: true })
  clone.store.syncAutomatically({ author })
  await put(clone, '/a.md')
  await put(clone, '/b.md')
  const closed = clone.store.close()
  await expect(closed).rejects.toMatchObject({
    code: 'remote_not_found',
    message: expect.stringMatching(/^2 commits were not sent to origin: /),
  })
  await expect(clone.store.read('/a.md')).rejects.toMatchObject({ code: 'store_closed' })
  expect(clone.store.close()).toBe(closed)
})

test('closing does not repeat what `finish` has returned', async () => {
  const { clone, remote } = await syncedClone()
  rmSync(remote, { recursive: true })
  const syncing = clone.store.syncAutomatically({ author })
  await put(clone, '/a.md')
  expect(await syncing.finish()).toMatchObject([{ remote: 'origin', commits: 1 }])
  await clone.store.close()
})

/** The address of a host that accepts connections and never answers; `asked` by the first. */
async function silentHost(): Promise<{ readonly url: string; readonly asked: Promise<unknown> }> {
  const server = createServer()
  const asked = once(server, 'connection')
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${Object(server.address()).port}/store.git`, asked }
}

/** From now until the test ends, timers are moved by `vi` alone. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

test('a remote that does not answer ends neither the process nor other remotes', async () => {
  const { clone, remote } = await syncedClone()
  const { url, asked } = await silentHost()
  await clone.store.remotes.remove('origin')
  await clone.store.remotes.add('away', url)
  await clone.store.remotes.add('near', remote)
  stopTimers()
  const syncing = clone.store.syncAutomatically({ author, endMs: 3000 })
  await put(clone, '/a.md')
  const finished = syncing.finish()
  await asked
  // The half that is its share.
  vi.advanceTimersByTime(1500)
  expect(await finished).toMatchObject([
    { remote: 'away', commits: undefined, error: { code: 'remote_timeout' } },
  ])
  expect(headAt(remote)).toBe(await headOf(clone))
})

test('an interruption shortens the end', async () => {
  const { clone } = await syncedClone()
  await clone.store.remotes.remove('origin')
  await clone.store.remotes.add('away', (await silentHost()).url)
  const ending = new AbortController()
  stopTimers()
  const options = { author, endMs: 60_000, interrupted: ending.signal }
  const syncing = clone.store.syncAutomatically(options)
  await put(clone, '/a.md')
  const finished = syncing.finish()
  ending.abort()
  vi.advanceTimersByTime(10_000)
  expect(await finished).toMatchObject([{ remote: 'away', error: { code: 'remote_timeout' } }])
})
