// Background work: the anchor and the caches of this device are written when the
// store is idle, when it has been busy for long, and when it closes. A failure loses nothing: the
// earlier files are as good, only older.

import { hasCode } from '../../errors.ts'
import { inBackground, type Timer } from '../../platform/timers.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import type { Head } from '../snapshot/snapshot.ts'
import type { CurrentState } from './current-state.ts'

const IDLE_MS = 2000

export class Upkeep {
  readonly #state: CurrentState
  /** The newest head that is certainly on disk. */
  #durable: Head | undefined
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #isStopped = false
  /** Called after each durable batch. */
  told: () => void = () => undefined

  constructor(state: CurrentState) {
    this.#state = state
  }

  /** After each durable batch. */
  written(commits: readonly BuiltCommit[]): void {
    if (commits.length === 0) return
    const { local, snapshot } = this.#state
    for (const built of commits) local.countOne(built.onto, built.snapshot.head.commit)
    this.#durable = snapshot.head
    this.told()
    clearTimeout(this.#timer)
    if (this.#isStopped) return
    if (local.isDue(snapshot, 'busy')) this.#running ??= this.#settleWhenBusy()
    this.#timer = inBackground(() => void this.#settle().catch(() => undefined), IDLE_MS)
  }

  /** After a long verification: the next open does not repeat it, even if this process dies. */
  async keepVerified(): Promise<void> {
    const { local, snapshot } = this.#state
    if (local.isDue(snapshot, 'idle')) await this.#leave()
  }

  /** Writes after this are not followed by work of its own. */
  stop(): void {
    this.#isStopped = true
  }

  /** Once no command runs: the last writes before the store closes. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#running
    const { local, snapshot, history } = this.#state
    if (this.#durable !== undefined || (await local.hasNews(snapshot, history))) await this.#leave()
  }

  async #settleWhenBusy(): Promise<void> {
    await this.#settle().catch(() => undefined)
    this.#running = undefined
  }

  async #settle(): Promise<void> {
    const state = this.#state
    // Caches of a history that another server has rewritten must not be written again.
    await state.objects.renew?.()
    await state.alone(() => state.local.settle(this.#durable, state.snapshot))
  }

  /**
   * What a reader may not do, or cannot while another process holds the lock, on a full disk, or
   * once the store is deleted, loses nothing.
   */
  async #leave(): Promise<void> {
    const state = this.#state
    const { objects } = state
    try {
      await objects.renew?.()
      await state.alone(() => state.local.leave(this.#durable, state.snapshot, state.history))
    } catch (error) {
      if (hasCode(error, 'locked', 'storage_denied', 'storage_full', 'not_a_store')) return
      // An engine that does not answer keeps the earlier files.
      if (objects.renew === undefined || !hasCode(error, 'storage_failed', 'not_found')) throw error
    }
  }
}
