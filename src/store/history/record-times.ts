// Evaluates the times in records (FORMAT §6.5), which come from device clocks and may be wrong:
// which are doubtful, where later records place them, and the latest time at which a record can
// have been written. Pure over the history, so that all clones agree. Trusts no clock.

import type { Oid } from '../../git/objects/object.ts'
import { timeMax } from '../../limits.ts'
import type { CommitEntry } from './history-rows.ts'
import type { History } from './history.ts'

/** A time is doubtful if a descendant is earlier by more than this, in ms. */
export const doubtfulAfter: number = 24 * 60 * 60 * 1000

interface Placement {
  readonly head: Oid
  /** By position of each commit with a doubtful time, the earliest time of its descendants. */
  readonly placed: ReadonlyMap<number, number>
}

const placements: WeakMap<History, Placement> = new WeakMap()

/**
 * The earliest time of a commit's descendants, ms since 1970, if that is more than 24 hours before
 * the commit's own time, which is then doubtful; undefined otherwise.
 */
export function findPlacedTime(history: History, { position }: CommitEntry): number | undefined {
  return placedTimes(history)?.get(position)
}

/**
 * Whether a commit may have been written between two times, both included. A doubtful time is a
 * range from the placed time to its own, or as the placed time alone if the head is over 24
 * hours earlier too.
 */
export function mayLieBetween(
  history: History,
  commit: CommitEntry,
  { since, until }: { readonly since?: number | undefined; readonly until?: number | undefined },
): boolean {
  if (since === undefined && until === undefined) return true
  const earliest = placedTime(history, commit)
  const isPastHead = commit.time - (history.head?.time ?? 0) > doubtfulAfter
  const latest = isPastHead ? earliest : commit.time
  return (since ?? latest) <= latest && earliest <= (until ?? earliest)
}

/** The time of a commit, or its placed time if its own is doubtful. */
export function placedTime(history: History, commit: CommitEntry): number {
  return findPlacedTime(history, commit) ?? commit.time
}

/**
 * By position, whether a commit and its whole past are stamped no later than a time: the largest
 * such set without a commit whose ancestors are not all in it. The placed times do not count.
 */
export function stampedBy(history: History, time: number): (position: number) => boolean {
  const { length } = history.commits
  const isIn = new Uint8Array(length)
  for (let position = 0; position < length; position += 1) {
    if (history.timeAt(position) > time) continue
    if (parentsAt(history, position).every((parent) => isIn[parent] === 1)) isIn[position] = 1
  }
  return (position) => isIn[position] === 1
}

/** Positions. A commit in line has only the one before it, whose past has all others. */
export function parentsAt(history: History, position: number): readonly number[] {
  const isInLine = position > 0 && history.isCutAt(position) && history.isCutAt(position - 1)
  if (isInLine) return [position - 1]
  return history.parentsOf({ position }).map((parent) => parent.position)
}

/**
 * The latest time at which a commit can have been written, for deciding what retention may erase:
 * every doubt makes it later. No commit is taken to be older than one before it, and times after
 * `now` are ignored.
 */
export class LatestTimes {
  readonly #history: History
  readonly #now: number
  /** By position, the latest time of the commits up to there. */
  readonly #latest: number[] = []

  constructor(history: History, now: number) {
    this.#history = history
    this.#now = now
  }

  /** Ms since 1970; after `now` if no time is reliable. */
  of(commit: CommitEntry): number {
    const latest = this.#latest
    while (latest.length <= commit.position) {
      const time = this.#history.commits.at(latest.length)?.time ?? this.#now
      const before = latest.at(-1) ?? Number.NEGATIVE_INFINITY
      latest.push(time <= this.#now ? Math.max(before, time) : before)
    }
    const known = latest[commit.position] ?? Number.NEGATIVE_INFINITY
    return Math.max(known, placedTime(this.#history, commit))
  }
}

/** A time in a sentence, as ISO 8601 without zero milliseconds. */
export function formatTime(time: number): string {
  if (!(Math.abs(time) <= timeMax)) return String(time)
  return new Date(time).toISOString().replace('.000Z', 'Z')
}

function placedTimes(history: History): ReadonlyMap<number, number> | undefined {
  const head = history.head?.oid
  if (head === undefined) return undefined
  const known = placements.get(history)
  if (known?.head === head) return known.placed
  const placed = findPlacedTimes(history)
  placements.set(history, { head, placed })
  return placed
}

/** Walks from children to parents. */
function findPlacedTimes(history: History): ReadonlyMap<number, number> {
  const placed = new Map<number, number>()
  /** By position, the earliest time of the descendants visited so far. */
  const bounds = new Map<number, number>()
  /** The same for the next commit where the history is linear. */
  let inLine = Number.POSITIVE_INFINITY
  for (let position = history.commits.length - 1; position >= 0; position -= 1) {
    const time = history.timeAt(position)
    let bound = inLine
    if (bounds.size > 0) {
      bound = Math.min(inLine, bounds.get(position) ?? Number.POSITIVE_INFINITY)
      bounds.delete(position)
    }
    if (time - bound > doubtfulAfter) placed.set(position, bound)
    const least = Math.min(time, bound)
    // The common case, possibly a million times: allocates nothing.
    const isInLine = position > 0 && history.isCutAt(position) && history.isCutAt(position - 1)
    inLine = isInLine ? least : Number.POSITIVE_INFINITY
    if (isInLine) continue
    for (const parent of history.parentsOf({ position })) {
      bounds.set(parent.position, Math.min(least, bounds.get(parent.position) ?? least))
    }
  }
  return placed
}
