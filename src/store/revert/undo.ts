// Plans the undo of what an actor or a session wrote. Each touched memory is replayed without those
// versions; later edits by others are kept by a three-way merge. Memories whose changes cannot be
// separated are left alone and reported. Never guesses, never writes conflict markers.

import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { formatId, parseId } from '../../format/id.ts'
import { mergeText } from '../../text/text-merge.ts'
import { inSlices } from '../../time-slice.ts'
import { findDoubtBetween } from '../history/doubtful-times.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { formatTime, mayLieBetween } from '../history/record-times.ts'
import { inputsOf, joinOf, type VersionInput } from '../history/version-inputs.ts'
import { getVersionEntry } from '../history/versions.ts'
import { withDoubt } from './doubtful-plan.ts'
import {
  completePlan,
  type Goal,
  type LazyText,
  leaveBlocked,
  type LeftAlone,
  leftAlone,
  type LeftReason,
  type RevertPlan,
  type RevertSource,
  textOf,
} from './revert-plan.ts'

/**
 * The versions to undo. All given conditions must hold; one other than a time is needed.
 */
export interface UndoRequest {
  /** A version, `memver_…`: all that was written in one commit with it. */
  readonly changeOf?: string | undefined
  readonly actorId?: string | undefined
  readonly session?: string | undefined
  /** What the holder of this grant wrote, `dev_…`. */
  readonly grantId?: string | undefined
  /** Inclusive, ms since 1970. Doubtful times are treated as in `VersionFilter`. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/**
 * Plans to bring every memory to the state without the undone versions. Throws `time_doubtful` as
 * `withDoubt` does.
 */
export async function planUndo(source: RevertSource, request: UndoRequest): Promise<RevertPlan> {
  checkRequest(request)
  const { history } = source
  const { changeOf } = request
  const change = changeOf === undefined ? undefined : getVersionEntry(history, changeOf).commit
  const isSelected = (commit: CommitEntry): boolean =>
    (change === undefined || commit.position === change.position) && isBy(commit, request)
  const isBetween = (commit: CommitEntry): boolean => mayLieBetween(history, commit, request)
  const isUndone = ({ commit }: VersionEntry): boolean => isSelected(commit) && isBetween(commit)
  const touched = await inSlices(touchedBy(source, isUndone))
  const goals: Goal[] = []
  const left: LeftAlone[] = []
  let done = 0
  for (const memoryId of touched) {
    await source.report(done, touched.size)
    const outcome = await inSlices(replay(source, memoryId, isUndone))
    const now = source.snapshot.current.get(memoryId)?.live?.path
    if (typeof outcome === 'string') left.push(leftAlone(memoryId, now, outcome))
    else goals.push({ memoryId, text: outcome.text })
    done += 1
  }
  const placed = await leaveBlocked(source, goals)
  const plan = await completePlan(source, placed.goals, [...left, ...placed.left], noteOf(request))
  const { since, until } = request
  return withDoubt(source, plan, (asked) =>
    findDoubtBetween(history, { ...asked, since, until, isSelected, isBetween }),
  )
}

/** The memories with undone versions, and those that merges joined such memories into. */
function* touchedBy(
  { history }: RevertSource,
  isUndone: (entry: VersionEntry) => boolean,
): Generator<undefined, ReadonlySet<string>> {
  const touched = new Set<string>()
  for (const entry of history.versions) {
    yield
    if (isUndone(entry)) touched.add(entry.memoryId)
  }
  for (const memoryId of touched) {
    yield
    for (const entry of history.ofMemory(memoryId)) {
      const into = joinOf(history, entry)
      if (into !== undefined) touched.add(into.memoryId)
    }
  }
  return touched
}

/** Whether its author is meant, whatever its time. */
function isBy({ actor, session, deviceId }: CommitEntry, request: UndoRequest): boolean {
  return (
    (request.actorId === undefined || actor?.id === request.actorId) &&
    (request.session === undefined || session === request.session) &&
    (request.grantId === undefined || formatId('device', deviceId) === request.grantId)
  )
}

function checkRequest({ since, until, ...request }: UndoRequest): void {
  const { actorId, session, changeOf, grantId } = request
  const names = [actorId, session, changeOf, grantId].filter((name) => name !== undefined)
  if (names.length === 0 || !names.every((name) => typeof name === 'string')) {
    throw new StoreError(
      'invalid_input',
      'An undo must name an actor, a session, a grant or a change',
    )
  }
  if (grantId !== undefined) parseId('device', grantId)
  const times = [since, until].filter((time) => time !== undefined)
  if (times.every((time) => Number.isFinite(time))) return
  throw new StoreError('invalid_input', 'The bounds of an undo must be times in milliseconds')
}

function noteOf({ actorId, session, grantId, changeOf, since, until }: UndoRequest): string {
  const parts = ['undo']
  if (changeOf !== undefined) parts.push(`the change of ${changeOf}`)
  if (actorId !== undefined) parts.push(`actor ${actorId}`)
  if (session !== undefined) parts.push(`session ${session}`)
  if (grantId !== undefined) parts.push(`grant ${grantId}`)
  if (since !== undefined) parts.push(`since ${formatTime(since)}`)
  if (until !== undefined) parts.push(`until ${formatTime(until)}`)
  return parts.join(' ')
}

/** The state of a memory after a version, with or without the undone ones. */
type ReplayState =
  | { readonly kind: 'absent' }
  | { readonly kind: 'text'; readonly text: LazyText }
  /** A redacted version, which is only known to equal itself. */
  | { readonly kind: 'erased'; readonly versionId: string }
  | { readonly kind: 'inseparable'; readonly reason: LeftReason }

interface Replayed {
  /** The recorded state. */
  readonly after: ReplayState
  /** The state without the undone versions. */
  readonly without: ReplayState
}

const absent: ReplayState = { kind: 'absent' }
const overlap: ReplayState = { kind: 'inseparable', reason: 'overlap' }
const erased: ReplayState = { kind: 'inseparable', reason: 'redacted' }
const nonexistent: Replayed = { after: absent, without: absent }

/** The text that a memory would have (undefined if it would not exist), or why that is unknown. */
function* replay(
  source: RevertSource,
  memoryId: string,
  isUndone: (entry: VersionEntry) => boolean,
): Generator<undefined, Pick<Goal, 'text'> | LeftReason> {
  const versions = withJoined(source.history, memoryId)
  const last = source.history.newestOf(memoryId)
  const { without } = yield* new Replay(source, isUndone).run(versions, last)
  switch (without.kind) {
    case 'absent':
      return { text: undefined }
    case 'text':
      return { text: without.text }
    case 'erased':
      // A live memory is never redacted, so this is not its current state.
      return 'redacted'
    case 'inseparable':
      return without.reason
    default:
      throw new Error('Unknown state')
  }
}

/** The versions of a memory and of those that merges joined into it, in the history's order. */
function withJoined(history: History, memoryId: string): readonly VersionEntry[] {
  const memoryIds = new Set([memoryId])
  for (const one of memoryIds) {
    for (const entry of history.ofMemory(one)) {
      if (history.parentsOf(entry.commit).length < 2) continue
      for (const input of inputsOf(history, entry)) memoryIds.add(input.entry.memoryId)
    }
  }
  if (memoryIds.size === 1) return history.ofMemory(memoryId)
  return [...memoryIds]
    .flatMap((one) => history.ofMemory(one))
    .toSorted((a, b) => a.commit.position - b.commit.position)
}

class Replay {
  readonly #source: RevertSource
  readonly #isUndone: (entry: VersionEntry) => boolean
  /** By version id. */
  readonly #done: Map<string, Replayed> = new Map()
  /** The remaining uses of each: states hold texts, so none is kept longer than needed. */
  readonly #uses: Map<string, number> = new Map()

