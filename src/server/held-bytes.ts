// The bytes that the requests of one key hold together, in bodies and answers. A request that needs
// more than are left waits; the sessions of the key take turns.

import { FairQueue } from '../fair-queue.ts'

interface Waiting {
  readonly bytes: number
  readonly begin: () => void
}

export class HeldBytes {
  readonly #max: number
  readonly #waiting = new FairQueue<Waiting>()
  #held = 0

  constructor(max: number) {
    this.#max = max
  }

  /**
   * Resolves when there is room: for one alone, whatever it needs. A small request does not pass a
   * large one that waits, which would never have room then.
   */
  async take(session: string, bytes: number): Promise<void> {
    if (this.#waiting.peek() === undefined && this.#hasRoom(bytes)) {
      this.#held += bytes
      return
    }
    await new Promise<void>((begin) => {
      this.#waiting.push({ key: '', session }, { bytes, begin })
    })
  }

  /** Without waiting: a request holds another number of bytes from now on. */
  replace(before: number, after: number): void {
    this.#held += after - before
    for (;;) {
      const next = this.#waiting.peek()
      if (next === undefined || !this.#hasRoom(next.bytes)) return
      this.#waiting.shift()
      this.#held += next.bytes
      next.begin()
    }
  }

  #hasRoom(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#max
  }
}
