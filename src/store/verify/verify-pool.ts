// A pool of threads that check commits in parallel with the main thread. Decides how many there are
// and which one gets a batch. If a thread dies, its batches are checked in the main thread.

import { availableParallelism } from 'node:os'
import type { Worker } from 'node:worker_threads'
import type { Oid } from '../../git/objects/object.ts'
import { findWorker, startWorker } from '../../worker-threads.ts'
import type { VerifyJob } from './verify-message.ts'

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

/** How many threads to start for a history of this length; the main thread works too. */
export function worthwhileThreads(commits: number): number {
  return commits < COMMITS_MIN ? 0 : Math.min(availableParallelism(), PROCESSORS_MAX) - 1
}

type Deliver = (result: Uint8Array | undefined) => void

interface Thread {
  readonly worker: Worker
  /** The callbacks for its batches, in their order. */
  readonly waiting: Deliver[]
  readonly exited: Promise<void>
}

export class VerifyPool {
  readonly #threads: Thread[]

  constructor(job: VerifyJob, threads: number) {
    const entry = findWorker(import.meta.url, 'verify-worker')
    this.#threads =
      entry === undefined ? [] : Array.from({ length: threads }, () => this.#start(entry, job))
  }

  /** Whether a thread could take another batch. */
  get hasRoom(): boolean {
    return this.#threads.some(({ waiting }) => waiting.length < DEPTH)
  }

  /** Delivers the result of `checkBatch`; undefined if no thread is left to compute it. */
  check(oids: readonly Oid[], deliver: Deliver): void {
    const [thread] = this.#threads.toSorted((a, b) => a.waiting.length - b.waiting.length)
    if (thread === undefined) deliver(undefined)
    else {
      thread.waiting.push(deliver)
      thread.worker.postMessage(oids)
    }
  }

  /** Ends the threads, each after the batches that it has. */
  async close(): Promise<void> {
    const threads = [...this.#threads]
    for (const { worker } of threads) worker.postMessage(undefined)
    await Promise.all(threads.map(({ exited }) => exited))
  }

  #start(entry: URL, job: VerifyJob): Thread {
    const worker = startWorker(entry, { workerData: job, resourceLimits })
    const waiting: Deliver[] = []
    const exited = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        this.#forget(worker)
        resolve()
      })
    })
    worker.on('message', (result: Uint8Array) => waiting.shift()?.(result))
    // Its batches are checked again in the main thread, which throws if a commit caused the death.
    worker.once('error', () => this.#forget(worker))
    return { worker, waiting, exited }
  }

  #forget(worker: Worker): void {
    const index = this.#threads.findIndex((thread) => thread.worker === worker)
    const [thread] = index === -1 ? [] : this.#threads.splice(index, 1)
    for (const deliver of thread?.waiting ?? []) deliver(undefined)
  }
}
