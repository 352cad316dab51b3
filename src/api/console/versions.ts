// The versions of a memory, and which of them each of its lines came from.

import { z } from 'zod'
import type { NumberedVersion } from '../../store/history/state-at.ts'
import type { Version } from '../../store/history/versions.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { countChangedLines, type LineCounts } from '../../text/line-counts.ts'
import { checkNotCancelled } from '../../time-slice.ts'
import { atField, limitOf, pageFields, pointOf, short } from './fields.ts'
import { consoleOperation } from './operation.ts'

/** `added` and `removed` count lines. */
export interface VersionRow extends NumberedVersion, Partial<LineCounts> {
  /** For people; may be empty. */
  readonly deviceName: string
}

export const versionsOperations = {
  'memory.versions': consoleOperation({
    name: 'the list of versions',
    effect: 'read',
    input: z.strictObject({ memoryId: short, ...atField, ...pageFields }),
    run: async ({ store, work }, { memoryId, at, after, limit }) => {
      const query = { at: pointOf(at), after, limit: limitOf({ limit }) }
      const page = await store.history.memoryVersions(memoryId, query)
      const names = await store.devices.names(work)
      const counts = new ChangeCounts(store)
      const data: VersionRow[] = []
      for (const version of page.data) {
        checkNotCancelled(work.signal)
        const deviceName = names.get(version.deviceId) ?? ''
        data.push({ ...version, ...(await counts.of(version)), deviceName })
      }
      return { ...page, data }
    },
  }),

  'memory.blame': consoleOperation({
    name: 'the origin of lines',
    effect: 'read',
    input: z.strictObject({ memoryId: short, ...atField }),
    run: async ({ store, work }, { memoryId, at }) => {
      const found = await store.history.blame(memoryId, { ...work, at: pointOf(at) })
      const indexes = new Map<string, number>()
      const known: Version[] = []
      const lines = found.map(({ line, version, uncertain }) => {
        const index = indexes.get(version.versionId) ?? known.push(version) - 1
        indexes.set(version.versionId, index)
        return { line, version: index, uncertain }
      })
      return { lines, versions: known }
    },
  }),

  'version.show': consoleOperation({
    name: 'the retrieval of versions',
    effect: 'read',
    input: z.strictObject({ versionId: short }),
    run: ({ store }, { versionId }) => store.history.version(versionId),
  }),
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
