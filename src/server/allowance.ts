// An amount that comes back over time: requests of a second, milliseconds of a minute. A clock that
// was set back gives nothing and takes nothing: the allowance goes on from the new time.

export class Allowance {
  readonly #max: number
  readonly #perMs: number
  #left: number
  #at: number

  /** All of it is there at first; what is used comes back within `ms`. */
  constructor(max: number, ms: number, now: number) {
    this.#max = max
    this.#perMs = max / ms
    this.#left = max
    this.#at = now
  }

  /** The amount that may be used now; negative if more was used than there was. */
  left(now: number): number {
    const gained = Math.max(0, now - this.#at) * this.#perMs
    this.#at = now
    this.#left = Math.min(this.#max, this.#left + gained)
    return this.#left
  }

  use(amount: number): void {
    this.#left -= amount
  }
}
