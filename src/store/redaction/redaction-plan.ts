// Finds the versions that a redaction would erase (FORMAT §10), and the reasons to refuse it. Reads
// the history and, to search texts, contents. Must not change anything.

import type { WorkOptions } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import type { RedactReason } from '../../format/change-record.ts'
import { formatId, parseId } from '../../format/id.ts'
import { isAtOrBelow } from '../../format/path.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type ContentSource, readVersionContent } from '../history/contents.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { LatestTimes } from '../history/record-times.ts'
import { lastChangeOf } from '../history/version-inputs.ts'
import { describeVersion, getVersionEntry, type Version } from '../history/versions.ts'
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
   * Also selects copies of the selected versions: those with the same text, and those written on
   * them (with `matching`, if it matches). A selected version that is redacted already adds those
   * that were written on it without knowing of the redaction.
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

/** Progress is reported at least every this many versions. */
const BATCH = 256

/** A plan of one head, and the versions that it erases, oldest first. */
export interface PlannedRedaction {
  readonly head: Oid | undefined
  readonly plan: RedactionPlan
  readonly entries: readonly VersionEntry[]
  readonly current: readonly VersionEntry[]
}

/**
 * Plans a redaction, and again only if the head has moved. Never searches a text twice. Remembers
 * versions by id, since a merge may insert new ones before others.
 */
export class Planner {
  readonly #request: Pick<RedactionRequest, 'select' | 'current'>
  readonly #now: number
  readonly #source: () => ContentSource
  readonly #matching: RegExp | undefined
  readonly #searched: IdIndex = new IdIndex()
  readonly #matches: Set<string> = new Set()
  #planned: PlannedRedaction | undefined

  /** Throws `invalid_input`. */
  constructor(
    request: Pick<RedactionRequest, 'select' | 'current'>,
    now: number,
    source: () => ContentSource,
  ) {
    const { matching } = request.select
    this.#request = request
    this.#now = now
    this.#source = source
    this.#matching = matching && checkPattern(matching)
  }

  /** Yields after each version. Throws `invalid_input` or, for an unknown version, `not_found`. */
  *plan(history: History, { progress }: WorkOptions): Generator<undefined, PlannedRedaction> {
    const head = history.head?.oid
    const known = this.#planned
    if (known?.head === head && known !== undefined) return known
    const selected = yield* this.#select(history, progress)
    const fresh = selected.filter((entry) => !isRedacted(history, entry))
    const isKept = (entry: VersionEntry) =>
      this.#request.current === 'keep' && isCurrent(history, entry)
    const entries = fresh.filter((entry) => !isKept(entry))
    const current = entries.filter((entry) => isCurrent(history, entry))
    const describe = (found: readonly VersionEntry[]) =>
      found.map((entry) => describeVersion(history, entry)).toReversed()
    const { length } = history.commits
    const plan = {
      versions: describe(entries),
      current: describe(current),
      already: selected.length - fresh.length,
      sameText: describe(yield* sameText(history, entries)),
      builtOn: describe(yield* this.#builtOn(history, entries)),
      rewritten: length - (entries[0]?.commit.position ?? length),
    }
    const planned = { head, plan, entries, current }
    this.#planned = planned
    return planned
  }

  /** The selected versions, oldest first. */
  *#select(
    history: History,
    progress: WorkOptions['progress'],
  ): Generator<undefined, readonly VersionEntry[]> {
    const found = yield* this.#search(history, progress)
    if (this.#request.select.withCopies !== true) return found
    const copies = yield* this.#findCopies(history, found)
    return inOrder(history, new Set([...idsOf(found), ...copies]))
  }

  *#search(
    history: History,
    progress: WorkOptions['progress'],
  ): Generator<undefined, readonly VersionEntry[]> {
    const { select } = this.#request
    const { versions } = history
    const selects = conditionOf(select, history, this.#now)
    const found: VersionEntry[] = []
    for (const index of candidatesOf(select, history)) {
      const entry = versions.at(index)
      if (entry !== undefined && selects(entry) && this.#matchesAt(history, index, entry)) {
        found.push(entry)
      }
      yield
      const isReported = this.#matching !== undefined && index % BATCH === BATCH - 1
      if (isReported) progress?.(index + 1, versions.length)
    }
    return found
  }

  /** The ids of versions with the same texts, and of those that may repeat them. */
  *#findCopies(
    history: History,
    found: readonly VersionEntry[],
  ): Generator<undefined, readonly string[]> {
    const fresh = found.filter((entry) => !isRedacted(history, entry))
    const erased = new Set(idsOf(found.filter((entry) => isRedacted(history, entry))))
    const same = yield* sameText(history, fresh)
    const builtOn = yield* this.#builtOn(history, [...fresh, ...same])
    const unaware = erased.size === 0 ? [] : yield* findUnaware(history)
    const repeating = [...unaware].filter(([, sources]) =>
      [...sources].some((id) => erased.has(id)),
    )
    return [...idsOf([...same, ...builtOn]), ...repeating.map(([id]) => id)]
  }

  /** The other versions that were written on these, oldest first. */
  *#builtOn(
    history: History,
    chosen: readonly VersionEntry[],
  ): Generator<undefined, readonly VersionEntry[]> {
    if (chosen.length === 0) return []
    const found = yield* findBuiltOn(history, new Set(idsOf(chosen)))
    return inOrder(history, found.keys()).filter((entry) => {
      const index = history.indexOf(entry.versionId) ?? 0
      return !isRedacted(history, entry) && this.#matchesAt(history, index, entry)
    })
  }

  #matchesAt(history: History, index: number, entry: VersionEntry): boolean {
    const pattern = this.#matching
    if (pattern === undefined) return true
    const { versionId } = entry
    if (this.#searched.find(versionId) === undefined) {
      if (this.#hasMatch(history, index, entry, pattern)) this.#matches.add(versionId)
      this.#searched.add(versionId)
    }
    return this.#matches.has(versionId)
  }

  #hasMatch({ versions }: History, index: number, entry: VersionEntry, pattern: RegExp): boolean {
    // The first row of a change holds its reason.
    const { note, position } = entry.commit
    const isFirst = index === 0 || versions.at(index - 1)?.commit.position !== position
    const ownNote = isFirst ? note : undefined
    if ([entry.path, ownNote].some((text) => text !== undefined && pattern.test(text))) return true
    const content = readVersionContent(this.#source(), entry)
    return content !== undefined && pattern.test(content)
  }
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
function isCurrent(history: History, { memoryId, versionId, operation }: VersionEntry): boolean {
  return operation !== 'deleted' && history.newestOf(memoryId)?.versionId === versionId
}

function idsOf(entries: readonly VersionEntry[]): readonly string[] {
  return entries.map(({ versionId }) => versionId)
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
    const indexes = versionIds.map((id) => history.indexOf(getVersionEntry(history, id).versionId))
    yield* new Set(indexes.map((index = 0) => index).toSorted((a, b) => a - b))
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
  const ids = new Set(idsOf(chosen))
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
