// Finds the versions that a redaction would erase (FORMAT §10), and the reasons to refuse it. Reads
// the history and, to search texts, contents. Must not change anything.

import type { WorkOptions } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import type { RedactReason } from '../../format/change-record.ts'
import { formatId, parseId } from '../../format/id.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import { type ContentSource, readVersionContent } from '../history/contents.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { LatestTimes } from '../history/record-times.ts'
import { lastChangeOf } from '../history/version-inputs.ts'
import { describeVersion, getVersionEntry, isAtOrBelow, type Version } from '../history/versions.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { IdIndex } from '../tables/id-index.ts'
import { findUnaware, findBuiltOn } from './built-on.ts'

/** Selects the versions for which all given conditions hold. At least one is required. */
export interface RedactionSelection {
  readonly versionIds?: readonly string[] | undefined
  /** All versions of a memory, `mem_…`. */
  readonly memoryId?: string | undefined
  /** Versions at this path, or below it. */
  readonly path?: string | undefined
  readonly actorId?: string | undefined
  readonly session?: string | undefined
  /** Occurs in the content, the path or the reason. */
  readonly matching?: RegExp | undefined
  /**
   * Certainly written before this time, ms since 1970, even if a record's clock was wrong. A
   * version that repeats the one before, sealed again under new keys, is as old as that one.
   */
  readonly before?: number | undefined
  /**
   * Also selects the copies of what the conditions select: versions with the same text, and those
   * written on them (with `matching`, where that matches). Of a version that is redacted already:
   * those that were written on it without knowing of the redaction.
   */
  readonly withCopies?: boolean | undefined
}

export interface RedactionRequest {
  readonly select: RedactionSelection
  readonly reason: RedactReason
  /**
   * What to do if selected versions are current in live memories: `refuse`, the default, throws
   * `version_current`; `delete` deletes these memories and `overwrite` writes a text without the
   * secret first, in the same transition; `keep` does not select these versions. In an archived
   * store nothing can be overwritten (`store_archived`).
   */
  readonly current?: 'refuse' | 'delete' | 'overwrite' | 'keep' | undefined
  /**
   * The ids of the versions that a user has confirmed. If more are selected by then, nothing is
   * erased (`precondition_failed`).
   */
  readonly confirmed?: readonly string[] | undefined
}

export interface RedactionPlan {
  /** The versions that would be erased, newest first. */
  readonly versions: readonly Version[]
  /** Those of them that are current in live memories, newest first. */
  readonly current: readonly Version[]
  /** The number of selected versions that are erased already. */
  readonly already: number
  /** Versions that were not selected and have the same text as a selected one, newest first. */
  readonly sameText: readonly Version[]
  /**
   * Versions that were not selected and were written on a selected one, newest first: they may
   * repeat parts of its text. With `matching`, only those that match.
   */
  readonly builtOn: readonly Version[]
  /** How many commits would be made again, at most: from the first that wrote one of them on. */
  readonly rewritten: number
}

/** At most this many versions are searched before other work runs. */
const BATCH = 256

/**
 * Finds the versions of a selection, and never searches a text twice. Remembers versions by id,
 * since a merge may insert new ones before others.
 */
export class Selector {
  readonly #selection: RedactionSelection
  readonly #now: number
  readonly #source: () => ContentSource
  readonly #matching: RegExp | undefined
  readonly #searched: IdIndex = new IdIndex()
  readonly #matches: Set<string> = new Set()

  /** Throws `invalid_input` or, for a version that does not exist, `not_found`. */
  constructor(
    selection: RedactionSelection,
    history: History,
    now: number,
    source: () => ContentSource,
  ) {
    this.#selection = selection
    this.#now = now
    this.#source = source
    this.#matching = selection.matching && checkPattern(selection.matching)
    conditionOf(selection, history, now)
  }

