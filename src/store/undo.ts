// Undo of what an actor or a session wrote. Each memory that it touched is replayed without those
// versions; edits that others made on top are kept by a three-way merge. What cannot be separated
// is left as it is and reported: never guesses, never writes conflict markers. Plans only.

import { StoreError } from '../errors.ts'
import { digestOf } from './changes.ts'
import type { CommitEntry, VersionEntry } from './history.ts'
import { completePlan, formatTime, leaveBlocked, leftAlone, textOf } from './reversal-plan.ts'
import type { Goal, LazyText, ReversalPlan, ReversalSource } from './reversal-plan.ts'
import type { LeftAlone, LeftReason } from './restoration.ts'
import { mergeText } from './text-merge.ts'

/** Whose versions are undone. All given conditions must hold; an actor or a session is needed. */
export interface UndoRequest {
  readonly actorId?: string | undefined
  readonly session?: string | undefined
  /** Inclusive, ms since 1970. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** What a memory is after a version, or would be without those that are undone. */
type State =
  | { readonly kind: 'absent' }
  | { readonly kind: 'text'; readonly text: LazyText }
  /** A redacted version: nothing is known of it but that it is the same as itself. */
  | { readonly kind: 'erased'; readonly versionId: string }
  | { readonly kind: 'inseparable'; readonly reason: LeftReason }

const absent: State = { kind: 'absent' }
const overlap: State = { kind: 'inseparable', reason: 'overlap' }
const erased: State = { kind: 'inseparable', reason: 'redacted' }

/** Every memory to the state that it would have without some versions. */
export async function planUndo(
  source: ReversalSource,
  request: UndoRequest,
): Promise<ReversalPlan> {
  checkRequest(request)
  const isUndone = (entry: VersionEntry): boolean => matches(entry.commit, request)
  const touched = new Set<string>()
  for (const entry of source.history.versions) if (isUndone(entry)) touched.add(entry.memoryId)
  const goals: Goal[] = []
  const left: LeftAlone[] = []
  let done = 0
  for (const memoryId of touched) {
    if (done % MEMORIES === 0) await source.report(done, touched.size)
    const outcome = replay(source, source.history.ofMemory(memoryId), isUndone)
    const now = source.snapshot.current.get(memoryId)?.live?.path
    if (typeof outcome === 'string') left.push(leftAlone(memoryId, now, outcome))
    else goals.push({ memoryId, text: outcome.text })
    done += 1
  }
  const placed = leaveBlocked(source, goals)
  return completePlan(source, placed.goals, [...left, ...placed.left], noteOf(request))
}

/** How many memories are replayed before other work runs. */
const MEMORIES = 16

/**
 * The text that a memory would have, undefined if it would not exist, or why that cannot be said.
 */
function replay(
  source: ReversalSource,
  chain: readonly VersionEntry[],
  isUndone: (entry: VersionEntry) => boolean,
): Pick<Goal, 'text'> | LeftReason {
  let without = absent
  let before = absent
  for (const entry of chain) {
    const after = stateAfter(source, entry)
    if (!isUndone(entry)) without = follow(without, { before, after, entry })
    before = after
  }
  switch (without.kind) {
    case 'absent':
      return { text: undefined }
    case 'text':
      return { text: without.text }
    case 'erased':
      // A live memory is never redacted, so this is not what it is now.
      return 'redacted'
    case 'inseparable':
      return without.reason
    default:
      throw new Error('Not a state')
  }
}

interface Step {
  readonly before: State
  readonly after: State
  readonly entry: VersionEntry
}

/** A version that stays: what its author did, done to the state without the undone ones. */
function follow(without: State, { before, after, entry }: Step): State {
  // Who creates, restores or deletes leaves nothing of the state before.
  if (entry.operation !== 'modified' || areSame(without, before)) return after
  if (areSame(without, after) || without.kind === 'inseparable') return without
  if (without.kind === 'absent') return overlap
  if (without.kind === 'erased' || before.kind !== 'text' || after.kind !== 'text') return erased
  return merge(without.text, before.text, after.text)
}

function merge(without: LazyText, before: LazyText, after: LazyText): State {
  const path = after.path === before.path ? without.path : after.path
  const same = findSame(without, before, after)
  if (same !== undefined) return { kind: 'text', text: { ...same, path } }
  const merged = mergeText(before.read(), without.read(), after.read())
  if (!merged.clean) return overlap
  const { text } = merged
  return { kind: 'text', text: { path, sha256: digestOf(text), read: () => text } }
}

/** The content that needs no merge, because one side left it alone or both made it the same. */
function findSame(without: LazyText, before: LazyText, after: LazyText): LazyText | undefined {
  if (after.sha256 === before.sha256 || after.sha256 === without.sha256) return without
  return without.sha256 === before.sha256 ? after : undefined
}

function stateAfter(source: ReversalSource, entry: VersionEntry): State {
  if (entry.operation === 'deleted') return absent
  const text = textOf(source, entry)
  if (text === undefined) return { kind: 'erased', versionId: entry.versionId }
  return { kind: 'text', text }
}

function areSame(a: State, b: State): boolean {
  if (a.kind === 'text' && b.kind === 'text') {
    return a.text.path === b.text.path && a.text.sha256 === b.text.sha256
  }
  if (a.kind === 'erased' && b.kind === 'erased') return a.versionId === b.versionId
  return a.kind === 'absent' && b.kind === 'absent'
}

function matches({ actor, session, time }: CommitEntry, request: UndoRequest): boolean {
  return (
    (request.actorId === undefined || actor?.id === request.actorId) &&
    (request.session === undefined || session === request.session) &&
    (request.since === undefined || time >= request.since) &&
    (request.until === undefined || time <= request.until)
  )
}

function checkRequest({ actorId, session, since, until }: UndoRequest): void {
  const names = [actorId, session].filter((name) => name !== undefined)
  if (names.length === 0 || !names.every((name) => typeof name === 'string')) {
    throw new StoreError('invalid_input', 'An undo must name an actor or a session')
  }
  const times = [since, until].filter((time) => time !== undefined)
  if (times.every((time) => Number.isFinite(time))) return
  throw new StoreError('invalid_input', 'The bounds of an undo must be times in milliseconds')
}

function noteOf({ actorId, session, since, until }: UndoRequest): string {
  const parts = ['undo']
  if (actorId !== undefined) parts.push(`actor ${actorId}`)
  if (session !== undefined) parts.push(`session ${session}`)
  if (since !== undefined) parts.push(`since ${formatTime(since)}`)
  if (until !== undefined) parts.push(`until ${formatTime(until)}`)
  return parts.join(' ')
}
