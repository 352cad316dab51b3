// Long work on the thread that everybody shares goes in slices: between two of them timers, input
// and the other stores of the process have their turn. A slice ends by time, because one step of
// the same work may take a hundred times as long as another, and after a number of steps at the
// latest, so that progress and cancellation do not depend on how fast a machine is.

import { StoreError } from './errors.ts'

/** Milliseconds after which others have their turn. A single step is never interrupted. */
export const sliceMs: number = 10

export class TimeSlice {
  readonly #signal: AbortSignal | undefined
  readonly #stepsMax: number
  #steps = 0
  #began = performance.now()

  /** A signal that is aborted ends the work at the end of a slice. */
  constructor(signal?: AbortSignal, stepsMax: number = Number.POSITIVE_INFINITY) {
    this.#signal = signal
    this.#stepsMax = stepsMax
  }

  /** Counts one step more. True if `next` is due. */
  isOver(): boolean {
    this.#steps += 1
    return this.#steps >= this.#stepsMax || performance.now() - this.#began >= sliceMs
  }

  /** Resolves once others had their turn. Throws `cancelled`. */
  async next(): Promise<void> {
    if (this.#signal?.aborted === true) {
      throw new StoreError('cancelled', 'The work was cancelled', { cause: this.#signal.reason })
    }
    await new Promise((resolve) => setImmediate(resolve))
    this.#steps = 0
    this.#began = performance.now()
  }
}

/**
 * The slice that many short pieces of work share, each of which asks for itself and has no need to
 * wait: whoever does one after another would keep the thread for as long as it takes.
 */
export class SharedSlice {
  /** When the first of them began since others had their turn. */
  #began: number | undefined

  /** True if `next` is due. */
  isOver(): boolean {
    if (this.#began !== undefined) return performance.now() - this.#began >= sliceMs
    this.#began = performance.now()
    setImmediate(() => (this.#began = undefined))
    return false
  }

  /** Resolves once others had their turn, and those who came before. */
  async next(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve))
    while (this.isOver())
  }
}

/** Does work that yields after each of its steps, and gives way between them. */
export async function inSlices<T>(work: Generator<undefined, T>, signal?: AbortSignal): Promise<T> {
  const slice = new TimeSlice(signal)
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value
    if (slice.isOver()) await slice.next()
  }
}

/** The same where nobody has to wait: in a thread of its own, or for a few steps. */
export function atOnce<T>(work: Generator<undefined, T>): T {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value
  }
}
