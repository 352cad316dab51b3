// Transfers that take longer than the timeout: progress in either direction prolongs them, and a
// remote that stops in the middle still ends them. The clock is ours, and moves with the bytes.

import { once } from 'node:events'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { MEBIBYTE } from '../../src/limits.ts'
import { connectPush } from '../../src/transport/push.ts'
import type { RemoteAccess } from '../../src/transport/remote-access.ts'
import { failureOf, makeBare, program } from '../support/faulty-remotes.ts'
import {
  type Fault,
  type GitServer,
  makeCertificate,
  pushing,
  startGitServer,
} from '../support/git-server.ts'
import { startSshServer } from '../support/ssh-server.ts'
import { cleanEnvironment, git, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { fetchPack, pushPack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

const sshd = requires('sshd')
const openssl = requires('openssl')
const environment = cleanEnvironment()
const timeoutMs = 1000

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

function pass(timeouts: number): void {
  vi.advanceTimersByTime(timeouts * timeoutMs)
}

interface Sender {
  readonly store: ObjectStore
  readonly head: string
  readonly oids: readonly string[]
  push(access: RemoteAccess, progress?: () => void): Promise<void>
}

/** With a history of which every commit adds a blob of a size. */
async function senderOf(count: number, size: number): Promise<Sender> {
  const history = new TestHistory(21)
  const transitions = Array.from({ length: count }, () => history.next(size))
  const store = await createDiskObjectStore({ directory: join(temporaryDirectory(), 's') })
  await store.exclusive(() => store.commit(transitions))
  const head = history.head ?? ''
  const oids = transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
  const push: Sender['push'] = async (access, progress) => {
    const pack = await store.exchange.pack(oids)
    try {
      await pushPack(access, { expected: undefined, next: head, pack, progress })
    } finally {
      pack.close()
    }
  }
  return { store, head, oids, push }
}

type Peer = (repository: string) => Promise<RemoteAccess>

const peers: readonly (readonly [string, Peer, boolean])[] = [
  ['a path', async (repository) => ({ url: repository, environment, timeoutMs }), false],
  ['http', async (repository) => accessTo(await startGitServer({ repository })), false],
  [
    `https${openssl.note}`,
    async (repository) => {
      const tls = makeCertificate()
      const { url } = await startGitServer({ repository, tls })
      return { url, environment, timeoutMs, certificateAuthorities: tls.cert }
    },
    openssl.missing,
  ],
  [
    `ssh${sshd.note}`,
    async (repository) => {
      vi.useRealTimers()
      const { url, command } = await startSshServer()
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
      return { url: `${url}${repository}`, sshCommand: command, environment, timeoutMs }
    },
    sshd.missing,
  ],
]

function accessTo({ url }: Pick<GitServer, 'url'>): RemoteAccess {
  return { url, environment, timeoutMs }
}

describe.each(peers)('over %s, a transfer of three timeouts and more', (_, peer, isMissing) => {
  test.skipIf(isMissing)('arrives, both ways', { tags: 'slow' }, async () => {
    const repository = makeBare(join(temporaryDirectory(), 'r.git'))
    const remote = await peer(repository)
    const sender = await senderOf(20, 65_536)
    let steps = 0
    const step = (): void => {
      steps += 1
      pass(0.4)
    }
    await sender.push(remote, step)
    expect(git(['rev-parse', 'refs/heads/main'], repository).trim()).toBe(sender.head)
    expect(steps).toBeGreaterThan(8)

    const other = await createDiskObjectStore({ directory: join(temporaryDirectory(), 's') })
    steps = 0
    const progress = ({ phase }: { readonly phase: string }): void => {
      if (phase === 'receiving') step()
    }
    await fetchPack(remote, { want: sender.head, haves: [], into: other.exchange, progress })
    expect(other.read(sender.head)?.type).toBe('commit')
    expect(steps).toBeGreaterThan(8)
    await Promise.all([sender.store.close(), other.close()])
  })
})

/**
 * Takes in the whole request, at once; then this much time passes, and git gets it, unless the
 * client gave up: git would still write while the directories of the test are removed.
 */
function buffering(timeouts: number, givesUp: boolean): Fault {
  return async (request, response) => {
    if (!pushing.test(`${request.method} ${request.url}`)) return false
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const closed = givesUp ? once(response, 'close') : undefined
    pass(timeouts)
    await closed
    if (response.destroyed) return true
    const body = Readable.from(chunks)
    request.pipe = (target) => body.pipe(target)
    return false
  }
}

test.each([
  ['is used again', 0.5, 1],
  ['that was idle for longer than a second is not used again', 1.5, 2],
])('a connection %s', { tags: 'slow' }, async (_, seconds, count) => {
  const ports = new Set<number | undefined>()
  const fault: Fault = ({ socket }) => {
    ports.add(socket.remotePort)
    return false
  }
  const repository = makeBare(join(temporaryDirectory(), 'r.git'))
  const connection = await connectPush(accessTo(await startGitServer({ repository, fault })))
  vi.advanceTimersByTime(seconds * 1000)
  const { store, head, oids } = await senderOf(1, 1)
  const pack = await store.exchange.pack(oids)
  await connection.push({ expected: undefined, next: head, pack })
  pack.close()
  await Promise.all([connection.close(), store.close()])
  expect(ports.size).toBe(count)
})

describe('a host behind a buffer that takes in everything at once', () => {
  const megabytes = 9
  const start = async (timeouts: number, givesUp: boolean) => {
    const repository = makeBare(join(temporaryDirectory(), 'r.git'))
    const server = await startGitServer({ repository, fault: buffering(timeouts, givesUp) })
    return { repository, remote: accessTo(server) }
  }

  test('has the time to pass it on', { tags: 'slow' }, async () => {
    const { repository, remote } = await start(2.5, false)
    const sender = await senderOf(megabytes, MEBIBYTE)
    await sender.push(remote)
    expect(git(['rev-parse', 'refs/heads/main'], repository).trim()).toBe(sender.head)
    await sender.store.close()
  })

  test.each([
    ['a small push', 1, 1000, 1],
    ['a large one', megabytes, MEBIBYTE, 3.5],
  ])('that stops after %s ends it', { tags: 'slow' }, async (_, count, size, timeouts) => {
    const { remote } = await start(timeouts, true)
    const sender = await senderOf(count, size)
    expect(await failureOf(sender.push(remote))).toMatchObject({ code: 'remote_timeout' })
    await sender.store.close()
  })
})

test('a program that stops to read ends the push', { tags: 'slow' }, async () => {
  const empty = makeBare(join(temporaryDirectory(), 'r.git'))
  // As a host that has listed its refs and then hangs, with the line still open.
  const stopping = program(`git receive-pack ${empty} < /dev/zero & exec sleep 300`)
  const remote = { url: 'host:x', environment, sshCommand: [stopping], timeoutMs }
  const sender = await senderOf(20, 65_536)
  let sent = 0
  const work = failureOf(sender.push(remote, () => (sent += 1)))
  const settled = work.then(() => 'settled')
  for (;;) {
    const turn = new Promise((resolve) => setImmediate(resolve))
    if ((await Promise.race([settled, turn])) === 'settled') break
    if (sent > 0) pass(0.1)
  }
  expect(await work).toMatchObject({ code: 'remote_timeout' })
  await sender.store.close()
})
