// Which records a time reaches or misses only because clocks disagree, by the definition: every
// record is held against each of its ancestors and descendants.

import type { TimedRecord } from './times.ts'

const DAY = 24 * 60 * 60 * 1000

export interface ReferenceDoubt {
  /** Indexes of records in the state at the time, ascending. */
  readonly stampedLater: readonly number[]
  readonly datedBack: readonly number[]
  /** Those of them whose own time is over a day before one of an ancestor. */
  readonly undated: readonly number[]
  /** In the state at the time, and not in the one at the stamped time. */
  readonly leftOut: readonly number[]
  /** The state at the stamped time. */
  readonly stamped: readonly number[]
}

export function doubtAt(
  records: readonly TimedRecord[],
  time: number,
  now: number,
): ReferenceDoubt {
  const pasts = records.map((_, index) => pastOf(records, index))
  const isBy = (index: number): boolean => (records[index]?.time ?? 0) <= time
  const all = records.map((_, index) => index)
  const state = all.filter((index) => all.some((tip) => isBy(tip) && pasts[tip]?.has(index)))
  const stamped = all.filter((index) => [...(pasts[index] ?? [])].every(isBy))
  const isStamped = new Set(stamped)
  const hasAncestor = (index: number, holds: (time: number) => boolean): boolean =>
    [...(pasts[index] ?? [])].some((other) => holds(records[other]?.time ?? 0))
  // Times that are far after the clock prove nothing.
  const isAfter = (index: number): boolean =>
    isBy(index) && hasAncestor(index, (other) => other > time && other <= now + DAY)
  const isSure = (index: number): boolean =>
    isBy(index) &&
    !isAfter(index) &&
    !hasAncestor(index, (other) => other <= time && other - (records[index]?.time ?? 0) > DAY)
  const isVouched = (index: number): boolean =>
    all.some((other) => isSure(other) && pasts[other]?.has(index))
  const after = state.filter(isAfter)
  const undated = state.filter((index) => isBy(index) && !isAfter(index) && !isVouched(index))
  return {
    stampedLater: state.filter((index) => !isBy(index)),
    datedBack: [...after, ...undated].toSorted((a, b) => a - b),
    undated,
    leftOut: state.filter((index) => isBy(index) && !isStamped.has(index)),
    stamped,
  }
}

/** With the record itself. */
function pastOf(records: readonly TimedRecord[], index: number): ReadonlySet<number> {
  const past = new Set([index])
  for (const one of past) for (const parent of records[one]?.parents ?? []) past.add(parent)
  return past
}
