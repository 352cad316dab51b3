// Questions about the past, as far as it is held: what every open store has. Changes nothing. Each
// loads its answer when it is asked: most programs ask none.

import type { WorkOptions } from '../async.ts'
import type { DoubtfulTimes } from '../errors.ts'
import { unknownRemoteError } from '../git/refs/remotes.ts'
import { type Page, type Paged, paged } from '../page.ts'
import { inSlices } from '../time-slice.ts'
import type { HistoryFetchOptions } from './clone/fetch-all.ts'
import type { BlameLine, BlameOptions } from './history/blame.ts'
import type { Conflict, ConflictOptions } from './history/conflicts.ts'
import type { ContentSource } from './history/contents.ts'
import type { Difference, DifferenceOptions } from './history/history-diff.ts'
import type { History } from './history/history.ts'
import type { CommitRange, Point, PointOrPosition, Position } from './history/points.ts'
import { readConsistently } from './history/read-consistently.ts'
import type {
  MemoryState,
  MemoryVersions,
  MemoryVersionsQuery,
  StateAt,
} from './history/state-at.ts'
import type {
  GroupedChange,
  Grouping,
  Timeline,
  TimelineFilter,
  VersionGroup,
} from './history/timeline.ts'
import type { Version, VersionFilter, VersionWithInputs } from './history/versions.ts'
import { checkBlame, checkObject, checkOptions, checkPoint, checkText } from './request-check.ts'
import { doubtScope } from './session/doubt-scope.ts'
import type { StoreSession } from './session/session.ts'
import { beginningOf, type HistoryBeginning } from './store-report.ts'

export class HistoryReader {
  readonly #session: StoreSession
  /** The one that was asked for last. */
  #timeline:
    | { readonly key: string; readonly history: History; readonly timeline: Timeline }
    | undefined

  /** @internal */
  constructor(session: StoreSession) {
    this.#session = session
  }

  /** Versions that match all conditions, newest first. Rejects with `invalid_input`. */
  versions(filter: VersionFilter = {}, options: WorkOptions = {}): Paged<Version> {
    // A copy: the caller may change the filter later.
    const asked = typeof filter === 'object' && filter !== null ? { ...filter } : filter
    const read = async (page?: string): Promise<Page<Version>> => {
      const query = { ...checkObject(asked, 'The filter'), page }
      const { readVersions } = await import('./history/versions.ts')
      return this.#ask((history, contents) => readVersions(history, contents, query), options)
    }
    return paged(read, asked?.page)
  }

  /** One version with its content, and what a merge made it of. Rejects with `not_found`. */
  async version(versionId: string): Promise<VersionWithInputs> {
    checkText(versionId, 'A version id')
    const { readVersionWithInputs } = await import('./history/versions.ts')
    const history = await this.#session.loadHistory()
    return readVersionWithInputs(history, this.#session.contents, versionId)
  }

  /** What differs between two points, or between one and now. */
  async diff(from: Point, to?: Point, options: DifferenceOptions = {}): Promise<Difference> {
    for (const point of to === undefined ? [from] : [from, to]) checkPoint(point)
    const { comparePoints } = await import('./history/history-diff.ts')
    return this.#ask(
      (history, contents) => comparePoints(history, contents, { from, to }, options),
      options,
    )
  }