  /** The selected versions, oldest first. */
  async search(history: History, options: WorkOptions): Promise<readonly VersionEntry[]> {
    const found = await this.#searchAll(history, options)
    if (this.#selection.withCopies !== true) return found
    const copies = await this.#findCopies(history, found, options)
    const chosen = new Set([...found, ...copies].map(({ versionId }) => versionId))
    return inOrder(history, chosen)
  }

  /** The other versions that were written on these, oldest first. */
  async findBuiltOn(
    history: History,
    chosen: readonly VersionEntry[],
    { signal }: WorkOptions,
  ): Promise<readonly VersionEntry[]> {
    if (chosen.length === 0) return []
    const ids = new Set(chosen.map(({ versionId }) => versionId))
    const found = await findBuiltOn(history, ids, signal)
    return inOrder(history, found.keys()).filter((entry) => {
      const index = history.indexOf(entry.versionId) ?? 0
      return !isRedacted(history, entry) && this.#matchesAt(history, index, entry)
    })
  }

  async #findCopies(
    history: History,
    found: readonly VersionEntry[],
    options: WorkOptions,
  ): Promise<readonly VersionEntry[]> {
    const fresh = found.filter((entry) => !isRedacted(history, entry))
    const erased = found.filter((entry) => isRedacted(history, entry))
    const same = await inSlices(sameText(history, fresh), options.signal)
    const builtOn = await this.findBuiltOn(history, [...fresh, ...same], options)
    const ids = new Set(erased.map(({ versionId }) => versionId))
    const unaware = ids.size === 0 ? [] : await findUnaware(history, options.signal)
    const left = [...unaware].filter(([, sources]) => [...sources].some((id) => ids.has(id)))
    return [
      ...same,
      ...builtOn,
      ...inOrder(
        history,
        left.map(([id]) => id),
      ),
    ]
  }

