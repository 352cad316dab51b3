// Checks a query: every field of it, since JavaScript's callers may pass anything.

import { StoreError } from '../../errors.ts'
import { checkPath } from '../../format/path.ts'
import type { Point } from '../history/points.ts'
import { decodeCursor, digestOf } from './cursor.ts'
import type { SearchQuery } from './search-query.ts'
import type { HitPlace } from './selection.ts'

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

/** Throws `invalid_input` or `invalid_path`. The point is checked by who asks. */
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

function invalid(sentence: string): StoreError {
  return new StoreError('invalid_input', sentence)
}
