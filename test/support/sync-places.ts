// Machines around one remote for tests that kill a sync: made once, copied for every death. All of
// it lies below one directory that never moves, since a store knows its remote by its path.

import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { formatId } from '../../src/format/id.ts'
import {
  createStore,
  formatDeviceCard,
  generateIdentity,
  type Identity,
  type JoinOptions,
  joinStore,
  type MemoryStore,
  type OpenOptions,
  openStore,
} from '../../src/index.ts'
import { alone, trusting } from './clones.ts'
import { FaultyDisk } from './faulty-disk.ts'
import { joiningPacker } from './inline-packer.ts'
import { full, seed } from './seed.ts'
import { author } from './stores.ts'
import { copyDirectory, git } from './temporary.ts'

/** Stock git's checks, and what other machines make of it, take longer than a crash. */
export const thoroughEvery: number = full ? 7 : 2

const names = ['a', 'b', 'c', 'new', 'auditor'] as const
/** `a` is the one that dies; `new` and `auditor` are no devices yet. */
export type Machine = (typeof names)[number]

/** One directory with all machines and their remote, and copies of it to go back to. */
export class SyncSite {
  readonly remote: string
  storeId = ''
  recoveryKey = ''
  readonly #root: string
  readonly #identities: ReadonlyMap<Machine, Identity>

  private constructor(root: string, identities: ReadonlyMap<Machine, Identity>) {
    this.#root = root
    this.remote = join(root, 'live/remote.git')
    this.#identities = identities
  }

  /** Three machines in step: `a` has made the store, `b` is an owner too, `c` a writer. */
  static async start(root: string): Promise<SyncSite> {
    const identities = names.map(async (name) => [name, await generateIdentity()] as const)
    const site = new SyncSite(root, new Map(await Promise.all(identities)))
    await site.#begin()
    return site
  }

