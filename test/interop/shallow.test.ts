// A part of the history, from stock git over each transport: one commit of it, followed, deepened
// and made whole, in a repository that stock git understands at each step; and the refs of grants,
// pushed, listed and deleted.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  createDiskObjectStore,
  type DiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { Oid } from '../../src/git/objects/object.ts'
import type { RefusedRef, RemoteAccess } from '../../src/transport/remote-access.ts'
import { emptyRemote, type Peer, runnable, sshd } from '../support/git-peers.ts'
import { startGitolite } from '../support/gitolite.ts'
import { sample } from '../support/seed.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { fetchPack, listRemote, pushPack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

const gitolite = requires('gitolite')
const ALL = 2 ** 31 - 1
const start = `refs/gitlocket/baseline/${'a'.repeat(32)}`
const wraps = `refs/gitlocket/wraps/${'b'.repeat(32)}`
const tag = `refs/tags/gitlocket-baseline-${'c'.repeat(32)}`

/** A remote with a history that grows, and a store that has a part of it. */
class World {
  readonly history: TestHistory = new TestHistory(31)
  readonly directory: string = join(temporaryDirectory(), 'part')
  readonly repository: string
  readonly access: RemoteAccess
  readonly #source: DiskObjectStore

  static async of(peer: Peer, commits: number): Promise<World> {
    const source = await createDiskObjectStore({ directory: temporaryDirectory() })
    const world = new World(source, await emptyRemote(peer))
    await world.grow(commits)
    return world
  }

  private constructor(
    source: DiskObjectStore,
    { repository, access }: { readonly repository: string; readonly access: RemoteAccess },
  ) {
    this.#source = source
    this.repository = repository
    this.access = access
  }

  get head(): Oid {
    return this.history.head ?? ''
  }

  /** The last commits of the history, the newest first. */
  last(count: number): readonly Oid[] {
    const all = this.history.transitions.map(({ next }) => next)
    return all.toReversed().slice(0, count)
  }

  async grow(commits: number): Promise<void> {
    const expected = this.history.head
    const transitions = this.history.take(commits)
    await this.#source.exclusive(() => this.#source.commit(transitions))
    const oids = transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
    const pack = await this.#source.exchange.pack(oids)
    await pushPack(this.access, { expected, next: this.head, pack })
    pack.close()
  }

  /** Fetches `deepen` commits of the history into the store, and moves its branch. */
  async fetch(deepen: number): Promise<void> {
    const how = { directory: this.directory, mayBeShallow: true }
    const isNew = !existsSync(this.directory)
    const store = await (isNew ? createDiskObjectStore(how) : openDiskObjectStore(how))
    const before = store.head
    const haves = before === undefined ? [] : [before]
    const shallow = store.exchange.shallow()
    const request = { want: this.head, haves, deepen, shallow, into: store.exchange }
    await fetchPack(this.access, request)
    const moved = { objects: [], expected: before, next: this.head }
    if (before !== this.head) await store.exclusive(() => store.commit([moved]))
    await store.close()
  }

  /** Stock git finds nothing wrong, and these commits, the newest first. */
  expectHas(commits: readonly Oid[], boundary: readonly Oid[]): void {
    const { directory } = this
    expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
    expect(git(['log', '--format=%H'], directory).trim().split('\n')).toEqual(commits)
    const isShallow = git(['rev-parse', '--is-shallow-repository'], directory).trim()
    expect(isShallow).toBe(String(boundary.length > 0))
    expect(existsSync(join(directory, 'shallow'))).toBe(boundary.length > 0)
    const ends = git(['log', '--format=%H', '--max-parents=0'], directory).trim().split('\n')
    expect(ends).toEqual(boundary.length > 0 ? boundary : commits.slice(-1))
  }
}

