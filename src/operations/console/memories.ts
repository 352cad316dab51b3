// Memories: lists, one memory with its versions and the origin of its lines, search, and changes.

import { z } from 'zod'
import { StoreError, assert } from '../../errors.ts'
import type { AppliedChanges } from '../../store/changes/apply.ts'
import type {
  ListedState,
  MemoryState,
  NumberedVersion,
  StateAt,
} from '../../store/history/state-at.ts'
import type { Version } from '../../store/history/versions.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { mergeEdits } from '../../store/merge/content-merge.ts'
import { parseQuery } from '../../store/search/query-words.ts'
import { matchesIn } from '../../store/search/snippet.ts'
import type { MemoryInfo } from '../../store/snapshot/live-memory.ts'
import { countChangedLines, type LineCounts } from '../../text/line-matches.ts'
import { checkNotCancelled } from '../../time-slice.ts'
import {
  atField,
  hash,
  limitOf,
  pageFields,
  pointOf,
  reading,
  reasonField,
  short,
  writing,
} from './operation.ts'

/** `added` and `removed` count lines. */
export interface CountedVersion extends NumberedVersion, Partial<LineCounts> {
  /** For people; may be empty. */
  readonly deviceName: string
}

/** The version that a line came from. */
export interface OriginVersion extends Version {
  /** For people; may be empty. */
  readonly deviceName: string
}

export const memoriesOperations = {
  'memories.tree': reading(
    { ...atField, deleted: z.boolean().optional() },
    async ({ store, work }, { at, deleted = false }): Promise<Omit<StateAt, 'commit' | 'time'>> => {
      // The present is in RAM; the history is read first, which takes a while.
      if (at === undefined && !deleted) {
        const memories = (await store.current()).map(describeRow)
        return { memories, deleted: [], redacted: 0, displaced: 0 }
      }
      return store.history.state(pointOf(at), { ...work, deleted })
    },
  ),

  'memories.search': reading(
    {
      query: short,
      regex: z.boolean().optional(),
      fuzzy: z.boolean().optional(),
      path: short.optional(),
      allVersions: z.boolean().optional(),
      ...atField,
      ...pageFields,
    },
    async ({ store, work }, { at, limit = 50, ...asked }) => {
      const { query, regex = false, fuzzy = false } = asked
      const found = await store.search({ ...asked, limit, at: pointOf(at), signal: work.signal })
      // The matches of a regular expression are known to its thread alone.
      const words = regex ? [] : parseQuery(query, { prefix: true, fuzzy })
      const data = found.data.map((hit) =>
        Object.assign({ marks: matchesIn(hit.snippet, words) }, hit),
      )
      return { ...found, data }
    },
  ),

  'memory.show': reading(
    { memoryId: short, ...atField },
    async ({ store, work }, { memoryId, at }) =>
      viewOf(await store.history.memory(memoryId, pointOf(at), work)),
  ),

  'memory.create': writing(
    'the creation of memories',
    { path: short, content: z.string(), ...reasonField },
    async ({ writer }, { path, content, reason }) =>
      writtenBy(await writer(reason).apply([{ type: 'create', path, content }])),
  ),

  'memory.update': writing(
    'the update of memories',
    {
      memoryId: short,
      content: z.string().optional(),
      path: short.optional(),
      expectedSha256: hash,
      ...reasonField,
    },
    async ({ writer }, { reason, ...change }) =>
      writtenBy(await writer(reason).apply([{ type: 'update', ...change }])),
  ),

  'memory.merge': reading(
    { memoryId: short, base: z.string(), content: z.string() },
    async ({ store, work }, { memoryId, base, content }) => {
      const theirs = viewOf(await store.history.memory(memoryId, undefined, work))
      if (theirs.state === 'live') {
        return { theirs, parts: mergeEdits(base, content, theirs.content) }
      }
      throw new StoreError('not_found', 'The memory was deleted in the meantime')
    },
  ),

  'memory.delete': writing(
    'the deletion of memories',
    { memoryId: short, expectedSha256: hash, ...reasonField },
    async ({ writer }, { reason, ...change }) => {
      const { commit } = await writer(reason).apply([{ type: 'delete', ...change }])
      return { commit }
    },
  ),

  'memory.versions': reading(
    { memoryId: short, ...atField, ...pageFields },
    async ({ store, work }, { memoryId, at, after, limit }) => {
      const query = { at: pointOf(at), after, limit: limitOf({ limit }) }
      const page = await store.history.memoryVersions(memoryId, query)
      const names = await store.devices.names(work)
      const counts = new ChangeCounts(store)
      const data: CountedVersion[] = []
      for (const version of page.data) {
        checkNotCancelled(work.signal)
        const deviceName = names.get(version.deviceId) ?? ''
        data.push({ ...version, ...(await counts.of(version)), deviceName })
      }
      return { ...page, data }
    },
  ),

  'memory.blame': reading(
    { memoryId: short, ...atField },
    async ({ store, work }, { memoryId, at }) => {
      const found = await store.history.blame(memoryId, { ...work, at: pointOf(at) })
      const names = await store.devices.names(work)
      const indexes = new Map<string, number>()
      const known: OriginVersion[] = []
      const lines = found.map(({ line, version, uncertain }) => {
        const index = indexes.get(version.versionId) ?? known.push(named(version)) - 1
        indexes.set(version.versionId, index)
        return { line, version: index, uncertain }
      })
      return { lines, versions: known }

      function named(version: Version): OriginVersion {
        return { ...version, deviceName: names.get(version.deviceId) ?? '' }
      }
    },
  ),

  'version.show': reading({ versionId: short }, ({ store }, { versionId }) =>
    store.history.version(versionId),
  ),
}

