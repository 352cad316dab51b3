// Sends the changes of an open store without being asked: a moment after each write, again
// after a failure, and the rest at the end. A failure does not disturb other work: it is reported,
// and so are the commits that could not be sent. Must load no part of a sync before there is
// something to send.

import { Gate } from '../async.ts'
import { StoreError } from '../errors.ts'
import type { Remote } from '../git/exchange.ts'
import { inBackground, type Timer } from '../platform/timers.ts'
import type { RemoteOptions } from '../transport/remote-access.ts'
import type { StoreSession } from './session/session.ts'
import type { RemoteStatus } from './sync/remote-state.ts'
import type { StoreSyncOptions, SyncReport } from './sync/report.ts'

/** A write is sent once nothing has been written for this long: a series is sent together. */
const QUIET_MS = 2000
/** The longest wait of a write. */
const LATEST_MS = 5000
/** The average pause after a failure. Each further failure doubles it, up to the factor. */
const RETRY_MS = 5000
const RETRY_FACTOR_MAX = 64
const INTERVAL_FACTOR_MAX = 16
/** How long the end waits for all remotes together. */
const END_MS = 10_000

export interface AutoSyncOptions {
  readonly access?: RemoteOptions | undefined
  /** Asks the remotes for the changes of others too: at the start, and this often on average. */
  readonly everyMs?: number | undefined
  /** Called with each failure of a remote, and with undefined after a success. */
  readonly report?: ((remote: string, error: unknown) => void) | undefined
  /** Called with the report of each sync that has succeeded. */
  readonly synced?: ((report: SyncReport) => void) | undefined
  /** How long the end waits; 10 s if left out. */
  readonly endMs?: number | undefined
  /** Once it is aborted, the end waits 10 s at most. */
  readonly interrupted?: AbortSignal | undefined
}

/** Commits that a remote lacks at the end. */
export interface Unsent {
  readonly remote: string
  /** Their number; undefined if the remote has never had this store. */
  readonly commits: number | undefined
  /** The reason. */
  readonly error: unknown
}

/** Syncs with the remote that the options name, in the name of an author of merges. */
export type SyncOne = (options: StoreSyncOptions) => Promise<SyncReport>

interface TurnOptions {
  /** Whether remotes that lack nothing are asked too. */
  readonly asksAll: boolean
  readonly patient: boolean
}

export class AutoSync {
  readonly #session: StoreSession
  readonly #options: AutoSyncOptions
  readonly #syncOne: SyncOne
  readonly #gate = new Gate()
  /** The reason why the last sync with a remote failed, by its name. */
  readonly #failures: Map<string, unknown> = new Map()
  /** The failed turns in a row. */
  #failed = 0
  /** Whether something may not be sent. */
  #isDue = false
  /** Whether a turn waits for the one that runs. */
  #isQueued = false
  #quiet: Timer | undefined
  #latest: Timer | undefined
  /** Writes wait for it after a failure. */
  #retry: Timer | undefined
  #interval: Timer | undefined
  #finished: Promise<readonly Unsent[]> | undefined
  /** Aborted when the end has taken too long. */
  readonly #ending = new AbortController()
  /** Aborts the sync that runs. */
  #syncing = new AbortController()
  /** How long the sync with each remote may take, once the end has begun. */
  #shareMs: number | undefined
  #limits: Timer[] = []

