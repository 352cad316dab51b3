// The store as it was after an earlier commit: which memories were live, where, and what they held.
// Reads only. What is redacted is not there, also if that happens while a view is in use.

import { assert, StoreError } from '../errors.ts'
import { formatId } from '../format/id.ts'
import { checkPath } from '../format/path.ts'
import type { Oid } from '../git/object.ts'
import { countLeading } from './count-leading.ts'
import { readVersionContent } from './contents.ts'
import type { ContentSource } from './contents.ts'
import type { CommitEntry, History, VersionEntry } from './history.ts'
import { listDirectory } from './listing.ts'
import type { DirectoryListing } from './listing.ts'
import type { Memory } from './memory-store.ts'
import { PathTree } from './path-tree.ts'
import { commitAt } from './points.ts'
import type { Point } from './points.ts'
import type { VerifyOptions } from './verify.ts'

export interface PastView {
  /** The commit, 40 hex digits, and its time, ms since 1970. */
  readonly commit: string
  readonly time: number
  /** Memories whose version of then is redacted: they are not listed. */
  readonly redacted: number
  /** The memory that was at a path, or undefined if none was, or it is redacted. */
  read(path: string): Promise<Memory | undefined>
  /** As `MemoryStore.list`. */
  list(path: string, options?: { depth?: number }): Promise<DirectoryListing | undefined>
}

/** What a view reads from. */
export interface PastSource {
  loadHistory(options?: VerifyOptions): Promise<History>
  readonly contents: ContentSource
}

/** A memory at its path of then. */
interface PastMemory {
  readonly path: string
  readonly size: number
  readonly sha256: string
  readonly entry: VersionEntry
  /** When its first version was written. */
  readonly created: number
}

interface Moment {
  readonly commit: CommitEntry
  readonly oid: Oid
  readonly paths: PathTree<PastMemory>
  readonly redacted: number
}

/** Throws as `heightOf` does. */
export async function openPast(
  source: PastSource,
  point: Point,
  options: VerifyOptions,
): Promise<PastView> {
  const history = await source.loadHistory(options)
  return new Past(source, momentAt(history, commitAt(history, point)))
}

class Past implements PastView {
  readonly #source: PastSource
  #moment: Moment

  constructor(source: PastSource, moment: Moment) {
    this.#source = source
    this.#moment = moment
  }

  get commit(): string {
    return this.#moment.oid
  }

  get time(): number {
    return this.#moment.commit.time
  }

  get redacted(): number {
    return this.#moment.redacted
  }

  async read(path: string): Promise<Memory | undefined> {
    checkPath(path)
    const { paths } = await this.#refresh()
    const memory = paths.findMemory(path)
    return memory && readPast(this.#source.contents, memory)
  }

  async list(
    path: string,
    { depth = Number.POSITIVE_INFINITY }: { depth?: number } = {},
  ): Promise<DirectoryListing | undefined> {
    if (path !== '/') checkPath(path)
    return listDirectory(await this.#refresh(), path, depth)
  }

  /** A redaction of anything that was there by then gives this commit another name. */
  async #refresh(): Promise<Moment> {
    const history = await this.#source.loadHistory()
    const commit = history.commits[this.#moment.commit.height]
    if (commit === undefined) throw new StoreError('not_found', 'The commit of then is gone')
    if (commit.oid !== this.#moment.oid) this.#moment = momentAt(history, commit)
    return this.#moment
  }
}

function momentAt(history: History, commit: CommitEntry): Moment {
  return { commit, oid: commit.oid, ...memoriesAt(history, commit.height) }
}

/** The memories that were live after the commit at a height. */
function memoriesAt(
  history: History,
  height: number,
): { readonly paths: PathTree<PastMemory>; readonly redacted: number } {
  const paths = new PathTree<PastMemory>()
  let redacted = 0
  for (const versions of history.memories()) {
    const entry = versionAt(versions, height)
    if (entry === undefined || entry.operation === 'deleted') continue
    const { path, size, sha256 } = entry
    const created = versions[0]?.commit.time ?? entry.commit.time
    if (path === undefined || size === undefined || sha256 === undefined) redacted += 1
    else paths.add({ path, size, sha256, entry, created })
  }
  return { paths, redacted }
}

/** Of one memory's versions, oldest first, the one that was current after a commit. */
export function versionAt(
  versions: readonly VersionEntry[],
  height: number,
): VersionEntry | undefined {
  return versions[countLeading(versions, ({ commit }) => commit.height <= height) - 1]
}

function readPast(source: ContentSource, memory: PastMemory): Memory {
  const { versionId, memoryId, commit } = memory.entry
  const content = readVersionContent(source, memory.entry)
  assert(content !== undefined, 'a version that is not redacted has a content')
  return {
    memoryId: formatId('memory', memoryId),
    versionId: formatId('version', versionId),
    path: memory.path,
    sha256: memory.sha256,
    sizeBytes: memory.size,
    createdAt: memory.created,
    updatedAt: commit.time,
    content,
  }
}
