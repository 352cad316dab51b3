// What a search asks for and answers, the check of every field, since JavaScript's callers may pass
// anything, and cursors: the place of the last hit of a page, bound to the query.

import type { WorkOptions } from '../../async.ts'
import { toHex, utf8 } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { checkPath } from '../../format/path.ts'
import { Bytes } from '../../platform/bytes.ts'
import type { Point } from '../history/points.ts'
import type { MemoryInfo } from '../snapshot/live-memory.ts'
import type { HitPlace } from './ranking.ts'
import type { Searcher } from './regex-turns.ts'

export interface SearchQuery extends WorkOptions {
  /** Words, or with `regex` a regular expression. At most 1,024 UTF-16 units. */
  readonly query: string
  /** Words that begin with those of the query match too. Default: true. */
  readonly prefix?: boolean | undefined
  /** Words that differ by a few letters match too. Default: false. */
  readonly fuzzy?: boolean | undefined
  /** `query` is a regular expression of JavaScript with the flags `iu`, matched line by line. */
  readonly regex?: boolean | undefined
  /** Only memories at or below this path. */
  readonly path?: string | undefined
  /** The state at a point of the history. */
  readonly at?: Point | undefined
  /** Every version that the store has, not only the newest. Not with `at`. */
  readonly allVersions?: boolean | undefined
  /** Hits per page, from 1 to 100. Default: 20. */
  readonly limit?: number | undefined
  /** The `nextPage` of the page before. */
  readonly after?: string | undefined
  /** @internal Whose turn it is. Without it a regular expression waits for a turn here. */
  readonly searcher?: Searcher | undefined
}

export interface SearchHit {
  readonly memory: MemoryInfo
  /** Above 0; greater is better. Comparable within one search alone. */
  readonly score: number
  /** 1-based number of the line that matches best; undefined if only the path matches. */
  readonly line: number | undefined
  /** At most 200 characters around the match, on one line; the path, if only that matches. */
  readonly snippet: string
}

export interface CheckedQuery extends SearchQuery {
  readonly path: string
  readonly limit: number
  readonly at: Point | undefined
  /** Where the page before ended. */
  readonly place: HitPlace | undefined
  /** For cursors. */
  readonly digest: string
}

const QUERY_LENGTH_MAX = 1024
const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100
const DIGEST_BYTES = 8

/** Throws `invalid_input` or `invalid_path`. The caller checks the point. */
export function checkedQuery(query: SearchQuery): CheckedQuery {
  const { path = '/', limit = LIMIT_DEFAULT, at, after } = query
  checkText(query.query)
  if (path !== '/') checkPath(path)
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw invalid(`The limit must be an integer from 1 to ${LIMIT_MAX}`)
  }
  checkChoices(query)
  const digest = digestOf(query)
  const place = after === undefined ? undefined : decodeCursor(digest, path, after)
  return { ...query, path, limit, at, place, digest }
}

function checkText(query: unknown): void {
  if (typeof query !== 'string' || !query.isWellFormed()) {
    throw invalid('The query must be a string of well-formed Unicode')
  }
  if (query.trim() === '') throw invalid('The query is empty; say what to search for')
  if (query.length > QUERY_LENGTH_MAX) {
    throw invalid(`The query is longer than ${QUERY_LENGTH_MAX} characters; make it shorter`)
  }
}

function checkChoices({ prefix, fuzzy, regex, allVersions, at }: SearchQuery): void {
  for (const choice of [prefix, fuzzy, regex, allVersions]) {
    if (choice === undefined || typeof choice === 'boolean') continue
    throw invalid('`prefix`, `fuzzy`, `regex` and `allVersions` must be true or false')
  }
  if (regex === true && fuzzy === true) throw invalid('Give `regex` or `fuzzy`, not both')
  if (allVersions === true && at !== undefined) {
    throw invalid('Give `at` or `allVersions`, not both')
  }
}

/** Of all that decides which hits there are and in what order. */
function digestOf(query: SearchQuery): string {
  const { prefix = true, fuzzy = false, regex = false, path = '/', allVersions = false } = query
  const asked = [query.query, prefix, fuzzy, regex, path, query.at ?? null, allVersions]
  return toHex(hash256(utf8(JSON.stringify(asked))).subarray(0, DIGEST_BYTES))
}

/**
 * A cursor holds nothing that the caller has not seen in the last hit: of its path only the part
 * below the searched one, since the caller must not learn the part above.
 */
export function encodeCursor(
  digest: string,
  searched: string,
  { score, path, versionId }: HitPlace,
): string {
  const below = path.slice(above(searched).length)
  return Bytes.from(JSON.stringify([digest, score, below, versionId])).toString('base64url')
}

/** Throws `invalid_input` for a cursor of another query, and for anything else. */
function decodeCursor(digest: string, searched: string, cursor: string): HitPlace {
  const [of, score, below, versionId, ...others] = parts(cursor)
  const fits =
    of === digest &&
    typeof score === 'number' &&
    typeof below === 'string' &&
    typeof versionId === 'string' &&
    others.length === 0
  if (fits) return { score, path: above(searched) + below, versionId }
  throw invalid('The cursor belongs to another query')
}

function above(searched: string): string {
  return searched === '/' ? '' : searched
}

function parts(cursor: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(Bytes.from(cursor, 'base64url').toString())
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

function invalid(sentence: string): StoreError {
  return new StoreError('invalid_input', sentence)
}
