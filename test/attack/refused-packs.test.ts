// T36: a pack that a sync refuses never becomes part of the store. It is never read, refused packs
// do not pile up, and only one refused head per remote is kept, small and apart.

import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { DiskIncoming } from '../../src/git/disk-store/disk-exchange.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { Incoming } from '../../src/git/exchange.ts'
import { createMemoryObjectStore } from '../../src/git/memory-store/memory-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { StoreSession } from '../../src/store/session/session.ts'
import { KEPT_BYTES_MAX } from '../../src/store/sync/refused-head.ts'
import { checkWithGit, type Clone, sync, syncAll } from '../support/clones.ts'
import { eraseBlob, testSecret } from '../support/erasure.ts'
import { FaultyDisk, SimulatedDeath } from '../support/faulty-disk.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import {
  branchOf,
  copyRemote,
  create,
  evidenceOf,
  expectInStep,
  leak,
  moveBranch,
  type Pair,
  pairsOfClones,
  redact,
} from '../support/hostile-remotes.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { author, reopen } from '../support/stores.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { TestHistory } from '../support/transitions.ts'

const pairOfClones = pairsOfClones()

/** The packs of a clone: its own, incoming ones, and refused ones. */
function packsOf({ place }: Clone): Readonly<Record<'own' | 'waiting' | 'refused', number>> {
  const count = (below: string): number => {
    const directory = join(place.directory, below)
    if (!existsSync(directory)) return 0
    const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    return names.filter((name) => name.endsWith('.pack')).length
  }
  return {
    own: count('objects/pack'),
    waiting: count('gitlocket/incoming'),
    refused: count('gitlocket/refused'),
  }
}

function blobOn(remote: string): string {
  return git(['hash-object', '-w', '--stdin'], remote, randomBytes(2000).toString('hex')).trim()
}

/** An unsigned commit on top of the branch, with a blob in its tree. */
function junkOn(remote: string, blob: string = blobOn(remote)): string {
  const entries = git(['ls-tree', 'main'], remote)
  const tree = git(['mktree'], remote, `${entries}100644 blob ${blob}\tzz\n`).trim()
  return git(['commit-tree', tree, '-p', branchOf(remote), '-m', 'junk'], remote).trim()
}

describe('a pack that a sync refuses', () => {
  test('does not pile up, and is not in the store', { tags: 'slow' }, async () => {
    const { a, b, remote } = await pairOfClones()
    await b.store.maintenance.checkpoint()
    const { own } = packsOf(b)
    const good = branchOf(remote)
    for (let round = 0; round < 3; round += 1) {
      const blob = blobOn(remote)
      const junk = junkOn(remote, blob)
      moveBranch(remote, junk)
      expect(await failureOf(sync(b))).toMatchObject({ code: 'commit_malformed' })
      expect(packsOf(b)).toEqual({ own, waiting: 0, refused: 1 })
      expect(await evidenceOf(b)).toBe(junk)
      for (const oid of [junk, blob]) {
        const found = git(['cat-file', '--batch-check'], b.place.directory, oid)
        expect(found).toBe(`${oid} missing\n`)
      }
      checkWithGit(b.place.directory)
      moveBranch(remote, good)
    }
    await create(b, '/more.md')
    await syncAll([b, a])
    expect(packsOf(b)).toMatchObject({ waiting: 0, refused: 0 })
    await expectInStep(remote, [a, b])
  })

  test('is not kept beyond 64 MiB, and the error reports it', { tags: 'slow' }, async () => {
    const { b, remote } = await pairOfClones()
    moveBranch(remote, junkOn(remote))
    const size = vi.spyOn(DiskIncoming.prototype, 'bytes', 'get')
    size.mockReturnValue(KEPT_BYTES_MAX + 1)
    const error = await failureOf(sync(b)).finally(() => size.mockRestore())
    expect(error).toMatchObject({
      code: 'commit_malformed',
      message: expect.stringContaining('larger than 64 MiB, and nothing of it is kept'),
    })
    expect(packsOf(b)).toMatchObject({ waiting: 0, refused: 0 })
    moveBranch(remote, junkOn(remote))
    await failureOf(sync(b))
    expect(packsOf(b)).toMatchObject({ waiting: 0, refused: 1 })
  })

  test('is erased by a redaction, and removed with the remote', { tags: 'slow' }, async () => {
    const { b, remote } = await pairOfClones()
    const leaked = await leak(b)
    moveBranch(remote, junkOn(remote))
    await failureOf(sync(b))
    expect(packsOf(b)).toMatchObject({ refused: 1 })
    await redact(b, leaked)
    expect(packsOf(b)).toMatchObject({ refused: 0 })
    expect(await evidenceOf(b)).toBeUndefined()
    await failureOf(sync(b))
    expect(packsOf(b)).toMatchObject({ refused: 1 })
    await b.store.remotes.remove('origin')
    expect(packsOf(b)).toMatchObject({ refused: 0 })
  })
})

