// The sessions in whose name clients of MCP write. A client names itself, so its name is only a
// part: what makes a session another one comes from us, at the end, where no name reaches.

import { toHex } from '../bytes.ts'
import type { Clock } from '../clock.ts'
import type { Random } from '../crypto/random.ts'
import type { Author } from '../store/commits/commit-context.ts'

/** Leaves room for the end in an actor id (FORMAT §1.2). */
const NAME_MAX = 32
/** The characters of a name that are looked at. */
const LOOKED_AT_MAX = 256
const RUN_BYTES = 3
const KEY_DIGITS = 12
const unnamed = 'mcp-client'

/**
 * A client's name in letters, digits and dots, with `-` for the rest. There is no `_` in it: no
 * session looks like an id such as `sesn_…`.
 */
export function clientName(given: unknown): string {
  if (typeof given !== 'string') return unnamed
  const name = given
    .slice(0, LOOKED_AT_MAX)
    .replaceAll(/[^A-Za-z0-9.]+/g, '-')
    .slice(0, NAME_MAX)
    .replaceAll(/^[.-]+|[.-]+$/g, '')
  return name === '' ? unnamed : name
}

/** The session of one run on standard input: `agent-20261123T170500-5f09c2`. */
export function runSession(given: unknown, clock: Clock, random: Random): string {
  const time = new Date(clock()).toISOString().replaceAll(/[-:]|\..*$/g, '')
  return `${clientName(given)}-${time}-${toHex(random(RUN_BYTES))}`
}

/** The session of a client's calls with one API key: `agent-2m9x0q4h7c1r`. */
export function keySession(given: unknown, keyId: string): string {
  return `${clientName(given)}-${keyId.slice(-KEY_DIGITS)}`
}

/**
 * Names the author of what a client writes: the session that `sessionNow` gives, if any. Else the
 * author is made once, when the first call needs one, from the name that was heard first.
 */
export class AuthorResolver {
  readonly #authorOf: (name: unknown) => Author
  readonly #sessionNow: (() => string | undefined) | undefined
  #name: unknown
  #author: Author | undefined

  constructor(
    authorOf: (name: unknown) => Author,
    name?: unknown,
    sessionNow?: () => string | undefined,
  ) {
    this.#authorOf = authorOf
    this.#name = name
    this.#sessionNow = sessionNow
  }

  readonly hear = (name: unknown): void => {
    this.#name ??= name
  }

  readonly author = (): Author => {
    const session = this.#sessionNow?.()
    if (session !== undefined) return { actor: { type: 'session', id: session } }
    this.#author ??= this.#authorOf(this.#name)
    return this.#author
  }
}
