// The current state of a memory.

import type { Operation } from '../../format/change-record.ts'
import { formatId } from '../../format/id.ts'
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

/** A memory without its content. Times are ms since 1970. */
export interface MemoryInfo {
  readonly memoryId: string
  /** The version that holds the current state. */
  readonly versionId: string
  readonly path: string
  /** SHA-256 of the content's UTF-8 bytes, 64 lower-case hex digits. */
  readonly sha256: string
  readonly sizeBytes: number
  readonly createdAt: number
  readonly updatedAt: number
}

export function describeMemory(memory: LiveMemory): MemoryInfo {
  return {
    memoryId: formatId('memory', memory.memoryId),
    versionId: formatId('version', memory.versionId),
    path: memory.path,
    sha256: memory.sha256,
    sizeBytes: memory.size,
    createdAt: memory.created,
    updatedAt: memory.updated,
  }
}

export interface Memory extends MemoryInfo {
  readonly content: string
}
