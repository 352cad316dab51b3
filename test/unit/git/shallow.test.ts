// A store whose history ends at a boundary: what its maintenance, stock git and a redaction make of
// it, and the file itself.
// @module-tag slow

import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../../src/git/object-store.ts'
import { checkRepository } from '../../../src/git/refs/repository.ts'
import { eraseBlob, testSecret } from '../../support/erasure.ts'
import { partialPack, partialStore } from '../../support/partial-stores.ts'
import { inChunks } from '../../support/raw-pack.ts'
import { git, temporaryDirectory } from '../../support/temporary.ts'
import { receivePack } from '../../support/transfer.ts'
import { TestHistory } from '../../support/transitions.ts'

const history = new TestHistory(71)
const transitions = history.take(8)
const commits = transitions.map(({ next }) => next)
const tip = commits.at(-1) ?? ''
const mayBeShallow = true

function fsck(directory: string): string {
  return git(['fsck', '--strict', '--full', '--no-dangling'], directory)
}

function logOf(directory: string): readonly string[] {
  return git(['log', '--format=%H'], directory).trim().split('\n').toReversed()
}

async function grow(store: ObjectStore, count: number): Promise<readonly string[]> {
  const more = new TestHistory(72, store.head).take(count)
  await store.exclusive(() => store.commit(more))
  return more.map(({ next }) => next)
}

/** As git counts them. */
function unreachableIn(directory: string): number {
  const lines = git(['fsck', '--unreachable', '--no-dangling'], directory).trim().split('\n')
  return lines.filter((line) => line.startsWith('unreachable ')).length
}

describe('a store whose history ends early', () => {
  test('is written, packed, compacted and measured, and stock git reads it', async () => {
    const { store, directory } = await partialStore(transitions, 5)
    const made = await grow(store, 3)
    // The commits of the journal have parents on the boundary.
    expect(await store.findUnreachable()).toMatchObject({ objects: unreachableIn(directory) })
    await store.compact()
    expect(fsck(directory)).toBe('')
    expect(logOf(directory)).toEqual([...commits.slice(5), ...made])
    await store.close()
    git(['gc', '--quiet', '--prune=now'], directory)
    expect(fsck(directory)).toBe('')
    const again = await openDiskObjectStore({ directory, mayBeShallow })
    expect(again.exchange.shallow()).toEqual([commits[5]])
    expect(await again.findUnreachable()).toMatchObject({ objects: 0 })
    await again.close()
  })

  test('counts what lies before the boundary as unreachable, as git does', async () => {
    const { store, directory } = await partialStore(transitions, 2)
    const before = (await store.findUnreachable()).objects
    expect(before).toBe(unreachableIn(directory))
    await store.exchange.setShallow([commits[6] ?? ''])
    const after = (await store.findUnreachable()).objects
    expect(after).toBeGreaterThan(before)
    expect(after).toBe(unreachableIn(directory))
    await store.close()
  })

  test('sends what it adds to a remote that has everything', async () => {
    const { store } = await partialStore(transitions, 7)
    const more = new TestHistory(73, store.head).next()
    await store.exclusive(() => store.commit([more]))
    const pack = await store.exchange.pack(
      more.objects.map(({ oid }) => oid),
      tip,
    )
    expect(pack.objects).toBe(more.objects.length)
    pack.close()
    await store.close()
  })

  test('is deepened and made whole by stock git', async () => {
    const remote = join(temporaryDirectory(), 'remote.git')
    mkdirSync(remote)
    git(['init', '--bare', '--quiet', '-b', 'main'], remote)
    const { store, directory } = await partialStore(transitions, 0)
    await store.exchange.setShallow([])
    // For git, an empty file would be one of a partial clone.
    expect(existsSync(join(directory, 'shallow'))).toBe(false)
    await store.close()
    git(['push', '--quiet', remote, 'main'], directory)
    const part = await partialStore(transitions, 6)
    await part.store.checkpoint()
    git(['fetch', '--quiet', '--deepen=2', remote, 'main'], part.directory)
    expect(part.store.exchange.shallow()).toEqual([commits[4]])
    git(['fetch', '--quiet', '--unshallow', remote, 'main'], part.directory)
    expect(part.store.exchange.shallow()).toEqual([])
    await part.store.close()
    expect(logOf(part.directory)).toEqual(commits)
  })

  test('keeps a refused head that stock git reads', async () => {
    const { store, directory } = await partialStore(transitions.slice(0, 4), 3)
    const incoming = store.exchange.incoming()
    const boundary = {
      before: [commits[3] ?? ''],
      haves: [],
      shallow: [commits[6] ?? ''],
      unshallow: [],
    }
    const pack = await partialPack(transitions, 6)
    await incoming.receive(inChunks(pack, 1000), { tip, boundary })
    await store.exclusive(() => incoming.keep('origin', tip))
    const kept = join(directory, store.exchange.refused('origin') ?? '')
    expect(fsck(kept)).toBe('')
    expect(logOf(kept)).toEqual(commits.slice(6))
    expect(store.exchange.shallow()).toEqual([commits[3]])
    await store.close()
  })

  test('forgets a commit of the boundary that a redaction has erased', async () => {
    const { store, directory } = await partialStore(transitions, 4)
    await store.close()
    const secret = testSecret
    const own = await openDiskObjectStore({ directory, mayBeShallow, secret, idleMs: Infinity })
    const { transition, secret: erased } = eraseBlob(transitions, 4)
    const made = transition.objects.find(({ type }) => type === 'commit')
    await own.exchange.setShallow([commits[4] ?? '', made?.oid ?? ''])
    await own.exclusive(() => own.commit([transition]))
    await own.checkpoint()
    expect(own.exchange.shallow()).toEqual([made?.oid])
    await own.close()
    expect(fsck(directory)).toBe('')
    const stored = git(['cat-file', '--batch-all-objects', '--batch'], directory)
    expect(stored).not.toContain(Buffer.from(erased).toString())
  })
})

