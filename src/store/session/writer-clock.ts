// The clock that records are stamped with, as it is: never bent, whatever other records say
// (FORMAT §6.5). Notices, for whoever wants to warn of it, that it is far from the newest record.

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

/** Stores rest for months; of one that rested for over a year this warns once, for nothing. */
const AHEAD = 366 * 24 * 60 * 60 * 1000

export class WriterClock {
  readonly #clock: Clock
  #leap: ClockLeap | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The last one that a write came upon. */
  get leap(): ClockLeap | undefined {
    return this.#leap
  }

  /** Ms since 1970, as far as a record can hold it. */
  now(): number {
    return Math.min(Math.max(Math.floor(this.#clock()), 0), timeMax)
  }

  /** The time of a record to be written on a snapshot. */
  stamp(snapshot: Snapshot): number {
    this.#leap = this.findLeap(snapshot) ?? this.#leap
    return this.now()
  }

  /** Undefined if clock and newest record agree, or a recovery identity wrote that. */
  findLeap({ head, devices }: Pick<Snapshot, 'head' | 'devices'>): ClockLeap | undefined {
    const clock = this.now()
    const newest = [...devices.values()].find(({ record }) => equalBytes(record, head.record))?.time
    if (newest === undefined) return undefined
    if (newest - clock <= doubtfulAfter && clock - newest <= AHEAD) return undefined
    return { clock, newest }
  }
}
