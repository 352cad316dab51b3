// The documents of a search of the past: the memories at a point, or every version that has a
// content.

import type { WorkOptions } from '../../async.ts'
import { assert } from '../../errors.ts'
import { formatId, parseId } from '../../format/id.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readVersionContent } from '../history/contents.ts'
import type { History } from '../history/history.ts'
import { openPast, type PastView } from '../history/past.ts'
import type { Point } from '../history/points.ts'
import { isAtOrBelow } from '../history/versions.ts'
import type { StoreSession } from '../session/session.ts'
import type { DirectoryListing } from '../snapshot/listing.ts'
import type { MemoryInfo } from '../snapshot/live-memory.ts'
import type { Collection, SearchSource } from './sources.ts'
import type { Searchable } from './term-index.ts'

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
