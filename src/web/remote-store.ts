// The store that `openRemote` opens: reads from RAM, and writes to the remote.

import type { WorkOptions } from '../async.ts'
import { checkAuthor } from '../store/commits/author.ts'
import type { Author } from '../store/commits/commit-context.ts'
import { HistoryReader } from '../store/history-reader.ts'
import { checkOptions } from '../store/request-check.ts'
import type { StoreSession } from '../store/session/session.ts'
import { StoreHandle } from '../store/store-handle.ts'
import type { SyncReport } from '../store/sync/report.ts'
import type { RemoteOptions } from '../transport/remote-access.ts'
import { Pushes, type SyncMode } from './pushes.ts'
import { RemoteWriter } from './remote-writer.ts'

/** What a sync has moved. */
export type RemoteSync = Pick<SyncReport, 'received' | 'sent' | 'erased' | 'begunAnew' | 'head'>

/**
 * An open store in RAM. Every method may reject with a StoreError; `store_closed` after `close`.
 * Paths are store paths such as `/notes.md`.
 */
export class RemoteStore extends StoreHandle {
  readonly #session: StoreSession
  readonly #pushes: Pushes
  #closing: Promise<void> | undefined
  /** The past, as far as it is held: earlier versions reject with `history_needed`. */
  readonly history: HistoryReader

  /** @internal Use `openRemote`. */
  constructor(
    session: StoreSession,
    how: { readonly access: RemoteOptions; readonly sync: SyncMode | undefined },
  ) {
    super(session)
    this.#session = session
    this.#pushes = new Pushes(session, how)
    this.history = new HistoryReader(session)
  }

  /**
   * All that writes, in the name of `author`. Throws `invalid_input` for one that is malformed. A
   * store that was opened without a grant refuses each write with `permission_denied`.
   */
  as(author: Author): RemoteWriter {
    return new RemoteWriter(this.#session, this.#pushes, checkAuthor(author))
  }

  /**
   * Adopts the changes of the remote, and sends those that it lacks. Rejects with a remote code, or
   * the code of the verification; local work is safe anyway.
   */
  async sync(options: WorkOptions = {}): Promise<RemoteSync> {
    const { signal, progress } = checkOptions(options)
    const report = await this.#pushes.sync({ signal, progress })
    const { received, sent, erased, begunAnew, head } = report
    return { received, sent, erased, begunAnew, head }
  }

  /**
   * Waits for running writes, and sends what the remote lacks. If that fails, this rejects with the
   * code of the remote once the store is closed. Closing twice is harmless.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      await this.#pushes.finish()
    } finally {
      await this.#session.close()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
