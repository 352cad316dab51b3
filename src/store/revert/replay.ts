// What a memory would be without some of its versions: plays it again, version by version, and does
// what the others' authors did to the state without the undone ones. Never guesses: what cannot be
// separated ends the replay with a reason. Decides for undo.ts; reads texts only where it must.

import { mergeText } from '../../text/text-merge.ts'
import { digestOf } from '../changes/changes.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { inputsOf, type VersionInput } from '../history/version-inputs.ts'
import {
  type Goal,
  type LazyText,
  type LeftReason,
  type RevertSource,
  textOf,
} from './revert-plan.ts'

/** What a memory is after a version, or would be without those that are undone. */
type State =
  | { readonly kind: 'absent' }
  | { readonly kind: 'text'; readonly text: LazyText }
  /** A redacted version: nothing is known of it but that it is the same as itself. */
  | { readonly kind: 'erased'; readonly versionId: string }
  | { readonly kind: 'inseparable'; readonly reason: LeftReason }

interface Replayed {
  /** As it was. */
  readonly after: State
  /** Without the undone versions. */
  readonly without: State
}

const absent: State = { kind: 'absent' }
const overlap: State = { kind: 'inseparable', reason: 'overlap' }
const erased: State = { kind: 'inseparable', reason: 'redacted' }
const nothing: Replayed = { after: absent, without: absent }

/**
 * The text that a memory would have, undefined if it would not exist, or why that cannot be said.
 */
export function replay(
  source: RevertSource,
  memoryId: string,
  isUndone: (entry: VersionEntry) => boolean,
): Pick<Goal, 'text'> | LeftReason {
  const versions = withJoined(source.history, memoryId)
  const last = source.history.newestOf(memoryId)
  const { without } = new Replay(source, isUndone).run(versions, last)
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

/** Of a memory and of those that merges put into it, in the order of the history. */
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
  /** By version. */
  readonly #done: Map<string, Replayed> = new Map()
  /** How often each is asked for yet: states hold texts, so none is kept longer than that. */
  readonly #uses: Map<string, number> = new Map()

  constructor(source: RevertSource, isUndone: (entry: VersionEntry) => boolean) {
    this.#source = source
    this.#isUndone = isUndone
  }

  run(versions: readonly VersionEntry[], last: VersionEntry | undefined): Replayed {
    for (const entry of versions) {
      for (const used of usedBy(this.#inputsOf(entry))) {
        this.#uses.set(used, (this.#uses.get(used) ?? 0) + 1)
      }
    }
    for (const entry of versions) {
      const inputs = this.#inputsOf(entry)
      const replayed = this.#play(entry, inputs)
      const { versionId } = entry
      if (versionId === last?.versionId) return replayed
      if (this.#uses.has(versionId)) this.#done.set(versionId, replayed)
      for (const used of usedBy(inputs)) this.#release(used)
    }
    return nothing
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
   * Who merges clones has nothing of their own to say, so that an undone merge too is made of what
   * its inputs became.
   */
  #playMerge(entry: VersionEntry, after: State, inputs: readonly VersionInput[]): State {
    const replayed = inputs.map((input) => this.#replayed(input.entry))
    const changed = replayed.filter((one) => !areSame(one.after, one.without))
    if (changed.length === 0 && !this.#isUndone(entry)) return after
    let merged: State | undefined
    for (const [index, { without }] of replayed.entries()) {
      const common = this.#replayed(inputs[index]?.common).without
      merged = merged === undefined ? without : mergeStates(common, merged, without, after)
    }
    const [only] = changed
    const isClear = merged?.kind !== 'inseparable'
    if (isClear || only === undefined || changed.length > 1 || this.#isUndone(entry)) {
      return merged ?? after
    }
    // Where both sides' lines were kept they overlap; what was undone may stand apart from them.
    const played = follow(only.without, { before: only.after, after, entry })
    const others = replayed.filter((one) => one !== only)
    return bringsBack(played, only, others) ? overlap : played
  }

  #replayed(entry: VersionEntry | undefined): Replayed {
    return (entry && this.#done.get(entry.versionId)) ?? nothing
  }

  #release(versionId: string): void {
    const left = (this.#uses.get(versionId) ?? 0) - 1
    this.#uses.set(versionId, left)
    if (left === 0) this.#done.delete(versionId)
  }
}

/** Ids of versions, each as often as it is needed. */
function usedBy(inputs: readonly VersionInput[]): readonly string[] {
  return inputs.flatMap(({ entry, common }) => {
    return common === undefined ? [entry.versionId] : [entry.versionId, common.versionId]
  })
}

/**
 * Whether lines that one input lost are there again, and not because another one has them. A merge
 * may have put lines in another order, which is no reason to keep them.
 */
function bringsBack(played: State, lost: Replayed, others: readonly Replayed[]): boolean {
  const kept = new Set([lost, ...others].flatMap(({ without }) => linesIn(without)))
  const gone = new Set(linesIn(lost.after).filter((line) => !kept.has(line)))
  return linesIn(played).some((line) => gone.has(line))
}

function linesIn(state: State): readonly string[] {
  return state.kind === 'text' ? state.text.read().split('\n') : []
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
  const { text } = without
  const path = after.text.path === before.text.path ? text.path : after.text.path
  return mergeTexts(before.text, text, after.text, path)
}

/** What a merge would have made of two states that come from `common`. */
function mergeStates(common: State, a: State, b: State, merged: State): State {
  if (areSame(a, common) || areSame(a, b)) return b
  if (areSame(b, common)) return a
  if (a.kind === 'inseparable') return a
  if (b.kind === 'inseparable') return b
  if (common.kind === 'inseparable') return common
  if (a.kind === 'erased' || b.kind === 'erased' || common.kind === 'erased') return erased
  // An edit beats a deletion.
  if (a.kind === 'absent') return b
  if (b.kind === 'absent') return a
  const from = common.kind === 'text' ? common.text : nowhere
  const path = mergePaths(from.path, a.text.path, b.text.path, merged)
  return path === undefined ? overlap : mergeTexts(from, a.text, b.text, path)
}

/** What two texts have in common that were not made from one. */
const nowhere: LazyText = { path: '', sha256: '', read: () => '' }

function mergePaths(common: string, a: string, b: string, merged: State): string | undefined {
  if (a === common || a === b) return b
  if (b === common) return a
  const chosen = merged.kind === 'text' ? merged.text.path : undefined
  return [a, b].find((path) => path === chosen)
}

function mergeTexts(common: LazyText, a: LazyText, b: LazyText, path: string): State {
  const same = findSame(common, a, b)
  if (same !== undefined) return { kind: 'text', text: { ...same, path } }
  const merged = mergeText(common.read(), a.read(), b.read())
  if (!merged.clean) return overlap
  const { text } = merged
  return { kind: 'text', text: { path, sha256: digestOf(text), read: () => text } }
}

/** The content that needs no merge, because one side left it alone or both made it the same. */
function findSame(common: LazyText, a: LazyText, b: LazyText): LazyText | undefined {
  if (b.sha256 === common.sha256 || b.sha256 === a.sha256) return a
  return a.sha256 === common.sha256 ? b : undefined
}

function stateAfter(source: RevertSource, entry: VersionEntry): State {
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
