// How much one API key, with its sessions, may ask: so many requests at once, so many a second, and
// so many bytes that they hold.

import type { Clock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { HeldBytes } from './held-bytes.ts'

export interface KeyLimitOptions {
  readonly inFlightPerKey: number
  readonly requestsPerSecondPerKey: number
  readonly heldBytesPerKey: number
}

interface Use {
  inFlight: number
  /** Requests that may be made at once; fills up to those of one second. */
  tokens: number
  filledAt: number
  readonly held: HeldBytes
}

/** A request that was let in. */
export interface Stay {
  /** Sets bytes aside for it: waits until the others of its key have left enough. Once. */
  readonly hold: (bytes: number) => Promise<void>
  /** So many are held from now on, instead. */
  readonly holdOnly: (bytes: number) => void
  /** Once, when the answer of the request has left. */
  readonly leave: () => void
}

export class KeyLimits {
  readonly #uses: Map<string, Use> = new Map()
  readonly #limits: KeyLimitOptions
  readonly #clock: Clock

  constructor(limits: KeyLimitOptions, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Throws `rate_limited`. */
  enter(keyId: string): Stay {
    const { inFlightPerKey, requestsPerSecondPerKey: perSecond, heldBytesPerKey } = this.#limits
    const now = this.#clock()
    const use = this.#uses.get(keyId) ?? {
      inFlight: 0,
      tokens: perSecond,
      filledAt: now,
      held: new HeldBytes(heldBytesPerKey),
    }
    const gained = (Math.max(0, now - use.filledAt) * perSecond) / 1000
    use.tokens = Math.min(perSecond, use.tokens + gained)
    use.filledAt = now
    this.#uses.set(keyId, use)
    if (use.inFlight >= inFlightPerKey || use.tokens < 1) {
      throw new StoreError('rate_limited', 'There are too many requests with this API key')
    }
    use.tokens -= 1
    use.inFlight += 1
    return stayOf(use)
  }
}

function stayOf(use: Use): Stay {
  let held = 0
  const holdOnly = (bytes: number): void => {
    const before = held
    held = bytes
    use.held.replace(before, bytes)
  }
  return {
    hold: async (bytes) => {
      await use.held.take(bytes)
      held = bytes
    },
    holdOnly,
    leave: () => {
      use.inFlight -= 1
      holdOnly(0)
    },
  }
}
