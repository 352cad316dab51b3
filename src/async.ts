// Options of long work, and mutexes: progress reports, cancellation, and one task after another.

import type { Timer } from './platform/timers.ts'
import { TimeSlice } from './time-slice.ts'

/** Reports the progress of long work: `done` of `total`, in the units of that work. */
export type Progress = (done: number, total: number) => void

/** Options that every long operation takes. */
export interface WorkOptions {
  readonly progress?: Progress | undefined
  /** Ends the work with `cancelled`, and leaves nothing half done. */
  readonly signal?: AbortSignal | undefined
}

/** The same for work in a thread, which an `AbortSignal` does not reach. Both are called often. */
export interface WorkWatch {
  /** If it returns true, the work ends with `cancelled` and leaves everything as it was. */
  readonly isCancelled: () => boolean
  readonly progress: Progress
}

/** For callers that neither cancel nor show progress. */
export const unwatched: WorkWatch = { isCancelled: () => false, progress: () => undefined }

/** Lets timers and input run. Throws `cancelled` if the signal is aborted. */
export function pause(signal: AbortSignal | undefined): Promise<void> {
  return new TimeSlice(signal).next()
}

/** A mutex within one process: tasks run one after another, in the order of their calls. */
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
    // Not the result itself: it may be large, and would live until the next task runs.
    this.#tail = result.then(ignore, ignore)
    return result
  }
}

/**
 * A mutex for work that serves all who ask for the same before it begins: a request that waits is
 * answered together with each later one that is alike.
 */
export class SharedGate<Request, T> {
  readonly #gate = new Gate()
  readonly #isAlike: (a: Request, b: Request) => boolean
  #waiting: readonly { readonly request: Request; readonly result: Promise<T> }[] = []

  constructor(isAlike: (a: Request, b: Request) => boolean) {
    this.#isAlike = isAlike
  }

  run(request: Request, work: () => Promise<T>): Promise<T> {
    const alike = this.#waiting.find((other) => this.#isAlike(other.request, request))
    if (alike !== undefined) return alike.result
    const result = this.#gate.run(() => {
      this.#waiting = this.#waiting.filter((other) => other.request !== request)
      return work()
    })
    this.#waiting = [...this.#waiting, { request, result }]
    return result
  }
}

/** At most `max` tasks at a time, the others in the order of their calls. */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(max: number) {
    this.#free = max
  }

  /** Returns false if no turn is free. */
  tryEnter(): boolean {
    if (this.#free === 0) return false
    this.#free -= 1
    return true
  }

  /** Returns false if no turn came in time. */
  async enter(waitMs: number = Infinity): Promise<boolean> {
    if (this.tryEnter()) return true
    return new Promise((resolve) => {
      let timer: Timer | undefined
      const begin = (): void => {
        clearTimeout(timer)
        resolve(true)
      }
      this.#waiting.push(begin)
      if (waitMs === Infinity) return
      timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        resolve(false)
      }, waitMs)
    })
  }

  /** Passes the turn on. */
  leave(): void {
    const begin = this.#waiting.shift()
    if (begin === undefined) this.#free += 1
    else begin()
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (!this.tryEnter()) await this.enter()
    try {
      return await work()
    } finally {
      this.leave()
    }
  }
}

function ignore(): void {}
