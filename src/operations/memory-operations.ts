// The operations on memories (Memory Stores API §6). Each is decided by one change in the writer's
// queue, and answers with what that change left: never with another writer's later change.

import { z } from 'zod'
import { assert, hasCode, StoreError } from '../errors.ts'
import type { ActorType } from '../format/change-record.ts'
import { findId } from '../format/id.ts'
import { checkPath } from '../format/path.ts'
import type { Page } from '../page.ts'
import type { AppliedChanges } from '../store/changes/apply.ts'
import type { Version } from '../store/history/versions.ts'
import type { ListedMemory, MemoryPrefix } from '../store/memories.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { MemoryInfo } from '../store/snapshot/live-memory.ts'
import { storeOperation } from './hosted.ts'
import { type FieldsOf, parameters, pathText, text } from './schemas.ts'
import {
  emptyPage,
  hashField,
  idField,
  pageFields,
  type PageInput,
  readPage,
  timeFields,
  type View,
  viewField,
} from './wire-fields.ts'
import { listedObject, memoryObject, versionObject } from './wire.ts'

export const createMemory = storeOperation({
  name: 'the creation of memories',
  effect: 'write',
  input: parameters({
    path: pathText('the path of the new memory'),
    content: text('the content of the new memory'),
    view: viewField(),
  }),
  run: async ({ store, me }, { path, content, view }) => {
    const memory = leftBy(await me.apply([{ type: 'create', path, content }]))
    return memoryObject(store.id, memory, view === 'full' ? content : undefined)
  },
})

export const listMemories = storeOperation({
  name: 'the list of memories',
  effect: 'read',
  input: parameters({
    path_prefix: prefixField(),
    depth: z.literal([0, 1], { error: '0 or 1' }).optional(),
    view: viewField(),
    ...pageFields,
  }),
  run: ({ store, cursors }, { path_prefix: prefix, depth = 0, view, limit, page }) =>
    readPage(cursors, page, {
      list: ['memories', store.id, prefix, depth],
      toWire: (item: ListedMemory | MemoryPrefix) => listedObject(store.id, item),
      read: (after) => memoriesBelow(store, prefix, { depth, view, limit, page: after }),
    }),
})

export const retrieveMemory = storeOperation({
  name: 'the retrieval of memories',
  effect: 'read',
  input: parameters({ memory_id: idField('the memory'), view: viewField() }),
  run: async ({ store }, { memory_id: id, view = 'full' }) => {
    const memory = await store.memory(id)
    if (memory === undefined) throw new StoreError('not_found', 'There is no such memory')
    return memoryObject(store.id, memory, view === 'full' ? memory.content : undefined)
  },
})

export const updateMemory = storeOperation({
  name: 'the update of memories',
  effect: 'write',
  input: parameters({
    memory_id: idField('the memory'),
    content: text('the new content').nullish(),
    path: pathText('the new path').nullish(),
    precondition: preconditionField().optional(),
    view: viewField(),
  }),
  run: async ({ store, me }, { memory_id: memoryId, precondition, view, ...asked }) => {
    const content = asked.content ?? undefined
    const path = asked.path ?? undefined
    const expectedSha256 = precondition?.content_sha256
    const memory = leftBy(
      await me.apply([{ type: 'update', memoryId, content, path, expectedSha256 }]),
    )
    if (view !== 'full') return memoryObject(store.id, memory)
    return memoryObject(store.id, memory, content ?? (await contentOf(store, memory)))
  },
})

export const deleteMemory = storeOperation({
  name: 'the deletion of memories',
  effect: 'write',
  input: parameters({
    memory_id: idField('the memory'),
    expected_content_sha256: hashField().optional(),
  }),
  run: async ({ me }, { memory_id: memoryId, expected_content_sha256: expectedSha256 }) => {
    await me.apply([{ type: 'delete', memoryId, expectedSha256 }])
    return { id: memoryId, type: 'memory_deleted' }
  },
})

function leftBy({ memories: [memory] }: AppliedChanges): MemoryInfo {
  assert(memory !== undefined, 'a change of one memory leaves it')
  return memory
}

/** The content of the version that a change left, which may have been replaced since. */
async function contentOf(store: MemoryStore, left: MemoryInfo): Promise<string | undefined> {
  const now = await store.memory(left.memoryId)
  if (now?.versionId === left.versionId) return now.content
  return (await store.history.version(left.versionId)).content
}