function describeRow({ memoryId, path, sizeBytes, updatedAt }: MemoryInfo): ListedState {
  return { memoryId, path, sizeBytes, updatedAt }
}

/**
 * A memory at a moment; `number` is how many versions it has had up to then. `steps` has the
 * commits of the versions before and after, which may be on no page of its history that is shown.
 */
function viewOf(found: MemoryState) {
  const { state, memoryId, path, content, version, versions: number, createdAt } = found
  const steps = { before: found.before, after: found.after }
  if (state !== 'live') return { state, memoryId, path, version, number, steps }
  assert(path !== undefined && content !== undefined, 'a live memory has a path and a text')
  const sha256 = version?.sha256
  assert(version !== undefined && sha256 !== undefined, 'a live memory has a version')
  return { state, memoryId, path, content, sha256, version, number, steps, createdAt }
}

function writtenBy({ commit, memories: [memory] }: AppliedChanges) {
  assert(memory !== undefined, 'a change of one memory leaves it')
  const { memoryId, versionId, sha256 } = memory
  return { commit, memoryId, versionId, sha256 }
}

/** Counts lines; the text of a version is read once for itself and for the one after it. */
class ChangeCounts {
  readonly #store: MemoryStore
  #last: { readonly versionId: string; readonly text: string | undefined } | undefined

  constructor(store: MemoryStore) {
    this.#store = store
  }

  /** Against the version that it replaced; nothing if a text is redacted. */
  async of(version: NumberedVersion): Promise<Partial<LineCounts>> {
    const { operation, redactedAt, baseVersionId, versionId } = version
    if (redactedAt !== undefined) return {}
    const after = operation === 'deleted' ? '' : await this.#textOf(versionId)
    const before = baseVersionId === undefined ? '' : await this.#textOf(baseVersionId)
    return before === undefined || after === undefined ? {} : countChangedLines(before, after)
  }

  /** Empty for a deletion, undefined once redacted. */
  async #textOf(versionId: string): Promise<string | undefined> {
    if (this.#last?.versionId === versionId) return this.#last.text
    const { content, operation, redactedAt } = await this.#store.history.version(versionId)
    const text = operation === 'deleted' && redactedAt === undefined ? '' : content
    this.#last = { versionId, text }
    return text
  }
}
