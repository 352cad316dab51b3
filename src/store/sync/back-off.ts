// How often a sync starts over, and how long it waits before that. Clones that push at once make
// each other start over; pauses at random let all of them through.

import { hasCode } from '../../errors.ts'
import { sleep } from '../../platform/timers.ts'
import { checkNotCancelled } from '../../time-slice.ts'
import type { StoreSession } from '../session/session.ts'
import type { SyncOptions } from './report.ts'

/** The number of rounds: other clones may win the race for the branch in all but the last. */
const ATTEMPTS = 16
/** The same in the background, where many clones may push every few seconds. */
const ATTEMPTS_PATIENT = 20
/**
 * The number of rounds that fail because an object is missing or the branch is locked, which may
 * last: a push that is running holds the lock for a moment, one that died holds it for good.
 */
const ATTEMPTS_LASTING = 4
/**
 * Right after another clone has pushed, the next race is won most easily. Of many clones that push
 * at once, those that lose more often wait longer.
 */
const ATTEMPTS_SOON = 4
const PAUSE_MS = 100
/**
 * The shortest and the longest pause after a race that was lost in the background. Where rounds
 * take long, the machine or the host is busy with the rounds of others, most of them in vain: the
 * longest pause is then this often as long as the round, times the number of lost races.
 */
const PATIENT_MS = { least: 200, most: 2000, rounds: 2 } as const
/** However long a round took. */
const PATIENT_MS_MAX = 30_000

interface Ports {
  readonly random: StoreSession['random']
  readonly clock: Pick<StoreSession['clock'], 'now'>
}

/** The failed rounds of one sync. */
export class BackOff {
  readonly #random: Ports['random']
  readonly #clock: Ports['clock']
  readonly #options: SyncOptions
  #attempts = 0
  #lasting = 0
  /** When the round began that runs. */
  #began: number

  constructor({ random, clock }: Ports, options: SyncOptions) {
    this.#random = random
    this.#clock = clock
    this.#options = options
    this.#began = clock.now()
  }

  /** Counts a failed round. Returns whether another one may follow. */
  mayGoOn(error: unknown): boolean {
    this.#attempts += 1
    if (hasCode(error, 'object_missing', 'remote_locked')) this.#lasting += 1
    const most = this.#options.patient === true ? ATTEMPTS_PATIENT : ATTEMPTS
    return this.#attempts < most && this.#lasting < ATTEMPTS_LASTING
  }

  /** Waits before the next round. Throws `cancelled`. */
  async pause(failure: unknown): Promise<void> {
    const { signal } = this.#options
    await sleep(this.pauseMs(failure), signal).catch(() => undefined)
    checkNotCancelled(signal)
    this.#began = this.#clock.now()
  }

  /** Random, so that two clones that lost a race do not collide again. */
  pauseMs(failure: unknown): number {
    const jitter = (this.#random(1)[0] ?? 0) / 255
    const isLost = hasCode(failure, 'remote_moved')
    if (isLost && this.#options.patient === true) {
      const { least, most, rounds } = PATIENT_MS
      const roundMs = this.#clock.now() - this.#began
      const longest = Math.max(most, rounds * roundMs * this.#attempts)
      return least + jitter * (Math.min(longest, PATIENT_MS_MAX) - least)
    }
    const factor = isLost && this.#attempts <= ATTEMPTS_SOON ? 1 : this.#attempts
    return PAUSE_MS * factor * (0.5 + jitter)
  }
}
