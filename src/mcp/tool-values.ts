// What the tools answer as values, and the JSON Schemas of those values. Paths are those that the
// caller knows.

import type { ObjectSchema } from '../api/schemas.ts'
import { timestamp, type Wire } from '../api/wire.ts'
import { assert } from '../errors.ts'
import type { Mount } from '../memory-tool/mount.ts'
import type { ToolSpace } from '../memory-tool/tool-space.ts'
import type { Version } from '../store/history/versions.ts'
import type { ListedMemory, MemoryPrefix } from '../store/memories.ts'
import type { RevertStep } from '../store/revert/revert-plan.ts'
import type { SearchHit } from '../store/search/search-query.ts'
import type { MemoryInfo } from '../store/snapshot/memory-info.ts'
import type { At } from './tool-call.ts'

/** The most characters of a reason that are shown. */
const REASON_MAX = 200

export const text: Wire = { type: 'string' }
const textOrNull: Wire = { type: ['string', 'null'] }
const number: Wire = { type: 'integer' }

/** All properties are always there. */
export function object(properties: Readonly<Record<string, Wire>>): ObjectSchema {
  return { type: 'object', properties, required: Object.keys(properties) }
}

export function pageSchema(items: Wire): ObjectSchema {
  return object({ data: { type: 'array', items }, next_page: textOrNull })
}

export function pageOf<T>(
  data: readonly T[],
  nextPage?: string,
): { readonly data: readonly T[]; readonly next_page: string | null } {
  return { data, next_page: nextPage ?? null }
}

const memoryFields = {
  memory_id: text,
  version_id: text,
  sha256: text,
  size_bytes: number,
  updated_at: text,
}

export const memorySchema: ObjectSchema = object({ path: text, ...memoryFields })

/** A directory has a path alone. */
export const itemSchema: ObjectSchema = {
  type: 'object',
  properties: { path: text, type: { enum: ['memory', 'directory'] }, ...memoryFields },
  required: ['path', 'type'],
}

export const readSchema: ObjectSchema = object({
  path: text,
  content: text,
  memory_id: text,
  version_id: text,
  sha256: { type: 'string', description: 'The SHA-256 of the whole text' },
  updated_at: text,
  offset: number,
  next_offset: {
    type: ['integer', 'null'],
    description: 'Where the rest begins; null at the end of the text',
  },
  length: { type: 'integer', description: 'The length of the whole text, in UTF-16 units' },
})

export const versionSchema: ObjectSchema = object({
  version_id: text,
  memory_id: text,
  operation: { enum: ['created', 'modified', 'deleted'] },
  path: { type: ['string', 'null'], description: 'Null once it is erased' },
  moved_from: textOrNull,
  sha256: textOrNull,
  size_bytes: { type: ['integer', 'null'] },
  created_at: text,
  created_by: textOrNull,
  session: textOrNull,
  reason: textOrNull,
  redacted: { type: 'boolean' },
})

export const stepSchema: ObjectSchema = object({
  memory_id: text,
  operation: { enum: ['created', 'modified', 'deleted'] },
  path: text,
})

/** What a change of one memory leaves is there. */
export function memoryOf(at: At, memory: MemoryInfo | undefined): Wire {
  assert(memory !== undefined, 'a change of one memory leaves it')
  return { path: at.space.shown(at.mount, memory.path), ...infoOf(memory) }
}

export function itemOf(at: At, item: ListedMemory | MemoryPrefix): Wire {
  const path = at.space.shown(at.mount, item.path)
  if (item.type === 'memory_prefix') return { path, type: 'directory' }
  return { path, type: 'memory', ...infoOf(item) }
}

export function mountItem(
  space: ToolSpace,
  mount: Mount,
): { readonly path: string; readonly type: 'directory' } {
  return { path: `${space.directoryOf(mount)}/`, type: 'directory' }
}

export function hitOf(
  at: At,
  { memory, line, snippet }: SearchHit,
): { readonly path: string; readonly line: number | null; readonly snippet: string } & Wire {
  const path = at.space.shown(at.mount, memory.path)
  // Where only the path matches, the snippet is that of the store.
  const shown = line === undefined ? path : snippet
  return { path, line: line ?? null, snippet: shown, sha256: memory.sha256 }
}

interface VersionValue extends Wire {
  readonly version_id: string
  readonly operation: string
  readonly path: string | null
  readonly created_at: string
  readonly session: string | null
}

export function versionOf({ space, mount }: At, version: Version): VersionValue {
  const { path, movedFrom, createdBy, reason } = version
  return {
    version_id: version.versionId,
    memory_id: version.memoryId,
    operation: version.operation,
    path: path === undefined ? null : space.shown(mount, path),
    moved_from: movedFrom === undefined ? null : space.shown(mount, movedFrom),
    sha256: version.sha256 ?? null,
    size_bytes: version.sizeBytes ?? null,
    created_at: timestamp(version.createdAt),
    created_by: createdBy === undefined ? null : `${createdBy.type}:${createdBy.id}`,
    session: version.session ?? null,
    reason: reason?.slice(0, REASON_MAX).toWellFormed() ?? null,
    redacted: version.redactedAt !== undefined,
  }
}

export function stepOf(
  { space, mount }: At,
  { memoryId, operation, before, after }: RevertStep,
): { readonly operation: string; readonly path: string } & Wire {
  const path = (after ?? before)?.path ?? mount.root
  return { memory_id: memoryId, operation, path: space.shown(mount, path) }
}

function infoOf({ memoryId, versionId, sha256, sizeBytes, updatedAt }: MemoryInfo): Wire {
  return {
    memory_id: memoryId,
    version_id: versionId,
    sha256,
    size_bytes: sizeBytes,
    updated_at: timestamp(updatedAt),
  }
}
