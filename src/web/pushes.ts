// How the changes of a store in RAM get to its remote: before they are answered, or soon after. The
// commands that wait while others are sent share one commit batch and one push.

import { Gate } from '../async.ts'
import { hasCode, StoreError } from '../errors.ts'
import { AutoSync, unsentError } from '../store/auto-sync.ts'
import type { AppliedChanges } from '../store/changes/apply.ts'
import type { Author } from '../store/commits/commit-context.ts'
import type { StoreSession } from '../store/session/session.ts'
import type { Snapshot } from '../store/snapshot/snapshot.ts'
import { type BegunAnew, type StoreSyncOptions, type SyncReport } from '../store/sync/report.ts'
import type { TakenBack } from '../store/sync/take-back.ts'
import { isFailureOfRemote } from '../store/verify/verdict.ts'
import type { RemoteOptions } from '../transport/remote-access.ts'

/**
 * `before-answer`: a write resolves once the remote has it, or rejects and is taken back.
 * `background`: it resolves once it is in RAM, and is sent within seconds; what `close` or `sync`
 * does not send is lost with the process.
 */
export type SyncMode = 'before-answer' | 'background'

interface PendingWrite {
  readonly author: Author
  readonly change: () => Promise<AppliedChanges>
  readonly resolve: (applied: AppliedChanges) => void
  readonly reject: (error: unknown) => void
}

/** The author of a merge before anything was written. */
const webAuthor: Author = { actor: { type: 'session', id: 'gitlocket-web' } }

export class Pushes {
  readonly #session: StoreSession
  readonly #access: RemoteOptions
  /** Undefined for a store that is only read. */
  readonly #mode: SyncMode | undefined
  /** Syncs and batches, one at a time. */
  readonly #gate = new Gate()
  #waiting: PendingWrite[] = []
  #author: Author = webAuthor
  #autoSync: AutoSync | undefined
  /** Whether a change that could not be sent was not taken back either. */
  #isKept = false

  constructor(
    session: StoreSession,
    how: { readonly access: RemoteOptions; readonly sync: SyncMode | undefined },
  ) {
    this.#session = session
    this.#access = how.access
    this.#mode = how.sync
  }

  async write(author: Author, change: () => Promise<AppliedChanges>): Promise<AppliedChanges> {
    if (this.#mode === undefined) throw readOnly()
    this.#author = author
    if (this.#mode === 'background') {
      this.#autoSync ??= new AutoSync(this.#session, (options) => this.#sync(options), {})
      return change()
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ author, change, resolve, reject })
      if (this.#waiting.length === 1) void this.#gate.run(() => this.#batch())
    })
  }

  /** Adopts the changes of the remote, and sends those it lacks. */
  sync(options: Pick<StoreSyncOptions, 'signal' | 'progress' | 'transfer'>): Promise<SyncReport> {
    return this.#gate.run(() => this.#sync(options))
  }

  /** Sends the rest. Throws the code of the remote. */
  async finish(): Promise<void> {
    await this.#gate.run(async () => {
      if (this.#isKept) await this.#sync({})
    })
    const unsent = (await this.#autoSync?.finish()) ?? []
    if (unsent.length > 0) throw unsentError(unsent)
  }

  async #sync(options: StoreSyncOptions): Promise<SyncReport> {
    const only = this.#mode === undefined ? ('pull' as const) : undefined
    const to = { only, remote: 'origin', access: this.#access, staysPartial: true }
    const asked = { ...options, ...to }
    const { syncStore } = await import('../store/sync/sync.ts')
    try {
      const report = await syncStore(this.#session, this.#author, asked)
      this.#isKept = false
      return report
    } catch (error) {
      // A redaction below the beginning: the erased texts must leave the RAM, too.
      if (hasCode(error, 'history_needed')) await this.#session.close()
      throw error
    }
  }

  async #batch(): Promise<void> {
    const commands = this.#waiting
    this.#waiting = []
    const before = await this.#snapshot(commands)
    if (before === undefined) return
    const settled = await Promise.allSettled(commands.map(({ change }) => change()))
    const isWritten = settled.some((one) => {
      return one.status === 'fulfilled' && one.value.commit !== undefined
    })
    const { failure, replaced } = isWritten ? await this.#send(before) : nothingToSend
    for (const [index, { resolve, reject }] of commands.entries()) {
      const one = settled[index]
      if (one?.status === 'rejected') reject(one.reason)
      else if (one !== undefined) {
        // A change that changes nothing is as it was asked for.
        const { value } = one
        if (value.commit === undefined) resolve(value)
        else if (failure === undefined) resolve(asReplaced(value, replaced))
        else reject(failure)
      }
    }
  }

  async #snapshot(commands: readonly PendingWrite[]): Promise<Snapshot | undefined> {
    try {
      return await this.#session.reading((snapshot) => snapshot)
    } catch (error) {
      for (const { reject } of commands) reject(error)
      return undefined
    }
  }

  async #send(before: Snapshot): Promise<SentBatch> {
    let isSent = false
    const willSend = (): void => {
      isSent = true
    }
    try {
      const { begunAnew } = await this.#sync({ willSend }).catch((error: unknown) => {
        // The remote may have it: a second round looks.
        if (isSent && isFailureOfRemote(error)) return this.#sync({ willSend })
        throw error
      })
      return { failure: undefined, replaced: begunAnew?.replaced }
    } catch (error) {
      if (hasCode(error, 'history_needed')) return { failure: error, replaced: undefined }
      const { takeBack } = await import('../store/sync/take-back.ts')
      const left = await takeBack(this.#session, before).catch((): TakenBack => 'kept')
      this.#isKept ||= left === 'kept'
      const failure = left === 'sent' ? undefined : notSent(error, left, isSent)
      return { failure, replaced: undefined }
    }
  }
}

interface SentBatch {
  /** Why the remote does not have it. */
  readonly failure: unknown
  readonly replaced: BegunAnew['replaced'] | undefined
}

const nothingToSend: SentBatch = { failure: undefined, replaced: undefined }

/** A change whose own sync began anew has other ids than it was written with. */
function asReplaced(applied: AppliedChanges, replaced: SentBatch['replaced']): AppliedChanges {
  const [last] = applied.versionIds.flatMap((id) => replaced?.get(id) ?? []).slice(-1)
  if (last === undefined) return applied
  return {
    commit: last.commit,
    versionIds: applied.versionIds.flatMap((id) => replaced?.get(id)?.versionId ?? []),
    memories: applied.memories.map((memory) => memory && replaced?.get(memory.versionId)?.memory),
  }
}

function readOnly(): StoreError {
  return new StoreError(
    'permission_denied',
    'The store was opened to be read: an identity that writes in two places forks. Open it with ' +
      'a grant to write',
  )
}

function notSent(error: unknown, left: TakenBack, isSent: boolean): unknown {
  if (!(error instanceof StoreError)) return error
  const what =
    left === 'kept'
      ? 'The change is kept here, and the next sync sends it'
      : isSent
        ? 'The change was taken back here; a sync shows whether the remote has received it'
        : 'The change was taken back'
  return new StoreError(error.code, `${error.message}. ${what}`, {
    cause: error,
    ...(error.details && { details: error.details }),
  })
}
