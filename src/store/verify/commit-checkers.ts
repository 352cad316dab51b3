// Checks each commit of a history by itself, in order, before it is checked against its past: in
// this thread as it is asked for, or in other threads ahead of that. Both ways give the same values
// and the same refusals. What is ahead is bounded.

import { StoreError } from '../../errors.ts'
import { zeroHash } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { opensContents } from '../../keys/epoch.ts'
import { TimeSlice } from '../../time-slice.ts'
import { findKeyring, readKeyringState } from '../access/authority.ts'
import type { CommitSource } from '../commits/decoded-commit.ts'
import type { CheckedCommit } from './checked-commit.ts'
import { checkAlone } from './context-free-check.ts'
import { checkInSlices, decodeBatch, type SigningKeys } from './verify-message.ts'
import { VerifyPool, worthwhileThreads } from './verify-pool.ts'

export interface CheckSource extends CommitSource {
  readonly objects: CommitSource['objects'] & { readonly packDirectory?: string | undefined }
}

/** Commits that are given away together. */
const BATCH = 128
/** Batches that are checked ahead of the one that is asked for. */
const AHEAD = 12
/** Batches that are checked while the history is still walked: a megabyte or so each ten. */
const EARLY = 64

/** A batch that was given away: what was found, once it is there. */
interface Task {
  readonly oids: readonly Oid[]
  done: boolean
  /** Undefined if the thread died over it. */
  found: Uint8Array | undefined
}

export class CommitCheckers {
  readonly #source: CheckSource
  readonly #signingKeys: SigningKeys
  readonly #pool: VerifyPool | undefined
  /** By the newest commit. */
  readonly #tasks: Map<Oid, Task> = new Map()
  #collected: Oid[] = []
  #wake: () => void = () => undefined

  /**
   * For a history of about so many commits that ends in `head`. `threads` is how many are started;
   * left out, as many as are worth it. `close` ends them.
   */
  constructor(source: CheckSource, head: Oid, commits: number, threads?: number) {
    this.#source = source
    const { packDirectory } = source.objects
    const count = packDirectory === undefined ? 0 : (threads ?? worthwhileThreads(commits))
    this.#signingKeys = count > 0 ? findSigningKeys(source, head) : new Map()
    if (packDirectory === undefined || this.#signingKeys.size === 0) return
    const { storeId, epochs } = source
    // An auditor reads no contents, and has no use for threads that do.
    const members = [...epochs.values()].filter(opensContents)
    if (members.length < epochs.size) return
    const keys = members.map(({ auditKey, contentKey }) => ({ auditKey, contentKey }))
    const job = { packDirectory, storeId, epochs: keys, signingKeys: this.#signingKeys }
    this.#pool = new VerifyPool(job, count)
  }

  /** The walk back has come to `oid`; the threads need not wait until it has an end. */
  meet(oid: Oid): void {
    if (this.#pool === undefined) return
    this.#collected.push(oid)
    if (this.#collected.length < BATCH) return
    const oids = this.#collected.toReversed()
    this.#collected = []
    if (this.#pool.hasRoom && this.#tasks.size < EARLY) this.#give(oids, this.#pool)
  }

  /**
   * Batch after batch of the commits that were met, oldest first. A refusal is thrown when its
   * commit is reached.
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

  /** The first of these batches; while a thread is at it, this one works at the others. */
  async #take(batches: Batches, pool: VerifyPool): Promise<Iterable<CheckedCommit>> {
    const [batch = []] = batches
    const name = nameOf(batch)
    for (;;) {
      while (pool.hasRoom && this.#giveNext(batches, pool));
      const task = this.#tasks.get(name)
      if (task?.done === true) {
        this.#tasks.delete(name)
        return this.#read(task)
      }
      await this.#work(batches)
    }
  }

  #read({ oids, found }: Task): Iterable<CheckedCommit> {
    if (found === undefined) return checkHere(this.#source, oids)
    return decodeBatch(this.#source, this.#signingKeys, oids, found)
  }

  /** Checks one batch that nobody has, or waits for a thread if there is none. */
  async #work(batches: Batches): Promise<void> {
    const oids = this.#findFree(batches)
    if (oids === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      return
    }
    const task: Task = { oids, done: false, found: undefined }
    this.#tasks.set(nameOf(oids), task)
    task.found = await checkInSlices(this.#source, this.#signingKeys, oids)
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
    return batches.find((batch) => !this.#tasks.has(nameOf(batch)))
  }

  #give(oids: readonly Oid[], pool: VerifyPool): void {
    const task: Task = { oids, done: false, found: undefined }
    this.#tasks.set(nameOf(oids), task)
    pool.judge(oids, (found) => {
      task.done = true
      task.found = found
      this.#wake()
    })
  }
}

type Batches = readonly (readonly Oid[])[]

function* checkHere(source: CommitSource, oids: readonly Oid[]): Generator<CheckedCommit> {
  for (const oid of oids) yield checkAlone(source, oid)
}

/**
 * The keys of all devices, by the keyring of the newest commit. That is not verified yet: who
 * compares looks a device up in the directory in force and takes no signature by another key.
 */
function findSigningKeys(source: CommitSource, head: Oid): SigningKeys {
  try {
    const oid = findKeyring(source.objects, head)
    const { devices } = readKeyringState(source, oid, zeroHash).directory
    return new Map(devices.map(({ deviceId, signingKey }) => [deviceId, signingKey]))
  } catch (error) {
    // The verification itself says what is wrong, in its order.
    if (error instanceof StoreError) return new Map()
    throw error
  }
}

/** As `meet` counts them: the oldest batch is the one that may be short. */
function splitFromTheEnd(oids: readonly Oid[]): Batches {
  const batches: (readonly Oid[])[] = []
  for (let end = oids.length; end > 0; end -= BATCH) {
    batches.unshift(oids.slice(Math.max(0, end - BATCH), end))
  }
  return batches
}

function nameOf(oids: readonly Oid[]): Oid {
  return oids.at(-1) ?? ''
}
