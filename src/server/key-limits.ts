// How much one API key, with its sessions, may ask: so many requests at once, and so many a second.

import type { Clock } from '../clock.ts'
import { StoreError } from '../errors.ts'

export interface KeyLimitOptions {
  readonly inFlightPerKey: number
  readonly requestsPerSecondPerKey: number
}

interface Use {
  inFlight: number
  /** Requests that may be made at once; fills up to those of one second. */
  tokens: number
  filledAt: number
}

export class KeyLimits {
  readonly #uses: Map<string, Use> = new Map()
  readonly #limits: KeyLimitOptions
  readonly #clock: Clock

  constructor(limits: KeyLimitOptions, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Returns what to call when the answer of the request has left. Throws `rate_limited`. */
  enter(keyId: string): () => void {
    const { inFlightPerKey, requestsPerSecondPerKey: perSecond } = this.#limits
    const now = this.#clock()
    const use = this.#uses.get(keyId) ?? { inFlight: 0, tokens: perSecond, filledAt: now }
    const gained = (Math.max(0, now - use.filledAt) * perSecond) / 1000
    use.tokens = Math.min(perSecond, use.tokens + gained)
    use.filledAt = now
    this.#uses.set(keyId, use)
    if (use.inFlight >= inFlightPerKey || use.tokens < 1) {
      throw new StoreError('rate_limited', 'There are too many requests with this API key')
    }
    use.tokens -= 1
    use.inFlight += 1
    return () => {
      use.inFlight -= 1
    }
  }
}
