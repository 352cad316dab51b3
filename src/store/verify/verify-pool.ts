// A pool of threads that check commits in parallel with the main thread. Decides how many there are
// and which one gets a batch. If a thread dies, its batches are checked in the main thread.

import { availableParallelism } from 'node:os'
import type { Oid } from '../../git/objects/object.ts'
import { findWorker, JobThread } from '../../worker-threads.ts'
import type { VerifyBatch, VerifyJob } from './verify-message.ts'

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

export class VerifyPool {
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
  check(oids: readonly Oid[], deliver: Deliver): void {
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
