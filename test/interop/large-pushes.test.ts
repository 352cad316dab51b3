// Large pushes, which are sent in steps (store/sync/push.ts): steps that arrived before a
// connection failed are kept, form a store that others can join, and are not sent again.

import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import type { SyncReport } from '../../src/index.ts'
import type { StoreSyncOptions } from '../../src/store/sync/report.ts'
import type { TransferProgress } from '../../src/transport/remote-access.ts'
import { bareRemote, type Clone, firstClone, headOf, joinClone, put } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { type Fault, type GitServer, pushing, startGitServer } from '../support/git-server.ts'
import { branchOf, expectInStep, redact } from '../support/hostile-remotes.ts'
import { author } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

const KIBIBYTE = 1024
const size = 16 * KIBIBYTE
/** Room for two commits that each bring a text of that size, and not for three. */
const stepBytes = 48 * KIBIBYTE

async function fill(clone: Clone, directory: string, count: number): Promise<string> {
  let version = ''
  for (let number = 0; number < count; number += 1) {
    version = await put(clone, `/${directory}/${number}.md`, `${number}`.padEnd(size, 'text '))
  }
  return version
}

function syncInSteps({ store }: Clone, options: StoreSyncOptions = {}): Promise<SyncReport> {
  return store.as(author).sync({ ...options, stepBytes })
}

/** The sizes of the pushes that come. The one with this number is cut off in its middle. */
function cutting(server: GitServer, number: number): number[] {
  const sizes: number[] = []
  const count = counting(sizes)
  server.fault = async (request, response) => {
    const before = sizes.length
    await count(request, response)
    if (sizes.length === before || sizes.length !== number) return false
    await half(request)
    response.destroy()
    return true
  }
  return sizes
}

function counting(sizes: number[]): Fault {
  return ({ method, url, headers }) => {
    if (pushing.test(`${method} ${url}`)) sizes.push(Number(headers['content-length']))
    return false
  }
}

async function half(request: IncomingMessage): Promise<void> {
  const length = Number(request.headers['content-length'])
  let came = 0
  for await (const chunk of request) {
    came += Buffer.from(chunk).length
    if (came >= length / 2) return
  }
}

function commitsAt(remote: string): number {
  return Number(git(['rev-list', '--count', 'refs/heads/main'], remote))
}

/** What arrived is a head of ours, and not all: its number of commits. */
async function arrivedAt(remote: string, { store, place }: Clone): Promise<number> {
  const { head } = await store.status()
  const arrived = commitsAt(remote)
  expect(arrived).toBeGreaterThan(2)
  expect(arrived).toBeLessThan(Number(git(['rev-list', '--count', head], place.directory)))
  git(['merge-base', '--is-ancestor', branchOf(remote), head], place.directory)
  return arrived
}

/** A repository with this commit of the remote as its branch is a store for one who joins. */
async function expectToBeJoined(first: Clone, remote: string, head: string): Promise<void> {
  const copy = bareRemote()
  git(['fetch', '--quiet', remote, 'main'], copy)
  git(['update-ref', 'refs/heads/main', head], copy)
  const joined = await joinClone(first, copy)
  await joined.store.maintenance.verify()
}

test('over http, the next sync sends only the missing part', { tags: 'slow' }, async () => {
  const repository = bareRemote()
  const server = await startGitServer({ repository })
  const first = await firstClone(server.url)
  await fill(first, 'a', 9)
  await first.store.maintenance.checkpoint()
  const all = Number(git(['rev-list', '--count', 'main'], first.place.directory))
  const sizes = cutting(server, 3)
  const failure: unknown = await syncInSteps(first).catch((error: unknown) => error)
  expect(sizes).toHaveLength(3)
  const arrived = await arrivedAt(repository, first)
  const details = { sentCommits: arrived }
  expect(failure).toMatchObject({ code: 'remote_unreachable', details })
  await expectToBeJoined(first, repository, branchOf(repository))
  // Each text has its share in what arrived; the few commits before them are small.
  const [one = 0, two = 0] = sizes.splice(0)
  const each = (one + two) / (arrived - (all - 9))
  server.fault = counting(sizes)
  const report = await syncInSteps(first)
  expect(report).toMatchObject({ received: { commits: 0 }, sent: { commits: all - arrived } })
  expect(Math.max(...sizes)).toBeLessThan(stepBytes * 1.2)
  const sent = sizes.reduce((sum, more) => sum + more, 0)
  expect(sent).toBeLessThan((all - arrived) * each * 1.1)
  await expectInStep(repository, [first])
})

