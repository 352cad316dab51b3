// The operations on memories (Memory Stores API §6). Each is decided by one change in the writer's
// queue, and answers with what that change left: never with another writer's later change.

import { z } from 'zod'
import { assert, hasCode, StoreError } from '../errors.ts'
import { checkPath } from '../format/path.ts'
import type { Page } from '../page.ts'
import type { AppliedChanges } from '../store/changes/apply.ts'
import type { ListedMemory, MemoryPrefix } from '../store/memories.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { MemoryInfo } from '../store/snapshot/memory-info.ts'
import { storeOperation } from './hosted.ts'
import { parameters, pathText, text } from './schemas.ts'
import { hashField, idField, pageFields, viewField } from './wire-fields.ts'
import { emptyPage, readPage } from './wire-pages.ts'
import { listedObject, memoryObject } from './wire.ts'

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
