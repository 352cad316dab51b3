// Checks each commit of a history by itself, in order, before it is checked against its past: in
// this thread on demand, or in other threads ahead of demand. Both give the same values and the
// same errors. The number of batches that are checked ahead is bounded. If a thread dies, its
// batches are checked in this thread.

import { StoreError } from '../../errors.ts'
import { zeroHash } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { opensContents } from '../../keys/epoch.ts'
import { processorCount } from '../../platform/threads.ts'
import { TimeSlice } from '../../time-slice.ts'
import { findWorker, JobThread } from '../../worker-threads.ts'
import { findKeyring, readKeyringState } from '../access/authority.ts'
import type { CommitSource } from '../commits/decoded-commit.ts'
import type { CheckedCommit } from './checked-commit.ts'
import { checkAlone } from './context-free-check.ts'
import {
  checkInSlices,
  decodeBatch,
  type SigningKeys,
  type VerifyBatch,
  type VerifyJob,
} from './verify-message.ts'

/** More do not help: the checks against the past run in one thread and then take longest. */
const PROCESSORS_MAX = 4
/** Starting a thread takes as long as checking some hundred commits. */
const COMMITS_MIN = 2000
/** At most this many batches per thread: one in work and one that waits. */
const DEPTH = 2
/**
 * Objects become garbage immediately: a larger heap would only fill up. A commit that needs
 * more is checked in the main thread, as after any death of a thread.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 }
/** Commits of one batch. */
const BATCH = 128
/** Batches that are checked ahead of the one that is taken next. */
const AHEAD = 12
/** Batches that are checked during the walk: about a megabyte for ten. */
const EARLY = 64

/** A batch that is being checked, with its result once that is done. */
interface BatchTask {
  readonly oids: readonly Oid[]
  done: boolean
  /** The encoded result of a thread; undefined if it died. */
  result: Uint8Array | undefined
  /** The result of this thread. */
  commits?: readonly (CheckedCommit | undefined)[]
}

export class CommitCheckers {
  readonly #source: CommitSource
  readonly #signingKeys: SigningKeys
  readonly #pool: VerifyPool | undefined
  /** By the newest commit of the batch. */
  readonly #tasks: Map<Oid, BatchTask> = new Map()
  #collected: Oid[] = []
  #wake: () => void = () => undefined

