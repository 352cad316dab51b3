// A memory while a merge is planned: merges the two sides of one memory into a path and a text. A
// part that only one side changed is that side's; else path and text merge separately, and an edit
// wins over a deletion. Must not compare different memories: joining.ts and placement.ts do.

import { zeroId } from '../../format/record.ts'
import { contentBytesFormatMax } from '../../limits.ts'
import type { TextSides } from '../../text/text-union.ts'
import { byAge, type CurrentVersion, type LiveMemory } from '../snapshot/live-memory.ts'
import { mergeContents } from './content-merge.ts'
import { inOrder, type MergeInput, type OpenMemory, type VersionRef } from './merge-input.ts'

/**
 * A result that a user may want to review. `merged`: it has both sides' edits. `both_kept`: they
 * overlapped, and it has the lines of both. `newer_kept`, `newer_path_kept`: it has the newer
 * side's text or path. `edit_kept`: the other side had deleted it. `joined`: another memory had the
 * same path, and its text is in this one. `moved_aside`: another memory is at, above or below its
 * path.
 */
export type OutcomeKind =
  | 'merged'
  | 'both_kept'
  | 'newer_kept'
  | 'newer_path_kept'
  | 'edit_kept'
  | 'joined'
  | 'moved_aside'

export interface Draft {
  readonly memoryId: string
  readonly created: number
  /** The bases of the row. A memory that is not open has a zero second base. */
  readonly base: string
  readonly secondBase: string
  /** The settled memory, which needs a row only if it changes; undefined for an open one. */
  readonly settled: LiveMemory | undefined
  /** Whether it must not get a row. */
  readonly isFixed: boolean
  /** The newest version of the memory: orders the texts if two memories are joined. */
  readonly newest: VersionRef
  path: string
  isLive: boolean
  /** The content of a live memory. Costs a decryption for a settled one. */
  read: () => string
  /** The versions that were merged, older first. */
  inputs: readonly string[]
  readonly outcomes: OutcomeKind[]
}

/** Those first that keep their paths: fixed ones, then the older ones. */
export function byPrecedence(a: Draft, b: Draft): number {
  return Number(b.isFixed) - Number(a.isFixed) || byAge(a, b)
}

export function settledDraft(input: MergeInput, settled: LiveMemory): Draft {
  const { memoryId, created, path, versionId } = settled
  return {
    memoryId,
    created,
    base: versionId,
    secondBase: zeroId,
    settled,
    isFixed: input.isFixed(memoryId),
    newest: settled,
    path,
    isLive: true,
    read: () => input.readContent(settled),
    inputs: [versionId],
    outcomes: [],
  }
}

export function openDraft(input: MergeInput, memory: OpenMemory): Draft {
  const { memoryId, ours, theirs } = memory
  const [older, newer] = inOrder(ours, theirs, input.isLater)
  const start = {
    memoryId,
    // The same on both sides: a memory is created once (FORMAT §1).
    created: ours.created,
    base: ours.versionId,
    secondBase: theirs.versionId,
    settled: undefined,
    isFixed: false,
    newest: newer,
    inputs: [older.versionId, newer.versionId],
  }
  const only = changedOnly(memory.base, [older, newer])
  if (only?.live !== undefined) return { ...start, isLive: true, ...takeLive(input, only.live) }
  if (only === undefined && older.live !== undefined && newer.live !== undefined) {
    return { ...start, isLive: true, ...mergeLive(input, memory, older.live, newer.live) }
  }
  const live = older.live ?? newer.live
  if (only === undefined && live !== undefined) {
    const isDeleted = [older, newer].some(({ operation }) => operation === 'deleted')
    // The version at an ancestor of a head may be redacted: a later one replaces it.
    const outcomes: OutcomeKind[] = isDeleted ? ['edit_kept'] : []
    return { ...start, isLive: true, ...takeLive(input, live), outcomes }
  }
  const path = input.readPath(newer) ?? input.readPath(older) ?? memory.base?.path ?? UNKNOWN_PATH
  return { ...start, isLive: false, path, read: readNothing, outcomes: [] }
}

/**
 * The one of two sides that changed a memory, by an edit, a rename or a deletion, if the other one
 * has what both come from: it was only sealed again, or changed back. Undefined if both did, or
 * redaction keeps that unknown.
 */
function changedOnly(
  base: OpenMemory['base'],
  sides: readonly CurrentVersion[],
): CurrentVersion | undefined {
  const changed = sides.filter(({ live }) => {
    if (base?.sha256 === undefined || live === undefined) return true
    return live.path !== base.path || live.sha256 !== base.sha256
  })
  const [only] = changed
  const isKnown = only?.live !== undefined || only?.operation === 'deleted'
  return changed.length === 1 && isKnown ? only : undefined
}

function takeLive(input: MergeInput, live: LiveMemory): Pick<Draft, 'path' | 'read' | 'outcomes'> {
  return { path: live.path, read: () => input.readContent(live), outcomes: [] }
}

/** The maximum size of a merged text. */
export function contentLimit({ limits }: MergeInput): number {
  return Math.min(limits.contentBytes, contentBytesFormatMax)
}

/** The path of a deleted memory of which every path is redacted. */
const UNKNOWN_PATH = '/deleted'

export function readNothing(): string {
  return ''
}

function mergeLive(
  input: MergeInput,
  { base }: OpenMemory,
  older: LiveMemory,
  newer: LiveMemory,
): Pick<Draft, 'path' | 'read' | 'outcomes'> {
  const outcomes: OutcomeKind[] = []
  const path = mergePaths(base?.path, older.path, newer.path)
  const { how, content } = mergeContents(readSides(input, base, older, newer), contentLimit(input))
  if (how !== 'same') outcomes.push(how)
  if (path === undefined) outcomes.push('newer_path_kept')
  else if (how === 'same' && older.path !== newer.path) outcomes.push('merged')
  return { path: path ?? newer.path, read: () => content, outcomes }
}

/** Undefined if both sides moved the memory. */
function mergePaths(base: string | undefined, older: string, newer: string): string | undefined {
  if (older === newer || older === base) return newer
  return newer === base ? older : undefined
}

/** Reads only the contents that the merge needs. */
function readSides(
  input: MergeInput,
  base: OpenMemory['base'],
  older: LiveMemory,
  newer: LiveMemory,
): TextSides {
  const text = input.readContent(newer)
  if (older.sha256 === newer.sha256) return { base: '', older: text, newer: text }
  return { base: base?.content() ?? '', older: input.readContent(older), newer: text }
}