  constructor(session: StoreSession, syncOne: SyncOne, options: AutoSyncOptions) {
    this.#session = session
    this.#options = options
    this.#syncOne = syncOne
    session.whenWritten(() => this.#written())
    if (options.everyMs === undefined) {
      // An earlier process may have left something. A program need not wait for that.
      this.#quiet = inBackground(() => this.#send(), QUIET_MS)
    } else void this.#ask(options.everyMs)
  }

  /**
   * Sends the rest and ends, after ten seconds at the latest. Resolves to what the remotes lack.
   * Call it when nothing is written any more.
   */
  finish(): Promise<readonly Unsent[]> {
    this.#finished ??= this.#finish()
    return this.#finished
  }

  async #finish(): Promise<readonly Unsent[]> {
    for (const timer of [this.#quiet, this.#latest, this.#retry, this.#interval]) {
      clearTimeout(timer)
    }
    if (!this.#isDue && this.#gate.free) return []
    const { endMs = END_MS, interrupted } = this.#options
    // One remote that does not answer must not take the time of the others.
    this.#shareMs = endMs / Math.max(1, this.#session.objects.exchange.remotes().length)
    this.#abortAfter(this.#shareMs, this.#syncing)
    this.#abortAfter(endMs, this.#ending)
    const hurry = (): void => this.#abortAfter(END_MS, this.#ending)
    interrupted?.addEventListener('abort', hurry, { once: true })
    try {
      // A turn that is running is continued; this one sends later writes.
      await this.#gate.run(() => this.#turn({ asksAll: false, patient: false }))
      return (await this.#findLacking()).map(({ name: remote, unsent: commits }) => {
        return { remote, commits, error: this.#failures.get(remote) ?? lateError() }
      })
    } finally {
      interrupted?.removeEventListener('abort', hurry)
      for (const limit of this.#limits) clearTimeout(limit)
    }
  }

  /** Whether `finish` was called. */
  get isFinished(): boolean {
    return this.#finished !== undefined
  }

  #written(): void {
    this.#isDue = true
    if (this.#finished !== undefined || this.#retry !== undefined) return
    clearTimeout(this.#quiet)
    this.#quiet = setTimeout(() => this.#send(), QUIET_MS)
    this.#latest ??= setTimeout(() => this.#send(), LATEST_MS)
  }

  #send(): void {
    if (this.#isQueued) return
    this.#isQueued = true
    void this.#gate.run(async () => {
      this.#isQueued = false
      // The turn before may have failed.
      if (this.#retry === undefined) await this.#turn({ asksAll: false, patient: true })
    })
  }

  async #ask(everyMs: number): Promise<void> {
    await this.#gate.run(() => this.#turn({ asksAll: true, patient: true }))
    if (this.#finished !== undefined) return
    const pause = everyMs * this.#stretch(INTERVAL_FACTOR_MAX)
    this.#interval = inBackground(() => void this.#ask(everyMs), pause)
  }

  /** Never rejects. */
  async #turn({ asksAll, patient }: TurnOptions): Promise<void> {
    for (const timer of [this.#quiet, this.#latest, this.#retry]) clearTimeout(timer)
    this.#latest = undefined
    this.#retry = undefined
    this.#isDue = false
    const failures = await this.#syncAll(asksAll, patient)
    this.#failed = failures === 0 ? 0 : this.#failed + 1
    if (failures === 0) return
    this.#isDue = true
    if (this.#finished !== undefined) return
    for (const timer of [this.#quiet, this.#latest]) clearTimeout(timer)
    this.#latest = undefined
    const pause = RETRY_MS * this.#stretch(RETRY_FACTOR_MAX)
    this.#retry = inBackground(() => {
      this.#retry = undefined
      this.#send()
    }, pause)
  }

  /** Returns the number of failures. */
  async #syncAll(asksAll: boolean, patient: boolean): Promise<number> {
    let failures = 0
    try {
      for (const { name } of await this.#findRemotes(asksAll)) {
        const error = await this.#sync(name, patient)
        this.#failures.set(name, error)
        if (error !== undefined) failures += 1
        this.#options.report?.(name, error)
      }
    } catch (error) {
      // The store itself cannot be read.
      failures += 1
      this.#options.report?.('', error)
    }
    return failures
  }

  async #sync(remote: string, patient: boolean): Promise<unknown> {
    const syncing = new AbortController()
    this.#syncing = syncing
    if (this.#shareMs !== undefined) this.#abortAfter(this.#shareMs, syncing)
    const signal = AbortSignal.any([syncing.signal, this.#ending.signal])
    try {
      signal.throwIfAborted()
      const { access, synced } = this.#options
      const report = await this.#syncOne({ remote, access, signal, patient, isRead: false })
      synced?.(report)
      return undefined
    } catch (error) {
      return signal.aborted ? lateError() : error
    }
  }

  #abortAfter(ms: number, controller: AbortController): void {
    this.#limits.push(setTimeout(() => controller.abort(), ms))
  }

  #findRemotes(all: boolean): Promise<readonly Remote[]> {
    const { exchange } = this.#session.objects
    return all ? this.#session.reading(() => exchange.remotes()) : this.#findLacking()
  }

  async #findLacking(): Promise<readonly RemoteStatus[]> {
    const { readRemoteStatus } = await import('./sync/remote-state.ts')
    return (await readRemoteStatus(this.#session)).filter(({ unsent }) => unsent !== 0)
  }

  #stretch(max: number): number {
    const jitter = (this.#session.random(1)[0] ?? 0) / 255
    return Math.min(2 ** this.#failed, max) * (0.5 + jitter)
  }
}

function lateError(): StoreError {
  return new StoreError('remote_timeout', 'The sync was not done in time')
}

/** What the remotes lack, as the reason why a store has closed with it. */
export function unsentError(unsent: readonly Unsent[]): StoreError {
  const code = unsent.map(({ error }) => error).find((error) => error instanceof StoreError)?.code
  const parts = unsent.map((one) => unsentText(one))
  return new StoreError(code ?? 'remote_unreachable', parts.join('; '), {
    cause: unsent[0]?.error,
  })
}

/** `3 commits were not sent to origin: …`, without a final period. */
export function unsentText({ remote, commits, error }: Unsent): string {
  const what =
    commits === undefined
      ? 'Nothing was'
      : commits === 1
        ? '1 commit was not'
        : `${commits} commits were not`
  const why = error instanceof StoreError ? error.message : 'an internal error'
  return `${what} sent to ${remote}: ${why}`
}
