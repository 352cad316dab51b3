// Fetch and push against real peers: stock git behind a path, behind a loopback sshd, and behind an
// http(s) server with basic authentication and a certificate of its own. Stock git judges the
// result.

import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore, Transition } from '../../src/git/object-store.ts'
import type { RemoteAccess, TransferProgress } from '../../src/transport/remote-access.ts'
import { emptyRemote, missing, onSsh, type Peer, runnable, sshd } from '../support/git-peers.ts'
import { startGitServer } from '../support/git-server.ts'
import { listObjects } from '../support/pack-fixtures.ts'
import { sample } from '../support/seed.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { fetchPack, listRemote, pushPack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

async function storeWith(transitions: readonly Transition[]): Promise<ObjectStore> {
  const store = await createDiskObjectStore({ directory: join(temporaryDirectory(), 's') })
  await store.exclusive(() => store.commit(transitions))
  return store
}

async function push(
  access: RemoteAccess,
  store: ObjectStore,
  transitions: readonly Transition[],
  progress?: (progress: TransferProgress) => void,
): Promise<number> {
  const oids = transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
  const pack = await store.exchange.pack(oids)
  const expected = transitions[0]?.expected
  const next = transitions.at(-1)?.next ?? ''
  try {
    await pushPack(access, { expected, next, pack, progress })
  } finally {
    pack.close()
  }
  return pack.bytes
}

function expectSound(repository: string, head: string | undefined): void {
  const clone = temporaryDirectory()
  git(['clone', '--quiet', '--bare', repository, '.'], clone)
  expect(git(['fsck', '--strict', '--full', '--no-dangling'], clone)).toBe('')
  expect(git(['rev-parse', 'refs/heads/main'], clone).trim()).toBe(head)
}

/** The exchanges to try with each peer. */
const exchanges: readonly (readonly [string, (peer: Peer) => Promise<void>])[] = [
  [
    'an empty remote has no head',
    async (peer) => {
      const { access } = await emptyRemote(peer)
      expect(await listRemote(access)).toMatchObject({ head: undefined, others: 0 })
    },
  ],

  [
    'what is pushed can be cloned, and fetched into another store',
    async (peer) => {
      const { repository, access } = await emptyRemote(peer)
      const history = new TestHistory(7)
      const transitions = history.take(30)
      const store = await storeWith(transitions)
      await push(access, store, transitions)
      expectSound(repository, history.head)

      const other = await createDiskObjectStore({ directory: temporaryDirectory() })
      const want = history.head ?? ''
      const { objects } = await fetchPack(access, { want, haves: [], into: other.exchange })
      expect(objects).toBe(transitions.flatMap((one) => one.objects).length)
      for (const { oid, type } of transitions.flatMap((one) => one.objects)) {
        expect(other.read(oid)?.type).toBe(type)
      }
      await store.close()
      await other.close()
    },
  ],

  [
    'a second push and a second fetch carry only what is new',
    async (peer) => {
      const { repository, access } = await emptyRemote(peer)
      const history = new TestHistory(8)
      const first = history.take(40)
      const [store, other] = [await storeWith(first), await storeWith(first)]
      await push(access, store, first)
      const second = history.take(1)
      await store.exclusive(() => store.commit(second))
      expect(await push(access, store, second)).toBeLessThan(4096)
      expectSound(repository, history.head)
      const haves = first.map(({ next }) => next).toReversed()
      const want = history.head ?? ''
      const received = await fetchPack(access, { want, haves, into: other.exchange })
      expect(received).toMatchObject({ objects: second[0]?.objects.length })
      expect(received.bytes).toBeLessThan(4096)
      await store.close()
      await other.close()
    },
  ],

  [
    'a push whose lease does not hold moves nothing',
    async (peer) => {
      const { repository, access } = await emptyRemote(peer)
      const history = new TestHistory(9)
      const [first, second] = [history.take(2), history.take(2)]
      const store = await storeWith([...first, ...second])
      await push(access, store, first)
      await expect(push(access, store, first)).rejects.toMatchObject({ code: 'remote_moved' })
      expectSound(repository, first.at(-1)?.next)
      await push(access, store, second)
      expectSound(repository, history.head)
      await store.close()
    },
  ],

  [
    'a branch can be rewritten where the host allows it',
    async (peer) => {
      const { repository, access } = await emptyRemote(peer)
      const [old, young] = [new TestHistory(10), new TestHistory(11)]
      const before = old.take(3)
      const store = await storeWith(before)
      await push(access, store, before)
      const after = young.take(3)
      const rewritten = await storeWith(after)
      const moved = after.map((one, at) => (at === 0 ? { ...one, expected: old.head } : one))
      await push(access, rewritten, moved)
      expectSound(repository, young.head)
      await store.close()
      await rewritten.close()
    },
  ],

  [
    'a host that denies it says what to change',
    async (peer) => {
      const { repository, access } = await emptyRemote(peer)
      git(['config', 'receive.denyNonFastForwards', 'true'], repository)
      const [old, young] = [new TestHistory(10), new TestHistory(11)]
      const before = old.take(3)
      const store = await storeWith(before)
      await push(access, store, before)
      const after = young.take(3)
      const rewritten = await storeWith(after)
      const moved = after.map((one, at) => (at === 0 ? { ...one, expected: old.head } : one))
      await expect(push(access, rewritten, moved)).rejects.toMatchObject({
        code: 'push_rejected',
        message: expect.stringContaining('allow forced pushes'),
      })
      expectSound(repository, old.head)
      await store.close()
      await rewritten.close()
    },
  ],

  [
    'a repository that is not there is not found',
    async (peer) => {
      const { access } = await emptyRemote(peer)
      const nowhere = { ...access, url: `${access.url}/nowhere` }
      await expect(listRemote(nowhere)).rejects.toMatchObject({ code: 'remote_not_found' })
    },
  ],

  [
    'an exchange that is cancelled ends, and leaves nothing',
    async (peer) => {
      const { access } = await emptyRemote(peer)
      const signal = AbortSignal.abort()
      await expect(listRemote({ ...access, signal })).rejects.toMatchObject({ code: 'cancelled' })
    },
  ],
]