  /**
   * The changes that a time reaches or misses because clocks disagree; undefined without any, and
   * for other points.
   */
  async doubtful(point: Point, options: WorkOptions = {}): Promise<DoubtfulTimes | undefined> {
    const asked = checkPoint(point)
    const { signal } = checkOptions(options)
    const { findDoubt } = await import('./history/doubtful-times.ts')
    const scope = await doubtScope(this.#session)
    const found = await this.#ask((history) => findDoubt(history, asked, scope), { signal })
    return found?.times
  }

  /** @internal All memories as they were at a point, or are now, without texts. */
  async state(
    at?: Point,
    options: WorkOptions & { readonly deleted?: boolean } = {},
  ): Promise<StateAt> {
    if (at !== undefined) checkPoint(at)
    const { deleted = false, signal } = checkOptions(options)
    const { stateAt } = await import('./history/state-at.ts')
    return this.#ask((history) => stateAt(history, at, deleted), { signal })
  }

  /** @internal One memory, `mem_…`, as it was at a point, or is now. Rejects with `not_found`. */
  async memory(memoryId: string, at?: Point, options: WorkOptions = {}): Promise<MemoryState> {
    checkText(memoryId, 'A memory id')
    if (at !== undefined) checkPoint(at)
    const { signal } = checkOptions(options)
    const { memoryAt } = await import('./history/state-at.ts')
    return this.#ask((history, contents) => memoryAt(history, contents, memoryId, at), { signal })
  }

  /** @internal The versions of a memory, `mem_…`, numbered, newest first, or `not_found`. */
  async memoryVersions(memoryId: string, query: MemoryVersionsQuery): Promise<MemoryVersions> {
    checkText(memoryId, 'A memory id')
    const asked = { ...checkObject(query, 'The query') }
    if (asked.at !== undefined) checkPoint(asked.at)
    const { versionsOf } = await import('./history/state-at.ts')
    return versionsOf(await this.#session.loadHistory(), memoryId, asked)
  }

  /** @internal Where a point is in the line of all commits. Rejects with `not_found`. */
  async place(point: PointOrPosition): Promise<Position> {
    const asked = checkObject(point, 'The point')
    if (!('position' in asked)) checkPoint(asked)
    const { placeOf } = await import('./history/points.ts')
    return placeOf(await this.#session.loadHistory(), asked)
  }

  /** @internal The line of all commits in at most `most` ranges. */
  async stretches(most: number, options: WorkOptions = {}): Promise<readonly CommitRange[]> {
    const { signal } = checkObject(options, 'The options')
    const { rangesOf } = await import('./history/points.ts')
    return inSlices(rangesOf(await this.#session.loadHistory(), most), signal)
  }

  /** @internal Who wrote when, or who wrote at all, newest first. Rejects with `invalid_input`. */
  async groups(
    filter: TimelineFilter,
    grouping: Grouping,
    options: WorkOptions = {},
  ): Promise<readonly VersionGroup[]> {
    return (await this.#timelineOf(filter, grouping, options)).groups()
  }

  /** @internal The group that a version belongs to, and what it did. Rejects with `not_found`. */
  async group(
    versionId: string,
    filter: TimelineFilter,
    grouping: Grouping,
    options: WorkOptions = {},
  ): Promise<{ readonly group: VersionGroup; readonly changes: readonly GroupedChange[] }> {
    checkText(versionId, 'A version id')
    const timeline = await this.#timelineOf(filter, grouping, options)
    const group = timeline.group(versionId)
    return { group, changes: await inSlices(timeline.changes(versionId), options.signal) }
  }

  /** Which version each line of a memory comes from. */
  async blame(pathOrMemoryId: string, options: BlameOptions = {}): Promise<readonly BlameLine[]> {
    checkBlame(pathOrMemoryId, options)
    const { blameLines } = await import('./history/blame.ts')
    const { at } = options
    return this.#ask(
      (history, contents) => blameLines(history, contents, pathOrMemoryId, at),
      options,
    )
  }

  /** What merges of clones have combined, newest first. */
  async conflicts(options: ConflictOptions = {}): Promise<readonly Conflict[]> {
    const asked = { ...checkOptions(options) }
    const { findConflicts } = await import('./history/conflicts.ts')
    return this.#ask((history) => findConflicts(history, asked))
  }

  /**
   * Where the history of a clone begins that a grant has begun, and whose word what was before is;
   * undefined for the whole history.
   */
  get beginning(): HistoryBeginning | undefined {
    return beginningOf(this.#session)
  }

  /**
   * Fetches the whole history, for such a clone, and verifies it from genesis. Rejects with
   * `remote_moved` before a sync, `baseline_false` if the device that gave the grant has not told
   * the truth, a remote code, or the code of the first violation. Returns the number of commits.
   */
  async fetchAll(options: HistoryFetchOptions = {}): Promise<number> {
    const asked = checkOptions(options)
    const { remote = 'origin' } = asked
    const { objects } = this.#session
    const found = objects.exchange.remotes().find(({ name }) => name === remote)
    if (found === undefined) throw unknownRemoteError(checkText(remote, 'The name of a remote'))
    const { fetchAllHistory } = await import('./clone/fetch-all.ts')
    return fetchAllHistory(this.#session, found, asked)
  }

  #ask<T>(
    ask: (history: History, contents: ContentSource) => Generator<undefined, T>,
    options: WorkOptions = {},
  ): Promise<T> {
    const session = this.#session
    return readConsistently(
      session,
      (history) => ask(history, session.contents),
      checkOptions(options),
    )
  }

  async #timelineOf(
    filter: TimelineFilter,
    grouping: Grouping,
    options: WorkOptions,
  ): Promise<Timeline> {
    checkObject(filter, 'The filter')
    checkObject(grouping, 'The grouping')
    const { signal } = checkOptions(options)
    const key = JSON.stringify([filter, grouping])
    const { Timeline } = await import('./history/timeline.ts')
    for (;;) {
      const history = await this.#session.loadHistory({ signal })
      const known = this.#timeline
      const isKnown = known?.key === key && known.history === history && known.timeline.isCurrent
      const timeline = isKnown ? known.timeline : new Timeline(history, filter, grouping)
      this.#timeline = { key, history, timeline }
      await inSlices(timeline.catchUp(), signal)
      // Not if something has been redacted.
      if (timeline.isCurrent) return timeline
    }
  }
}
