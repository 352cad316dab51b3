// The checks and errors with which a plan refuses contents, numbers of memories and paths.

import { StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { Settings } from '../../format/settings.ts'
import { contentBytesFormatMax, rowsMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'

/** Throws `invalid_input` or `content_too_large`. */
export function checkContent(path: string, content: string, { limits }: Settings): void {
  if (typeof content !== 'string' || !content.isWellFormed() || content.includes('\0')) {
    throw new StoreError(
      'invalid_input',
      'The content must be well-formed Unicode text without NUL characters',
      { details: { path } },
    )
  }
  const limit = Math.min(limits.contentBytes, contentBytesFormatMax)
  const actual = Bytes.byteLength(content)
  if (actual <= limit) return
  throw new StoreError(
    'content_too_large',
    `The content would be ${actual} bytes; the limit is ${limit} bytes per memory`,
    { details: { path, actual, limit } },
  )
}

/** Throws `change_too_large` for more memories than one commit can have rows. */
export function checkRowCount(actual: number, limit: number = rowsMax): void {
  if (actual <= limit) return
  throw new StoreError(
    'change_too_large',
    `The change touches ${actual} memories; the limit is ${limit}. Split it`,
    { details: { actual, limit } },
  )
}

export function notFound(path: string): StoreError {
  return new StoreError('not_found', 'There is no such memory', { details: { path } })
}

export function notFoundById(memoryId: string): StoreError {
  return new StoreError('not_found', 'There is no such memory', { details: { memoryId } })
}

/**
 * Throws `precondition_failed` unless the content has the hash that a change expects, and
 * `invalid_input` for anything but a hash; without
 * a content, only that. The message does not reveal
 * the current hash (Memory Stores API §2.3).
 */
export function checkExpected(
  { expectedSha256 }: { readonly expectedSha256?: string | undefined },
  path?: string,
  hashOf?: () => string,
): void {
  if (expectedSha256 === undefined) return
  if (typeof expectedSha256 !== 'string' || !/^[0-9a-f]{64}$/.test(expectedSha256)) {
    throw new StoreError(
      'invalid_input',
      'The expected SHA-256 must be 64 lower-case hexadecimal digits',
      { details: { parameter: 'expectedSha256' } },
    )
  }
  if (hashOf === undefined || hashOf() === expectedSha256) return
  throw new StoreError('precondition_failed', 'The memory changed since you read it', {
    details: path === undefined ? {} : { path },
  })
}

export function alreadyExists(path: string, memoryId?: string): StoreError {
  return new StoreError('path_conflict', 'The path is taken, or a memory lies above or below it', {
    details: memoryId === undefined ? { path } : { path, memoryId: formatId('memory', memoryId) },
  })
}
