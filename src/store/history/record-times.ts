// What the history says of the times in records (FORMAT §6.5), which are what clocks showed and
// may be wrong: which are doubtful, where what was written later places them, and how late a record
// can have been written. Pure over the history, so that all clones agree. Trusts no clock.

import type { Oid } from '../../git/objects/object.ts'
import type { CommitEntry } from './history-rows.ts'
import type { History } from './history.ts'

/** How much earlier a descendant may be, in ms, before a time is doubtful. */
export const doubtfulAfter: number = 24 * 60 * 60 * 1000

/** What is known of the commits up to one that has all before it in its past. */
interface Placement {
  readonly head: Oid
  readonly position: number
  /** By position, the earliest time of the descendants of each commit whose own is doubtful. */
  readonly placed: ReadonlyMap<number, number>
  /** The greatest time of a descendant from which on nothing of this changes. */
  readonly settled: number
}

const placements: WeakMap<History, Placement> = new WeakMap()

/**
 * The earliest time of a commit's descendants, ms since 1970, where that is more than 24 hours
 * before its own time: then the own one is doubtful. Undefined for all others.
 */
export function findPlacedTime(history: History, { position }: CommitEntry): number | undefined {
  return placementOf(history)?.placed.get(position)
}

/**
 * Whether a commit may have been written between two times, both included. A doubtful time stands
 * for two, of which the own one is left out if the head is over 24 hours earlier as well.
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

/** The time of a commit, or the one at which its descendants place it. */
export function placedTime(history: History, commit: CommitEntry): number {
  return findPlacedTime(history, commit) ?? commit.time
}

/**
 * How late a commit can have been written, for deciding what is old enough to go: every doubt makes
 * it younger. No commit is older than one before it, whatever its own clock showed; times after
 * `now` say nothing.
 */
export class LatestTimes {
  readonly #history: History
  readonly #now: number
  /** Of the commits below `#next`. */
  #latest = Number.NEGATIVE_INFINITY
  #next = 0

  constructor(history: History, now: number) {
    this.#history = history
    this.#now = now
  }

  /** Cheap if positions ascend from call to call. Ms since 1970; after `now` if nothing tells. */
  of(commit: CommitEntry): number {
    if (commit.position + 1 < this.#next) {
      this.#next = 0
      this.#latest = Number.NEGATIVE_INFINITY
    }
    for (; this.#next <= commit.position; this.#next += 1) {
      const time = this.#history.commits.at(this.#next)?.time ?? this.#now
      if (time <= this.#now) this.#latest = Math.max(this.#latest, time)
    }
    return Math.max(this.#latest, placedTime(this.#history, commit))
  }
}

function placementOf(history: History): Placement | undefined {
  const { head } = history
  if (head === undefined) return undefined
  const known = placements.get(history)
  if (known?.head === head.oid && known.position === head.position) return known
  const found = continued(history, head, known) ?? walkBack(history, head, -1).placement
  placements.set(history, found)
  return found
}

/** What is new need not be added to what is known if none of it is so early that it says more. */
function continued(
  history: History,
  head: CommitEntry,
  known: Placement | undefined,
): Placement | undefined {
  if (known === undefined || history.commits.at(known.position)?.oid !== known.head)
    return undefined
  const { placement, earliest } = walkBack(history, head, known.position)
  if (earliest < known.settled) return undefined
  return {
    ...placement,
    placed: new Map([...known.placed, ...placement.placed]),
    settled: Math.max(known.settled, placement.settled),
  }
}

/** Children before parents, down to a commit that has all others below in its past, or to -1. */
function walkBack(
  history: History,
  { oid, position: last }: CommitEntry,
  end: number,
): { readonly placement: Placement; readonly earliest: number } {
  const placed = new Map<number, number>()
  /** By position, the earliest time of the descendants that were passed. */
  const below = new Map<number, number>()
  /** The same for the next commit, where the history is a line there. */
  let inLine = Number.POSITIVE_INFINITY
  let settled = Number.NEGATIVE_INFINITY
  let earliest = Number.POSITIVE_INFINITY
  for (let position = last; position > end; position -= 1) {
    const commit = history.commits.at(position)
    if (commit === undefined) continue
    const { time } = commit
    const bound = Math.min(inLine, below.get(position) ?? Number.POSITIVE_INFINITY)
    below.delete(position)
    if (time - bound > doubtfulAfter) placed.set(position, bound)
    settled = Math.max(settled, placed.get(position) ?? time - doubtfulAfter)
    const least = Math.min(time, bound)
    earliest = Math.min(earliest, least)
    // A million times in a line: asks for nothing and makes nothing.
    const isInLine =
      position > 0 && commit.isCut && history.commits.at(position - 1)?.isCut === true
    inLine = isInLine ? least : Number.POSITIVE_INFINITY
    if (isInLine) continue
    for (const parent of history.parentsOf(commit)) {
      below.set(parent.position, Math.min(least, below.get(parent.position) ?? least))
    }
  }
  return { placement: { head: oid, position: last, placed, settled }, earliest }
}
