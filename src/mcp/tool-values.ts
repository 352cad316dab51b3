// What the tools answer as values: one table per kind has the JSON Schema of each field, and how it
// is made. Paths are those that the caller knows.

import { assert } from '../errors.ts'
import type { ReadResult } from '../operations/path-operations.ts'
import type { ObjectSchema } from '../operations/schemas.ts'
import { timestamp, type Wire } from '../operations/wire.ts'
import type { Version } from '../store/history/versions.ts'
import type { ListedMemory, MemoryPrefix } from '../store/memories.ts'
import type { RevertStep } from '../store/revert/revert-plan.ts'
import type { SearchHit } from '../store/search/search-query.ts'
import type { MemoryInfo } from '../store/snapshot/live-memory.ts'
import type { At } from './tool-call.ts'

/** The most characters of a reason that are shown. */
const REASON_MAX = 200

export const text: Wire = { type: 'string' }
const textOrNull: Wire = { type: ['string', 'null'] }
const number: Wire = { type: 'integer' }
const operation: Wire = { enum: ['created', 'modified', 'deleted'] }

/** All properties are always there. */
export function object(properties: Readonly<Record<string, Wire>>): ObjectSchema {
  return { type: 'object', properties, required: Object.keys(properties) }
}

export function pageSchema(items: Wire): ObjectSchema {
  return object({ data: { type: 'array', items }, next_page: textOrNull })
}

export interface ValueKind<Item> {
  readonly properties: Readonly<Record<string, Wire>>
  readonly schema: ObjectSchema
  readonly of: (item: Item, at: At) => Wire
}

function kindOf<Item>(
  fields: Readonly<Record<string, readonly [schema: Wire, of: (item: Item, at: At) => unknown]>>,
): ValueKind<Item> {
  const entries = Object.entries(fields)
  const properties = Object.fromEntries(entries.map(([name, [schema]]) => [name, schema]))
  return {
    properties,
    schema: object(properties),
    of: (item, at) => Object.fromEntries(entries.map(([name, [, of]]) => [name, of(item, at)])),
  }
}

export function shownPath({ space, mount }: At, path: string): string {
  return space.shown(mount, path)
}

function shownOrNull(at: At, path: string | undefined): string | null {
  return path === undefined ? null : shownPath(at, path)
}

const info = kindOf<MemoryInfo>({
  memory_id: [text, ({ memoryId }) => memoryId],
  version_id: [text, ({ versionId }) => versionId],
  sha256: [text, ({ sha256 }) => sha256],
  size_bytes: [number, ({ sizeBytes }) => sizeBytes],
  updated_at: [text, ({ updatedAt }) => timestamp(updatedAt)],
})

export const memorySchema: ObjectSchema = object({ path: text, ...info.properties })

/** What a change of one memory leaves is there. */
export function memoryOf(memory: MemoryInfo | undefined, at: At): Wire {
  assert(memory !== undefined, 'a change of one memory leaves it')
  return { path: shownPath(at, memory.path), ...info.of(memory, at) }
}

/** A directory has a path alone. */
export const itemSchema: ObjectSchema = {
  type: 'object',
  properties: { path: text, type: { enum: ['memory', 'directory'] }, ...info.properties },
  required: ['path', 'type'],
}

export function itemOf(item: ListedMemory | MemoryPrefix, at: At): Wire {
  const path = shownPath(at, item.path)
  if (item.type === 'memory_prefix') return { path, type: 'directory' }
  return { path, type: 'memory', ...info.of(item, at) }
}

export const hitKind: ValueKind<SearchHit> = kindOf({
  path: [text, ({ memory }, at) => shownPath(at, memory.path)],
  line: [{ type: ['integer', 'null'] }, ({ line }) => line ?? null],
  snippet: [text, snippetOf],
  sha256: [text, ({ memory }) => memory.sha256],
})

/** Where only the path matches, the snippet is that of the store. */
export function snippetOf({ memory, line, snippet }: SearchHit, at: At): string {
  return line === undefined ? shownPath(at, memory.path) : snippet
}

export const readKind: ValueKind<ReadResult> = kindOf({
  path: [text, ({ path }, at) => shownPath(at, path)],
  content: [text, ({ content }) => content],
  memory_id: [text, ({ memoryId }) => memoryId],
  version_id: [text, ({ versionId }) => versionId],
  sha256: [
    { type: 'string', description: 'The SHA-256 of the whole text' },
    ({ sha256 }) => sha256,
  ],
  updated_at: [text, ({ updatedAt }) => timestamp(updatedAt)],
  offset: [number, ({ offset }) => offset],
  next_offset: [
    {
      type: ['integer', 'null'],
      description: 'Where the rest begins; null at the end of the text',
    },
    ({ nextOffset }) => nextOffset ?? null,
  ],
  length: [
    { type: 'integer', description: 'The length of the whole text, in UTF-16 units' },
    ({ length }) => length,
  ],
})

export const versionKind: ValueKind<Version> = kindOf({
  version_id: [text, ({ versionId }) => versionId],
  memory_id: [text, ({ memoryId }) => memoryId],
  operation: [operation, (version) => version.operation],
  path: [
    { type: ['string', 'null'], description: 'Null once it is erased' },
    ({ path }, at) => shownOrNull(at, path),
  ],
  moved_from: [textOrNull, ({ movedFrom }, at) => shownOrNull(at, movedFrom)],
  sha256: [textOrNull, ({ sha256 }) => sha256 ?? null],
  size_bytes: [{ type: ['integer', 'null'] }, ({ sizeBytes }) => sizeBytes ?? null],
  created_at: [text, ({ createdAt }) => timestamp(createdAt)],
  created_by: [
    textOrNull,
    ({ createdBy: actor }) => (actor === undefined ? null : `${actor.type}:${actor.id}`),
  ],
  session: [textOrNull, ({ session }) => session ?? null],
  reason: [textOrNull, ({ reason }) => reason?.slice(0, REASON_MAX).toWellFormed() ?? null],
  redacted: [{ type: 'boolean' }, ({ redactedAt }) => redactedAt !== undefined],
})

export const stepKind: ValueKind<RevertStep> = kindOf({
  memory_id: [text, ({ memoryId }) => memoryId],
  operation: [operation, (step) => step.operation],
  path: [text, stepPath],
})

export function stepPath({ before, after }: RevertStep, at: At): string {
  return shownPath(at, (after ?? before)?.path ?? at.mount.root)
}
