// The operations of callers who know memories by their paths and change them on condition, such as
// MCP clients: lists, searches, reads, writes, the past. Nothing outside the root of a context is
// seen or changed: for the caller it does not exist.

import { z } from 'zod'
import { StoreError } from '../errors.ts'
import { findId } from '../format/id.ts'
import { Bytes } from '../platform/bytes.ts'
import type { Version } from '../store/history/versions.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { Revert } from '../store/revert/restore.ts'
import type { Memory } from '../store/snapshot/live-memory.ts'
import type { StoreWriter } from '../store/store-writer.ts'
import { isBelow, replaceText } from './actions.ts'
import { type OperationContext, operationsIn } from './operation.ts'
import { parameters, pathText, searchText, text } from './schemas.ts'
import { hashField, idField, pageFields, pointField } from './wire-fields.ts'

export interface PathContext extends OperationContext {
  readonly me: StoreWriter
  readonly store: MemoryStore
  /** A path of the store, `/` for all. */
  readonly root: string
}

const pathOperation = operationsIn<PathContext>()

/** Part of a content, in UTF-16 units. */
export interface ReadResult {
  readonly path: string
  readonly memoryId: string
  readonly versionId: string
  readonly sha256: string
  readonly updatedAt: number
  readonly content: string
  readonly offset: number
  /** Where the rest begins; undefined at the end. */
  readonly nextOffset: number | undefined
  /** The length of the whole content. */
  readonly length: number
}

/** The most that one answer holds: a content of the default limit fits. */
const partUnitsMax = 102_400
/** As JSON: an answer may have it twice. */
const partJsonBytesMax = 400_000

export const listPaths = pathOperation({
  name: 'the list of memories',
  effect: 'read',
  input: parameters({
    path: pathText('a directory; without it, all of them').optional(),
    recursive: flagField('all that lies below, not only what the directory has itself'),
    ...pageFields,
  }),
  run: async ({ store, root }, { path = root, recursive = false, limit, page }) => {
    if (path !== root && (await store.list(path, { depth: 0 })) === undefined) throw notFound(path)
    const after = page === undefined || root === '/' ? page : root + page
    const found = await store.memories({ path, depth: recursive ? 0 : 1, limit, page: after })
    // A cursor is a path, without the part above the root.
    const next = root === '/' ? found.nextPage : found.nextPage?.slice(root.length)
    return { data: found.data, nextPage: next }
  },
})

export const readPath = pathOperation({
  name: 'the reading of memories',
  effect: 'read',
  input: parameters({
    path: pathText('the path of the memory'),
    version_id: idField('an earlier version that was at the path, memver_…').optional(),
    offset: offsetField(),
  }),
  run: async ({ store, root }, { path, version_id: versionId, offset = 0 }) => {
    const isVersion = versionId !== undefined
    const found = isVersion
      ? await versionAt(store, root, path, versionId)
      : await readAt(store, path)
    return { ...found, ...partOf(found.content, offset) }
  },
})

export const searchPaths = pathOperation({
  name: 'the search of memories',
  effect: 'read',
  input: parameters({
    query: text('the words to find, or a regular expression'),
    path: pathText('the directory to search; without it, all of them').optional(),
    prefix: flagField('words that begin with those of the query match too; true if left out'),
    fuzzy: flagField('words that differ by a few letters match too'),
    regex: flagField('the query is a regular expression, which is matched line by line'),
    ...pageFields,
  }),
  takesTurn: ({ regex }) => regex === true,
  run: async ({ store, root, searcher }, { path = root, page: after, ...query }) =>
    store.search({ ...query, path, after, searcher }),
})

export const writePath = pathOperation({
  name: 'the writing of memories',
  effect: 'write',
  input: parameters({
    path: pathText('the path of the memory'),
    content: text('the whole new content'),
    expected_sha256: expectedField(),
  }),
  run: async ({ me, root }, { path, content, expected_sha256: expectedSha256 }) => {
    checkFile(path, root)
    return me.apply([{ type: 'write', path, content, expectedSha256 }])
  },
})

export const editPath = pathOperation({
  name: 'the edit of memories',
  effect: 'write',
  input: parameters({
    path: pathText('the path of the memory'),
    old_text: searchText(),
    new_text: text('the text that replaces it; empty to delete it'),
    expected_sha256: expectedField(),
  }),
  run: async ({ me, root }, { path, old_text, new_text, expected_sha256: expectedSha256 }) => {
    checkFile(path, root)
    return replaceText(me, { path, old_str: old_text, new_str: new_text }, expectedSha256)
  },
})

export const deletePath = pathOperation({
  name: 'the deletion of memories',
  effect: 'write',
  input: parameters({
    path: pathText('the path of the memory, or of a directory with all below it'),
    expected_sha256: expectedField(),
  }),
  run: async ({ me, root }, { path, expected_sha256: expectedSha256 }) => {
    checkFile(path, root)
    return me.apply([{ type: 'delete', path, expectedSha256 }])
  },
})

