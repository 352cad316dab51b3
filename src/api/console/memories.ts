// Memories: lists, one memory, search, and changes.

import { z } from 'zod'
import { assert, StoreError } from '../../errors.ts'
import type { AppliedChanges } from '../../store/changes/apply.ts'
import type { ListedState, MemoryState, StateAt } from '../../store/history/state-at.ts'
import { mergeEdits } from '../../store/merge/content-merge.ts'
import type { MemoryInfo } from '../../store/snapshot/memory-info.ts'
import { atField, hash, pageFields, pointOf, reasonField, short } from './fields.ts'
import { consoleOperation } from './operation.ts'

type Tree = Omit<StateAt, 'commit' | 'time'>

export const memoriesOperations = {
  'memories.tree': consoleOperation({
    name: 'the list of memories',
    effect: 'read',
    input: z.strictObject({ ...atField, deleted: z.boolean().optional() }),
    run: async ({ store, work }, { at, deleted = false }): Promise<Tree> => {
      // The present is in RAM; the history is read first, which takes a while.
      if (at === undefined && !deleted) {
        const memories = (await store.current()).map(describeRow)
        return { memories, deleted: [], redacted: 0, displaced: 0 }
      }
      return store.history.state(pointOf(at), { ...work, deleted })
    },
  }),

  'memories.search': consoleOperation({
    name: 'the search',
    effect: 'read',
    input: z.strictObject({
      query: short,
      regex: z.boolean().optional(),
      fuzzy: z.boolean().optional(),
      path: short.optional(),
      allVersions: z.boolean().optional(),
      ...atField,
      ...pageFields,
    }),
    run: async ({ store, work }, { at, limit = 50, ...query }) =>
      store.search({ ...query, limit, at: pointOf(at), signal: work.signal }),
  }),

  'memory.show': consoleOperation({
    name: 'the retrieval of memories',
    effect: 'read',
    input: z.strictObject({ memoryId: short, ...atField }),
    run: async ({ store, work }, { memoryId, at }) =>
      viewOf(await store.history.memory(memoryId, pointOf(at), work)),
  }),

  'memory.create': consoleOperation({
    name: 'the creation of memories',
    effect: 'write',
    input: z.strictObject({ path: short, content: z.string(), ...reasonField }),
    run: async ({ writer }, { path, content, reason }) =>
      writtenBy(await writer(reason).apply([{ type: 'create', path, content }])),
  }),

  'memory.update': consoleOperation({
    name: 'the update of memories',
    effect: 'write',
    input: z.strictObject({
      memoryId: short,
      content: z.string().optional(),
      path: short.optional(),
      expectedSha256: hash,
      ...reasonField,
    }),
    run: async ({ writer }, { reason, ...change }) =>
      writtenBy(await writer(reason).apply([{ type: 'update', ...change }])),
  }),

  'memory.merge': consoleOperation({
    name: 'the merge of an edit',
    effect: 'read',
    input: z.strictObject({ memoryId: short, base: z.string(), content: z.string() }),
    run: async ({ store, work }, { memoryId, base, content }) => {
      const theirs = viewOf(await store.history.memory(memoryId, undefined, work))
      if (theirs.state === 'live') {
        return { theirs, parts: mergeEdits(base, content, theirs.content) }
      }
      throw new StoreError('not_found', 'The memory was deleted in the meantime')
    },
  }),

  'memory.delete': consoleOperation({
    name: 'the deletion of memories',
    effect: 'write',
    input: z.strictObject({ memoryId: short, expectedSha256: hash, ...reasonField }),
    run: async ({ writer }, { reason, ...change }) => {
      const { commit } = await writer(reason).apply([{ type: 'delete', ...change }])
      return { commit }
    },
  }),
}

function describeRow({ memoryId, path, sizeBytes, updatedAt }: MemoryInfo): ListedState {
  return { memoryId, path, sizeBytes, updatedAt }
}

/** A memory at a moment; `number` is how many versions it has had up to then. */
function viewOf(found: MemoryState) {
  const { state, memoryId, path, content, version, versions: number, createdAt } = found
  if (state !== 'live') return { state, memoryId, path, version, number }
  assert(path !== undefined && content !== undefined, 'a live memory has a path and a text')
  const sha256 = version?.sha256
  assert(version !== undefined && sha256 !== undefined, 'a live memory has a version')
  return { state, memoryId, path, content, sha256, version, number, createdAt }
}

function writtenBy({ commit, memories: [memory] }: AppliedChanges) {
  assert(memory !== undefined, 'a change of one memory leaves it')
  const { memoryId, versionId, sha256 } = memory
  return { commit, memoryId, versionId, sha256 }
}
