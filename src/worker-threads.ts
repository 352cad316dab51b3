// Worker threads, and the one protocol of all of them: a thread is given jobs, which it does one
// after another, reports progress, and replies once to each with its result or its error. Workers
// are compiled modules in dist/, also in tests, because Node runs no TypeScript in them; in the
// bundle of a program that uses the library these files are missing, and most callers then do the
// work in their own thread.

import { Turns, type WorkOptions, type WorkWatch } from './async.ts'
import { type ErrorCode, StoreError } from './errors.ts'
import {
  hasModule,
  parentPort,
  type ResourceLimits,
  sharedMemory,
  Worker,
  type WorkerOptions,
} from './platform/threads.ts'
import { inBackground, type Timer } from './platform/timers.ts'
import { cancelledError } from './time-slice.ts'

interface JobMessage<Job> {
  readonly job: Job
  /** One shared number: not 0 once the job is cancelled. */
  readonly cancelled: Int32Array
}

type Reply<Result> =
  | { readonly result: Result }
  /** Progress; any number of these precedes one of the others. */
  | { readonly done: number; readonly total: number }
  /** An error; without a code, a bug. */
  | { readonly code: ErrorCode | undefined; readonly message: string }

/**
 * The URL of the module `name` (without extension) in the directory of the caller, whose
 * `import.meta.url` is `moduleUrl`; undefined if there is no such file. A caller that runs from
 * src/, as in tests, gets the module in dist/.
 */
export function findWorker(moduleUrl: string | undefined, name: string): URL | undefined {
  // Many bundles in CommonJS have no `import.meta.url`.
  if (moduleUrl?.startsWith('file:') !== true) return undefined
  const compiled = moduleUrl.endsWith('.ts') ? fromSourceToOutput(moduleUrl) : moduleUrl
  const extension = compiled.endsWith('.cjs') ? 'cjs' : 'js'
  const found = new URL(`./${name}.${extension}`, compiled)
  return hasModule(found) ? found : undefined
}

export interface JobOptions extends WorkOptions {
  /** Buffers of the job that are moved to the thread, not copied. */
  readonly transfer?: readonly ArrayBuffer[]
  /** After this time, a cancelled job that has not ended by itself ends with its thread. */
  readonly cancelMs?: number | undefined
}

interface PendingJob<Result> {
  readonly resolve: (result: Result) => void
  readonly reject: (error: Error) => void
  readonly fail: (cause: unknown) => void
  readonly progress: WorkOptions['progress']
}

/** One thread. Keeps the process alive only while it has jobs. */
export class JobThread<Job, Result> {
  readonly #worker: Worker
  readonly #waiting: PendingJob<Result>[] = []
  #isEnded = false

  /**
   * Without the options that Node was started with, which a thread would inherit: `--input-type` of
   * `node --eval` keeps it from running a file, and what `--import` names is not meant for it.
   */
  constructor(entry: string | URL, options?: WorkerOptions) {
    this.#worker = new Worker(entry, { ...options, execArgv: [] })
    this.#worker.unref()
    this.#worker.on('message', (reply: Reply<Result>) => this.#take(reply))
    this.#worker.once('error', (cause) => this.#fail(cause))
    this.#worker.once('exit', () => this.#fail(undefined))
  }

