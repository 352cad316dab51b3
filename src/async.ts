// What long work and work in turns have in common: reports, an end from outside, one after another.

import { TimeSlice } from './time-slice.ts'

/** Reports long work: `done` of `total`, in what the work counts. */
export type Progress = (done: number, total: number) => void

/** What every long work takes. */
export interface WorkOptions {
  readonly progress?: Progress | undefined
  /** Ends the work with `cancelled`; nothing is half done. */
  readonly signal?: AbortSignal | undefined
}

/** What long work in a thread takes, which no signal reaches. Asked and told now and then. */
export interface WorkWatch {
  /** If true, the work ends with `cancelled`, and everything is as it was. */
  readonly isCancelled: () => boolean
  readonly progress: Progress
}

/** For who does not wait in front of a terminal. */
export const unwatched: WorkWatch = { isCancelled: () => false, progress: () => undefined }

/** Lets timers and input run, and ends the work if the caller wants that. */
export function pause(signal: AbortSignal | undefined): Promise<void> {
  return new TimeSlice(signal).next()
}

/** A mutex for one process: work runs one after another, in the order in which it came. */
export class Gate {
  #tail: Promise<unknown> = Promise.resolve()
  #waiting = 0

  /** Whether nothing runs or waits. */
  get free(): boolean {
    return this.#waiting === 0
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    const result = this.#tail.then(work).finally(() => {
      this.#waiting -= 1
    })
    // Not with what it resolved to: that may be large, and would live until the next one comes.
    this.#tail = result.then(nothing, nothing)
    return result
  }
}

function nothing(): void {
  // Only that it is over counts.
}
