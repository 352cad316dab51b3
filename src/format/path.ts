// The grammar of memory paths (FORMAT §5.2), for writers and verifiers. A path is refused, never
// normalised: two spellings of a name would be two memories that look the same.

import { StoreError } from '../errors.ts'
import { pathBytesMax, pathSegmentsMax } from '../limits.ts'

/** Control, format and lone surrogate characters, and the two separators that end lines. */
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u
/** Reserved for tools that mark a mounted memory directory with this file. */
const RESERVED = '/.anthropic-memory-store'

/**
 * Like `checkPath`, for a new path: also refuses code points that Unicode has not assigned, because
 * a later Unicode version could forbid them, and with them the whole history.
 */
export function checkNewPath(path: unknown): string {
  const checked = checkPath(path)
  if (!/\p{Cn}/u.test(checked)) return checked
  throw new StoreError('invalid_path', 'A path must not contain unassigned characters')
}

/** Returns the path. Throws `invalid_path`. */
export function checkPath(path: unknown): string {
  if (typeof path !== 'string') throw new StoreError('invalid_path', 'A path must be a string')
  const problem = findProblem(path)
  if (problem === undefined) return path
  throw new StoreError('invalid_path', problem, { details: { path } })
}

/**
 * The parent directories of a path, from the top, without the root: `/a` and `/a/b` for `/a/b/c`.
 */
export function parentPaths(path: string): string[] {
  const parents: string[] = []
  for (let at = path.indexOf('/', 1); at !== -1; at = path.indexOf('/', at + 1)) {
    parents.push(path.slice(0, at))
  }
  return parents
}

function findProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return 'A path must start with a slash'
  if (FORBIDDEN.test(path)) return 'A path must have no control, format or malformed characters'
  if (Buffer.byteLength(path) > pathBytesMax) {
    return `A path must be at most ${pathBytesMax} bytes of UTF-8`
  }
  if (path.normalize('NFC') !== path) return 'A path must be in Unicode normalization form C'
  if (path === RESERVED) return 'This path is reserved'
  return findSegmentProblem(path.slice(1).split('/'))
}

function findSegmentProblem(segments: readonly string[]): string | undefined {
  if (segments.length > pathSegmentsMax) {
    return `A path must have at most ${pathSegmentsMax} segments`
  }
  if (segments.includes('')) return 'A path must have no empty segment'
  if (segments.includes('.') || segments.includes('..')) return 'A path must have no dot segment'
  return undefined
}
