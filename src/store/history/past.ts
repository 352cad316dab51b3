// The store as it was after an earlier commit: the memories that were live, with paths and
// contents. Reads only. Redacted versions are left out, even if they are redacted while a view is
// in use.

import type { WorkOptions } from '../../async.ts'
import { equalBytes } from '../../bytes.ts'
import { assert, type DoubtfulTimes, StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import { checkPath } from '../../format/path.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type DirectoryListing, listDirectory } from '../snapshot/listing.ts'
import type { Memory } from '../snapshot/live-memory.ts'
import { PathTree } from '../snapshot/path-tree.ts'
import { type ContentSource, readVersionContent } from './contents.ts'
import { type DoubtScope, findDoubt } from './doubtful-times.ts'
import type { CommitEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { readRecordHash } from './known-commit.ts'
import { type Point, pointAfter, type ResolvedPoint, resolvePoint } from './points.ts'
import { type PastSource, readConsistently } from './read-consistently.ts'
import { placedTime } from './record-times.ts'
import { type MemoriesAt, memoriesAt, type PastMemory } from './state-at.ts'

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
  /** For a time: set if clocks decide what the view shows. */
  readonly doubtful: DoubtfulTimes | undefined
  /** The memory at a path; undefined if it did not exist or is redacted. */
  read(path: string): Promise<Memory | undefined>
  /** As `MemoryStore.list`. */
  list(path: string, options?: { depth?: number }): Promise<DirectoryListing | undefined>
}

/** A commit by its current id and position, and by its record hash, which no rewrite changes. */
interface KnownTip extends Pick<CommitEntry, 'position' | 'height' | 'oid'> {
  readonly record: Uint8Array
}

interface PastState extends Omit<MemoriesAt, 'shown' | 'deleted'> {
  readonly paths: PathTree<PastMemory>
  readonly tips: readonly KnownTip[]
  readonly commit: Oid
  readonly time: number
  readonly doubtful: DoubtfulTimes | undefined
}

export interface PastOptions extends WorkOptions {
  /** Without it, doubtful times are not looked for. */
  readonly scope?: DoubtScope
}

/** Throws as `resolvePoint` does. */
export async function openPast(
  source: PastSource,
  point: Point,
  { scope, ...options }: PastOptions,
): Promise<PastView> {
  const find = function* (history: History): Generator<undefined, PastState> {
    const resolved = resolvePoint(history, point)
    const tips = resolved.tips.map(({ position, height, oid }) => {
      return { position, height, oid, record: readRecordHash(source.contents, oid) }
    })
    const doubtful = scope && (yield* findDoubt(history, point, scope))?.times
    return yield* stateAfter(history, resolved, tips, doubtful)
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

  get doubtful(): DoubtfulTimes | undefined {
    return this.#state.doubtful
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
    // Nothing up to a commit that has kept its id and position has changed.
    const isKept = ({ position, oid }: KnownTip) => history.commits.at(position)?.oid === oid
    if (tips.every(isKept)) return this.#state
    const found = tips.map((tip) => this.#findAgain(history, tip))
    const entries = found.map(({ entry }) => entry).toSorted((a, b) => a.position - b.position)
    const resolved = pointAfter(history, entries)
    const now = found.map(({ tip }) => tip)
    return yield* stateAfter(history, resolved, now, this.#state.doubtful)
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

function* stateAfter(
  history: History,
  resolved: ResolvedPoint,
  tips: readonly KnownTip[],
  doubtful: DoubtfulTimes | undefined,
): Generator<undefined, PastState> {
  const { shown, redacted, displaced } = yield* memoriesAt(history, resolved)
  const paths = PathTree.of(shown)
  const { oid: commit } = resolved.commit
  const time = placedTime(history, resolved.commit)
  return { paths, redacted, displaced, tips, commit, time, doubtful }
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
