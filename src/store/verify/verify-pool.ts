// Threads that judge commits beside this one. Owns how many there are and who gets which batch. A
// thread that dies takes nothing with it: its batches are given back to be checked here.

import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Oid } from '../../git/objects/object.ts'
import { findWorker } from '../../worker-url.ts'
import type { VerifyJob } from './verify-message.ts'

/** With more, the half that needs the past takes the time, and only one thread can do that. */
const PROCESSORS_MAX = 4
/** A thread takes as long to start as some hundred commits to judge. */
const COMMITS_MIN = 2000
/** Batches that a thread has at most: one in work and one that waits. */
const DEPTH = 2
/**
 * What was read is garbage at once: more room would only be filled. A commit that needs more is
 * checked in the main thread, as after any death of a thread.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 }

/** How many threads a history of so many commits is worth, beside this one, which works too. */
export function worthwhileThreads(commits: number): number {
  return commits < COMMITS_MIN ? 0 : Math.min(availableParallelism(), PROCESSORS_MAX) - 1
}

type Deliver = (found: Uint8Array | undefined) => void

interface Thread {
  readonly worker: Worker
  /** Who waits for its batches, in their order. */
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

  /** Delivers what `checkBatch` finds; undefined if no thread is left that could say. */
  judge(oids: readonly Oid[], deliver: Deliver): void {
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
    const worker = new Worker(entry, { workerData: job, resourceLimits })
    const waiting: Deliver[] = []
    const exited = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        this.#forget(worker)
        resolve()
      })
    })
    worker.on('message', (found: Uint8Array) => waiting.shift()?.(found))
    // Whatever it died of, its batches are checked again here, where a real fault shows.
    worker.once('error', () => this.#forget(worker))
    return { worker, waiting, exited }
  }

  #forget(worker: Worker): void {
    const index = this.#threads.findIndex((thread) => thread.worker === worker)
    const [thread] = index === -1 ? [] : this.#threads.splice(index, 1)
    for (const deliver of thread?.waiting ?? []) deliver(undefined)
  }
}
