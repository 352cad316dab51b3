// The grammar of memory paths (FORMAT §5.2): `checkPath` for readers and for requests that name a
// memory, `checkNewPath` for what gives one a path. A path is refused, never normalised: two
// spellings of a name would be two memories that look the same.

import { utf8Text } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { pathBytesMax, pathSegmentsMax } from '../limits.ts'
import { Bytes } from '../platform/bytes.ts'
import { findWriteProblem, forbiddenNames, hasForbidden } from './characters.ts'

/** Reserved for tools that mark a mounted memory directory with this file. */
const RESERVED = '/.anthropic-memory-store'
/** As many forbidden characters are named: a path may have hundreds. */
const NAMED_MAX = 3

/** Like `checkPath`, for a path that a memory is given: of assigned characters, in NFC. */
export function checkNewPath(path: unknown): string {
  const checked = checkPath(path)
  const problem = findWriteProblem(checked)
  if (problem === undefined) return checked
  throw new StoreError('invalid_path', `A new path must ${problem}`, { details: { path: checked } })
}

/** Returns the path. Throws `invalid_path`. */
export function checkPath(path: unknown): string {
  if (typeof path !== 'string') throw new StoreError('invalid_path', 'A path must be a string')
  const problem = findProblem(path)
  if (problem === undefined) return path
  throw new StoreError('invalid_path', problem, { details: { path } })
}

/** The path in a decoded object. The refused path is plaintext: no error has it. */
export function decodePath(bytes: Uint8Array, refusal: () => StoreError): string {
  try {
    return checkPath(utf8Text(bytes))
  } catch {
    throw refusal()
  }
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

/** Whether a path lies at another one or below it. */
export function isAtOrBelow(path: string | undefined, at: string): boolean {
  if (path === undefined) return false
  return at === '/' || path === at || path.startsWith(`${at}/`)
}

function findProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return 'A path must start with a slash'
  if (!path.isWellFormed()) return 'A path must be well-formed Unicode'
  if (hasForbidden(path)) {
    const names = forbiddenNames(path).slice(0, NAMED_MAX).join(', ')
    return `A path must have no control or invisible characters: remove ${names}`
  }
  if (Bytes.byteLength(path) > pathBytesMax) {
    return `A path must be at most ${pathBytesMax} bytes of UTF-8`
  }
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