/** Newest first. Erased versions have only their remaining fields. */
export const historyOfPath = pathOperation({
  name: 'the history of memories',
  effect: 'read',
  input: parameters({
    path: pathText('a memory that is or was there, or a directory').optional(),
    memory_id: idField('one memory, mem_…, wherever it was').optional(),
    ...pageFields,
  }),
  run: async ({ store, root }, { path = root, memory_id: memoryId, limit, page }) => {
    const filter = { memoryId, limit, page, ...(path !== '/' && { path }) }
    const { data, nextPage } = await store.history.versions(filter)
    return { data: data.map((version) => withoutOutside(version, root)), nextPage }
  },
})

/** An erased version is refused with `redacted`. */
export const restorePath = pathOperation({
  name: 'the restoration of memories',
  effect: 'write',
  input: parameters({
    path: pathText('the path of the memory, which may be deleted'),
    memory_id: idField('the memory, mem_…, if it was not the last at the path').optional(),
    to: pointField().optional(),
  }),
  run: async ({ store, me, root }, { path, memory_id: memoryId, to }) => {
    const request = { memory: memoryId ?? path, to }
    if (root !== '/') await checkStaysBelow(store, root, memoryId)
    if (root === '/') return me.restore(request)
    const planned = await me.restore(request, { dryRun: true })
    checkSteps(planned, root)
    // Runs only the checked plan: a concurrent change may lead outside the root.
    return me.restore(request, { confirmed: planned.plan })
  },
})

async function readAt(store: MemoryStore, path: string): Promise<Memory> {
  const memory = path === '/' ? undefined : await store.read(path)
  if (memory === undefined) throw notFound(path)
  return memory
}

/** What a version was, if it was at this path. */
async function versionAt(
  store: MemoryStore,
  root: string,
  path: string,
  versionId: string,
): Promise<Omit<Memory, 'createdAt' | 'sizeBytes'>> {
  if (findId('version', versionId) === undefined) throw noSuchVersion()
  const version = await store.history.version(versionId)
  const { memoryId, sha256, content, createdAt: updatedAt } = version
  // No one knows anymore where it was.
  if (version.redactedAt !== undefined && root === '/') {
    throw new StoreError('redacted', 'That version is redacted: its content has been erased')
  }
  if (version.path !== path || sha256 === undefined || content === undefined) throw noSuchVersion()
  return { memoryId, versionId, path, sha256, updatedAt, content }
}

/** As much as one answer may hold; at least one unit, and no half of a character. */
function partOf(
  content: string,
  offset: number,
): Pick<ReadResult, 'content' | 'offset' | 'nextOffset' | 'length'> {
  const { length } = content
  if (offset > length) {
    throw new StoreError('invalid_input', `The content ends at the offset ${length}`, {
      details: { parameter: 'offset', actual: offset, limit: length },
    })
  }
  let end = Math.min(length, offset + partUnitsMax)
  while (Bytes.byteLength(JSON.stringify(content.slice(offset, end))) > partJsonBytesMax) {
    end = offset + Math.floor((end - offset) / 2)
  }
  // Between two halves of one character.
  if (end < length && !content.slice(offset, end).isWellFormed()) end -= 1
  const nextOffset = end < length ? end : undefined
  return { content: content.slice(offset, end).toWellFormed(), offset, nextOffset, length }
}

function withoutOutside(version: Version, root: string): Version {
  const { movedFrom } = version
  if (movedFrom === undefined || isBelow(movedFrom, root)) return version
  return { ...version, movedFrom: undefined }
}

/** Throws `not_found` for a memory that never was below the root. */
async function checkStaysBelow(
  store: MemoryStore,
  root: string,
  memoryId: string | undefined,
): Promise<void> {
  if (memoryId === undefined) return
  if (findId('memory', memoryId) !== undefined) {
    const { data } = await store.history.versions({ memoryId, path: root, limit: 1 })
    if (data.length > 0) return
  }
  throw new StoreError('not_found', 'No such memory has ever existed')
}

/** Throws `not_found` for a path outside, before or after. */
function checkSteps({ steps }: Revert, root: string): void {
  const paths = steps.flatMap(({ before, after }) => [before?.path ?? root, after?.path ?? root])
  if (paths.every((path) => path === root || isBelow(path, root))) return
  throw noSuchVersion()
}

/** A path that a memory can have, or a directory that is not the root. */
function checkFile(path: string, root: string): void {
  if (path !== root) return
  throw new StoreError(
    'invalid_path',
    'The root directory is not a memory, and cannot be written or deleted',
  )
}

function notFound(path: string): StoreError {
  return new StoreError('not_found', 'There is no such file or directory', { details: { path } })
}

function noSuchVersion(): StoreError {
  return new StoreError('not_found', 'There is no such version')
}

function flagField(meaning: string): z.ZodOptional<z.ZodBoolean> {
  return z.boolean({ error: 'true or false' }).describe(meaning).optional()
}

function offsetField(): z.ZodType<number | undefined> {
  const expected = 'an integer from 0, where to read on: the next_offset of the answer before'
  return z.int({ error: expected }).min(0, { error: expected }).describe(expected).optional()
}

function expectedField(): z.ZodType<string | undefined> {
  return hashField()
    .describe('The SHA-256 that the content must have now: refused if someone else wrote first')
    .optional()
}
