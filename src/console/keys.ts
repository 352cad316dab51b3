// The keys of the console: one-time tokens for addresses, and the keys of tabs that they are traded
// for. Both are 256 random bits, of which only hashes are kept; nothing is written to a disk.

import { toHex } from '../bytes.ts'
import type { Clock } from '../clock.ts'
import { sha256OfText } from '../crypto/digest.ts'
import { type Random, systemRandom } from '../crypto/random.ts'

const BYTES = 32
const TOKEN_MS = 60_000
/** Beyond it the oldest ones end: no one opens more. */
const TOKENS_MAX = 32
const KEYS_MAX = 256

export class ConsoleKeys {
  /** By the hash of a token: until when it may be traded. */
  readonly #tokens = new Map<string, number>()
  readonly #keys = new Set<string>()
  readonly #clock: Clock
  readonly #random: Random

  constructor(clock: Clock, random: Random = systemRandom) {
    this.#clock = clock
    this.#random = random
  }

  /** For the fragment of an address: it can be traded once, within a minute. */
  newToken(): string {
    const token = this.#newSecret()
    this.#tokens.set(sha256OfText(token), this.#clock() + TOKEN_MS)
    keepNewest(this.#tokens, TOKENS_MAX)
    return token
  }

  /** The key of a tab; undefined for a token that is unknown, used or late. */
  trade(token: string): string | undefined {
    const hash = sha256OfText(token)
    const until = this.#tokens.get(hash)
    this.#tokens.delete(hash)
    const now = this.#clock()
    // A clock that was set back prolongs nothing.
    if (until === undefined || now > until || now < until - TOKEN_MS) return undefined
    const key = this.#newSecret()
    this.#keys.add(sha256OfText(key))
    keepNewest(this.#keys, KEYS_MAX)
    return key
  }

  /** Whether the value of the header `Authorization` is a known key. */
  isKnown(authorization: string | null): boolean {
    const key = /^Bearer ([\w-]{43})$/.exec(authorization ?? '')?.[1]
    return key !== undefined && this.#keys.has(sha256OfText(key))
  }

  forgetAll(): void {
    this.#tokens.clear()
    this.#keys.clear()
  }

  /** Of letters that an address needs not escape. */
  #newSecret(): string {
    return Buffer.from(toHex(this.#random(BYTES)), 'hex').toString('base64url')
  }
}

function keepNewest(held: Map<string, unknown> | Set<string>, most: number): void {
  for (const oldest of held.keys()) {
    if (held.size <= most) return
    held.delete(oldest)
  }
}