test('over a path, steps sent before a cancellation are kept', { tags: 'slow' }, async () => {
  const remote = bareRemote()
  const first = await firstClone(remote)
  await fill(first, 'a', 9)
  await first.store.maintenance.compact()
  const cancel = new AbortController()
  const dones: number[] = []
  const failure = await failureOf(
    syncInSteps(first, {
      signal: cancel.signal,
      transfer: ({ done }) => {
        dones.push(done)
        if (done > 2 * stepBytes) cancel.abort()
      },
    }),
  )
  expect(failure.code).toBe('cancelled')
  expect(dones).toEqual(dones.toSorted((a, b) => a - b))
  await arrivedAt(remote, first)
  const other = await joinClone(first, remote)
  await put(other, '/other.md')
  await syncInSteps(other)
  expect(await syncInSteps(first)).toMatchObject({ merge: expect.any(String) })
  await syncInSteps(other)
  await expectInStep(remote, [first, other])
})

test('progress is of the whole', { tags: 'slow' }, async () => {
  const first = await firstClone(bareRemote())
  await fill(first, 'a', 9)
  const seen: TransferProgress[] = []
  const report = await syncInSteps(first, { transfer: (progress) => seen.push(progress) })
  const totals = seen.map(({ total = 0 }) => total)
  const { bytes } = report.sent
  expect(seen.at(-1)).toMatchObject({ done: bytes, total: bytes })
  expect(Math.min(...totals)).toBeGreaterThan(bytes * 0.8)
})

test('no step ends before a redaction that it would need', { tags: 'slow' }, async () => {
  const remote = bareRemote()
  const first = await firstClone(remote)
  const secret = await fill(first, 'a', 5)
  await put(first, '/a/4.md', 'replaced')
  await fill(first, 'b', 2)
  await redact(first, secret)
  await first.store.maintenance.checkpoint()
  const redaction = await headOf(first)
  await fill(first, 'c', 6)
  const heads: string[] = []
  await syncWatched(first, remote, heads)
  expect(heads.length).toBeGreaterThan(2)
  for (const head of heads) git(['merge-base', '--is-ancestor', redaction, head], remote)
  await expectInStep(remote, [first])
})

test('a redaction between two steps replaces the earlier step', { tags: 'slow' }, async () => {
  const remote = bareRemote()
  const first = await firstClone(remote)
  const secret = await fill(first, 'a', 1)
  await put(first, '/a/0.md', 'replaced')
  await fill(first, 'b', 8)
  let redaction: Promise<unknown> | undefined
  await syncInSteps(first, {
    transfer: ({ done }) => {
      if (done > stepBytes) redaction ??= redact(first, secret)
    },
  })
  await redaction
  await expectInStep(remote, [first])
})

test('a merge is in one step with both of its sides', { tags: 'slow' }, async () => {
  const remote = bareRemote()
  const first = await firstClone(remote)
  await syncInSteps(first)
  const other = await joinClone(first, remote)
  await fill(other, 'theirs', 1)
  await syncInSteps(other)
  await fill(first, 'ours', 4)
  const base = branchOf(remote)
  const heads: string[] = []
  await syncWatched(first, remote, heads)
  expect(heads).toHaveLength(1)
  git(['merge-base', '--is-ancestor', base, heads[0] ?? ''], remote)
  await syncInSteps(other)
  await expectInStep(remote, [first, other])
})

/** Syncs, and notes each new head of the remote; the first is one that others can join. */
async function syncWatched(clone: Clone, remote: string, heads: string[]): Promise<void> {
  git(['config', 'core.logAllRefUpdates', 'always'], remote)
  await syncInSteps(clone)
  const log = git(['log', '-g', '--format=%H', 'refs/heads/main'], remote).trim().split('\n')
  heads.push(...log.toReversed())
  await expectToBeJoined(clone, remote, heads[0] ?? '')
}
