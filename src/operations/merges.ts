// Settling a merge of clones, for the command line and the console: the memory gets the text that a
// user chooses, as an ordinary change on top of its newest version. Edits that came after the merge
// are kept, or the choice is refused. Must not know how a user is asked.

import { StoreError } from '../errors.ts'
import { type AppliedChanges, nothingApplied } from '../store/changes/apply.ts'
import type { Change } from '../store/changes/changes.ts'
import type { Conflict } from '../store/history/conflicts.ts'
import type { FullVersion } from '../store/history/versions.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { mergeEdits } from '../store/merge/content-merge.ts'
import type { Memory } from '../store/snapshot/live-memory.ts'
import type { StoreWriter } from '../store/store-writer.ts'
import { type MergePart, mergeText } from '../text/text-merge.ts'

/** One of the two versions that a merge joined. */
export interface MergeSide {
  /** Without a content if it deleted the memory or is redacted. */
  readonly version: FullVersion
  /** For people; may be empty. */
  readonly deviceName: string
  readonly isThisDevice: boolean
}

/** A merge with all that a user needs to see to settle it. */
export interface OpenMerge {
  readonly merge: Conflict
  readonly result: FullVersion
  /** Undefined unless the merge joined exactly two versions; `ours` is this device's, if one is. */
  readonly sides: { readonly ours: MergeSide; readonly theirs: MergeSide } | undefined
  /** What both sides began from; empty if that is unknown. */
  readonly base: string
  /** The memory as it is now; undefined once deleted. */
  readonly current: Memory | undefined
}

/** `both` leaves the text that the memory has now. */
export type MergeChoice =
  | { readonly keep: 'ours' | 'theirs' | 'both' }
  | { readonly content: string }

/** Undefined where the memory would be deleted. */
export type SettledText = { readonly path: string; readonly content: string } | undefined

/** Throws `not_found` for a version that no merge has written. */
export async function readMerge(
  store: MemoryStore,
  merges: readonly Conflict[],
  versionId: string,
): Promise<OpenMerge> {
  const merge = merges.find((one) => one.versionId === versionId)
  if (merge === undefined) throw new StoreError('not_found', 'There is no such merge')
  const { history } = store
  const [result, current] = await Promise.all([
    history.version(versionId),
    store.memory(merge.memoryId),
  ])
  const base = merge.base === undefined ? undefined : await history.version(merge.base)
  return { merge, result, sides: await sidesOf(store, merge), base: base?.content ?? '', current }
}

async function sidesOf(
  store: MemoryStore,
  { inputs, combination }: Conflict,
): Promise<OpenMerge['sides']> {
  const [first, second] = inputs
  if (first === undefined || second === undefined || inputs.length > 2) return undefined
  if (combination === 'deleted' || combination === 'redacted') return undefined
  const [{ deviceId }, names] = await Promise.all([store.summary(), store.devices.names()])
  const sideOf = async (id: string): Promise<MergeSide> => {
    const version = await store.history.version(id)
    const deviceName = names.get(version.deviceId) ?? ''
    return { version, deviceName, isThisDevice: version.deviceId === deviceId }
  }
  const [one, other] = await Promise.all([sideOf(first), sideOf(second)])
  return other.isThisDevice && !one.isThisDevice
    ? { ours: other, theirs: one }
    : { ours: one, theirs: other }
}

/**
 * The memory after a choice. Throws `precondition_failed` if edits since the merge touch the same
 * lines, `not_found` for a memory that is deleted, `redacted`, and `invalid_input` for a choice
 * that the merge does not offer.
 */