  async #searchAll(history: History, options: WorkOptions): Promise<readonly VersionEntry[]> {
    const { versions } = history
    const selects = conditionOf(this.#selection, history, this.#now)
    const isSearch = this.#matching !== undefined
    const slice = new TimeSlice(options.signal, isSearch ? BATCH : undefined)
    const found: VersionEntry[] = []
    for (const index of candidatesOf(this.#selection, history)) {
      const entry = versions.at(index)
      if (entry !== undefined && selects(entry) && this.#matchesAt(history, index, entry)) {
        found.push(entry)
      }
      if (!slice.isOver()) continue
      if (isSearch) options.progress?.(index + 1, versions.length)
      await slice.next()
    }
    return found
  }

  #matchesAt(history: History, index: number, entry: VersionEntry): boolean {
    const pattern = this.#matching
    if (pattern === undefined) return true
    const { versionId } = entry
    if (this.#searched.find(versionId) === undefined) {
      if (this.#search(history, index, entry, pattern)) this.#matches.add(versionId)
      this.#searched.add(versionId)
    }
    return this.#matches.has(versionId)
  }

  #search({ versions }: History, index: number, entry: VersionEntry, pattern: RegExp): boolean {
    // The first row of a change holds its reason.
    const { note, position } = entry.commit
    const isFirst = index === 0 || versions.at(index - 1)?.commit.position !== position
    const ownNote = isFirst ? note : undefined
    if ([entry.path, ownNote].some((text) => text !== undefined && pattern.test(text))) return true
    const content = readVersionContent(this.#source(), entry)
    return content !== undefined && pattern.test(content)
  }
}

/** Sorts the selected versions into a plan; `entries` are those to erase, oldest first. */
export async function describePlan(
  { history, snapshot, selector }: PlanSource,
  selected: readonly VersionEntry[],
  current: RedactionRequest['current'],
  options: WorkOptions,
): Promise<{ readonly plan: RedactionPlan; readonly entries: readonly VersionEntry[] }> {
  const fresh = selected.filter(({ versionId }) => !snapshot.redacted.has(versionId))
  const entries = current === 'keep' ? fresh.filter((one) => !isCurrent(snapshot, one)) : fresh
  const describe = (found: readonly VersionEntry[]): readonly Version[] => {
    return found.map((entry) => describeVersion(history, entry)).toReversed()
  }
  const plan = {
    versions: describe(entries),
    current: describe(entries.filter((entry) => isCurrent(snapshot, entry))),
    already: selected.length - fresh.length,
    sameText: describe(await inSlices(sameText(history, entries), options.signal)),
    builtOn: describe(await selector.findBuiltOn(history, entries, options)),
    rewritten: history.commits.length - (entries[0]?.commit.position ?? history.commits.length),
  }
  return { plan, entries }
}

interface PlanSource {
  readonly history: History
  readonly snapshot: Snapshot
  readonly selector: Selector
}

/** Throws `precondition_failed` if the plan contains versions that were not confirmed. */
export function checkConfirmed(
  { confirmed }: RedactionRequest,
  entries: readonly VersionEntry[],
): void {
  if (confirmed === undefined) return
  const known = new Set(confirmed)
  const versionIds = entries.map((entry) => formatId('version', entry.versionId))
  const more = versionIds.filter((versionId) => !known.has(versionId))
  if (more.length === 0) return
  throw new StoreError(
    'precondition_failed',
    `${more.length} versions are selected that were not confirmed: plan again`,
    { details: { versionIds: more } },
  )
}

/** Whether the version is the current one of a live memory. */
export function isCurrent(snapshot: Snapshot, { memoryId, versionId }: VersionEntry): boolean {
  return snapshot.current.get(memoryId)?.live?.versionId === versionId
}

export function currentError(entries: readonly VersionEntry[]): StoreError {
  const versionIds = entries.map((entry) => formatId('version', entry.versionId))
  return new StoreError(
    'version_current',
    `${entries.length} of the versions are the current ones of live memories, which cannot be ` +
      'erased: delete or overwrite these memories first',
    { details: { versionIds } },
  )
}

/** Returns the pattern without flags that keep a position. Throws `invalid_input`. */
function checkPattern(pattern: RegExp): RegExp {
  if (!(pattern instanceof RegExp)) {
    throw new StoreError('invalid_input', 'What to match must be a regular expression')
  }
  const plain = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
  if (!plain.test('')) return plain
  throw new StoreError('invalid_input', 'The pattern matches an empty text, so it matches anything')
}

function conditionOf(
  selection: RedactionSelection,
  history: History,
  now: number,
): (entry: VersionEntry) => boolean {
  const { versionIds, memoryId, path, actorId, session, matching, before } = selection
  const given = [versionIds, memoryId, path, actorId, session, matching, before]
  if (given.every((condition) => condition === undefined)) {
    throw new StoreError('invalid_input', 'A redaction must say which versions to erase')
  }
  if (before !== undefined && !(typeof before === 'number' && before >= 0)) {
    throw new StoreError('invalid_input', 'A time must be a number of ms since 1970')
  }
  const versions =
    versionIds && new Set(versionIds.map((id) => getVersionEntry(history, id).versionId))
  const memory = memoryId === undefined ? undefined : getMemory(history, memoryId)
  const latest = new LatestTimes(history, now)
  return (entry) =>
    (versions === undefined || versions.has(entry.versionId)) &&
    (memory === undefined || memory === entry.memoryId) &&
    (path === undefined || isAtOrBelow(entry.path, path)) &&
    (actorId === undefined || entry.commit.actor?.id === actorId) &&
    (session === undefined || entry.commit.session === session) &&
    (before === undefined || latest.of(lastChangeOf(entry).commit) < before)
}

/** The numbers of the versions that may be selected, ascending. Those with given ids are found. */
function* candidatesOf(
  { versionIds }: RedactionSelection,
  history: History,
): Generator<number, void> {
  if (versionIds === undefined) {
    for (let index = 0; index < history.versions.length; index += 1) yield index
  } else {
    const ids = new Set(versionIds.map((id) => getVersionEntry(history, id).versionId))
    yield* Array.from(ids, (id) => history.indexOf(id) ?? 0).toSorted((a, b) => a - b)
  }
}

function isRedacted(history: History, { versionId }: VersionEntry): boolean {
  return history.findRedaction(versionId) !== undefined
}

/** The versions with these ids, oldest first. */
function inOrder(history: History, versionIds: Iterable<string>): readonly VersionEntry[] {
  const numbers = Array.from(versionIds, (id) => history.indexOf(id) ?? 0)
  return numbers.toSorted((a, b) => a - b).flatMap((number) => history.versions.at(number) ?? [])
}

function getMemory(history: History, memoryId: string): string {
  const id = parseId('memory', memoryId)
  if (history.firstOf(id) !== undefined) return id
  throw new StoreError('not_found', 'There is no such memory')
}

function* sameText(
  history: History,
  chosen: readonly VersionEntry[],
): Generator<undefined, readonly VersionEntry[]> {
  const ids = new Set(chosen.map((entry) => entry.versionId))
  const texts = new Set(chosen.flatMap(({ sha256, size }) => (size === 0 ? [] : sha256)))
  texts.delete(undefined)
  if (texts.size === 0) return []
  const found: VersionEntry[] = []
  for (const entry of history.versions) {
    yield
    const { sha256 } = entry
    if (sha256 !== undefined && texts.has(sha256) && !ids.has(entry.versionId)) found.push(entry)
  }
  return found
}
