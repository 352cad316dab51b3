// The clock that records are stamped with, never adjusted to other records (FORMAT §6.5). Notes
// when it is far from the newest record, so that callers can warn.

import { equalBytes } from '../../bytes.ts'
import type { Clock } from '../../clock.ts'
import { timeMax } from '../../limits.ts'
import { doubtfulAfter } from '../history/record-times.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** A clock that is over 24 hours behind the newest record, or over a year ahead of it. */
export interface ClockLeap {
  /** What the clock showed, ms since 1970. */
  readonly clock: number
  /** The time of the newest record then, ms since 1970. */
  readonly newest: number
}

/** The times that bound the records of a grant's holder, ms since 1970. */
export interface HeldTimes {
  readonly began: number
  readonly notAfter: number
  /** When the granter signed the baseline that the clone began with; 0 without one. */
  readonly signedAt: () => number
  /** The time of the newest record. */
  readonly newest: () => number
}

/** A store may be unused for months. After more than a year this warns once without need. */
const AHEAD = 366 * 24 * 60 * 60 * 1000

export class WriterClock {
  readonly #clock: Clock
  #leap: ClockLeap | undefined
  /** The last time that a grant's holder was given, and whether the clock showed it. */
  #last = 0
  #isSound = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The last leap that a write noticed. */
  get leap(): ClockLeap | undefined {
    return this.#leap
  }

  /** Ms since 1970, limited to what a record can hold. */
  now(): number {
    return Math.min(Math.max(Math.floor(this.#clock()), 0), timeMax)
  }

  /** The time for a new record on a snapshot. */
  stamp(snapshot: Snapshot): number {
    this.#leap = this.findLeap(snapshot) ?? this.#leap
    return this.now()
  }

  /**
   * As `stamp`, for the holder of a grant, whose records are refused over a day before the grant
   * began (FORMAT §12). A clock that is behind what the granter has signed is wrong: then no record
   * is dated before that, nor before the newest one, unless that is beyond the grant's end.
   */
  stampHeld({ began, notAfter, signedAt, newest }: HeldTimes): number {
    const clock = this.now()
    // Checked once in a process, while its clock does not go back.
    if (this.#isSound && clock >= this.#last) return (this.#last = clock)
    const before = newest()
    const least = clock >= began && clock >= before ? began : Math.max(began, signedAt())
    this.#isSound = clock >= least
    this.#last = this.#isSound ? clock : Math.max(least, before <= notAfter ? before : 0)
    if (!this.#isSound) this.#leap = { clock, newest: this.#last }
    return this.#last
  }

  /**
   * Undefined if clock and newest record agree, a recovery identity wrote that record, or its time
   * is not known: a clone that began from a start has times of later records alone.
   */
  findLeap({ head, devices }: Pick<Snapshot, 'head' | 'devices'>): ClockLeap | undefined {
    const clock = this.now()
    const newest = [...devices.values()].find(({ record }) => equalBytes(record, head.record))?.time
    if (newest === undefined || newest === 0) return undefined
    if (newest - clock <= doubtfulAfter && clock - newest <= AHEAD) return undefined
    return { clock, newest }
  }
}
