// The threads that run packing jobs. One that has written or merged packs is kept for a while: a
// busy store packs again within a second, and a new thread takes 40 ms to start and compiles again
// all that it runs. After any other job, which may have taken much memory, it ends at once. Must
// not decide which jobs run in a thread.

import type { Worker } from 'node:worker_threads'
import { Turns } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import { startWorker } from '../../worker-threads.ts'
import type { CompactOptions } from '../object-store.ts'
import type { PackJob, PackResult } from './pack-job.ts'
import { encodeRequest, type PackReply, type PackTask, transferOf } from './pack-message.ts'

/** A thread takes some twenty megabytes: a server that packs many stores at once has them wait. */
export const packThreadsMax = 2
const turns = new Turns(packThreadsMax)

/** The young generation of a thread, which works on buffers; the default is 48. */
const youngMegabytes = 6

/** How long a thread waits for the next job. */
const idleMs = 10_000

/** How long a cancelled check may go on; a single object takes longer only if it is hostile. */
const cancelMsMax = 50

/** The threads that wait for a job. They keep no process alive. */
const idle: PackThread[] = []

/**
 * Runs a job in a thread of the module `entry`. Keeps the process alive until it resolves. Rejects
 * with what the job throws, and with `storage_failed` if the thread dies.
 */
export function packInThread(
  entry: URL,
  job: PackJob,
  options: CompactOptions,
): Promise<PackResult> {
  return turns.run(async () => {
    const thread = idle.pop() ?? new PackThread(entry)
    try {
      return await thread.run(job, options)
    } finally {
      if (job.kind === 'write' || job.kind === 'stage' || job.kind === 'merge') thread.rest()
      else thread.end()
    }
  })
}

/** The same at once, in a thread of its own: what waits for a remote must hold up no other job. */
export async function packApart(
  entry: URL,
  job: PackJob,
  options: CompactOptions,
): Promise<PackResult> {
  const thread = new PackThread(entry)
  try {
    return await thread.run(job, options)
  } finally {
    thread.end()
  }
}

/** The callbacks for replies to the job that a thread runs. */
interface Waiting {
  readonly reply: (reply: PackReply) => void
  readonly fail: (cause?: unknown) => void
}

class PackThread {
  readonly #worker: Worker
  #waiting: Waiting | undefined
  #timer: NodeJS.Timeout | undefined
  #ended = false

  constructor(entry: URL) {
    const limits = { maxYoungGenerationSizeMb: youngMegabytes }
    this.#worker = startWorker(entry, { resourceLimits: limits })
    this.#worker.on('message', (reply: PackReply) => this.#waiting?.reply(reply))
    this.#worker.once('error', (cause) => this.#fail(cause))
    this.#worker.once('exit', () => this.#fail())
  }

  async run(job: PackJob, { signal, progress }: CompactOptions): Promise<PackResult> {
    clearTimeout(this.#timer)
    const task: PackTask = {
      request: encodeRequest(job),
      cancelled: new Int32Array(new SharedArrayBuffer(4)),
    }
    const cancel = (): void => {
      // Not `terminate`: the thread removes its temporary files first.
      Atomics.store(task.cancelled, 0, 1)
      // Those of a received pack are removed by who receives it.
      if (job.kind === 'index') this.#timer = setTimeout(() => this.end(), cancelMsMax)
    }
    if (signal?.aborted === true) cancel()
    signal?.addEventListener('abort', cancel)
    try {
      return await new Promise((resolve, reject) => {
        const reply = (message: PackReply): void => {
          if ('done' in message) progress?.(message.done, message.total)
          else if ('pack' in message) resolve(message.pack)
          else reject(failureOf(message.code, message.message))
        }
        const fail = (cause?: unknown): void => {
          reject(signal?.aborted === true ? cancelledError() : stopped(cause))
        }
        this.#waiting = { reply, fail }
        this.#worker.ref()
        this.#worker.postMessage(task, transferOf(task.request))
      })
    } finally {
      this.#waiting = undefined
      clearTimeout(this.#timer)
      signal?.removeEventListener('abort', cancel)
    }
  }

  /** Waits for another job, if it can run one. */
  rest(): void {
    if (this.#ended) return
    this.#worker.unref()
    this.#timer = setTimeout(() => this.end(), idleMs).unref()
    idle.push(this)
  }

  end(): void {
    this.#forget()
    void this.#worker.terminate()
  }

  #fail(cause?: unknown): void {
    this.#forget()
    this.#waiting?.fail(cause)
  }

  /** No job is given to it any more. */
  #forget(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    const at = idle.indexOf(this)
    if (at >= 0) idle.splice(at, 1)
  }
}

function failureOf(code: StoreError['code'] | undefined, message: string): Error {
  return code === undefined ? new Error(message) : new StoreError(code, message)
}

function cancelledError(): StoreError {
  return new StoreError('cancelled', 'The check was cancelled')
}

function stopped(cause?: unknown): StoreError {
  return new StoreError('storage_failed', 'The packing thread stopped before its work was done', {
    cause,
  })
}
