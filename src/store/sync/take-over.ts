// What of a verified head becomes ours: all of it; or, where a removed device has gone on writing,
// the part that was in time (FORMAT §7.4). What is left brings nothing back that is redacted here.
// Must not judge whether a head may be believed.

import { hasCode } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import { findLate, isLate, type LateHead } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { StoreSession } from '../session/session.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { SyncOptions } from './options.ts'
import { type LateChange, readLateChanges } from './post-revocation-changes.ts'
import { addResult, nothingMoved, type ReconcileResult } from './reconcile-result.ts'
import { eraseBroughtBack, reconcile } from './reconcile.ts'
import { isVerdict } from './rejected-head.ts'
import { findRecord, type RemoteHead, verifyRemoteHead } from './remote-head.ts'

export interface TakenOver {
  readonly reconciled: ReconcileResult
  /** Commits that came too late to be taken over, newest first (FORMAT §7.4). */
  readonly late: readonly LateChange[]
  /** What the remote has to show from now on; undefined if all that it had of its own was late. */
  readonly taken: SeenHead | undefined
}

export class TakeOver {
  readonly #session: StoreSession
  readonly #options: SyncOptions
  /** Of the head that was merged last, as it was verified: another attempt goes on from there. */
  #merged: Snapshot | undefined

  constructor(session: StoreSession, options: SyncOptions) {
    this.#session = session
    this.#options = options
  }

  /**
   * Of a head that is replaced there may be several: the first line that is sound below it, and
   * what is sound beside that.
   */
  async take(
    history: History,
    [first, ...others]: readonly [RemoteHead, ...RemoteHead[]],
    author: Author,
  ): Promise<TakenOver> {
    const done = await this.#takeOne(history, first, author)
    let { reconciled, taken } = done
    const late = [...done.late]
    for (const { snapshot } of others) {
      // By what is ours now.
      const newest = await this.#session.loadHistory(this.#options)
      const theirs = await this.#verifyOrPassOver(newest, snapshot.head.commit, isVerdict)
      // Sound by itself, but not beside what was taken over before it.
      if (theirs === undefined) continue
      const next = await this.#takeOne(newest, theirs, author)
      reconciled = addResult(reconciled, next.reconciled)
      taken = next.taken ?? taken
      late.push(...next.late)
    }
    return { reconciled, taken, late }
  }

  /** Once: who fails on the way there starts from the beginning. */
  takeMerged(): Snapshot | undefined {
    const merged = this.#merged
    this.#merged = undefined
    return merged
  }

  /**
   * Where a removed device has gone on writing, takes over what was written in time (FORMAT §7.4):
   * the push then replaces the rest.
   */
  async #takeOne(history: History, theirs: RemoteHead, author: Author): Promise<TakenOver> {
    const session = this.#session
    let reconciled = nothingMoved
    let taken: SeenHead | undefined
    for (;;) {
      const tip = await session.reading(({ head, keyring }) => ({ head, keyring }))
      const source = this.#sourceWith(theirs)
      const how = { signal: this.#options.signal, alsoUnauthorized: this.#repairs }
      const late = await findLate(source, tip, theirs.snapshot, how)
      const part = late === undefined ? theirs : await this.#findNewestInTime(source, history, late)
      if (part === undefined) {
        const left = await this.#leaveLate(theirs, late?.commits ?? [])
        return { reconciled, taken, late: [...reconciled.leftLate, ...left] }
      }
      const done = await this.#reconcileOrErase(theirs, part, tip, author)
      // Who may write has changed here meanwhile, and with it what is late.
      if (done === undefined) continue
      reconciled = addResult(reconciled, done)
      taken = headOf(part)
      if (late === undefined) return { reconciled, taken, late: reconciled.leftLate }
    }
  }

  /** What is not taken over brings nothing back that is redacted here. */
  async #reconcileOrErase(
    theirs: RemoteHead,
    part: RemoteHead,
    tip: Pick<Snapshot, 'keyring'>,
    author: Author,
  ): Promise<ReconcileResult | undefined> {
    try {
      const reconciled = await reconcile(this.#session, part, tip, author, this.#options)
      // One that contains ours is the store's own snapshot from then on.
      if (reconciled?.merge !== undefined) this.#merged = part.snapshot
      return reconciled
    } catch (error) {
      if (isVerdict(error)) await eraseBroughtBack(this.#session, [theirs], this.#options)
      throw error
    }
  }

  /** The newest of a head that may be taken over and is not ours yet; maybe none is left. */
  async #findNewestInTime(
    source: HistorySource,
    history: History,
    { candidates, newest }: LateHead,
  ): Promise<RemoteHead | undefined> {
    const isOurs = isOfOurs(source, await this.#session.loadHistory(this.#options))
    for (const oid of candidates) {
      if (isLate(source, newest, oid)) continue
      // A redaction of either side may have renamed it; all that is above it is late.
      if (isOurs(oid)) return undefined
      const part = await this.#verifyOrPassOver(history, oid, isAsRedacted)
      if (part !== undefined) return part
    }
    return undefined
  }

  /** What a head has that is no part of ours, and will not be. */
  async #leaveLate(theirs: RemoteHead, commits: readonly Oid[]): Promise<readonly LateChange[]> {
    const source = this.#sourceWith(theirs)
    const isOurs = isOfOurs(source, await this.#session.loadHistory(this.#options))
    const left = commits.filter((oid) => !isOurs(oid))
    const changes = readLateChanges(source, left)
    await eraseBroughtBack(this.#session, [theirs], this.#options)
    return changes
  }

  #sourceWith({ epochs: theirs }: RemoteHead): HistorySource {
    const { objects, storeId, epochs } = this.#session
    return { objects, storeId, epochs: new Map([...epochs, ...theirs]) }
  }

  /** Undefined if it does not verify, for a reason to pass it over. */
  async #verifyOrPassOver(
    history: History,
    oid: Oid,
    isReason: (error: unknown) => boolean,
  ): Promise<RemoteHead | undefined> {
    try {
      return await verifyRemoteHead(this.#session, history, oid, this.#options)
    } catch (error) {
      if (isReason(error)) return undefined
      throw error
    }
  }

  get #repairs(): boolean {
    return this.#options.repair === true
  }
}

/** It is there only as a late redaction has left it, which nothing explains. */
function isAsRedacted(error: unknown): boolean {
  return hasCode(error, 'detail_missing')
}

/** Whether our history has the record of a commit, whatever its commit is called there. */
function isOfOurs(source: HistorySource, history: History): (oid: Oid) => boolean {
  const { storeId, epochs, objects } = source
  return (oid) => {
    const { record, hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
    return findRecord(source, history, { height: record.height, record: hash }) !== undefined
  }
}

function headOf({ snapshot }: RemoteHead): SeenHead {
  const { commit: oid, height, record } = snapshot.head
  return { oid, height, record }
}