const pairs = runnable.flatMap(([name, peer]) => {
  return exchanges.map(([what, exchange]) => [name, what, () => exchange(peer)] as const)
})

// By default each exchange with one of the peers.
test.each(sample(pairs, 3))('over %s, %s', { tags: 'slow' }, (_, __, run) => run())

test.each(missing.length > 0 ? missing : [])('over %s', (_, __, isMissing) => {
  expect(isMissing).toBe(true)
})

test.each<[string, Peer]>([
  ['a file URL', async (repository) => ({ url: `file://${encodeURI(repository)}` })],
  ['http', async (repository) => ({ url: (await startGitServer({ repository })).url })],
])('over %s, a history goes there and comes back', { tags: 'slow' }, async (_, peer) => {
  const { repository, access } = await emptyRemote(peer)
  const history = new TestHistory(15)
  const transitions = history.take(3)
  const store = await storeWith(transitions)
  await push(access, store, transitions)
  expectSound(repository, history.head)
  const { exchange } = await createDiskObjectStore({ directory: temporaryDirectory() })
  await fetchPack(access, { want: history.head ?? '', haves: [], into: exchange })
  await store.close()
})

test('progress counts up to the size of the pack', async () => {
  const { access } = await emptyRemote(async (repository) => ({ url: repository }))
  const history = new TestHistory(12)
  const transitions = history.take(5)
  const store = await storeWith(transitions)
  const seen: TransferProgress[] = []
  const bytes = await push(access, store, transitions, (progress) => seen.push(progress))
  expect(seen.at(-1)).toEqual({ phase: 'sending', done: bytes, total: bytes })
  await store.close()
})

// A hook of a path would run as the user, and is not run (test/attack/prepared-repository.test.ts).
test.skipIf(sshd.missing)(
  `a hook there is heard after the push, and waited for${sshd.note}`,
  { tags: 'slow' },
  async () => {
    const { repository, access } = await emptyRemote(onSsh)
    const hook = join(repository, 'hooks', 'post-receive')
    mkdirSync(join(repository, 'hooks'), { recursive: true })
    writeFileSync(hook, '#!/bin/sh\nsleep 0.7\necho deployed\ntouch deployed\n')
    chmodSync(hook, 0o755)
    const transitions = new TestHistory(14).take(1)
    const store = await storeWith(transitions)
    const heard: string[] = []
    await push({ ...access, onMessage: (text) => heard.push(text) }, store, transitions)
    expect(heard).toEqual(['deployed'])
    expect(existsSync(join(repository, 'deployed'))).toBe(true)
    await store.close()
  },
)

test('many objects are sent as the packs have them', { tags: 'slow' }, async () => {
  const { repository, access } = await emptyRemote(async (path) => ({ url: path }))
  const history = new TestHistory(13)
  // More than is packed in RAM.
  const transitions = Array.from({ length: 800 }, () => history.next(12_000))
  const store = await storeWith(transitions.slice(0, 500))
  await store.checkpoint()
  await store.exclusive(() => store.commit(transitions.slice(500)))
  await push(access, store, transitions)
  expectSound(repository, history.head)
  const sent = new Set(transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid)))
  expect(listObjects(repository)).toEqual([...sent].toSorted())
  await store.close()
})
