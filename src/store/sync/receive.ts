// The fetch half of a sync: fetches the head of a remote, verifies it, and takes it over (FORMAT
// §8, §9, §10.1). What is fetched is apart from the store until its head is verified; a refused
// head changes nothing here, except that its pack is kept. Must not send anything.

import { hasCode, StoreError } from '../../errors.ts'
import type { Incoming, Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { connectFetch } from '../../transport/fetch.ts'
import type { FetchConnection, RemoteAccess } from '../../transport/remote-access.ts'
import { meetingOf } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { findDivergence } from '../commits/divergence.ts'
import { findRecord } from '../history/find-record.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { StoreSession } from '../session/session.ts'
import { findSettled } from './erase.ts'
import { chooseHaves } from './haves.ts'
import type { SyncOptions } from './options.ts'
import { keyringConflictError, type LateChange } from './refusals.ts'
import { judgeUnopened, keepRefusedPack } from './refused-head.ts'
import {
  findKnown,
  containsSeen,
  type RemoteSource,
  rolledBackError,
  knownContainsSeen,
  successorContains,
  verifyRemoteHead,
  verifySuccessor,
} from './remote-head.ts'
import type { RemoteHead } from './remote-history.ts'
import type { RemoteState } from './remote-state.ts'
import { isReplaceable, isVerdict, nothingMoved, type ReconcileResult } from './report.ts'
import { TakeOver } from './take-over.ts'

/** The result of one fetch from a remote. */
export interface Received {
  /** The remote's head; undefined for an empty remote. */
  readonly head: Oid | undefined
  readonly bytes: number
  readonly commits: number
  readonly reconciled: ReconcileResult
  /** Changes of removed devices, theirs or ours, that are not part of the history. */
  readonly late: readonly LateChange[]
}

const nothingReceived: Omit<Received, 'head'> = {
  bytes: 0,
  commits: 0,
  reconciled: nothingMoved,
  late: [],
}

export class Receiver {
  readonly #session: StoreSession
  readonly #remote: Remote
  readonly #options: SyncOptions
  readonly #access: RemoteAccess
  /** What this round has fetched. */
  readonly #incoming: Incoming
  readonly #known: RemoteState
  readonly #takeOver: TakeOver

  constructor(session: StoreSession, remote: Remote, known: RemoteState, options: SyncOptions) {
    this.#session = session
    this.#remote = remote
    this.#options = options
    this.#access = { signal: options.signal, ...options.access, url: remote.url }
    this.#incoming = session.objects.exchange.incoming()
    this.#known = known
    this.#takeOver = new TakeOver(session, this.#incoming, options)
  }

  /** Fetches the remote's head and takes it over, after which no refused one is kept. */
  async receive(author: Author): Promise<Received> {
    const received = await this.#receive(author)
    // A repair replaces the head that was refused, and has not yet.
    if (received.head !== undefined && !this.#repairs) await this.#known.forgetRefused()
    return received
  }

  async #receive(author: Author): Promise<Received> {
    this.#known.begin()
    const connection = await connectFetch(this.#access)
    try {
      const { head } = connection.refs
      if (head === undefined) return this.#receiveEmpty()
      const seen = this.#known.seen()
      if (seen?.oid === head && (await this.#known.seenHere()) !== undefined) {
        return { ...nothingReceived, head }
      }
      if (this.#options.only === 'push') throw movedError()
      const ours = await this.#noteOurs(head, seen)
      return ours ?? (await this.#take(connection, head, seen, author))
    } finally {
      this.#incoming.drop()
      await connection.close()
    }
  }

  /** Undefined unless the head is ours, as after a join: the history need not be loaded then. */
  async #noteOurs(head: Oid, seen: SeenHead | undefined): Promise<Received | undefined> {
    const { commit: oid, height, record } = await this.#session.reading((now) => now.head)
    if (oid !== head || (seen !== undefined && (await this.#known.seenHere()) === undefined)) {
      return undefined
    }
    await this.#settle({ oid, height, record })
    return { ...nothingReceived, head }
  }

  async #take(
    connection: FetchConnection,
    head: Oid,
    seen: SeenHead | undefined,
    author: Author,
  ): Promise<Received> {
    const bytes = await this.#fetch(connection, head)
    const theirs = await this.#findAcceptable(head, seen)
    if (theirs === undefined) {
      await this.#settle(undefined)
      return { ...nothingReceived, head, bytes }
    }
    const { reconciled, taken, late } = await this.#takeOver.take(theirs, author)
    await this.#settle(taken && { ...taken, intactBelow: reconciled.theirsIntactBelow })
    return { head, bytes, commits: reconciled.received, reconciled, late }
  }

  /** Notes the head that the remote has shown, and forgets the fetches that are done with. */
  async #settle(head: SeenHead | undefined): Promise<void> {
    const { objects, seenRemotes } = this.#session
    const settled = await findSettled(this.#session, this.#options)
    // A repair replaces this head, so it does not count as seen.
    if (head !== undefined && !this.#repairs) await this.#known.note(head, settled)
    else if (settled.length > 0) await objects.exclusive(() => seenRemotes.forgetFetches(settled))
  }

  /**
   * The verified head; undefined if it is in our own history, or is refused and a repair may
   * replace it. Throws the verdict on any other refused head, whose pack is kept.
   */
  async #findAcceptable(head: Oid, seen: SeenHead | undefined): Promise<RemoteHead | undefined> {
    const successor = await this.#findSuccessor(head, seen)
    if (successor !== undefined) return successor
    const history = await this.#session.loadHistory(this.#options)
    try {
      return await this.#verify(history, head, seen)
    } catch (refused) {
      if (!isVerdict(refused)) throw refused
      const error = hasCode(refused, 'wrong_key')
        ? await judgeUnopened(this.#source, history, head, seen, this.#options)
        : refused
      const { repair, only } = this.#options
      const mayReplace = repair === true && only !== 'pull' && isReplaceable(error)
      // A remote on which our history was never seen may belong to another store.
      const wasOurs = seen !== undefined && findRecord(this.#session, history, seen) !== undefined
      if (mayReplace && wasOurs) return undefined
      const what = { remote: this.#remote, head, incoming: this.#incoming }
      throw await keepRefusedPack(this.#session, history, what, error, this.#options.signal)
    }
  }

  /** The verified head if it adds to ours; what is refused is looked at with our history. */
  async #findSuccessor(head: Oid, seen: SeenHead | undefined): Promise<RemoteHead | undefined> {
    const [session, from] = [this.#session, this.#source]
    try {
      const how = { ...this.#options, wasShown: seen !== undefined }
      const theirs = await verifySuccessor(from, head, how)
      if (theirs === undefined || theirs.records.size === 0) return undefined
      if (seen === undefined || this.#repairs) return theirs
      return (await successorContains(session, theirs, seen)) ? theirs : undefined
    } catch (error) {
      if (!isVerdict(error)) throw error
      return undefined
    }
  }

  /** Undefined for a head that is in our own history. */
  async #verify(
    history: History,
    head: Oid,
    seen: SeenHead | undefined,
  ): Promise<RemoteHead | undefined> {
    const expected = this.#repairs ? undefined : seen
    const verify = async (): Promise<RemoteHead | undefined> => {
      const known = findKnown(this.#incoming, history, head)
      if (known === undefined) {
        const merged = this.#takeOver.takeMerged()
        const how = { ...this.#options, wasShown: seen !== undefined, merged }
        const theirs = await verifyRemoteHead(this.#source, history, head, how)
        const isFresh =
          expected === undefined ||
          (await containsSeen(this.#session, history, theirs, expected)) ||
          (await this.#followsConflict(theirs))
        if (isFresh) return theirs
        await this.#takeOver.reject(theirs)
        throw rolledBackError()
      }
      if (
        expected !== undefined &&
        !(await knownContainsSeen(this.#session, history, known, expected))
      ) {
        throw rolledBackError()
      }
      if (!this.#repairs) await this.#known.note(readSeen(this.#session, known))
      return undefined
    }
    try {
      return await verify()
    } catch (error) {
      if (!hasCode(error, 'object_missing')) throw error
      // An earlier sync that was cut off may have left only a part of it here.
      await this.#fetchAll(head)
      return verify()
    }
  }

  /**
   * Both sides changed the keyring, and this head lacks what the remote showed before. Returns
   * whether the user chose to follow it; throws `keyring_conflict` if there was no choice yet.
   */
  async #followsConflict(theirs: RemoteHead): Promise<boolean> {
    const { objects, snapshot, epochs } = theirs
    const { storeId } = this.#session
    const ours = await this.#session.reading(({ head, keyring }) => ({ head, keyring }))
    const source = { objects, storeId, epochs: new Map([...this.#session.epochs, ...epochs]) }
    const { signal } = this.#options
    const [our, their] = [ours.head.commit, snapshot.head.commit]
    const divergence = await findDivergence(source, our, their, signal)
    const tips = { ours: ours.keyring.directory, theirs: snapshot.keyring.directory }
    const { isConflict } = await meetingOf(source, tips, divergence, signal)
    if (!isConflict || this.#options.takeTheirs === true) return isConflict
    await this.#takeOver.reject(theirs)
    throw keyringConflictError(source, divergence, true)
  }

  /** Returns the number of bytes received. */
  async #fetch(connection: FetchConnection, head: Oid): Promise<number> {
    const { objects, knownCommits } = this.#session
    if (objects.read(head) !== undefined) return 0
    const seen = this.#known.seen()?.oid
    const haves = await this.#session.reading((ours) => {
      return chooseHaves(objects, ours.head.commit, seen, knownCommits)
    })
    const { bytes } = await connection.fetch({
      want: head,
      haves,
      into: this.#incoming,
      progress: this.#options.transfer,
    })
    return bytes
  }

  /** Fetches every object of the head, even those that are here. */
  async #fetchAll(head: Oid): Promise<void> {
    const connection = await connectFetch(this.#access)
    try {
      if (connection.refs.head !== head) throw movedError()
      const progress = this.#options.transfer
      await connection.fetch({ want: head, haves: [], into: this.#incoming, progress })
    } finally {
      await connection.close()
    }
  }

  #receiveEmpty(): Received {
    if (this.#known.seen() !== undefined && !this.#repairs) throw rolledBackError()
    return { ...nothingReceived, head: undefined }
  }

  get #source(): RemoteSource {
    return { session: this.#session, objects: this.#incoming }
  }

  get #repairs(): boolean {
    return this.#options.repair === true
  }
}

function readSeen(
  { objects, storeId, epochs }: StoreSession,
  { oid, height }: CommitEntry,
): SeenHead {
  const { hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
  return { oid, height, record: hash }
}

function movedError(): StoreError {
  return new StoreError(
    'remote_moved',
    'The remote has moved since this store last saw it: pull first, or sync',
  )
}
