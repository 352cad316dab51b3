// A live memory as callers see it: ids in their text form, no content.

import { formatId } from '../../format/id.ts'
import type { LiveMemory } from './live-memory.ts'

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
