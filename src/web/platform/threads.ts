// No threads: all work runs in the one that the caller has.

export type { ResourceLimits, WorkerOptions } from '../../platform/threads.ts'

export const parentPort: null = null
export const hasThreads: boolean = false

/** Never called. */
export const Worker: undefined = undefined

export function hasModule(): boolean {
  return false
}

export function processorCount(): number {
  return 1
}

/** None to spare: the platform does not tell. */
export function availableMemory(): number {
  return 0
}

/** Browsers share no memory unless the page asks for it. */
export function sharedMemory(length: number): ArrayBufferLike {
  return new ArrayBuffer(length)
}
