// Takes over a verified head: all of it, or, where a removed device went on writing, the part that
// is in time (FORMAT §7.4). What was fetched becomes part of the store when some of it is to be
// taken over; the rest must not bring back what is redacted here. Must not be given a head that is
// not verified.

import { hasCode } from '../../errors.ts'
import type { Incoming } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { isOwner } from '../access/lateness.ts'
import { findLateHead, type LateHead } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { findRecord } from '../history/find-record.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { StoreSession } from '../session/session.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { eraseBroughtBack, noteFetches } from './erase.ts'
import type { SyncOptions } from './options.ts'
import { reconcile } from './reconcile.ts'
import { redoLeft } from './redo.ts'
import { inOrderOfWeight, type LateChange, readLateChanges } from './refusals.ts'
import { verifyRemoteHead } from './remote-head.ts'
import type { RemoteHead } from './remote-history.ts'
import { addResult, isVerdict, nothingMoved, type ReconcileResult } from './report.ts'
import { writeAllAgain } from './take-theirs.ts'

export interface TakenOver {
  readonly reconciled: ReconcileResult
  /** Late commits, which were not taken over, newest first (FORMAT §7.4). */
  readonly late: readonly LateChange[]
  /** The head that the remote must contain from now on; undefined if nothing was taken over. */
  readonly taken: SeenHead | undefined
}

/** One attempt to take over `part` of `theirs`. */
interface Step {
  readonly theirs: RemoteHead
  readonly part: RemoteHead
  readonly tip: Pick<Snapshot, 'head' | 'keyring' | 'grants'>
}

export class TakeOver {
  readonly #session: StoreSession
  readonly #incoming: Incoming
  readonly #options: SyncOptions
  /** The head that is being taken over. */
  #head: Oid = ''
  /** The verified snapshot of the head that was merged last: the next attempt starts from it. */
  #merged: Snapshot | undefined

  constructor(session: StoreSession, incoming: Incoming, options: SyncOptions) {
    this.#session = session
    this.#incoming = incoming
    this.#options = options
  }