describe('the file of the boundary', () => {
  test('is refused unless the caller knows of it', async () => {
    const { store, directory } = await partialStore(transitions, 6)
    await store.close()
    const opened = openDiskObjectStore({ directory })
    await expect(opened).rejects.toMatchObject({ code: 'incomplete_clone' })
    expect(() => checkRepository(systemDisk, directory, { mayBeShallow })).not.toThrow()
    writeFileSync(join(directory, 'shallow'), `${commits[6]}\nmain\n`)
    const damaged = openDiskObjectStore({ directory, mayBeShallow })
    await expect(damaged).rejects.toMatchObject({ code: 'ref_corrupt' })
  })

  test('is locked as git locks it, and a lock that a dead process left is removed', async () => {
    const { store, directory } = await partialStore(transitions, 6)
    const lock = join(directory, 'shallow.lock')
    writeFileSync(lock, '')
    const [end = ''] = store.exchange.shallow()
    const attempt = store.exchange.setShallow([end, tip])
    await expect(attempt).rejects.toMatchObject({ code: 'locked' })
    expect(store.exchange.shallow()).toEqual([end])
    // The pending file of a process that no longer runs.
    linkSync(lock, join(directory, `gitlocket/pending.${'0'.repeat(32)}.shallow`))
    await store.checkpoint()
    expect(existsSync(lock)).toBe(false)
    await store.exchange.setShallow([end, tip])
    await store.close()
    expect(readFileSync(join(directory, 'shallow'), 'utf8')).toBe(
      [end, tip]
        .toSorted()
        .map((oid) => `${oid}\n`)
        .join(''),
    )
    expect(readdirSync(join(directory, 'gitlocket'))).not.toContain('pending')
  })

  test('is moved by two handles at once, and has what both did', async () => {
    const { store, directory } = await partialStore(transitions, 6)
    const other = await openDiskObjectStore({ directory, mayBeShallow })
    const take = async (one: ObjectStore, from: number): Promise<void> => {
      const pack = await partialPack(transitions, from)
      const change = { shallow: [commits[from] ?? ''], unshallow: [commits[6] ?? ''] }
      const boundary = { before: [commits[6] ?? ''], haves: [], ...change }
      await receivePack(one.exchange, inChunks(pack, 1000), { tip, boundary })
    }
    await Promise.all([take(store, 4), take(other, 2)])
    expect(store.exchange.shallow()).toEqual([commits[2] ?? '', commits[4] ?? ''].toSorted())
    expect(fsck(directory)).toBe('')
    await store.close()
    await other.close()
  })

  test('is not brought back once another handle has fetched everything', async () => {
    const { store, directory } = await partialStore(transitions, 6)
    const [before = '', deeper = ''] = [commits[6], commits[4]]
    const part = store.exchange.incoming()
    const change = { shallow: [deeper], unshallow: [before] }
    const boundary = { before: [before], haves: [], ...change }
    await part.receive(inChunks(await partialPack(transitions, 4), 1000), { tip, boundary })
    const other = await openDiskObjectStore({ directory, mayBeShallow })
    const all = { before: [before], haves: [], shallow: [], unshallow: [before] }
    const pack = await partialPack(transitions, 0)
    await receivePack(other.exchange, inChunks(pack, 1000), { tip, boundary: all })
    await expect(part.accept()).rejects.toMatchObject({ code: 'ref_conflict' })
    part.drop()
    expect(existsSync(join(directory, 'shallow'))).toBe(false)
    expect(fsck(directory)).toBe('')
    await store.close()
    await other.close()
  })
})
