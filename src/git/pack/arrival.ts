// How much of a pack that is being received is in its file: told by the thread that receives it,
// and awaited by the one that checks it in the meantime. Must not say that a pack is whole before
// its checksum was compared.

import { StoreError } from '../../errors.ts'

/** Shared by both threads: the bytes that are there, then one of `states`. */
export type SharedArrival = BigInt64Array<SharedArrayBuffer>

const states = { coming: 0n, whole: 1n, gone: 2n } as const
/** Milliseconds between two looks at a cancellation, or at an end that was missed. */
const lookMs = 20

/** The side that receives. */
export class Arrival {
  readonly shared: SharedArrival = new BigInt64Array(new SharedArrayBuffer(16))
  /** Resolves once the pack is whole; rejects if it will never be. */
  readonly whole: Promise<void>
  #settle: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined

  constructor() {
    this.whole = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // No one may wait for it.
    this.whole.catch(() => undefined)
  }

  get isWhole(): boolean {
    return Atomics.load(this.shared, 1) === states.whole
  }

  /** Reports the number of bytes in the file. */
  reached(bytes: number): void {
    Atomics.store(this.shared, 0, BigInt(bytes))
    Atomics.notify(this.shared, 0)
  }

  end(state: 'whole' | 'gone'): void {
    if (Atomics.load(this.shared, 1) !== states.coming) return
    Atomics.store(this.shared, 1, states[state])
    Atomics.notify(this.shared, 0)
    if (state === 'whole') this.#settle?.resolve()
    else this.#settle?.reject(goneError())
  }
}

/**
 * The bytes that are there, once these are at least `wanted` or all. Blocks its thread. Throws
 * `cancelled`, also if the pack will never be whole.
 */
export function awaitArrival(
  shared: SharedArrival,
  wanted: number,
  isCancelled: () => boolean,
): number {
  for (;;) {
    const state = Atomics.load(shared, 1)
    const there = Atomics.load(shared, 0)
    if (state === states.gone || isCancelled()) throw goneError()
    if (state === states.whole || Number(there) >= wanted) return Number(there)
    Atomics.wait(shared, 0, there, lookMs)
  }
}

function goneError(): StoreError {
  return new StoreError('cancelled', 'The pack did not come as a whole')
}
