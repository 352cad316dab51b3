// The bytes that requests hold together, in bodies and answers. Who needs more than are left waits,
// first come, first served.

interface Waiting {
  readonly bytes: number
  readonly begin: () => void
}

export class HeldBytes {
  readonly #max: number
  readonly #waiting: Waiting[] = []
  #held = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Resolves when there is room: for one alone, whatever it needs. */
  async take(bytes: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#hasRoom(bytes)) this.#held += bytes
    else await new Promise<void>((begin) => this.#waiting.push({ bytes, begin }))
  }

  /** Without waiting: what it held turned out to be another number, or none. */
  replace(before: number, after: number): void {
    this.#held += after - before
    for (const { bytes, begin } of this.#waiting.slice()) {
      if (!this.#hasRoom(bytes)) return
      this.#waiting.shift()
      this.#held += bytes
      begin()
    }
  }

  #hasRoom(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#max
  }
}
