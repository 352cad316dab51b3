// How much one API key, with its sessions, may ask: a number of requests at once and a second, the
// bytes that they hold, and the time for which they match regular expressions.

import type { Clock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { FairQueue } from '../fair-queue.ts'
import type { ServerLimits } from './options.ts'

type LimitsOfKeys = Pick<ServerLimits, keyof ServerLimits & `${string}PerKey`>

interface KeyUse {
  inFlight: number
  streams: number
  readonly requests: Allowance
  readonly matching: Allowance
  readonly held: HeldBytes
}

/** A request that was let in. */
export interface Lease {
  /** Sets bytes aside for it: waits until the others of its key have left enough. Once. */
  readonly hold: (bytes: number) => Promise<void>
  /** It holds this number from now on, instead. */
  readonly holdOnly: (bytes: number) => void
  /** Throws `rate_limited` if its key has matched regular expressions for too long. */
  readonly checkMatching: () => void
  /** It has matched for that long. */
  readonly matched: (ms: number) => void
  /** Its answer will have no end of its own. Throws `rate_limited`. Once. */
  readonly beginStream: () => void
  /** Once, when the answer of the request has left. */
  readonly leave: () => void
}

export class KeyLimits {
  readonly #uses: Map<string, KeyUse> = new Map()
  readonly #limits: LimitsOfKeys
  readonly #clock: Clock

  constructor(limits: LimitsOfKeys, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** For a session of a key, or the key itself. Throws `rate_limited`. */
  enter(keyId: string, session: string): Lease {
    const now = this.#clock()
    const use = this.#uses.get(keyId) ?? this.#newUse(now)
    this.#uses.set(keyId, use)
    if (use.inFlight >= this.#limits.inFlightPerKey || use.requests.left(now) < 1) {
      throw new StoreError('rate_limited', 'There are too many requests with this API key')
    }
    use.requests.use(1)
    use.inFlight += 1
    return leaseOf(use, session, this.#clock, this.#limits.streamsPerKey)
  }

  #newUse(now: number): KeyUse {
    const { requestsPerSecondPerKey, heldBytesPerKey, matchingMsPerMinutePerKey } = this.#limits
    return {
      inFlight: 0,
      streams: 0,
      requests: new Allowance(requestsPerSecondPerKey, 1000, now),
      matching: new Allowance(matchingMsPerMinutePerKey, 60_000, now),
      held: new HeldBytes(heldBytesPerKey),
    }
  }
}

function leaseOf(use: KeyUse, session: string, clock: Clock, streamsMax: number): Lease {
  let held = 0
  let streams = 0
  const holdOnly = (bytes: number): void => {
    const before = held
    held = bytes
    use.held.replace(before, bytes)
  }
  return {
    hold: async (bytes) => {
      await use.held.take(session, bytes)
      held = bytes
    },
    holdOnly,
    checkMatching: () => {
      if (use.matching.left(clock()) > 0) return
      throw new StoreError(
        'rate_limited',
        'Regular expressions have taken too long with this API key: make them simpler, search ' +
          'for words, or wait a minute',
      )
    },
    matched: (ms) => use.matching.use(ms),
    beginStream: () => {
      if (use.streams >= streamsMax) {
        throw new StoreError(
          'rate_limited',
          `An API key has at most ${streamsMax} streams at a time: end some first`,
        )
      }
      streams = 1
      use.streams += streams
    },
    leave: () => {
      use.inFlight -= 1
      use.streams -= streams
      holdOnly(0)
    },
  }
}

/**
 * An amount that comes back over time: requests per second, milliseconds per minute. A clock that
 * was set back gives nothing and takes nothing: the allowance continues from the new time.
 */
class Allowance {
  readonly #max: number
  readonly #perMs: number
  #left: number
  #at: number

  /** It is full at first; a used part returns within `ms`. */
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

export class HeldBytes {
  readonly #max: number
  readonly #waiting = new FairQueue<{ readonly bytes: number; readonly begin: () => void }>()
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
