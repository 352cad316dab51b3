// Versions by the times of their records (Memory Stores API §7.2), in which those of one time are
// in the order of the history, which is that of writing. Clocks of other clones, and those that
// were set, make it another order than that of the history. Pure over the history.

import type { Oid } from '../../git/objects/object.ts'
import { countLeading } from '../commits/count-leading.ts'
import type { CommitEntry, VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'

/** A list that creates its items on demand. */
export interface Versions {
  readonly length: number
  at(index: number): VersionEntry | undefined
}

interface TimeOrder {
  /** The commits that it covers. */
  readonly commits: number
  readonly head: Oid | undefined
  /** Their latest time, ms since 1970. */
  readonly latest: number
  /** The indexes of their versions; undefined while the history has them in this order. */
  readonly rows: number[] | undefined
}

/** With more new commits of earlier times than this, sorting is faster than inserting. */
const INSERTED_MAX = 64

const none: TimeOrder = {
  commits: 0,
  head: undefined,
  latest: Number.NEGATIVE_INFINITY,
  rows: undefined,
}
const known: WeakMap<History, TimeOrder> = new WeakMap()

/** All versions, earliest first. Yields after each commit that is new to it. */
export function* versionsByTime(history: History): Generator<undefined, Versions> {
  const before = known.get(history) ?? none
  const isPrefix = history.commits.at(before.commits - 1)?.oid === before.head
  const order = yield* extend(history, isPrefix ? before : none)
  known.set(history, order)
  const { rows } = order
  if (rows === undefined) return history.versions
  return {
    length: rows.length,
    at: (index) => {
      const row = rows.at(index)
      return row === undefined ? undefined : history.versions.at(row)
    },
  }
}

/** These versions, which are in the order of the history, earliest first. */
export function sortedByTime(versions: readonly VersionEntry[]): Versions {
  return versions.toSorted((a, b) => a.commit.time - b.commit.time)
}

/** Whether a version comes before another one; `rows` are their indexes in the history. */
export function isEarlier(
  a: { readonly time: number; readonly row: number },
  b: { readonly time: number; readonly row: number },
): boolean {
  return a.time === b.time ? a.row < b.row : a.time < b.time
}

function* extend(history: History, before: TimeOrder): Generator<undefined, TimeOrder> {
  const { length } = history.commits
  let { latest, rows } = before
  let inserted = 0
  for (const commit of history.commits.range(before.commits, length)) {
    yield
    if (commit.time >= latest) {
      latest = commit.time
      rows?.push(...rowsOf(history, commit))
      continue
    }
    if (++inserted > INSERTED_MAX) return yield* sorted(history)
    rows ??= Array.from({ length: history.rangeAt(commit.position)[0] }, (_, row) => row)
    insert(history, rows, commit)
  }
  return { commits: length, head: history.head?.oid, latest, rows }
}

function insert(history: History, rows: number[], commit: CommitEntry): void {
  const at = countLeading(rows, (row) => {
    return (history.versions.at(row)?.commit.time ?? 0) <= commit.time
  })
  rows.splice(at, 0, ...rowsOf(history, commit))
}

function* sorted(history: History): Generator<undefined, TimeOrder> {
  const commits: { readonly time: number; readonly rows: readonly number[] }[] = []
  for (const commit of history.commits) {
    commits.push({ time: commit.time, rows: rowsOf(history, commit) })
    yield
  }
  const { length } = commits
  commits.sort((a, b) => a.time - b.time)
  const rows = commits.flatMap((commit) => commit.rows)
  return { commits: length, head: history.head?.oid, latest: commits.at(-1)?.time ?? 0, rows }
}

/** The indexes of the versions that a commit wrote. */
function rowsOf(history: History, { position }: CommitEntry): readonly number[] {
  const [start, end] = history.rangeAt(position)
  return Array.from({ length: end - start }, (_, index) => start + index)
}