  /** Erases redacted versions that a head brought back, which is not taken over. */
  async reject(theirs: RemoteHead): Promise<void> {
    // Otherwise nothing of it is in the store.
    if (this.#incoming.isEmpty) await eraseBroughtBack(this.#session, [theirs], this.#options)
  }

  /** Returns the snapshot only once: after a failure, verification starts from genesis again. */
  takeMerged(): Snapshot | undefined {
    const merged = this.#merged
    this.#merged = undefined
    return merged
  }

  /** If the head is late, takes over what is in time (FORMAT §7.4); the push replaces the rest. */
  async take(theirs: RemoteHead, author: Author): Promise<TakenOver> {
    const session = this.#session
    this.#head = theirs.snapshot.head.commit
    let reconciled = nothingMoved
    let taken: SeenHead | undefined
    for (;;) {
      const tip = await session.reading(({ head, keyring, grants }) => {
        return { head, keyring, grants: new Map(grants) }
      })
      const source = this.#sourceWith(theirs)
      const tips = { ours: tip, theirs: theirs.snapshot }
      const late = await findLateHead(source, tips, {
        keepsOurs: this.#keepsOurs(tip),
        signal: this.#options.signal,
      })
      const part = late === undefined ? theirs : await this.#findNewestInTime(source, late)
      if (part === undefined) {
        const { devices, commits } = await this.#doAgain(theirs, late, author)
        const rejected = await this.#rejectLate(theirs, late?.commits ?? [])
        const lost = rejected.filter(({ kind, deviceId, commit }) => {
          return !commits.has(commit) && (kind !== 'change' || !devices.includes(deviceId))
        })
        const hasRepeated = reconciled.hasRepeated || devices.length > 0
        const all = inOrderOfWeight([...reconciled.leftLate, ...lost])
        return { reconciled: { ...reconciled, hasRepeated }, taken, late: all }
      }
      await this.#accept()
      const done = await this.#reconcileOrErase({ theirs, part, tip }, author)
      // Our keyring or grants have changed meanwhile, so other commits may be late.
      if (done === undefined) continue
      reconciled = addResult(reconciled, done)
      taken = headOf(part)
      if (part === theirs) return { reconciled, taken, late: reconciled.leftLate }
    }
  }

  /** Only an owner keeps its own changes of the keyring where others have changed it too. */
  #keepsOurs({ keyring }: Pick<Snapshot, 'keyring'>): boolean {
    const { repair, takeTheirs } = this.#options
    const isOwned = isOwner(keyring.directory, this.#session.identity.deviceId)
    return repair === true && takeTheirs !== true && isOwned
  }

  /** Repeats what devices in force wrote on a dropped line, and what the owner chose of it. */
  async #doAgain(
    theirs: RemoteHead,
    late: LateHead | undefined,
    author: Author,
  ): Promise<{ readonly devices: readonly string[]; readonly commits: ReadonlySet<Oid> }> {
    if (late?.isConflict !== true) return { devices: [], commits: new Set() }
    const { left } = late
    const line = { source: this.#sourceWith(theirs), head: theirs.snapshot.head.commit, left }
    const devices = await writeAllAgain(this.#session, line, author, this.#options)
    const commits = await redoLeft(this.#session, line, author, this.#options)
    return { devices, commits }
  }

  /** Makes what was fetched part of the store; noted first, should this process die. */
  async #accept(): Promise<void> {
    if (this.#incoming.isEmpty) return
    await noteFetches(this.#session, [this.#head])
    await this.#incoming.accept()
  }

  /** Reconciles `part`. If it is refused, erases redacted versions that `theirs` brought back. */
  async #reconcileOrErase(
    { theirs, part, tip }: Step,
    author: Author,
  ): Promise<ReconcileResult | undefined> {
    try {
      const reconciled = await reconcile(this.#session, part, tip, author, this.#options)
      // Without a merge the session has adopted this snapshot, so it must not be reused.
      if (reconciled?.merge !== undefined) this.#merged = part.snapshot
      return reconciled
    } catch (error) {
      if (isVerdict(error)) await this.reject(theirs)
      throw error
    }
  }

  /** The newest commit of a head that is in time and not ours yet; undefined if there is none. */
  async #findNewestInTime(
    source: HistorySource,
    { kept }: LateHead,
  ): Promise<RemoteHead | undefined> {
    const history = await this.#session.loadHistory(this.#options)
    const isOurs = isOfOurs(source, history)
    for (const oid of kept.toReversed()) {
      // All above it is late. Compared by record: a redaction may have changed the commit id.
      if (isOurs(oid)) return undefined
      const part = await this.#verifyOrPassOver(history, oid, isAsRedacted)
      if (part !== undefined) return part
    }
    return undefined
  }

  /** Describes the commits of a head that are not in our history, and erases what they hold. */
  async #rejectLate(theirs: RemoteHead, commits: readonly Oid[]): Promise<readonly LateChange[]> {
    const source = this.#sourceWith(theirs)
    const isOurs = isOfOurs(source, await this.#session.loadHistory(this.#options))
    const changes = readLateChanges(
      source,
      commits.filter((oid) => !isOurs(oid)),
    )
    await this.reject(theirs)
    return changes
  }

  #sourceWith({ objects, epochs: theirs }: RemoteHead): HistorySource {
    const { storeId, epochs } = this.#session
    return { objects, storeId, epochs: new Map([...epochs, ...theirs]) }
  }

  /** Undefined if verification throws an error for which `isReason` holds. */
  async #verifyOrPassOver(
    history: History,
    oid: Oid,
    isReason: (error: unknown) => boolean,
  ): Promise<RemoteHead | undefined> {
    try {
      const from = { session: this.#session, objects: this.#incoming }
      return await verifyRemoteHead(from, history, oid, this.#options)
    } catch (error) {
      if (isReason(error)) return undefined
      throw error
    }
  }
}

/** Whether a late redaction has erased details, for which no valid record accounts. */
function isAsRedacted(error: unknown): boolean {
  return hasCode(error, 'detail_missing')
}

/** Whether our history has the record of a commit, under whichever commit id. */
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