describe('a refused head that is kept with text that is redacted elsewhere', () => {
  /** B holds as evidence alone what A writes, shares and redacts: B has never had it. */
  async function kept(): Promise<Pair & { readonly leaked: string; readonly evil: string }> {
    const pair = await pairOfClones()
    const { a, b, remote } = pair
    const leaked = await leak(a)
    await sync(a)
    const evil = copyRemote(remote)
    moveBranch(evil, junkOn(evil))
    await b.store.remotes.add('evil', evil)
    await failureOf(b.store.as(author).sync({ remote: 'evil' }))
    expect(packsOf(b)).toMatchObject({ refused: 1 })
    await redact(a, leaked)
    await sync(a)
    return { ...pair, leaked, evil }
  }

  test('is erased when the redaction is applied', { tags: 'slow' }, async () => {
    const { b } = await kept()
    await b.store.as(author).sync({ remote: 'origin' })
    expect(packsOf(b)).toMatchObject({ refused: 0 })
    expect((await b.store.maintenance.findResidue()).found).toEqual([])
    // Sent again, it is not kept again.
    await failureOf(b.store.as(author).sync({ remote: 'evil' }))
    expect(packsOf(b)).toMatchObject({ refused: 0 })
  })

  test('is erased even if the remote accepts no push', { tags: 'slow' }, async () => {
    const { b, remote } = await kept()
    git(['config', 'receive.maxInputSize', '10'], remote)
    await create(b, '/local.md')
    expect(await failureOf(b.store.as(author).sync({ remote: 'origin' }))).toBeDefined()
    expect(packsOf(b)).toMatchObject({ refused: 0 })
  })

  test('is found if it returns, and erased with the next refusal', { tags: 'slow' }, async () => {
    const { b, leaked } = await kept()
    const evidence = join(b.place.directory, 'gitlocket/refused/evil')
    const copy = join(temporaryDirectory(), 'copy')
    cpSync(evidence, copy, { recursive: true })
    await b.store.as(author).sync({ remote: 'origin' })
    cpSync(copy, evidence, { recursive: true })
    const { found } = await b.store.maintenance.findResidue()
    expect(found).toContainEqual(expect.objectContaining({ place: 'evidence', versionId: leaked }))
    await failureOf(b.store.as(author).sync({ remote: 'evil' }))
    expect((await b.store.maintenance.findResidue()).found).toEqual([])
    expect(packsOf(b)).toMatchObject({ refused: 0 })
  })

  test('is not kept if the redaction comes after the search', { tags: 'slow' }, async () => {
    const { b, evil } = await kept()
    await b.store.remotes.remove('evil')
    await b.store.remotes.add('evil', evil)
    const other = await reopen(b.place)
    const spy = vi.spyOn(StoreSession.prototype, 'writing')
    spy.mockImplementationOnce(async function (this: StoreSession, ...how) {
      await other.as(author).sync({ remote: 'origin' })
      return this.writing(...how)
    })
    const keep = vi.spyOn(DiskIncoming.prototype, 'keep')
    const failure = failureOf(b.store.as(author).sync({ remote: 'evil' }))
    expect(await failure.finally(() => spy.mockRestore())).toMatchObject({ code: 'not_a_store' })
    expect(keep).not.toHaveBeenCalled()
    keep.mockRestore()
    expect(packsOf(b)).toMatchObject({ refused: 0 })
    await other.close()
  })
})

describe('the evidence of a remote', () => {
  test(
    'is removed once its head is applied, even if it accepts no push',
    { tags: 'slow' },
    async () => {
      const { a, b, remote } = await pairOfClones()
      const good = branchOf(remote)
      moveBranch(remote, junkOn(remote))
      await failureOf(sync(b))
      moveBranch(remote, good)
      await create(a, '/theirs.md')
      await sync(a)
      git(['config', 'receive.maxInputSize', '10'], remote)
      await create(b, '/ours.md')
      expect(await failureOf(sync(b))).toBeDefined()
      expect(packsOf(b)).toMatchObject({ refused: 0 })
    },
  )

  test('is removed even if a crash left it without a HEAD', { tags: 'slow' }, async () => {
    const { b, remote } = await pairOfClones()
    const good = branchOf(remote)
    moveBranch(remote, junkOn(remote))
    await failureOf(sync(b))
    rmSync(join(b.place.directory, 'gitlocket/refused/origin/HEAD'))
    moveBranch(remote, good)
    await sync(b)
    expect(packsOf(b)).toMatchObject({ refused: 0 })
  })

  test('that cannot be kept does not hide the verdict', { tags: 'slow' }, async () => {
    const { b, remote } = await pairOfClones()
    const leaked = await leak(b)
    const good = branchOf(remote)
    writeFileSync(join(b.place.directory, 'gitlocket/refused'), 'x')
    moveBranch(remote, junkOn(remote))
    expect(await failureOf(sync(b))).toMatchObject({
      code: 'commit_malformed',
      message: expect.stringContaining('the refused pack is not kept: Could not'),
    })
    expect((await b.store.status()).remotes[0]).toMatchObject({ evidence: undefined })
    moveBranch(remote, good)
    await redact(b, leaked)
    await sync(b)
  })
})