  /** Keeps a copy of the live files; returns the way back to it. */
  keep(): () => void {
    const copy = mkdtempSync(join(this.#root, 'kept-'))
    const live = join(this.#root, 'live')
    copyDirectory(live, copy)
    return () => {
      rmSync(live, { recursive: true, force: true })
      copyDirectory(copy, live)
    }
  }

  identityOf(machine: Machine): Identity {
    const identity = this.#identities.get(machine)
    if (identity === undefined) throw new Error('There is no such machine')
    return identity
  }

  deviceIdOf(machine: Machine): string {
    return formatId('device', this.identityOf(machine).deviceId)
  }

  /** Where the store of a machine and what belongs to it lies. */
  homeOf(machine: Machine): string {
    return join(this.#root, 'live', machine)
  }

  directoryOf(machine: Machine): string {
    return join(this.homeOf(machine), 'store')
  }

  /** Of this machine, in this thread and on this disk alone. */
  optionsOf(machine: Machine, disk: FaultyDisk): OpenOptions {
    const directory = this.directoryOf(machine)
    const stateDirectory = join(this.homeOf(machine), 'state')
    const packer = joiningPacker(disk, directory)
    const { storeId } = this
    return { directory, stateDirectory, identity: this.identityOf(machine), storeId, disk, packer }
  }

  async open(machine: Machine, disk: FaultyDisk): Promise<MemoryStore> {
    return openStore(this.optionsOf(machine, disk))
  }

  async join(
    machine: Machine,
    disk: FaultyDisk,
    secret: Pick<JoinOptions, 'recoveryKey'>,
  ): Promise<MemoryStore> {
    const options = this.optionsOf(machine, disk)
    return joinStore({ ...options, ...trusting, ...secret, url: this.remote, author })
  }

  /** Opens, works and closes; returns what the work does. */
  async with<T>(machine: Machine, work: (store: MemoryStore) => Promise<T>): Promise<T> {
    const disk = new FaultyDisk()
    try {
      const store = await this.open(machine, disk)
      const result = await work(store)
      await store.close()
      return result
    } finally {
      disk.release()
    }
  }

  /** Where the branch of the remote is. */
  remoteHead(): string {
    return git(['rev-parse', 'refs/heads/main'], this.remote).trim()
  }

  async #begin(): Promise<void> {
    for (const name of names) mkdirSync(this.homeOf(name), { recursive: true })
    git(['init', '--quiet', '--bare', '--template=', '-b', 'main', this.remote], '/')
    const disk = new FaultyDisk()
    const { storeId: _, ...options } = this.optionsOf('a', disk)
    const { store, recoveryKey } = await createStore(options)
    this.storeId = store.id
    this.recoveryKey = recoveryKey
    await store.remotes.add('origin', this.remote)
    await write(store, '/shared.md', 'one\ntwo\nthree\n')
    await write(store, '/a/leak.md', 'secret-of-a\n')
    await write(store, '/b/leak.md', 'secret-of-b\n')
    for (const machine of ['b', 'c'] as const) {
      const card = formatDeviceCard(this.identityOf(machine))
      await store.as(author).devices.add(card, machine === 'b' ? 'owner' : 'writer', alone)
    }
    await store.as(author).sync()
    await store.close()
    for (const machine of ['b', 'c'] as const) {
      await (await this.join(machine, disk, {})).close()
    }
    disk.release()
  }
}

/** Writes a memory, whether there is one or not. */
export async function write(store: MemoryStore, path: string, content: string): Promise<void> {
  const exists = (await store.read(path)) !== undefined
  const edit = { type: 'edit', path, edit: () => content } as const
  await store.as(author).apply([exists ? edit : { type: 'create', path, content }])
}

/** Erases the first version of a memory, which a later one has replaced. */
export async function redactFirst(store: MemoryStore, path: string): Promise<void> {
  const { data: versions } = await store.history.versions({ path })
  const versionId = versions.at(-1)?.versionId ?? ''
  await store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'leaked_secret' })
}

/** All of these operations, or by default a sample spread over them. */
export function operationsOf(operations: number, tried: number): readonly number[] {
  const count = full ? operations : tried
  const offset = full ? 0 : ((seed * 7) % 20) / 20
  return Array.from(
    { length: count },
    (_, n) => 1 + Math.floor(((n + offset) * operations) / count),
  )
}

/** Stock git finds nothing wrong; and if they are in step, a machine that was away can continue. */
export async function expectSound(
  site: SyncSite,
  machine: 'a' | 'new',
  inStep: boolean,
): Promise<void> {
  for (const directory of [site.directoryOf(machine), site.remote]) {
    expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
  }
  if (!inStep) return
  const head = git(['rev-parse', 'refs/heads/main'], site.directoryOf(machine)).trim()
  expect(site.remoteHead()).toBe(head)
  await site.with('b', async (store) => {
    await store.as(author).sync()
    expect((await store.status()).head).toBe(head)
    expect((await store.read('/after.md'))?.content).toBe('written\n')
    await store.maintenance.verify({ threads: 0 })
  })
}

/** No lock, no temporary file, nothing left of an abandoned fetch or join. */
export function expectTidy(site: SyncSite, machine: 'a' | 'new' | 'auditor'): void {
  const home = site.homeOf(machine)
  const files = readdirSync(home, { recursive: true, encoding: 'utf8' })
  const odd = files.filter((name) => /tmp|\.lock|\/lock|owner\.|pending\.|purge-|join-/.test(name))
  expect(odd).toEqual([])
  expect(readdirSync(home).toSorted()).toEqual(['state', 'store'])
  const own = readdirSync(join(home, 'store/gitlocket'))
  if (own.includes('incoming')) {
    expect(readdirSync(join(home, 'store/gitlocket/incoming'))).toEqual([])
  }
  const rest = own.filter((name) => name !== 'cache' && name !== 'incoming')
  expect(rest.toSorted()).toEqual(['journal-a', 'journal-b'])
}
