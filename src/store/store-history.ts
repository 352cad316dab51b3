// `store.history`: questions about what was. Changes nothing.

import type { WorkOptions } from '../async.ts'
import { type Page, type Paged, paged } from '../page.ts'
import type { BlameLine, BlameOptions } from './history/blame.ts'
import { type Conflict, type ConflictOptions, findConflicts } from './history/conflicts.ts'
import { compareMoments, type Difference, type DifferenceOptions } from './history/history-diff.ts'
import type { History } from './history/history.ts'
import type { Point } from './history/points.ts'
import { askInSlices, retryAfterRedaction } from './history/retry-after-redaction.ts'
import {
  readVersions,
  readVersionWithInputs,
  type Version,
  type VersionFilter,
  type VersionWithInputs,
} from './history/versions.ts'
import type { RedactionPlan, RedactionRequest } from './redaction/redaction-plan.ts'
import {
  checkBlame,
  checkObject,
  checkOptions,
  checkPoint,
  checkRedaction,
  checkText,
} from './request-check.ts'
import type { StoreSession } from './session/session.ts'

export class StoreHistory {
  readonly #session: StoreSession

  /** @internal */
  constructor(session: StoreSession) {
    this.#session = session
  }

  /** Versions that match all conditions, newest first. Rejects with `invalid_input`. */
  versions(filter: VersionFilter = {}, options: WorkOptions = {}): Paged<Version> {
    // Of the filter as it is now, whatever becomes of the object.
    const asked = typeof filter === 'object' && filter !== null ? { ...filter } : filter
    const read = async (page?: string): Promise<Page<Version>> => {
      const query = { ...checkObject(asked, 'The filter'), page }
      const ask = (history: History): Promise<Page<Version>> =>
        readVersions(history, this.#session.contents, query, checkOptions(options).signal)
      return retryAfterRedaction(this.#session, ask, checkOptions(options))
    }
    return paged(read, asked?.page)
  }

  /** One version with its content, and what a merge made it of. Rejects with `not_found`. */
  async version(versionId: string): Promise<VersionWithInputs> {
    checkText(versionId, 'A version id')
    const history = await this.#session.loadHistory()
    return readVersionWithInputs(history, this.#session.contents, versionId)
  }

  /** What differs between two points, or between one and now. */
  async diff(from: Point, to?: Point, options: DifferenceOptions = {}): Promise<Difference> {
    for (const point of to === undefined ? [from] : [from, to]) checkPoint(point)
    const compare = (history: History): Promise<Difference> =>
      compareMoments(history, this.#session.contents, { from, to }, options)
    return retryAfterRedaction(this.#session, compare, options)
  }

  /** Which version each line of a memory comes from. */
  async blame(pathOrMemoryId: string, options: BlameOptions = {}): Promise<readonly BlameLine[]> {
    checkBlame(pathOrMemoryId, options)
    const { blameLines } = await import('./history/blame.ts')
    const blame = (history: History): Promise<readonly BlameLine[]> =>
      blameLines(history, this.#session.contents, pathOrMemoryId, options)
    return retryAfterRedaction(this.#session, blame, options)
  }

  /** What merges of clones have combined, newest first. */
  async conflicts(options: ConflictOptions = {}): Promise<readonly Conflict[]> {
    const asked = { ...checkOptions(options) }
    const history = await this.#session.loadHistory()
    return askInSlices(history, () => findConflicts(history, asked))
  }

  /** What `redact` would erase, and what stands in its way. */
  async planRedaction(
    request: RedactionRequest,
    options: WorkOptions = {},
  ): Promise<RedactionPlan> {
    const { planRedaction } = await import('./redaction/redaction.ts')
    return planRedaction(this.#session, checkRedaction(request), checkOptions(options))
  }
}
