// Seals large plaintexts in a worker thread: hashing and encrypting a megabyte would block the
// event loop for ten milliseconds. The plaintext is transferred, not copied, and never leaves the
// process. The thread ends after some idle time.

import type { Worker } from 'node:worker_threads'
import { StoreError } from '../errors.ts'
import { findWorker, startWorker } from '../worker-threads.ts'
import { type SealedBlob, type SealJob, sealJob } from './seal-job.ts'

interface Waiting {
  readonly resolve: (blob: SealedBlob) => void
  readonly reject: (error: StoreError) => void
}

interface Thread {
  readonly worker: Worker
  /** The callers of its jobs, in order. */
  readonly waiting: Waiting[]
}

const idleMs = 2000

let thread: Thread | undefined
let idle: NodeJS.Timeout | undefined

/**
 * Like `sealBytes` with the salt of `deriveSalt`. The plaintext must not share its buffer, and is
 * empty afterwards. Rejects with `storage_failed` if the thread dies.
 */
export async function sealInThread(job: SealJob): Promise<SealedBlob> {
  clearTimeout(idle)
  thread ??= start()
  if (thread === undefined) return sealJob(job)
  const { worker, waiting } = thread
  worker.ref()
  return new Promise((resolve, reject) => {
    waiting.push({ resolve, reject })
    worker.postMessage(job, [job.plaintext.buffer])
  })
}

function start(): Thread | undefined {
  const entry = findWorker(import.meta.url, 'seal-worker')
  if (entry === undefined) return undefined
  const worker = startWorker(entry)
  const waiting: Waiting[] = []
  worker.on('message', (blob: SealedBlob) => {
    waiting.shift()?.resolve(blob)
    if (waiting.length > 0) return
    worker.unref()
    idle = setTimeout(() => void forget(worker).terminate(), idleMs).unref()
  })
  const fail = (cause?: unknown): void => {
    forget(worker)
    for (const { reject } of waiting.splice(0)) reject(stopped(cause))
  }
  worker.once('error', fail)
  worker.once('exit', () => fail())
  return { worker, waiting }
}

/** The next job gets a new thread. */
function forget(worker: Worker): Worker {
  if (thread?.worker === worker) thread = undefined
  return worker
}

function stopped(cause: unknown): StoreError {
  return new StoreError('storage_failed', 'The sealing thread stopped before its work was done', {
    cause,
  })
}
