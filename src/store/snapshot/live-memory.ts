// The current state of a memory.

import type { Operation } from '../../format/change-record.ts'
import type { Oid } from '../../git/objects/object.ts'

/** A memory that is neither deleted nor redacted. Ids are hex digits, times ms since 1970. */
export interface LiveMemory {
  readonly memoryId: string
  readonly versionId: string
  readonly path: string
  /** Bytes of UTF-8. */
  readonly size: number
  /** SHA-256 of the content, 64 hex digits. */
  readonly sha256: string
  readonly created: number
  readonly updated: number
  readonly blob: Oid
  /** The epoch that the blob is sealed under. */
  readonly kid: string
}

/** Compares for `toSorted`: older memories first, by creation. */
export function byAge(
  a: Pick<LiveMemory, 'created' | 'memoryId'>,
  b: Pick<LiveMemory, 'created' | 'memoryId'>,
): number {
  return a.created - b.created || (a.memoryId < b.memoryId ? -1 : 1)
}

/** cur(X, m) of FORMAT §6.4. */
export interface CurrentVersion {
  readonly versionId: string
  readonly operation: Operation
  readonly created: number
  /** Undefined when the version is a deletion or redacted. */
  readonly live: LiveMemory | undefined
}
