// What a version was made from: the version before it, or where clones were merged the versions of
// both. Pure over the history in RAM.

import type { VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'

export interface VersionInput {
  readonly entry: VersionEntry
  /** The newest version that both this input and an earlier one of the list come from. */
  readonly common: VersionEntry | undefined
}

/**
 * None for a first version, and more than one only in merges. There another memory that had the
 * same path may be among them: it was deleted by the merge, and its text went into this version.
 */
export function inputsOf(history: History, entry: VersionEntry): readonly VersionInput[] {
  const entries = [...basesOf(history, entry), ...joinedInto(history, entry)]
  return entries.map((input, index) => {
    const earlier = entries.slice(0, index)
    return { entry: input, common: findCommon(history, earlier, input) }
  })
}

/** The same where a merge of clones wrote the version; none for all others. */
export function mergedInputsOf(history: History, entry: VersionEntry): readonly VersionEntry[] {
  if (!history.isMerge(entry.commit)) return []
  return [...basesOf(history, entry), ...joinedInto(history, entry)]
}

/** Whether a merge gave a memory a path that no side had given it: where it was before. */
export function findMovedFrom(history: History, entry: VersionEntry): string | undefined {
  if (!history.isMerge(entry.commit) || entry.operation === 'deleted') return undefined
  const live = basesOf(history, entry).filter(({ operation }) => operation !== 'deleted')
  const paths = live.flatMap(({ path }) => path ?? [])
  // What a redacted side called it is not known.
  if (paths.length < live.length || entry.path === undefined) return undefined
  if (paths.includes(entry.path)) return undefined
  const [first, second = first] = live
  const common = second && first && findCommon(history, [first], second)?.path
  const renamed = paths.filter((path) => path !== common)
  return renamed.length === 1 ? renamed[0] : newestOf(live)?.path
}

/** The memory that goes on with the text of one that a merge deleted, if this row deleted one. */
export function joinOf(history: History, entry: VersionEntry): VersionEntry | undefined {
  if (entry.operation !== 'deleted' || !isLastOfLive(history, entry)) return undefined
  return besides(history, entry).find(({ operation }) => operation !== 'deleted')
}

function basesOf(history: History, { base, secondBase }: VersionEntry): readonly VersionEntry[] {
  return [base, secondBase].flatMap((id) => history.find(id) ?? [])
}

/** The versions of other memories that a merge put into one. Nothing is known of redacted paths. */
function joinedInto(history: History, entry: VersionEntry): readonly VersionEntry[] {
  if (entry.operation === 'deleted') return []
  const deleted = besides(history, entry).filter((row) => {
    return row.operation === 'deleted' && isLastOfLive(history, row)
  })
  return deleted.flatMap((row) => basesOf(history, row))
}

/** Other rows of a merge that name the same path. */
function besides(history: History, entry: VersionEntry): readonly VersionEntry[] {
  if (!history.isMerge(entry.commit) || entry.path === undefined) return []
  return history.rowsAt(entry.commit.position).filter((row) => {
    return row.versionId !== entry.versionId && row.path === entry.path
  })
}

/** Not if both clones had deleted it. */
function isLastOfLive(history: History, entry: VersionEntry): boolean {
  return basesOf(history, entry).some(({ operation }) => operation !== 'deleted')
}

function findCommon(
  history: History,
  earlier: readonly VersionEntry[],
  entry: VersionEntry,
): VersionEntry | undefined {
  if (earlier.length === 0) return undefined
  const reached = new Map<string, Reached>()
  for (const one of earlier) reach(reached, one, 1)
  reach(reached, entry, 2)
  for (;;) {
    const newest = newestOf(Array.from(reached.values(), ({ version }) => version))
    const { from = 0 } = (newest && reached.get(newest.versionId)) ?? {}
    if (newest === undefined || from === 3) return newest
    reached.delete(newest.versionId)
    for (const base of basesOf(history, newest)) reach(reached, base, from)
  }
}

interface Reached {
  readonly version: VersionEntry
  /** Which of the two it was reached from: 1, 2, or 3 for both. */
  readonly from: number
}

function reach(reached: Map<string, Reached>, version: VersionEntry, from: number): void {
  const { versionId } = version
  reached.set(versionId, { version, from: (reached.get(versionId)?.from ?? 0) | from })
}

/** By its place in the history. */
export function newestOf(entries: Iterable<VersionEntry>): VersionEntry | undefined {
  let newest: VersionEntry | undefined
  for (const entry of entries) {
    if (newest === undefined || entry.commit.position > newest.commit.position) newest = entry
  }
  return newest
}
