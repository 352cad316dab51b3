// The store as it was after an earlier commit: the memories that were live, with paths and
// contents. Reads only. Redacted versions are left out, also if they are redacted while a view is
// in use.

import type { WorkOptions } from '../../async.ts'
import { equalBytes } from '../../bytes.ts'
import { assert, StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import { checkPath } from '../../format/path.ts'
import type { Oid } from '../../git/objects/object.ts'
import { atOnce } from '../../time-slice.ts'
import { type DirectoryListing, listDirectory } from '../snapshot/listing.ts'
import { byAge } from '../snapshot/live-memory.ts'
import type { Memory } from '../snapshot/memory-info.ts'
import { PathTree } from '../snapshot/path-tree.ts'
import { type ContentSource, readVersionContent } from './contents.ts'
import type { CommitEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { readRecordHash } from './known-commit.ts'
import { type Point, pointAfter, type ResolvedPoint, resolvePoint, versionAt } from './points.ts'
import { type PastSource, readConsistently } from './read-consistently.ts'
import { placedTime } from './record-times.ts'

export interface PastView {
  /** The newest commit at that time, 40 hex digits, and its time, ms since 1970 (FORMAT §6.5). */
  readonly commit: string
  readonly time: number
  /** The number of memories that are not listed because their version is redacted. */
  readonly redacted: number
  /**
   * The number of memories that are not listed because an older one was at, above or below their
   * path. Only where clones had diverged.
   */
  readonly displaced: number
  /** The memory at a path; undefined if it did not exist or is redacted. */
  read(path: string): Promise<Memory | undefined>
  /** As `MemoryStore.list`. */
  list(path: string, options?: { depth?: number }): Promise<DirectoryListing | undefined>
}

/** A memory at its path at that time. Does not keep the history in RAM. */
interface PastMemory {
  readonly memoryId: string
  readonly path: string
  readonly size: number
  readonly sha256: string
  readonly versionId: string
  /** The commit that wrote the version; its id changes if something before it is redacted. */
  readonly commit: { readonly oid: Oid; readonly time: number }
  /** When its first version was written. */
  readonly created: number
}

/** A commit by its current id and position, and by its record hash, which no rewrite changes. */
interface KnownTip extends Pick<CommitEntry, 'position' | 'height' | 'oid'> {
  readonly record: Uint8Array
}

interface Memories {
  readonly paths: PathTree<PastMemory>
  readonly redacted: number
  /** Ids, hex digits. */
  readonly displaced: readonly string[]
}

interface PastState extends Memories {
  readonly tips: readonly KnownTip[]
  readonly commit: Oid
  readonly time: number
}

/** Throws as `resolvePoint` does. */
export async function openPast(
  source: PastSource,
  point: Point,
  options: WorkOptions,
): Promise<PastView> {
  const find = function* (history: History): Generator<undefined, PastState> {
    const resolved = resolvePoint(history, point)
    const tips = resolved.tips.map(({ position, height, oid }) => {
      return { position, height, oid, record: readRecordHash(source.contents, oid) }
    })
    return yield* stateAt(history, resolved, tips)
  }
  return new Past(source, await readConsistently(source, find, options))
}

class Past implements PastView {
  readonly #source: PastSource
  #state: PastState

  constructor(source: PastSource, state: PastState) {
    this.#source = source
    this.#state = state
  }

  get commit(): string {
    return this.#state.commit
  }

  get time(): number {
    return this.#state.time
  }

  get redacted(): number {
    return this.#state.redacted
  }

  get displaced(): number {
    return this.#state.displaced.length
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

  /** Finds the commits again if a redaction has changed their ids. */
  async #refresh(): Promise<PastState> {
    this.#state = await readConsistently(this.#source, (history) => this.#stateNow(history))
    return this.#state
  }

  *#stateNow(history: History): Generator<undefined, PastState> {
    const { tips } = this.#state
    if (tips.every((tip) => isThere(history, tip))) return this.#state
    const found = tips.map((tip) => this.#findAgain(history, tip))
    const entries = found.map(({ entry }) => entry).toSorted((a, b) => a.position - b.position)
    const resolved = pointAfter(history, entries)
    const now = found.map(({ tip }) => tip)
    return yield* stateAt(history, resolved, now)
  }

  #findAgain(
    history: History,
    tip: KnownTip,
  ): { readonly entry: CommitEntry; readonly tip: KnownTip } {
    for (const entry of history.atHeight(tip.height)) {
      const { position, oid } = entry
      if (!equalBytes(readRecordHash(this.#source.contents, oid), tip.record)) continue
      return { entry, tip: { ...tip, position, oid } }
    }
    throw new StoreError('not_found', 'The commit is no longer in the history')
  }
}

/** Whether a commit has kept its id and position: then nothing up to it has changed. */
function isThere(history: History, { position, oid }: KnownTip): boolean {
  return history.commits.at(position)?.oid === oid
}

function* stateAt(
  history: History,
  resolved: ResolvedPoint,
  tips: readonly KnownTip[],
): Generator<undefined, PastState> {
  const { oid } = resolved.commit
  return {
    tips,
    commit: oid,
    time: placedTime(history, resolved.commit),
    ...(yield* memoriesAt(history, resolved)),
  }
}

/** The ids, in hex, of the memories that are not listed because of an older one at their path. */
export function findDisplaced(history: History, resolved: ResolvedPoint): ReadonlySet<string> {
  return new Set(resolved.tips.length > 1 ? atOnce(memoriesAt(history, resolved)).displaced : [])
}

/** The memories that were live at a point. Yields after each memory that ever existed. */
function* memoriesAt(history: History, resolved: ResolvedPoint): Generator<undefined, Memories> {
  const found: PastMemory[] = []
  let redacted = 0
  for (const memoryId of history.memoryIds()) {
    yield
    const entry = versionAt(history, memoryId, resolved)
    if (entry === undefined || entry.operation === 'deleted') continue
    const { path, size, sha256, versionId } = entry
    const { oid, time } = entry.commit
    const created = history.firstOf(memoryId)?.commit.time ?? time
    if (path === undefined || size === undefined || sha256 === undefined) redacted += 1
    else found.push({ memoryId, path, size, sha256, versionId, commit: { oid, time }, created })
  }
  const hadDiverged = resolved.tips.length > 1
  const inOrder = hadDiverged ? found.toSorted(byAge) : found
  return { ...byPath(inOrder, hadDiverged), redacted }
}

/** Only where clones had diverged can the paths of two memories conflict. */
function byPath(
  memories: readonly PastMemory[],
  hadDiverged: boolean,
): Pick<Memories, 'paths' | 'displaced'> {
  const paths = new PathTree<PastMemory>()
  const displaced: string[] = []
  for (const memory of memories) {
    if (hadDiverged && paths.findOccupant(memory.path) !== undefined)
      displaced.push(memory.memoryId)
    else paths.add(memory)
  }
  return { paths, displaced }
}

function readPast(source: ContentSource, memory: PastMemory): Memory {
  const { versionId, memoryId, commit } = memory
  const content = readVersionContent(source, memory)
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