const exchanges: readonly (readonly [string, (peer: Peer) => Promise<void>])[] = [
  [
    'one commit is fetched, followed, deepened and made whole',
    async (peer) => {
      const world = await World.of(peer, 20)
      await world.fetch(1)
      world.expectHas(world.last(1), world.last(1))
      await world.grow(3)
      await world.fetch(4)
      world.expectHas(world.last(4), world.last(4).slice(-1))
      await world.fetch(10)
      world.expectHas(world.last(10), world.last(10).slice(-1))
      await world.grow(2)
      await world.fetch(ALL)
      world.expectHas(world.last(25), [])
    },
  ],
  [
    'a depth below what is stored keeps it, and ends the history earlier',
    async (peer) => {
      const world = await World.of(peer, 20)
      await world.fetch(10)
      await world.fetch(2)
      world.expectHas(world.last(2), world.last(2).slice(-1))
      await world.fetch(ALL)
      world.expectHas(world.last(20), [])
    },
  ],
  [
    'stock git makes a part whole, and a store is opened from it',
    async (peer) => {
      const world = await World.of(peer, 12)
      await world.fetch(3)
      const copy = join(temporaryDirectory(), 'copy')
      copyDirectory(world.directory, copy)
      git(['fetch', '--quiet', '--unshallow', world.repository, 'main'], copy)
      expect(git(['fsck', '--strict', '--full', '--no-dangling'], copy)).toBe('')
      const store = await openDiskObjectStore({ directory: copy })
      expect(world.last(12).every((oid) => store.has(oid))).toBe(true)
      await store.close()
    },
  ],
  [
    'refs of grants are pushed with the branch and alone, listed, fetched and deleted',
    async (peer) => {
      const world = await World.of(peer, 3)
      const { access } = world
      const source = await createDiskObjectStore({ directory: temporaryDirectory() })
      const next = new TestHistory(32).take(2)
      await source.exclusive(() => source.commit(next))
      const blobs = next.flatMap(({ objects }) => objects.filter(({ type }) => type === 'blob'))
      const [one = '', other = ''] = blobs.map(({ oid }) => oid)
      const pack = await source.exchange.pack([one, other])
      const others = [
        { name: start, expected: undefined, next: one },
        { name: wraps, expected: undefined, next: other },
        { name: tag, expected: undefined, next: one },
      ]
      expect(await pushPack(access, { pack, others })).toEqual([])
      const refs = await listRemote(access)
      expect(refs.head).toBe(world.head)
      expect([...refs.named]).toEqual([
        [start, one],
        [wraps, other],
        [tag, one],
      ])
      const into = await createDiskObjectStore({ directory: temporaryDirectory() })
      const wanted = { want: world.head, wants: [one, other], haves: [], deepen: 1 }
      const received = await fetchPack(access, { ...wanted, into: into.exchange })
      expect(received).toMatchObject({ shallow: [world.head], unshallow: [] })
      expect([one, other].map((oid) => into.read(oid)?.type)).toEqual(['blob', 'blob'])
      const changes = [
        { name: start, expected: one, next: other },
        { name: wraps, expected: one, next: undefined },
        { name: tag, expected: one, next: undefined },
      ]
      // The lease of the second one does not hold, and nothing is sent for it.
      expect(await pushPack(access, { others: changes })).toEqual([
        { name: wraps, reason: 'another push changed it first' },
      ])
      expect([...(await listRemote(access)).named]).toEqual([
        [start, other],
        [wraps, other],
      ])
      expect(git(['fsck', '--strict', '--full', '--no-dangling'], world.repository)).toBe('')
      await source.close()
      await into.close()
    },
  ],
  [
    'a ref that the host refuses leaves the branch and the others moved',
    async (peer) => {
      const world = await World.of(peer, 3)
      const { access, repository } = world
      const blob = git(['hash-object', '-w', '--stdin'], repository, 'a start').trim()
      const put = [start, wraps].map((name) => ({ name, expected: undefined, next: blob }))
      expect(await pushPack(access, { others: put })).toEqual([])
      writeFileSync(join(repository, `${start}.lock`), '')
      const store = await createDiskObjectStore({ directory: temporaryDirectory() })
      await store.exclusive(() => store.commit(world.history.transitions))
      const expected = world.head
      const grown = world.history.take(1)
      await store.exclusive(() => store.commit(grown))
      const pack = await store.exchange.pack(
        grown.flatMap(({ objects }) => objects.map((one) => one.oid)),
      )
      const others = [
        { name: start, expected: blob, next: undefined },
        { name: wraps, expected: blob, next: world.head },
      ]
      expect(await pushPack(access, { expected, next: world.head, pack, others })).toEqual([
        { name: start, reason: expect.any(String) },
      ])
      const refs = await listRemote(access)
      expect(refs.head).toBe(world.head)
      expect(Object.fromEntries(refs.named)).toEqual({ [start]: blob, [wraps]: world.head })
      await store.close()
    },
  ],
]

const pairs = runnable.flatMap(([name, peer]) => {
  return exchanges.map(([what, exchange]) => [name, what, () => exchange(peer)] as const)
})

// By default each exchange with one of the peers.
test.each(sample(pairs, 3))('over %s, %s', { tags: 'slow' }, (_, __, run) => run())

test.skipIf(gitolite.missing || sshd.missing)(
  `gitolite takes refs of grants if a rule allows it, and the branch without one${gitolite.note}`,
  { tags: 'slow' },
  async () => {
    const host = await startGitolite('RW refs/heads/main = alice')
    const access = { url: host.url, ...host.alice }
    const history = new TestHistory(33)
    const store = await createDiskObjectStore({ directory: temporaryDirectory() })
    const push = async (next: Oid | undefined): Promise<readonly RefusedRef[]> => {
      const expected = history.head
      const made = history.take(1)
      await store.exclusive(() => store.commit(made))
      const oids = made.flatMap(({ objects }) => objects.map(({ oid }) => oid))
      const pack = await store.exchange.pack(oids)
      const [blob = ''] = oids
      const { named } = await listRemote(access)
      const put = { name: start, expected: named.get(start), next: next ?? blob }
      return pushPack(access, { expected, next: history.head, pack, others: [put] })
    }
    expect(await push(undefined)).toMatchObject([{ name: start, reason: 'hook declined' }])
    expect(await listRemote(access)).toMatchObject({ head: history.head, named: new Map() })
    host.allow('RW refs/heads/main = alice', 'RW+CD refs/gitlocket/ = alice')
    expect(await push(undefined)).toEqual([])
    expect(await push(history.head)).toEqual([])
    const { named } = await listRemote(access)
    const gone = { name: start, expected: named.get(start), next: undefined }
    expect(await pushPack(access, { others: [gone] })).toEqual([])
    expect((await listRemote(access)).named).toEqual(new Map())
    await store.close()
  },
)
