// Threads, and memory that they share. A platform without threads does the same work in its own.

import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'

export { parentPort, type ResourceLimits, Worker, type WorkerOptions } from 'node:worker_threads'

export const hasThreads: boolean = true

/** Whether there is a module at the URL, for a thread to run. */
export function hasModule(url: URL): boolean {
  return existsSync(url)
}

export function processorCount(): number {
  return availableParallelism()
}

/** Zeros, which threads can share if there are any. */
export function sharedMemory(length: number): ArrayBufferLike {
  return new SharedArrayBuffer(length)
}
