// The documents of a search: the live memories, the memories at a point of the past, or every
// version that has a content. A source lists its documents, reads them again for the hits, and
// knows which of them may still be shown. Memories are known by the ids of their versions, so that
// it does not matter which way a change came: by this process, another one, or a sync.

import type { WorkOptions } from '../../async.ts'
import { assert, hasCode } from '../../errors.ts'
import { formatId, parseId } from '../../format/id.ts'
import { isAtOrBelow } from '../../format/path.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import { readOnce, readVersionContent } from '../history/contents.ts'
import type { History } from '../history/history.ts'
import { openPast, type PastView } from '../history/past.ts'
import type { Point } from '../history/points.ts'
import type { StoreSession } from '../session/session.ts'
import type { DirectoryListing } from '../snapshot/listing.ts'
import { describeMemory, type LiveMemory, type MemoryInfo } from '../snapshot/live-memory.ts'
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

/** A memory as it was; its ids are in their text form. */
type PastDocument = Searchable & { readonly info: MemoryInfo }

/** Throws as `openPast` does. */
export async function pastSource(
  session: StoreSession,
  path: string,
  point: Point,
  options: WorkOptions,
): Promise<SearchSource<PastDocument>> {
  return new PastSource(session, path, await openPast(session, point, options))
}

class PastSource implements SearchSource<PastDocument> {
  readonly #session: StoreSession
  readonly #path: string
  readonly #past: PastView

  constructor(session: StoreSession, path: string, past: PastView) {
    this.#session = session
    this.#path = path
    this.#past = past
  }

  async collect(into: Collection<PastDocument>, { signal, progress }: WorkOptions): Promise<void> {
    const slice = new TimeSlice(signal)
    const listing = await this.#past.list(this.#path)
    const paths = listing === undefined ? [] : filesIn(listing)
    for (const [index, path] of paths.entries()) {
      const memory = await this.#past.read(path)
      if (memory !== undefined) {
        const { content, ...info } = memory
        const document = { path, size: info.sizeBytes, versionId: info.versionId, info }
        await into.add(info.versionId, document, content, slice)
      }
      if (!slice.isOver()) continue
      progress?.(index + 1, paths.length)
      await slice.next()
    }
  }

  async contentOf({ path }: PastDocument): Promise<string | undefined> {
    return (await this.#past.read(path))?.content
  }

  stillThere(memories: readonly PastDocument[]): Promise<ReadonlySet<PastDocument>> {
    return withoutRedacted(this.#session, memories)
  }

  describe({ info }: PastDocument): MemoryInfo {
    return info
  }
}

function filesIn(listing: DirectoryListing): readonly string[] {
  if (listing.type === 'file') return [listing.path]
  return listing.children.flatMap(filesIn)
}

/** By their version ids in text form. */
export class VersionSource implements SearchSource<Searchable> {
  readonly #session: StoreSession
  readonly #path: string
  #history: History | undefined

  constructor(session: StoreSession, path: string) {
    this.#session = session
    this.#path = path
  }

  async collect(into: Collection<Searchable>, options: WorkOptions): Promise<void> {
    const slice = new TimeSlice(options.signal)
    const history = await this.#session.loadHistory(options)
    this.#history = history
    let done = 0
    for (const entry of history.versions) {
      done += 1
      const { path, size } = entry
      if (path === undefined || size === undefined || !isAtOrBelow(path, this.#path)) continue
      const content = readVersionContent(this.#session.contents, entry)
      const versionId = formatId('version', entry.versionId)
      if (content !== undefined)
        await into.add(versionId, { path, size, versionId }, content, slice)
      if (!slice.isOver()) continue
      options.progress?.(done, history.versions.length)
      await slice.next()
    }
  }

  async contentOf({ versionId }: Searchable): Promise<string | undefined> {
    this.#history = await this.#session.loadHistory()
    const entry = this.#history.find(parseId('version', versionId))
    return entry && readVersionContent(this.#session.contents, entry)
  }

  stillThere(versions: readonly Searchable[]): Promise<ReadonlySet<Searchable>> {
    return withoutRedacted(this.#session, versions)
  }

  describe({ path, size, versionId }: Searchable): MemoryInfo {
    const entry = this.#history?.find(parseId('version', versionId))
    assert(entry?.sha256 !== undefined, 'a version with a content is described')
    const { memoryId, sha256, commit } = entry
    return {
      memoryId: formatId('memory', memoryId),
      versionId,
      path,
      sha256,
      sizeBytes: size,
      createdAt: this.#history?.firstOf(memoryId)?.commit.time ?? commit.time,
      updatedAt: commit.time,
    }
  }
}

function withoutRedacted<D extends Searchable>(
  session: StoreSession,
  documents: readonly D[],
): Promise<ReadonlySet<D>> {
  return session.reading(({ redacted }) => {
    const isKept = ({ versionId }: D): boolean => !redacted.has(parseId('version', versionId))
    return new Set(documents.filter(isKept))
  })
}