  constructor(source: RevertSource, isUndone: (entry: VersionEntry) => boolean) {
    this.#source = source
    this.#isUndone = isUndone
  }

  *run(
    versions: readonly VersionEntry[],
    last: VersionEntry | undefined,
  ): Generator<undefined, Replayed> {
    for (const entry of versions) {
      for (const used of usedBy(this.#inputsOf(entry))) {
        this.#uses.set(used, (this.#uses.get(used) ?? 0) + 1)
      }
    }
    for (const entry of versions) {
      yield
      const inputs = this.#inputsOf(entry)
      const replayed = this.#play(entry, inputs)
      const { versionId } = entry
      if (versionId === last?.versionId) return replayed
      if (this.#uses.has(versionId)) this.#done.set(versionId, replayed)
      for (const used of usedBy(inputs)) this.#release(used)
    }
    return nonexistent
  }

  #inputsOf(entry: VersionEntry): readonly VersionInput[] {
    return inputsOf(this.#source.history, entry)
  }

  #play(entry: VersionEntry, inputs: readonly VersionInput[]): Replayed {
    const after = stateAfter(this.#source, entry)
    if (inputs.length > 1) return { after, without: this.#playMerge(entry, after, inputs) }
    const { after: before, without } = this.#replayed(inputs[0]?.entry)
    if (this.#isUndone(entry)) return { after, without }
    return { after, without: follow(without, { before, after, entry }) }
  }

  /**
   * A merge has no changes of its own, so that an undone merge, too, is computed from its inputs
   * without the undone versions.
   */
  #playMerge(
    entry: VersionEntry,
    after: ReplayState,
    inputs: readonly VersionInput[],
  ): ReplayState {
    const replayed = inputs.map((input) => this.#replayed(input.entry))
    const changed = replayed.filter((one) => !areSame(one.after, one.without))
    if (changed.length === 0 && !this.#isUndone(entry)) return after
    let merged: ReplayState | undefined
    for (const [index, { without }] of replayed.entries()) {
      const common = this.#replayed(inputs[index]?.common).without
      merged = merged === undefined ? without : mergeStates(common, merged, without, after)
    }
    const [only] = changed
    const isClear = merged?.kind !== 'inseparable'
    if (isClear || only === undefined || changed.length > 1 || this.#isUndone(entry)) {
      return merged ?? after
    }
    // Where the lines of both sides were kept they overlap; the undone ones may be separable.
    const played = follow(only.without, { before: only.after, after, entry })
    const others = replayed.filter((one) => one !== only)
    return bringsBack(played, only, others) ? overlap : played
  }

  #replayed(entry: VersionEntry | undefined): Replayed {
    return (entry && this.#done.get(entry.versionId)) ?? nonexistent
  }

  #release(versionId: string): void {
    const remaining = (this.#uses.get(versionId) ?? 0) - 1
    this.#uses.set(versionId, remaining)
    if (remaining === 0) this.#done.delete(versionId)
  }
}

/** The ids of the needed versions, each as often as it is needed. */
function usedBy(inputs: readonly VersionInput[]): readonly string[] {
  return inputs.flatMap(({ entry, common }) => {
    return common === undefined ? [entry.versionId] : [entry.versionId, common.versionId]
  })
}

/**
 * Whether lines that one input lost are present again although no other input has them. A merge
 * may have moved lines, which is no reason to keep them.
 */
function bringsBack(played: ReplayState, lost: Replayed, others: readonly Replayed[]): boolean {
  const kept = new Set([lost, ...others].flatMap(({ without }) => linesIn(without)))
  const lostLines = new Set(linesIn(lost.after).filter((line) => !kept.has(line)))
  return linesIn(played).some((line) => lostLines.has(line))
}

function linesIn(state: ReplayState): readonly string[] {
  return state.kind === 'text' ? state.text.read().split('\n') : []
}

interface RecordedChange {
  readonly before: ReplayState
  readonly after: ReplayState
  readonly entry: VersionEntry
}

/** Applies the change of a remaining version to the state without the undone ones. */
function follow(without: ReplayState, { before, after, entry }: RecordedChange): ReplayState {
  // Such as one that is only sealed again.
  if (areSame(before, after)) return without
  // A creation, restoration or deletion keeps nothing of the previous state.
  if (entry.operation !== 'modified' || areSame(without, before)) return after
  if (areSame(without, after) || without.kind === 'inseparable') return without
  if (without.kind === 'absent') return overlap
  if (without.kind === 'erased' || before.kind !== 'text' || after.kind !== 'text') return erased
  const { text } = without
  const path = after.text.path === before.text.path ? text.path : after.text.path
  return mergeTexts(before.text, text, after.text, path)
}

/** The merge of two states with the ancestor `common`. */
function mergeStates(
  common: ReplayState,
  a: ReplayState,
  b: ReplayState,
  merged: ReplayState,
): ReplayState {
  if (areSame(a, common) || areSame(a, b)) return b
  if (areSame(b, common)) return a
  if (a.kind === 'inseparable') return a
  if (b.kind === 'inseparable') return b
  if (common.kind === 'inseparable') return common
  if (a.kind === 'erased' || b.kind === 'erased' || common.kind === 'erased') return erased
  // An edit beats a deletion.
  if (a.kind === 'absent') return b
  if (b.kind === 'absent') return a
  const from = common.kind === 'text' ? common.text : noText
  const path = mergePaths(from.path, a.text.path, b.text.path, merged)
  return path === undefined ? overlap : mergeTexts(from, a.text, b.text, path)
}

/** The common ancestor of two texts without one. */
const noText: LazyText = { path: '', sha256: '', read: () => '' }

function mergePaths(common: string, a: string, b: string, merged: ReplayState): string | undefined {
  if (a === common || a === b) return b
  if (b === common) return a
  const chosen = merged.kind === 'text' ? merged.text.path : undefined
  return [a, b].find((path) => path === chosen)
}

function mergeTexts(common: LazyText, a: LazyText, b: LazyText, path: string): ReplayState {
  const same = findSame(common, a, b)
  if (same !== undefined) return { kind: 'text', text: { ...same, path } }
  const merged = mergeText(common.read(), a.read(), b.read())
  if (!merged.clean) return overlap
  const { text } = merged
  return { kind: 'text', text: { path, sha256: sha256OfText(text), read: () => text } }
}

/** The merged content if one side did not change it or both sides are equal. */
function findSame(common: LazyText, a: LazyText, b: LazyText): LazyText | undefined {
  if (b.sha256 === common.sha256 || b.sha256 === a.sha256) return a
  return a.sha256 === common.sha256 ? b : undefined
}

function stateAfter(source: RevertSource, entry: VersionEntry): ReplayState {
  if (entry.operation === 'deleted') return absent
  const text = textOf(source, entry)
  if (text === undefined) return { kind: 'erased', versionId: entry.versionId }
  return { kind: 'text', text }
}

function areSame(a: ReplayState, b: ReplayState): boolean {
  if (a.kind === 'text' && b.kind === 'text') {
    return a.text.path === b.text.path && a.text.sha256 === b.text.sha256
  }
  if (a.kind === 'erased' && b.kind === 'erased') return a.versionId === b.versionId
  return a.kind === 'absent' && b.kind === 'absent'
}
