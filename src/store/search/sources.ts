// The documents of a search: the live memories here, those of the past in past-sources.ts. A source
// lists its documents, reads them again for the hits, and knows which of them may still be shown.
// Memories are known by the ids of their versions, so that it does not matter which way a change
// came: by this process, another one, or a sync.

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import { readOnce } from '../history/contents.ts'
import { isAtOrBelow } from '../history/versions.ts'
import type { StoreSession } from '../session/session.ts'
import { type LiveMemory, describeMemory, type MemoryInfo } from '../snapshot/live-memory.ts'
import type { Searchable } from './term-index.ts'

/** A set of documents. */
export interface Collection<D> {
  readonly size: number
  keys(): Iterable<string>
  find(key: string): D | undefined
  add(key: string, document: D, content: string, slice: TimeSlice): Promise<void>
  remove(key: string): void
}

export interface SearchSource<D extends Searchable> {
  /** Throws `object_missing` if another process redacts concurrently: then start over. */
  collect(into: Collection<D>, options: WorkOptions): Promise<void>
  /** Undefined if it has been redacted. */
  contentOf(document: D): Promise<string | undefined>
  /** Those that have not changed. */
  stillThere(documents: readonly D[]): Promise<ReadonlySet<D>>
  describe(document: D): MemoryInfo
}

export function liveSource(session: StoreSession, path: string): SearchSource<LiveMemory> {
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

/** Others may write faster than one memory is read: then the search is as of a moment ago. */
const ROUNDS = 8
/** At most this many memories between two looks at the clock. */
const STEP = 1024

/** By memory id. Reads those that are new. Throws `cancelled`, or what reading throws. */
async function collectLive(
  session: StoreSession,
  collection: Collection<LiveMemory>,
  path: string,
  { signal, progress }: WorkOptions,
): Promise<void> {
  const slice = new TimeSlice(signal)
  for (let round = 0; round < ROUNDS; round += 1) {
    const live = await session.reading(({ current }) =>
      Array.from(current.live(), (version) => version.live),
    )
    const { changed, gone } = await inSlices(compare(live, collection, path), signal)
    if (changed.length === 0 && gone.length === 0) return
    for (const memoryId of gone) collection.remove(memoryId)
    for (const [index, memory] of changed.entries()) {
      const content = readIfThere(session, memory)
      if (content === undefined) collection.remove(memory.memoryId)
      else await collection.add(memory.memoryId, memory, content, slice)
      if (!slice.isOver()) continue
      progress?.(index + 1, changed.length)
      await slice.next()
    }
  }
}

/** `gone` are memory ids. In slices, and outside of a turn, for which writers would wait. */
function* compare(live: readonly LiveMemory[], collection: Collection<LiveMemory>, path: string) {
  const changed: LiveMemory[] = []
  const there = new Set<string>()
  for (const [index, memory] of live.entries()) {
    if (index % STEP === 0) yield
    if (!isAtOrBelow(memory.path, path)) continue
    const old = collection.find(memory.memoryId)
    if (old !== undefined) there.add(memory.memoryId)
    if (old?.versionId !== memory.versionId) changed.push(memory)
  }
  if (there.size === collection.size) return { changed, gone: [] }
  const gone: string[] = []
  for (const [index, memoryId] of [...collection.keys()].entries()) {
    if (index % STEP === 0) yield
    if (!there.has(memoryId)) gone.push(memoryId)
  }
  return { changed, gone }
}

/** Undefined if another process has redacted and erased it: the next comparison shows that. */
function readIfThere({ contents }: StoreSession, memory: LiveMemory): string | undefined {
  try {
    return readOnce(contents, memory)
  } catch (error) {
    if (hasCode(error, 'object_missing')) return undefined
    throw error
  }
}
