// Threads, and memory that they share. A platform without threads does the same work in its own.

import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { availableMemory as bytesAvailable } from 'node:process'

export { parentPort, type ResourceLimits, Worker, type WorkerOptions } from 'node:worker_threads'

export const hasThreads: boolean = true

/** Whether there is a module at the URL, for a thread to run. */
export function hasModule(url: URL): boolean {
  return existsSync(url)
}

export function processorCount(): number {
  return availableParallelism()
}

/** In bytes, for this process: the limit of a container counts. */
export function availableMemory(): number {
  return bytesAvailable()
}

/** Zeros, which threads can share if there are any. */
export function sharedMemory(length: number): ArrayBufferLike {
  return new SharedArrayBuffer(length)
}
