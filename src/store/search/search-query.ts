// What a search asks for and what it answers.

import type { WorkOptions } from '../../async.ts'
import type { Point } from '../history/points.ts'
import type { MemoryInfo } from '../snapshot/memory-info.ts'
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