  /**
   * For a history of about `commits` commits that ends in `head`. `threads` is the number of
   * threads to start; by default the result of `worthwhileThreads`. `close` ends them.
   */
  constructor(source: CommitSource, head: Oid, commits: number, threads?: number) {
    this.#source = source
    const { packDirectories, hashed } = source.objects
    const count = packDirectories === undefined ? 0 : (threads ?? worthwhileThreads(commits))
    this.#signingKeys = count > 0 ? findSigningKeys(source, head) : new Map()
    if (packDirectories === undefined || this.#signingKeys.size === 0) return
    const { storeId, epochs, identity } = source
    // An auditor reads no contents, and the threads do.
    const members = [...epochs.values()].filter(opensContents)
    if (members.length < epochs.size) return
    const keys = members.map(({ seed, auditKey, contentKey }) => ({ seed, auditKey, contentKey }))
    const [signing, signingKeys] = [identity?.signing, this.#signingKeys]
    const job = { packDirectories, hashed, storeId, epochs: keys, signing, signingKeys }
    this.#pool = new VerifyPool(job, count)
  }

  /** Called during the walk back from the head, so that the threads start before it ends. */
  checkAhead(oid: Oid): void {
    if (this.#pool === undefined) return
    this.#collected.push(oid)
    if (this.#collected.length < BATCH) return
    const oids = this.#collected.toReversed()
    this.#collected = []
    if (this.#pool.hasRoom && this.#tasks.size < EARLY) this.#give(oids, this.#pool)
  }

  /**
   * Yields the checked commits in batches, oldest first. The error of a refused commit is thrown
   * when the iteration reaches it.
   */
  async *inOrder(oids: readonly Oid[]): AsyncGenerator<Iterable<CheckedCommit>> {
    const batches = splitFromTheEnd(oids)
    for (const [index, batch] of batches.entries()) {
      if (this.#pool === undefined) yield checkHere(this.#source, batch)
      else yield await this.#take(batches.slice(index, index + AHEAD), this.#pool)
    }
  }

  async close(): Promise<void> {
    await this.#pool?.close()
  }

  /** The first of these batches; while a thread checks it, this thread checks others. */
  async #take(batches: Batches, pool: VerifyPool): Promise<Iterable<CheckedCommit>> {
    const [batch = []] = batches
    const key = keyOf(batch)
    for (;;) {
      while (pool.hasRoom && this.#giveNext(batches, pool));
      const task = this.#tasks.get(key)
      if (task?.done === true) {
        this.#tasks.delete(key)
        return this.#read(task)
      }
      await this.#work(batches)
    }
  }

  #read({ oids, result, commits }: BatchTask): Iterable<CheckedCommit> {
    if (commits !== undefined) return orCheckedHere(this.#source, oids, commits)
    if (result === undefined) return checkHere(this.#source, oids)
    return decodeBatch(this.#source, this.#signingKeys, oids, result)
  }

  /** Checks one batch that no thread has, or waits for a thread. */
  async #work(batches: Batches): Promise<void> {
    const oids = this.#findFree(batches)
    if (oids === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      return
    }
    const task: BatchTask = { oids, done: false, result: undefined }
    this.#tasks.set(keyOf(oids), task)
    task.commits = await checkInSlices(this.#source, this.#signingKeys, oids)
    task.done = true
    await new TimeSlice().next()
  }

  #giveNext(batches: Batches, pool: VerifyPool): boolean {
    const oids = this.#findFree(batches)
    if (oids === undefined) return false
    this.#give(oids, pool)
    return true
  }

  #findFree(batches: Batches): readonly Oid[] | undefined {
    return batches.find((batch) => !this.#tasks.has(keyOf(batch)))
  }

  #give(oids: readonly Oid[], pool: VerifyPool): void {
    const task: BatchTask = { oids, done: false, result: undefined }
    this.#tasks.set(keyOf(oids), task)
    pool.check(oids, (result) => {
      task.done = true
      task.result = result
      this.#wake()
    })
  }
}

type Batches = readonly (readonly Oid[])[]

function* checkHere(source: CommitSource, oids: readonly Oid[]): Generator<CheckedCommit> {
  for (const oid of oids) yield checkAlone(source, oid)
}

/** Checks refused commits again, which throws when the iteration reaches one. */
function* orCheckedHere(
  source: CommitSource,
  oids: readonly Oid[],
  commits: readonly (CheckedCommit | undefined)[],
): Generator<CheckedCommit> {
  for (const [index, oid] of oids.entries()) yield commits[index] ?? checkAlone(source, oid)
}

/**
 * The signing keys of all devices, as the keyring of the newest commit lists them. That keyring is
 * not verified yet: `checkSignature` later compares each key with the directory in force.
 */
function findSigningKeys(source: CommitSource, head: Oid): SigningKeys {
  try {
    const oid = findKeyring(source.objects, head)
    const { devices } = readKeyringState(source, oid, zeroHash).directory
    return new Map(devices.map(({ deviceId, signingKey }) => [deviceId, signingKey]))
  } catch (error) {
    // The verification throws it when it reaches the commit.
    if (error instanceof StoreError) return new Map()
    throw error
  }
}

/** Batches as in `checkAhead`: only the oldest may be short. */
function splitFromTheEnd(oids: readonly Oid[]): Batches {
  const batches: (readonly Oid[])[] = []
  for (let end = oids.length; end > 0; end -= BATCH) {
    batches.unshift(oids.slice(Math.max(0, end - BATCH), end))
  }
  return batches
}

function keyOf(oids: readonly Oid[]): Oid {
  return oids.at(-1) ?? ''
}

/** How many threads to start for a history of this length; the main thread works too. */
function worthwhileThreads(commits: number): number {
  return commits < COMMITS_MIN ? 0 : Math.min(processorCount(), PROCESSORS_MAX) - 1
}

class VerifyPool {
  #threads: readonly JobThread<VerifyBatch, Uint8Array>[]

  constructor(job: VerifyJob, threads: number) {
    const entry = findWorker(import.meta.url, 'verify-worker')
    const options = { workerData: job, resourceLimits }
    this.#threads =
      entry === undefined
        ? []
        : Array.from({ length: threads }, () => new JobThread(entry, options))
  }

  /** Whether a thread could take another batch. */
  get hasRoom(): boolean {
    return this.#living().some(({ jobs }) => jobs < DEPTH)
  }

  /** Delivers the result of `checkBatch`; undefined if no thread is left to compute it. */
  check(oids: readonly Oid[], deliver: (result: Uint8Array | undefined) => void): void {
    const [thread] = this.#living().toSorted((a, b) => a.jobs - b.jobs)
    // Without a result, the batch is checked in the main thread, which throws if a commit caused
    // the death of the thread.
    if (thread === undefined) deliver(undefined)
    else thread.run(oids).then(deliver, () => deliver(undefined))
  }

  /** Ends the threads, each after the batches that it has. */
  async close(): Promise<void> {
    const threads = this.#living()
    this.#threads = []
    await Promise.allSettled(threads.map((thread) => thread.run(undefined)))
    await Promise.all(threads.map((thread) => thread.end()))
  }

  #living(): readonly JobThread<VerifyBatch, Uint8Array>[] {
    return this.#threads.filter(({ isEnded }) => !isEnded)
  }
}
