// The documents of a search: the live memories here, those of the past in past-sources.ts. Each
// source lists its documents, reads them again for the hits, and knows whether they are still to
// be shown.

import type { WorkOptions } from '../../async.ts'
import { readOnce } from '../history/contents.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import { describeMemory, type MemoryInfo } from '../snapshot/memory-info.ts'
import { type Collection, collectLive } from './live-memories.ts'
import type { Searchable } from './term-index.ts'

export interface Source<D extends Searchable> {
  /** Throws `object_missing` if another process redacts concurrently: then start over. */
  collect(into: Collection<D>, options: WorkOptions): Promise<void>
  /** Undefined if it has been redacted. */
  contentOf(document: D): Promise<string | undefined>
  /** Those that have not changed. */
  stillThere(documents: readonly D[]): Promise<ReadonlySet<D>>
  describe(document: D): MemoryInfo
}

export function liveSource(session: StoreSession, path: string): Source<LiveMemory> {
  return {
    collect: (into, options) => collectLive(session, into, path, options),
    contentOf: async (memory) => {
      // A snippet may be all that an agent needs of it.
      session.reads.note(memory.memoryId)
      return readOnce(session.contents, memory)
    },
    stillThere: (memories) =>
      session.reading(({ current }) => {
        const isThere = ({ memoryId, versionId }: LiveMemory): boolean =>
          current.get(memoryId)?.live?.versionId === versionId
        return new Set(memories.filter(isThere))
      }),
    describe: describeMemory,
  }
}
