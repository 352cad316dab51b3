// The inputs of a version: the previous version, or the versions of both sides of a merge. Pure
// over the history in RAM.

import type { VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'

export interface VersionInput {
  readonly entry: VersionEntry
  /** The newest common ancestor of this input and the earlier ones of the list. */
  readonly common: VersionEntry | undefined
}

/**
 * The inputs of a version: none for a first version, and more than one only for a merge. They may
 * include versions of another memory with the same path, which the merge deleted and joined into
 * this one.
 */
export function inputsOf(history: History, entry: VersionEntry): readonly VersionInput[] {
  const entries = [...entry.bases, ...joinedInto(history, entry)]
  return entries.map((input, index) => {
    const earlier = entries.slice(0, index)
    return { entry: input, common: findCommon(earlier, input) }
  })
}

/** The inputs of a version that a merge of clones wrote; empty for all others. */
export function mergedInputsOf(history: History, entry: VersionEntry): readonly VersionEntry[] {
  if (!history.isMerge(entry.commit)) return []
  return [...entry.bases, ...joinedInto(history, entry)]
}

/**
 * The version that gave a memory its path and text: an earlier one where this one repeats it, as
 * when a memory is only sealed again under new keys. What redaction erased is treated as different.
 */
export function lastChangeOf(entry: VersionEntry): VersionEntry {
  for (let last = entry; ;) {
    const repeated = newestOf(last.bases.filter((base) => areSame(base, last)))
    if (repeated === undefined) return last
    last = repeated
  }
}

/**
 * Whether a merge took a memory from one side, since the other one only repeats their base. A merge
 * may write any text: one that neither side had is not from one side.
 */
export function isOneSided(history: History, entry: VersionEntry): boolean {
  const inputs = inputsOf(history, entry)
  const common = inputs[1]?.common
  if (common === undefined || inputs.length > 2) return false
  return inputs.some((side) => {
    if (!areSame(side.entry, common)) return false
    return inputs.some((other) => other !== side && isTakenFrom(entry, other.entry))
  })
}

/** Whether a version is that of a side again. A text that was redacted since is not compared. */
function isTakenFrom(entry: VersionEntry, side: VersionEntry): boolean {
  if (entry.operation === 'deleted') return side.operation === 'deleted'
  return entry.path === undefined || areSame(entry, side)
}

/** Whether path and text are known and the same. */
function areSame(a: VersionEntry, b: VersionEntry): boolean {
  const isKnown = a.path !== undefined && a.sha256 !== undefined
  return isKnown && a.path === b.path && a.sha256 === b.sha256
}

/** The previous path of a memory that a merge gave a path which no side had given it. */
export function findMovedFrom(history: History, entry: VersionEntry): string | undefined {
  if (!history.isMerge(entry.commit) || entry.operation === 'deleted') return undefined
  const live = entry.bases.filter(({ operation }) => operation !== 'deleted')
  const paths = live.flatMap(({ path }) => path ?? [])
  // The path of a redacted side is unknown.
  if (paths.length < live.length || entry.path === undefined) return undefined
  if (paths.includes(entry.path)) return undefined
  const [first, second = first] = live
  const common = second && first && findCommon([first], second)?.path
  const renamed = paths.filter((path) => path !== common)
  return renamed.length === 1 ? renamed[0] : newestOf(live)?.path
}

/** The path that a version took a memory away from. A merge that takes over a move repeats it. */
export function pathBeforeMove(entry: VersionEntry): string | undefined {
  if (entry.operation !== 'modified' || entry.path === undefined) return undefined
  const paths = entry.bases.map(({ path }) => path)
  return paths.includes(entry.path) ? undefined : paths[0]
}

/** The version that received the text of a memory if a merge deleted that with this row. */
export function joinOf(history: History, entry: VersionEntry): VersionEntry | undefined {
  if (entry.operation !== 'deleted' || !isLastOfLive(entry)) return undefined
  return samePathRows(history, entry).find(({ operation }) => operation !== 'deleted')
}

/** The versions of other memories that a merge joined into one. Redacted paths are unknown. */
function joinedInto(history: History, entry: VersionEntry): readonly VersionEntry[] {
  if (entry.operation === 'deleted') return []
  const deleted = samePathRows(history, entry).filter((row) => {
    return row.operation === 'deleted' && isLastOfLive(row)
  })
  return deleted.flatMap((row) => row.bases)
}

/** The other rows of a merge that name the same path. */
function samePathRows(history: History, entry: VersionEntry): readonly VersionEntry[] {
  if (!history.isMerge(entry.commit) || entry.path === undefined) return []
  const rows = history.rowsAtPath(entry.commit.position, entry.path)
  return rows.filter(({ versionId }) => versionId !== entry.versionId)
}

/** False if both sides had deleted the memory. */
function isLastOfLive(entry: VersionEntry): boolean {
  return entry.bases.some(({ operation }) => operation !== 'deleted')
}

function findCommon(
  earlier: readonly VersionEntry[],
  entry: VersionEntry,
): VersionEntry | undefined {
  if (earlier.length === 0) return undefined
  const reached = new Map<string, Visited>()
  for (const one of earlier) reach(reached, one, 1)
  reach(reached, entry, 2)
  for (;;) {
    const newest = newestOf(Array.from(reached.values(), ({ version }) => version))
    const { from = 0 } = (newest && reached.get(newest.versionId)) ?? {}
    if (newest === undefined || from === 3) return newest
    reached.delete(newest.versionId)
    for (const base of newest.bases) reach(reached, base, from)
  }
}

interface Visited {
  readonly version: VersionEntry
  /** 1 or 2 for the side it was reached from, 3 for both. */
  readonly from: number
}

function reach(reached: Map<string, Visited>, version: VersionEntry, from: number): void {
  const { versionId } = version
  reached.set(versionId, { version, from: (reached.get(versionId)?.from ?? 0) | from })
}

/** The version with the highest position in the history. */
export function newestOf(entries: Iterable<VersionEntry>): VersionEntry | undefined {
  let newest: VersionEntry | undefined
  for (const entry of entries) {
    if (newest === undefined || entry.commit.position > newest.commit.position) newest = entry
  }
  return newest
}
