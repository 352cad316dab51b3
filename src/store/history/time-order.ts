// Versions by the times of their records (Memory Stores API §7.2); those of one time are in the
// order of the history. The two orders differ if clocks of other clones differ, or a clock was set.
// Pure over the history.

import type { Oid } from '../../git/objects/object.ts'
import type { VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'

/** A list that creates its items on demand. */
export interface Versions {
  readonly length: number
  at(index: number): VersionEntry | undefined
}

interface TimeOrder {
  /** The number of commits that it covers, and the last of them. */
  readonly commits: number
  readonly head: Oid | undefined
  /** Their latest time, ms since 1970. */
  readonly latest: number
  /** The indexes of their versions; undefined while the history has them in this order. */
  readonly rows: readonly number[] | undefined
}

const nothing: TimeOrder = { commits: 0, head: undefined, latest: -Infinity, rows: undefined }
const orders: WeakMap<History, TimeOrder> = new WeakMap()

/** All versions, earliest first. Yields after each commit that is new to it. */
export function* versionsByTime(history: History): Generator<undefined, Versions> {
  const known = orders.get(history) ?? nothing
  const isPrefix = history.commits.at(known.commits - 1)?.oid === known.head
  const order = yield* extend(history, isPrefix ? known : nothing)
  orders.set(history, order)
  const { rows } = order
  if (rows === undefined) return history.versions
  const at = (index: number): VersionEntry | undefined => {
    const row = rows.at(index)
    return row === undefined ? undefined : history.versions.at(row)
  }
  return { length: rows.length, at }
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
  const head = history.head?.oid
  if (before.commits === length) return before
  let { latest } = before
  let isInOrder = before.rows === undefined
  for (let position = before.commits; position < length; position += 1) {
    yield
    const time = history.timeAt(position)
    if (time < latest) isInOrder = false
    latest = Math.max(latest, time)
  }
  if (isInOrder) return { commits: length, head, latest, rows: undefined }
  const positions = Array.from({ length }, (_, position) => position)
  positions.sort((a, b) => history.timeAt(a) - history.timeAt(b))
  const rows = positions.flatMap((position) => {
    const [start, end] = history.rangeAt(position)
    return Array.from({ length: end - start }, (_, index) => start + index)
  })
  return { commits: length, head, latest, rows }
}
