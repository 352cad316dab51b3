// Time slices: long work on the main thread pauses between slices, so that timers, input and other
// stores run. A slice ends after a time, since steps differ in cost a hundredfold, or after a
// number of steps, so that progress and cancellation do not depend on the machine's speed.

import { StoreError } from './errors.ts'
import { afterOthers } from './platform/timers.ts'

/** Milliseconds per slice. A single step is never interrupted. */
export const sliceMs: number = 10

export class TimeSlice {
  readonly #signal: AbortSignal | undefined
  readonly #stepsMax: number
  #steps = 0
  #began = performance.now()

  /** If the signal is aborted, the work ends with `cancelled` when the slice ends. */
  constructor(signal?: AbortSignal, stepsMax: number = Number.POSITIVE_INFINITY) {
    this.#signal = signal
    this.#stepsMax = stepsMax
  }

  /** Counts one step. Returns true if `next` is due. */
  isOver(): boolean {
    this.#steps += 1
    return this.#steps >= this.#stepsMax || performance.now() - this.#began >= sliceMs
  }

  /** Resolves after other work has run. Throws `cancelled`. */
  async next(): Promise<void> {
    checkNotCancelled(this.#signal)
    await new Promise<void>((resolve) => afterOthers(resolve))
    this.#steps = 0
    this.#began = performance.now()
  }
}

export function checkNotCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelledError(signal)
}

export function cancelledError(signal: AbortSignal | undefined): StoreError {
  return new StoreError('cancelled', 'The work was cancelled', { cause: signal?.reason })
}

/**
 * One slice shared by many short tasks. Each alone is too short to pause, but a caller that runs
 * them one after another would block the thread.
 */
export class SharedSlice {
  /** When the first task of this slice began. */
  #began: number | undefined

  isOver(): boolean {
    if (this.#began !== undefined) return performance.now() - this.#began >= sliceMs
    this.#began = performance.now()
    afterOthers(() => (this.#began = undefined))
    return false
  }

  /** Resolves after other work, and every task that waited longer, has run. */
  async next(): Promise<void> {
    do await new Promise<void>((resolve) => afterOthers(resolve))
    while (this.isOver())
  }
}

/**
 * Runs a generator that yields after each step, and pauses between slices. A cancellation is thrown
 * into it, so that it can close its files.
 */
export async function inSlices<T>(work: Generator<undefined, T>, signal?: AbortSignal): Promise<T> {
  const slice = new TimeSlice(signal)
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value
    if (!slice.isOver()) continue
    await slice.next().catch((error: unknown) => {
      work.throw(error)
      throw error
    })
  }
}

/** Runs the same generator without pauses: in a worker thread, or for a few steps. */
export function atOnce<T>(work: Generator<undefined, T>): T {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value
  }
}