/** What lies below a directory; nothing, where the prefix is one that no path can have. */
async function memoriesBelow(
  store: MemoryStore,
  prefix: string,
  query: Parameters<MemoryStore['memories']>[0],
): Promise<Page<ListedMemory | MemoryPrefix>> {
  const path = prefix.length > 1 ? prefix.slice(0, -1) : prefix
  if (!canExist(path)) return emptyPage
  const page = await store.memories({ ...query, path })
  // A memory at the path itself does not lie below it.
  return page.data[0]?.path === path ? emptyPage : page
}

function canExist(path: string): boolean {
  try {
    return path === '/' || checkPath(path) !== ''
  } catch (error) {
    if (hasCode(error, 'invalid_path')) return false
    throw error
  }
}

function prefixField(): z.ZodType<string> {
  const expected = 'a path without NUL characters that starts and ends with a slash'
  return z
    .string({ error: expected })
    .regex(/^\/(?:[^\0]*\/)?$/, { error: expected })
    .default('/')
}

function preconditionField(): z.ZodType<{ readonly content_sha256: string }> {
  const expected = 'an object with the type content_sha256 and a content_sha256'
  const type = z.literal('content_sha256', { error: expected })
  return z.object({ type, content_sha256: hashField() }, { error: expected })
}

const filterFields = {
  memory_id: idField('a memory').optional(),
  operation: z
    .enum(['created', 'modified', 'deleted'], { error: 'created, modified or deleted' })
    .optional(),
  api_key_id: idField('an API key').optional(),
  session_id: idField('a session').optional(),
  service_account_id: idField('a service account').optional(),
  ...timeFields,
}

type VersionFilters = FieldsOf<typeof filterFields>

export const listVersions = storeOperation({
  name: 'the list of versions',
  effect: 'read',
  input: parameters({
    ...filterFields,
    view: viewField(),
    ...pageFields,
  }),
  run: ({ store, cursors }, { limit, page, view, ...filters }) =>
    readPage(cursors, page, {
      list: ['versions', store.id, ...filtersInOrder(filters)],
      toWire: (version: Version) => versionObject(store.id, version, version.content),
      read: (after) => versionsOf(store, filters, { limit, view, page: after }),
    }),
})

export const retrieveVersion = storeOperation({
  name: 'the retrieval of versions',
  effect: 'read',
  input: parameters({ memory_version_id: idField('the version'), view: viewField() }),
  run: async ({ store }, { memory_version_id: id, view = 'full' }) => {
    checkForm(id)
    const version = await store.history.version(id)
    return versionObject(store.id, version, view === 'full' ? version.content : undefined)
  },
})

/** The current version of a live memory is refused: no memory is changed by a redaction (§8.2). */
export const redactVersion = storeOperation({
  name: 'the redaction of versions',
  effect: 'manage',
  input: parameters({ memory_version_id: idField('the version') }),
  run: async ({ store, me }, { memory_version_id: id }) => {
    checkForm(id)
    await me.redact({ select: { versionIds: [id] }, reason: 'unspecified', current: 'refuse' })
    return versionObject(store.id, await store.history.version(id))
  },
})

/** An id of another form is that of no version. Throws `not_found`. */
function checkForm(versionId: string): void {
  if (findId('version', versionId) !== undefined) return
  throw new StoreError('not_found', 'There is no such version')
}

async function versionsOf(
  store: MemoryStore,
  filters: VersionFilters,
  query: PageInput & { readonly view?: View | undefined },
): Promise<Page<Version>> {
  const { memory_id: memoryId, operation } = filters
  const authors = authorsIn(filters)
  const [author] = authors
  // A version has one author.
  if (authors.length > 1) return emptyPage
  if (memoryId !== undefined && findId('memory', memoryId) === undefined) return emptyPage
  return store.history.versions({
    ...query,
    memoryId,
    operation,
    actorType: author?.type,
    actorId: author?.id,
    since: filters['created_at[gte]'],
    until: filters['created_at[lte]'],
    order: 'latest',
  })
}

function authorsIn(
  filters: VersionFilters,
): readonly { readonly type: ActorType; readonly id: string }[] {
  const asked = [
    { type: 'api', id: filters.api_key_id },
    { type: 'session', id: filters.session_id },
    { type: 'service_account', id: filters.service_account_id },
  ] as const
  return asked.flatMap(({ type, id }) => (id === undefined ? [] : [{ type, id }]))
}

function filtersInOrder(filters: VersionFilters): readonly unknown[] {
  return [
    filters.memory_id,
    filters.operation,
    filters.api_key_id,
    filters.session_id,
    filters.service_account_id,
    filters['created_at[gte]'],
    filters['created_at[lte]'],
  ]
}