export function settledText(open: OpenMerge, choice: MergeChoice): SettledText {
  const { current, result } = open
  const keep = 'content' in choice ? undefined : choice.keep
  if (keep === 'both') {
    checkHasBoth(open)
    return current
  }
  if (current === undefined) throw new StoreError('not_found', 'The memory was deleted since')
  const { path, content } = current
  if (keep === undefined) return { path, content: 'content' in choice ? choice.content : content }
  const chosen = chosenSide(open, keep)
  if (chosen === undefined) {
    if (content !== result.content || path !== result.path) throw changedSince(path)
    return undefined
  }
  const merged = mergeText(result.content ?? '', content, chosen.content)
  if (!merged.clean) throw changedSince(path)
  return { path: path === result.path ? chosen.path : path, content: merged.text }
}

/**
 * What the merge would have made of the memory. Undefined if the side deleted it. Where both sides
 * changed the same lines it has those of the side, and all other edits of both; if none overlap,
 * the whole text of the side.
 */
function chosenSide(open: OpenMerge, keep: 'ours' | 'theirs'): SettledText {
  const { merge, sides, base, result } = open
  if (sides === undefined) {
    throw new StoreError('invalid_input', 'This merge has no two sides to choose from')
  }
  const { version } = sides[keep]
  const other = sides[keep === 'ours' ? 'theirs' : 'ours'].version
  if (version.operation === 'deleted') return undefined
  const { content, path = '' } = version
  if (content === undefined) throw new StoreError('redacted', 'That side of the merge is redacted')
  const isMoved = merge.movedFrom === undefined && other.content === content
  const at = isMoved ? path : (result.path ?? path)
  if (other.content === undefined) return { path: at, content }
  const [ours, theirs] = keep === 'ours' ? [content, other.content] : [other.content, content]
  return { path: at, content: partsText(mergeEdits(base, ours, theirs), keep) ?? content }
}

/** Undefined if nothing overlaps. */
function partsText(parts: readonly MergePart[], keep: 'ours' | 'theirs'): string | undefined {
  if (parts.every((part) => 'text' in part)) return undefined
  return parts.map((part) => ('text' in part ? part.text : part[keep])).join('')
}

function checkHasBoth({ merge, sides }: OpenMerge): void {
  if (merge.combination !== 'kept' || sides === undefined) return
  throw new StoreError(
    'invalid_input',
    'The merge kept the text of one side, so the memory does not have both: choose one, or edit',
  )
}

function changedSince(path: string): StoreError {
  return new StoreError('precondition_failed', 'The memory changed since the merge', {
    details: { path },
  })
}

export interface SettleRequest {
  readonly choice: MergeChoice
  /** The hash of the text that the user has seen: 64 hex digits. Default: the present one. */
  readonly expectedSha256?: string | undefined
}

/** Rejects as `settledText` and `apply` do, and with `precondition_failed` for another text. */
export async function settleMerge(
  writer: StoreWriter,
  open: OpenMerge,
  { choice, expectedSha256 }: SettleRequest,
): Promise<AppliedChanges> {
  const { memoryId } = open.merge
  const next = settledText(open, choice)
  const { content, path, sha256: seen } = open.current ?? {}
  if (expectedSha256 !== undefined && expectedSha256 !== seen) throw changedSince(path ?? '')
  if (next?.content === content && next?.path === path) return { ...nothingApplied, memories: [] }
  const change: Change =
    next === undefined
      ? { type: 'delete', memoryId, expectedSha256: seen }
      : {
          type: 'update',
          memoryId,
          // Another process may have moved the memory, which only a choice that moves it undoes.
          ...(next.path !== path && { path: next.path }),
          content: next.content,
          expectedSha256: seen,
        }
  return writer.apply([change])
}

/** The reason of the change, if the user gives none. */
export function settlingReason({ sides }: OpenMerge, choice: MergeChoice): string {
  if ('content' in choice) return 'Edited the result of a merge'
  if (choice.keep === 'both' || sides === undefined) return 'Kept both sides of a merge'
  const { deviceName } = sides[choice.keep]
  return `Kept ${deviceName === '' ? 'one' : `${deviceName}'s`} side of a merge`
}