describe('a pack that waits for its verdict', () => {
  const before = new TestHistory(31).take(5)
  const arriving = new TestHistory(42, before.at(-1)?.next).take(2)
  const tip = arriving.at(-1)?.next ?? ''

  async function newStore(): Promise<string> {
    const directory = join(temporaryDirectory(), 'store')
    const store = await createDiskObjectStore({ directory, idleMs: Infinity })
    await store.exclusive(() => store.commit(before))
    await store.close()
    return directory
  }

  function open(directory: string, disk: FaultyDisk = new FaultyDisk()): Promise<ObjectStore> {
    const packer = inlinePacker(disk, directory)
    return openDiskObjectStore({ directory, disk, packer, idleMs: Infinity, secret: testSecret })
  }

  async function receive(store: ObjectStore): Promise<Incoming> {
    const source = createMemoryObjectStore()
    await source.exclusive(() => source.commit([...before, ...arriving]))
    const oids = arriving.flatMap(({ objects }) => objects.map(({ oid }) => oid))
    const incoming = store.exchange.incoming()
    await incoming.receive((await source.exchange.pack(oids)).chunks(), { tip })
    return incoming
  }

  function waitingIn(directory: string): readonly string[] {
    return readdirSync(join(directory, 'gitlocket/incoming'), { recursive: true, encoding: 'utf8' })
  }

  test('is read only by the handle that received it', async () => {
    const directory = await newStore()
    const [store, other] = [await open(directory), await open(directory)]
    const incoming = await receive(store)
    expect(incoming.read(tip)?.type).toBe('commit')
    for (const reader of [store, other, store.exchange.incoming()]) {
      expect([reader.read(tip), reader.has?.(tip)]).toEqual([undefined, false])
    }
    expect([...store.objectIds()]).not.toContain(tip)
    await store.exchange.track('origin', tip)
    expect(store.exchange.tracked('origin')).toBeUndefined()
    await expect(store.exchange.pack([tip])).rejects.toMatchObject({ code: 'object_missing' })
    await incoming.accept()
    for (const reader of [store, other, incoming]) expect(reader.read(tip)?.type).toBe('commit')
    expect(waitingIn(directory)).toEqual([])
    await Promise.all([store.close(), other.close()])
  })

  test('is left to a live process, and not by a dead one', async () => {
    const directory = await newStore()
    const disk = new FaultyDisk()
    const [living, dying, other] = [
      await open(directory),
      await open(directory, disk),
      await open(directory),
    ]
    const incoming = await receive(living)
    await receive(dying)
    expect(waitingIn(directory).filter((name) => name.endsWith('.pack'))).toHaveLength(2)
    disk.die('nothing')
    await expect(dying.close()).rejects.toThrow(SimulatedDeath)
    await other.checkpoint()
    expect(waitingIn(directory).filter((name) => name.endsWith('.pack'))).toHaveLength(1)
    await incoming.accept()
    expect(living.read(tip)?.type).toBe('commit')
    await Promise.all([living.close(), other.close()])
  })

  test('is removed with the next pack that is received, if its process is dead', async () => {
    const directory = await newStore()
    const disk = new FaultyDisk()
    const [living, dying] = [await open(directory), await open(directory, disk)]
    await receive(dying)
    disk.die('nothing')
    await expect(dying.close()).rejects.toThrow(SimulatedDeath)
    const [first, second] = [await receive(living), await receive(living)]
    expect(waitingIn(directory).filter((name) => name.endsWith('.pack'))).toHaveLength(2)
    first.drop()
    second.drop()
    expect(waitingIn(directory)).toEqual([])
    await living.close()
  })

  test('is removed durably once a redaction of missing objects is committed', async () => {
    const directory = await newStore()
    const disk = new FaultyDisk()
    const store = await open(directory, disk)
    const packs = join(directory, 'gitlocket/refused/origin/objects/pack')
    mkdirSync(packs, { recursive: true })
    writeFileSync(join(packs, 'pack-1.pack'), '')
    const [next] = arriving
    await store.exclusive(() => store.commit(next ? [{ ...next, dead: new Set() }] : []))
    disk.die('contents and names')
    await expect(store.close()).rejects.toThrow(SimulatedDeath)
    expect(readdirSync(packs)).toEqual([])
  })

  test('is emptied by a purge, and then not accepted', async () => {
    const directory = await newStore()
    const [store, other] = [await open(directory), await open(directory)]
    const incoming = await receive(store)
    await other.exclusive(() => other.commit([eraseBlob(before, 2).transition]))
    await other.checkpoint()
    expect(waitingIn(directory).filter((name) => name.endsWith('.pack'))).toEqual([])
    await expect(incoming.accept()).rejects.toMatchObject({ code: 'ref_conflict' })
    await store.exclusive(() => incoming.keep('origin', tip))
    expect(store.exchange.refused('origin')).toBeUndefined()
    expect(waitingIn(directory)).toEqual([])
    await Promise.all([store.close(), other.close()])
  })
})
