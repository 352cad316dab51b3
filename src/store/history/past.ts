// The store as it was after an earlier commit: which memories were live, where, and what they held.
// Reads only. What is redacted is not there, also if that happens while a view is in use.

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
import { type Moment, momentAfter, momentOf, type Point, versionAt } from './points.ts'
import { placedTime } from './record-times.ts'
import { askInSlices, type PastSource, retryAfterRedaction } from './retry-after-redaction.ts'

export interface PastView {
  /** The newest commit of then, 40 hex digits, and its time, ms since 1970 (FORMAT §6.5). */
  readonly commit: string
  readonly time: number
  /** Memories whose version of then is redacted: they are not listed. */
  readonly redacted: number
  /**
   * Memories that are not listed because an older one was at, above or below their path. Only if
   * clones were apart then and had not heard of each other.
   */
  readonly displaced: number
  /** The memory that was at a path, or undefined if none was, or it is redacted. */
  read(path: string): Promise<Memory | undefined>
  /** As `MemoryStore.list`. */
  list(path: string, options?: { depth?: number }): Promise<DirectoryListing | undefined>
}

/** A memory at its path of then. Nothing of it keeps the history in RAM. */
interface PastMemory {
  readonly memoryId: string
  readonly path: string
  readonly size: number
  readonly sha256: string
  readonly versionId: string
  /** The commit that wrote the version, as it is called unless something of then is redacted. */
  readonly commit: { readonly oid: Oid; readonly time: number }
  /** When its first version was written. */
  readonly created: number
}

/** A commit, by its name and place of now and by what it keeps in every rewrite. */
interface Tip extends Pick<CommitEntry, 'position' | 'height' | 'oid'> {
  readonly record: Uint8Array
}

interface Memories {
  readonly paths: PathTree<PastMemory>
  readonly redacted: number
  /** Ids, hex digits. */
  readonly displaced: readonly string[]
}

interface State extends Memories {
  readonly tips: readonly Tip[]
  readonly commit: Oid
  readonly time: number
}

/** Throws as `momentOf` does. */
export function openPast(
  source: PastSource,
  point: Point,
  options: WorkOptions,
): Promise<PastView> {
  const find = function* (history: History): Generator<undefined, State> {
    const moment = momentOf(history, point)
    const tips = moment.tips.map(({ position, height, oid }) => {
      return { position, height, oid, record: readRecordHash(source.contents, oid) }
    })
    return yield* stateAt(history, moment, tips)
  }
  const open = async (history: History): Promise<PastView> => {
    return new Past(source, await askInSlices(history, () => find(history), options.signal))
  }
  return retryAfterRedaction(source, open, options)
}

class Past implements PastView {
  readonly #source: PastSource
  #state: State

  constructor(source: PastSource, state: State) {
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

  /** A redaction of anything that was there by then gives commits of then other names. */
  async #refresh(): Promise<State> {
    const history = await this.#source.loadHistory()
    const { tips } = this.#state
    if (tips.every((tip) => isThere(history, tip))) return this.#state
    this.#state = await askInSlices(history, () => this.#stateNow(history))
    return this.#state
  }

  *#stateNow(history: History): Generator<undefined, State> {
    const { tips } = this.#state
    const found = tips.map((tip) => this.#findAgain(history, tip))
    const entries = found.map(({ entry }) => entry).toSorted((a, b) => a.position - b.position)
    const moment = momentAfter(history, entries)
    const now = found.map(({ tip }) => tip)
    return yield* stateAt(history, moment, now)
  }

  #findAgain(history: History, tip: Tip): { readonly entry: CommitEntry; readonly tip: Tip } {
    for (const entry of history.atHeight(tip.height)) {
      const { position, oid } = entry
      if (!equalBytes(readRecordHash(this.#source.contents, oid), tip.record)) continue
      return { entry, tip: { ...tip, position, oid } }
    }
    throw new StoreError('not_found', 'The commit of then is gone')
  }
}

/** Whether nothing has changed up to a commit: then neither have its name and its place. */
function isThere(history: History, { position, oid }: Tip): boolean {
  return history.commits.at(position)?.oid === oid
}

function* stateAt(
  history: History,
  moment: Moment,
  tips: readonly Tip[],
): Generator<undefined, State> {
  const { oid } = moment.commit
  return {
    tips,
    commit: oid,
    time: placedTime(history, moment.commit),
    ...(yield* memoriesAt(history, moment)),
  }
}

/** The memories, by hex id, that an older one kept from being listed at a moment. */
export function findDisplaced(history: History, moment: Moment): ReadonlySet<string> {
  return new Set(moment.tips.length > 1 ? atOnce(memoriesAt(history, moment)).displaced : [])
}

/** The memories that were live at a moment, a step for each there ever was. */
function* memoriesAt(history: History, moment: Moment): Generator<undefined, Memories> {
  const found: PastMemory[] = []
  let redacted = 0
  for (const memoryId of history.memoryIds()) {
    yield
    const entry = versionAt(history, memoryId, moment)
    if (entry === undefined || entry.operation === 'deleted') continue
    const { path, size, sha256, versionId } = entry
    const { oid, time } = entry.commit
    const created = history.firstOf(memoryId)?.commit.time ?? time
    if (path === undefined || size === undefined || sha256 === undefined) redacted += 1
    else found.push({ memoryId, path, size, sha256, versionId, commit: { oid, time }, created })
  }
  const wereApart = moment.tips.length > 1
  return { ...place(wereApart ? found.toSorted(byAge) : found, wereApart), redacted }
}

/** Only of clones that were apart, two memories can be in each other's way. */
function place(
  memories: readonly PastMemory[],
  wereApart: boolean,
): Pick<Memories, 'paths' | 'displaced'> {
  const paths = new PathTree<PastMemory>()
  const displaced: string[] = []
  for (const memory of memories) {
    if (wereApart && paths.findOccupant(memory.path) !== undefined) displaced.push(memory.memoryId)
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
