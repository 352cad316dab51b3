// The ids of all versions in the past of a verified head: a new version must not reuse one (FORMAT
// §6.4). Lookups read the files; RAM holds only ids newer than the files and, after the first
// lookup, a filter. May contain ids of commits dropped since (FORMAT §7.4): the history decides.

import type { WorkOptions } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import { Frontier } from '../commits/frontier.ts'
import type { History, HistorySource } from '../history/history.ts'
import { readVersionIds } from '../history/known-commit.ts'
import { IdFilter } from '../tables/id-filter.ts'
import type { IdIndex } from '../tables/id-index.ts'
import { Records } from '../tables/records.ts'
import type { CacheFiles } from './sealed-cache.ts'
import { appendIds, type KeptIds, noIds, readIds } from './version-id-files.ts'

/** The ids that the files hold, and the commit whose past they are. */
export interface IdsAt {
  readonly commit: Oid
  readonly kept: KeptIds
}

/** The version ids in the past of a head, for verifying commits on top of it. */
export interface VersionsBelow {
  /** Throws `row_version_reused` if one of the ids is in that past. */
  checkNew(ids: IdIndex): Promise<void>
  /** Called once `head` is accepted, which adds `ids` to that past. */
  extend(head: Oid, ids: IdIndex): void
}

const ID_BYTES = 16
/** Ids in RAM that are compared in one step. */
const AT_ONCE = 16_384
/** Progress is reported at least every this many commits. */
const BATCH = 512

export class VersionIds {
  readonly #files: CacheFiles
  /** The commit whose past is known; undefined if none is. */
  #at: Oid | undefined
  #kept: KeptIds
  #since: Records = new Records(ID_BYTES)
  /** A filter of all ids. */
  #filter: IdFilter | undefined

  constructor(files: CacheFiles, known?: IdsAt) {
    this.#files = files
    this.#at = known?.commit
    this.#kept = known?.kept ?? noIds
  }

  /** Replaces the ids by all ids in the past of a commit; by default there are none. */
  restart(commit: Oid, ids: Records = new Records(ID_BYTES)): void {
    this.#forget()
    this.#at = commit
    this.#since = ids
  }

  /** Adds the ids that `commit` adds to the past of `after`. */
  extend(after: Oid, commit: Oid, ids: Iterable<string>): void {
    if (this.#at !== after) return
    this.#add(ids)
    this.#at = commit
  }

  /** The versions in the past of `head`. Missing commits are read; `fill` loads the history. */
  below(
    source: HistorySource,
    head: Oid,
    fill: () => Promise<History>,
    options: WorkOptions = {},
  ): VersionsBelow {
    return {
      checkNew: async (ids) => {
        if (ids.size === 0) return
        await this.#reach(source, head, options)
        if (!(await this.#hasAny(source, head, ids, options))) return
        const history = await fill()
        for (const id of ids.values()) {
          if (history.find(id) === undefined) continue
          throw new StoreError('row_version_reused', 'A version id is used twice')
        }
      },
      extend: (to, ids) => this.extend(head, to, ids.values()),
    }
  }

  /**
   * Writes the ids in the past of `head` to the files. Undefined if they are unknown: a later
   * lookup reads them from git. `written` is the state that another process may have written
   * since.
   */
  async save(
    source: HistorySource,
    head: Oid,
    written: { readonly commit: Oid; readonly kept: KeptIds | undefined } | undefined,
  ): Promise<KeptIds | undefined> {
    if (written?.kept !== undefined && this.#isBehind(written.kept)) {
      this.#forget()
      this.#at = written.commit
      this.#kept = written.kept
    }
    if (this.#at === undefined) return undefined
    try {
      await this.#readSince(source, head, {})
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      // Erased by a redaction meanwhile, or damaged, which other code reports.
      this.#forget()
      return undefined
    }
    const kept = await appendIds(this.#files, this.#kept, this.#since)
    if (kept === undefined) {
      this.#forget()
      return undefined
    }
    this.#kept = kept
    this.#since = new Records(ID_BYTES)
    return kept
  }

  /** Whether the files hold more than `#kept`, or other ids. */
  #isBehind(kept: KeptIds): boolean {
    if (kept.digest === this.#kept.digest) return false
    if (this.#at === undefined || this.#kept.count > 0) return true
    // With more ids in RAM, the files are older or were found damaged.
    return this.#since.length < kept.count
  }

  async #reach(source: HistorySource, head: Oid, options: WorkOptions): Promise<void> {
    try {
      await this.#readSince(source, head, options)
    } catch (error) {
      if (this.#at === undefined || !hasCode(error, 'object_missing')) throw error
      this.#forget()
      await this.#readSince(source, head, options)
    }
  }

  /** Reads the commits of `head` that are not in the known past; all if none is known. */
  async #readSince(
    source: HistorySource,
    head: Oid,
    { progress, signal }: WorkOptions,
  ): Promise<void> {
    if (this.#at === head) return
    const found = new Map<Oid, Uint8Array>()
    const read = (oid: Oid): Uint8Array => {
      const bytes = found.get(oid) ?? readCommitBytes(source.objects, oid)
      found.set(oid, bytes)
      return bytes
    }
    const frontier = new Frontier<Oid>((oid) => parseLinks(read(oid)).height)
    frontier.add(head, 'ours')
    if (this.#at !== undefined) frontier.add(this.#at, 'theirs')
    const slice = new TimeSlice(signal, BATCH)
    let done = 0
    for (let next = frontier.take(); next !== undefined; next = frontier.take()) {
      const bytes = read(next.commit)
      found.delete(next.commit)
      const { parents, height } = parseLinks(bytes)
      if (next.reach === 'ours') this.#add(readVersionIds(source, next.commit, bytes))
      for (const parent of parents) frontier.add(parent, next.reach)
      done += 1
      if (!slice.isOver()) continue
      progress?.(done, done + height)
      await slice.next()
    }
    this.#at = head
  }

  async #hasAny(
    source: HistorySource,
    head: Oid,
    ids: IdIndex,
    options: WorkOptions,
  ): Promise<boolean> {
    const newIds = ids.ids.bytes(0, ids.size)
    if (this.#filter?.mayHaveAnyOf(newIds) === false) return false
    let found = false
    let filter = new IdFilter(this.#kept.count + this.#since.length)
    const compare = (bytes: Uint8Array): void => {
      found ||= ids.hasAnyOf(bytes)
      filter.add(bytes)
    }
    if (!(await readIds(this.#files, this.#kept, compare))) {
      this.#forget()
      await this.#readSince(source, head, options)
      found = false
      filter = new IdFilter(this.#since.length)
    }
    const slice = new TimeSlice(options.signal)
    const { length } = this.#since
    for (let start = 0; start < length; start += AT_ONCE) {
      compare(this.#since.bytes(start, Math.min(start + AT_ONCE, length)))
      if (slice.isOver()) await slice.next()
    }
    this.#filter = filter
    return found
  }

  #add(ids: Iterable<string>): void {
    const first = this.#since.length
    for (const id of ids) this.#since.setHex(this.#since.add(), 0, id)
    this.#filter?.add(this.#since.bytes(first, this.#since.length))
    if (this.#filter?.isFull === true) this.#filter = undefined
  }

  #forget(): void {
    this.#at = undefined
    this.#kept = noIds
    this.#since = new Records(ID_BYTES)
    this.#filter = undefined
  }
}