  get jobs(): number {
    return this.#waiting.length
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Rejects with what the job throws, and with `storage_failed` if the thread ends before. */
  async run(job: Job, options: JobOptions = {}): Promise<Result> {
    const { transfer = [], signal, progress, cancelMs } = options
    if (this.#isEnded) throw stopped(undefined)
    const task: JobMessage<Job> = { job, cancelled: new Int32Array(sharedMemory(4)) }
    let timer: Timer | undefined
    const cancel = (): void => {
      Atomics.store(task.cancelled, 0, 1)
      if (cancelMs !== undefined) timer = setTimeout(() => void this.end(), cancelMs)
    }
    if (signal?.aborted === true) cancel()
    signal?.addEventListener('abort', cancel)
    this.#worker.ref()
    try {
      return await new Promise((resolve, reject) => {
        this.#worker.postMessage(task, transfer)
        const fail = (cause: unknown): void => {
          reject(signal?.aborted === true ? cancelledError(signal) : stopped(cause))
        }
        this.#waiting.push({ resolve, reject, fail, progress })
      })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      if (this.#waiting.length === 0) this.#worker.unref()
    }
  }

  /** Its jobs end at once. Resolves when the thread has ended, which may take a while. */
  async end(): Promise<void> {
    this.#fail(undefined)
    await this.#worker.terminate()
  }

  #take(reply: Reply<Result>): void {
    if ('done' in reply) this.#waiting[0]?.progress?.(reply.done, reply.total)
    else if ('result' in reply) this.#waiting.shift()?.resolve(reply.result)
    else {
      const { code, message } = reply
      const error = code === undefined ? new Error(message) : new StoreError(code, message)
      this.#waiting.shift()?.reject(error)
    }
  }

  #fail(cause: unknown): void {
    this.#isEnded = true
    for (const { fail } of this.#waiting.splice(0)) fail(cause)
  }
}

/** Threads of which any can do a job; each waits for a while for the next one. */
export class JobPool<Job, Result> {
  readonly #turns: Turns
  readonly #idleMs: number
  readonly #resourceLimits: ResourceLimits
  readonly #idle: Map<JobThread<Job, Result>, Timer> = new Map()

  constructor(threadsMax: number, idleMs: number, resourceLimits: ResourceLimits = {}) {
    this.#turns = new Turns(threadsMax)
    this.#idleMs = idleMs
    this.#resourceLimits = resourceLimits
  }

  /** A thread that is not kept ends with its job, which may have taken much memory. */
  run(entry: URL, job: Job, options: JobOptions = {}, isKept: boolean = true): Promise<Result> {
    return this.#turns.run(async () => {
      const thread =
        this.#takeIdle() ?? new JobThread(entry, { resourceLimits: this.#resourceLimits })
      try {
        return await thread.run(job, options)
      } finally {
        if (isKept && !thread.isEnded) this.#rest(thread)
        else void thread.end()
      }
    })
  }

  #takeIdle(): JobThread<Job, Result> | undefined {
    for (const [thread, timer] of this.#idle) {
      clearTimeout(timer)
      this.#idle.delete(thread)
      if (!thread.isEnded) return thread
    }
    return undefined
  }

  #rest(thread: JobThread<Job, Result>): void {
    const end = (): void => {
      this.#idle.delete(thread)
      void thread.end()
    }
    this.#idle.set(thread, inBackground(end, this.#idleMs))
  }
}

type JobFunction<Job, Result> = (job: Job, watch: WorkWatch) => Result | Promise<Result>

/** Called by the module of a thread. `buffersOf` are those of a result that are moved. */
export function doJobs<Job, Result>(
  work: JobFunction<Job, Result>,
  buffersOf: (result: Result) => readonly ArrayBuffer[] = () => [],
): void {
  const post = (reply: Reply<Result>, transfer: readonly ArrayBuffer[] = []): void => {
    parentPort?.postMessage(reply, transfer)
  }
  const doJob = async ({ job, cancelled }: JobMessage<Job>): Promise<void> => {
    try {
      const result = await work(job, {
        isCancelled: () => Atomics.load(cancelled, 0) !== 0,
        progress: (done, total) => post({ done, total }),
      })
      post({ result }, buffersOf(result))
    } catch (error) {
      if (error instanceof StoreError) post({ code: error.code, message: error.message })
      else
        post({ code: undefined, message: error instanceof Error ? error.message : String(error) })
    }
  }
  let last = Promise.resolve()
  parentPort?.on('message', (task: JobMessage<Job>) => {
    last = last.then(() => doJob(task))
  })
}

function stopped(cause: unknown): StoreError {
  const text = 'A worker thread stopped before its work was done'
  return new StoreError('storage_failed', text, { cause })
}

/** Replaces the last `/src/`: a parent directory may have the same name. */
function fromSourceToOutput(moduleUrl: string): string {
  return moduleUrl.replace(/\/src\/(?!.*\/src\/)/, '/dist/')
}
