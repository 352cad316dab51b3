// The façade that a caller holds: reads from the snapshot of the newest verified head, and reaches
// the groups that do the rest (store-*.ts next to it). Must decide nothing that a room of this
// folder decides.

import { assert } from '../errors.ts'
import { type AutoSyncOptions, AutoSync, type Unsent, unsentError } from './auto-sync.ts'
import { checkAuthor } from './commits/author.ts'
import type { Author } from './commits/commit-context.ts'
import { checkObject, checkOptions } from './request-check.ts'
import type { StoreSession } from './session/session.ts'
import { StoreDevices } from './store-devices.ts'
import { StoreGrants } from './store-grants.ts'
import { StoreHandle } from './store-handle.ts'
import { StoreHistory } from './store-history.ts'
import { StoreMaintenance } from './store-maintenance.ts'
import { StoreRemotes } from './store-remotes.ts'
import { readStatus, readSummary, type StoreStatus, type StoreSummary } from './store-report.ts'
import { StoreWriter } from './store-writer.ts'
import { type StoreChange, type WatchOptions, watchStore } from './watch.ts'

/**
 * An open store. Every method may reject with a StoreError; `store_closed` after `close`. Paths are
 * store paths such as `/notes.md`.
 */
export class MemoryStore extends StoreHandle {
  readonly #session: StoreSession
  #autoSync: AutoSync | undefined
  #closing: Promise<void> | undefined
  /** The past: versions, differences, authors. */
  readonly history: StoreHistory
  /** The members and their rights. */
  readonly devices: StoreDevices
  /** The grants that devices have given. */
  readonly grants: StoreGrants
  /** The remotes of `sync`. */
  readonly remotes: StoreRemotes
  /** Proofs, and what keeps the repository in order. */
  readonly maintenance: StoreMaintenance

  /** @internal Use `createStore` or `openStore`. */
  constructor(session: StoreSession) {
    super(session)
    this.#session = session
    this.history = new StoreHistory(session)
    this.devices = new StoreDevices(session)
    this.grants = new StoreGrants(session)
    this.remotes = new StoreRemotes(session)
    this.maintenance = new StoreMaintenance(session)
  }

  /** All that writes, in the name of `author`. Throws `invalid_input` for one that is malformed. */
  as(author: Author): StoreWriter {
    return new StoreWriter(this.#session, checkAuthor(author))
  }

  /**
   * Versions as they come, from now on: of this process, of others, and of syncs. Ids and paths
   * alone, no texts. Ends when the store is closed, or by the signal.
   */
  watch(options: WatchOptions = {}): AsyncIterable<StoreChange, void> {
    return watchStore(this.#session, checkOptions(options))
  }

  /** @internal What a page about the store shows at once. */
  summary(): Promise<StoreSummary> {
    return readSummary(this.#session)
  }

  status(): Promise<StoreStatus> {
    return readStatus(this.#session)
  }

  /** @internal Sends changes a moment after they are written, the rest by `close`. Call once. */
  syncAutomatically(options: AutoSyncOptions & { readonly author: Author }): AutoSync {
    const { author, ...asked } = checkObject(options, 'The options')
    const me = this.as(author)
    assert(this.#autoSync === undefined, 'a store syncs automatically once')
    this.#autoSync = new AutoSync(this.#session, (sync) => me.sync(sync), asked)
    return this.#autoSync
  }

  /**
   * Waits for running writes and leaves an ordinary bare repository. A store that was opened with a
   * grant first sends what its remotes lack, for at most ten seconds: if that fails, this rejects
   * with the code of the remote once the store is closed. Closing twice is harmless.
   */
  close(): Promise<void> {
    const autoSync = this.#autoSync
    this.#closing ??= autoSync === undefined ? this.#session.close() : this.#sendAndClose(autoSync)
    return this.#closing
  }

  async #sendAndClose(autoSync: AutoSync): Promise<void> {
    // A caller of `finish` has reported the result.
    const isReported = autoSync.isFinished
    let unsent: readonly Unsent[] = []
    try {
      unsent = await autoSync.finish()
    } finally {
      await this.#session.close()
    }
    if (unsent.length > 0 && !isReported) throw unsentError(unsent)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
