// The order in which callers of one handle get their turns. Must not know what they do in them.

/** A first-in, first-out queue within one handle. */
export class TurnQueue {
  #busy = false
  readonly #waiting: Array<() => void> = []

  /** Returns false if it is another's turn. */
  tryEnter(): boolean {
    if (this.#busy) return false
    this.#busy = true
    return true
  }

  /** Returns false if the turn did not come in time. */
  async enter(waitMs: number): Promise<boolean> {
    if (this.tryEnter()) return true
    return new Promise((resolve) => {
      const begin = (): void => {
        clearTimeout(timer)
        resolve(true)
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        resolve(false)
      }, waitMs)
      this.#waiting.push(begin)
    })
  }

  leave(): void {
    const begin = this.#waiting.shift()
    if (begin === undefined) this.#busy = false
    else begin()
  }
}
