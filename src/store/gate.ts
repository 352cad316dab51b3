// A mutex for one process: work runs one after another, in the order in which it came.

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
