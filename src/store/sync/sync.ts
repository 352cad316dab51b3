// sync = fetch → verify → unify → push, again if another clone pushed meanwhile (DESIGN §5). Each
// step leaves a store that is whole: what fails after one of them has lost nothing. Never forces:
// a push names the commit that it replaces.

import { formatId } from '../../format/id.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/object.ts'
import type { PackExchange } from '../../git/exchange.ts'
import { refusedName } from '../../git/purge-refs.ts'
import type { Remote } from '../../git/remotes.ts'
import type {
  FetchConnection,
  RemoteAccess,
  TransferProgress,
} from '../../transport/remote-access.ts'
import { connectFetch } from '../../transport/fetch.ts'
import type { Author } from '../commit.ts'
import { decodeCommit, readCommitBytes } from '../decoded-commit.ts'
import type { ObjectSource } from '../git-reads.ts'
import type { CommitEntry, History } from '../history.ts'
import type { StoreSession } from '../session.ts'
import type { VerifyOptions } from '../verify.ts'
import { chooseHaves } from './haves.ts'
import { headWords } from './head-words.ts'
import { KnownRemote } from './known-remote.ts'
import type { SyncReport } from './report.ts'
import type { SeenHead } from './seen-remotes.ts'
import { nothingSent, Sender } from './send.ts'
import type { Sent } from './send.ts'
import { findInTime, findLate } from './late.ts'
import { isFailureOfRemote, isReplaceable, isVerdict, leadsToErased } from './refused.ts'
import { findSound } from './salvage.ts'
import { findRecord, hasShown, rolledBackError, verifyTheirs } from './theirs.ts'
import type { Theirs } from './theirs.ts'
import { eraseBroughtBack, nothingMoved, unify } from './unify.ts'
import type { Unified } from './unify.ts'

export type RemoteOptions = Omit<RemoteAccess, 'url'>

export interface SyncOptions extends VerifyOptions {
  /** How this machine may talk to the remote. */
  readonly access?: RemoteOptions | undefined
  /** Only one half: `pull` sends nothing, `push` takes nothing over. */
  readonly only?: 'pull' | 'push' | undefined
  /**
   * Heals a remote with what is here: a head that was put back is merged and then replaced, one
   * that does not verify is replaced if the remote had shown ours before, and all objects are sent.
   */
  readonly repair?: boolean | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

export interface StoreSyncOptions extends SyncOptions {
  /** The name of a remote; may be left out if there is one. */
  readonly remote?: string | undefined
}

/** Throws `not_found` or `invalid_input` where it is not clear which remote is meant. */
export function syncStore(
  session: StoreSession,
  author: Author,
  options: StoreSyncOptions,
): Promise<SyncReport> {
  return syncWith(session, getRemote(session.exchange.remotes(), options.remote), author, options)
}

function getRemote(remotes: readonly Remote[], name: string | undefined): Remote {
  const found = name === undefined ? remotes : remotes.filter((remote) => remote.name === name)
  if (found.length > 1) {
    throw new StoreError(
      'invalid_input',
      'The store has several remotes: name the one to sync with',
    )
  }
  if (found[0] !== undefined) return found[0]
  const which = name === undefined ? 'The store has no remote' : `There is no remote named ${name}`
  throw new StoreError('not_found', which)
}

interface Received {
  readonly head: Oid | undefined
  readonly bytes: number
  readonly commits: number
  readonly unified: Unified
}

/** Other clones may win the race for the branch so often. */
const ATTEMPTS = 8
const PAUSE_MS = 100

/**
 * Throws a remote code, `rolled_back`, `store_id_mismatch`, `wrong_key`, `keyring_conflict`, or
 * what verification refuses; local work is untouched then.
 */
async function syncWith(
  session: StoreSession,
  remote: Remote,
  author: Author,
  options: SyncOptions = {},
): Promise<SyncReport> {
  const turn = new SyncTurn(session, remote, options)
  const total = { commits: 0, bytes: 0, unified: nothingMoved }
  const sentAtOnce = options.only === 'pull' ? undefined : await turn.sender.sendAtOnce()
  if (sentAtOnce !== undefined) {
    await turn.finish()
    return describe(session, remote, total, sentAtOnce)
  }
  for (let attempt = 1; ; attempt += 1) {
    const received = await turn.receive(author)
    total.commits += received.commits
    total.bytes += received.bytes
    total.unified = addUnified(total.unified, received.unified)
    try {
      const sent = options.only === 'pull' ? nothingSent : await turn.sender.send(received.head)
      await turn.finish()
      return await describe(session, remote, total, sent)
    } catch (error) {
      if (!hasCode(error, 'remote_moved') || attempt === ATTEMPTS) throw error
      await wait(session.random(1)[0] ?? 0, attempt)
    }
  }
}

class SyncTurn {
  readonly #session: StoreSession
  readonly #remote: Remote
  readonly #options: SyncOptions
  readonly #access: RemoteAccess
  readonly #exchange: PackExchange
  readonly #known: KnownRemote
  readonly sender: Sender

  constructor(session: StoreSession, remote: Remote, options: SyncOptions) {
    this.#session = session
    this.#remote = remote
    this.#options = options
    this.#access = { signal: options.signal, ...options.access, url: remote.url }
    this.#exchange = session.exchange
    this.#known = new KnownRemote(session, remote)
    this.sender = new Sender(session, this.#access, this.#known, options)
  }

  /** Takes over what the remote has. */
  async receive(author: Author): Promise<Received> {
    const connection = await connectFetch(this.#access)
    try {
      const { head } = connection.refs
      if (head === undefined) return this.#nothingThere()
      const seen = this.#known.seen()
      if (seen?.oid === head) return { head, commits: 0, bytes: 0, unified: nothingMoved }
      if (this.#options.only === 'push') throw movedError()
      return await this.#take(connection, head, seen, author)
    } finally {
      await connection.close()
    }
  }

  /** After all of it: what was refused before has been overcome. */
  async finish(): Promise<void> {
    await this.#exchange.track(refusedName(this.#remote.name), undefined)
  }

  async #take(
    connection: FetchConnection,
    head: Oid,
    seen: SeenHead | undefined,
    author: Author,
  ): Promise<Received> {
    const bytes = await this.#fetch(connection, head)
    const history = await this.#session.loadHistory(this.#options)
    const before = history.commits.length
    const theirs = await this.#judge(history, head, seen)
    if (theirs === undefined) return { head, bytes, commits: 0, unified: nothingMoved }
    const unified = await this.#unite(history, theirs, author)
    const { height, record } = theirs.snapshot.head
    const { theirsIntactBelow: intactBelow } = unified
    // While it is not replaced, what is to be replaced was not shown rightly.
    if (!this.#repairs) await this.#known.note({ oid: head, height, record, intactBelow })
    const { length } = (await this.#session.loadHistory(this.#options)).commits
    const merges = unified.merge === undefined ? 0 : 1
    return { head, bytes, commits: Math.max(0, length - before - merges), unified }
  }

  /**
   * Undefined where there is nothing to take over: the head is in our own history, or refused and
   * to be replaced, like all below it. Else keeps what is refused as evidence.
   */
  async #judge(
    history: History,
    head: Oid,
    seen: SeenHead | undefined,
  ): Promise<Theirs | undefined> {
    try {
      return await this.#verify(history, head, seen)
    } catch (error) {
      if (!isVerdict(error)) throw error
      const { repair, only } = this.#options
      const mayReplace = repair === true && only !== 'pull' && isReplaceable(error)
      // Who has never seen ours there cannot know whose it is.
      const wasOurs = seen !== undefined && findRecord(this.#session, history, seen) !== undefined
      if (mayReplace && wasOurs) {
        return await this.#salvage(history, head)
      }
      await this.#keepEvidence(history, head, error)
      throw error
    }
  }

  async #salvage(history: History, head: Oid): Promise<Theirs | undefined> {
    try {
      // A redaction may have erased here what the sound part of it builds on.
      await this.#fetchAll(head)
    } catch (error) {
      if (!isFailureOfRemote(error)) throw error
    }
    return findSound(this.#session, history, head, this.#options)
  }

  async #keepEvidence(history: History, head: Oid, verdict: StoreError): Promise<void> {
    // A ref to what is not whole would break the repository for git.
    if (hasCode(verdict, 'object_missing', 'object_corrupt', 'redaction_undone')) return
    const { snapshot } = this.#session
    if (leadsToErased(this.#session, history, head, snapshot.redacted)) return
    await this.#exchange.track(refusedName(this.#remote.name), head)
  }

  /** Undefined for a head that is in our own history. */
  async #verify(
    history: History,
    head: Oid,
    seen: SeenHead | undefined,
  ): Promise<Theirs | undefined> {
    const expected = this.#repairs ? undefined : seen
    const verify = async (): Promise<Theirs | undefined> => {
      const known = findKnown(this.#session.objects, history, head)
      if (known === undefined) {
        const theirs = await verifyTheirs(this.#session, history, head, this.#options)
        if (expected === undefined || hasShown(this.#session, history, theirs, expected)) {
          return theirs
        }
        await eraseBroughtBack(this.#session, theirs, this.#options)
        throw rolledBackError()
      }
      this.#checkContains(history, known, expected)
      if (!this.#repairs) await this.#known.note(readSeen(this.#session, known))
      return undefined
    }
    try {
      return await verify()
    } catch (error) {
      if (!hasCode(error, 'object_missing')) throw error
      // A fetch that was refused, or is too short, may have left a part of it here.
      await this.#fetchAll(head)
      return verify()
    }
  }

  /**
   * Where a removed device has gone on writing, takes over what was written in time (FORMAT §7.4):
   * the push then replaces the rest.
   */
  async #unite(history: History, theirs: Theirs, author: Author): Promise<Unified> {
    const session = this.#session
    const source = { objects: session.objects, storeId: session.storeId, epochs: theirs.epochs }
    const { commit } = theirs.snapshot.head
    for (let unified = nothingMoved; ;) {
      const { snapshot } = session
      const late = await findLate(source, snapshot, commit, this.#options.signal)
      if (late === undefined) return unify(session, theirs, author, this.#options)
      const oid = findInTime(source, snapshot.keyring, late)
      if (oid === undefined) return unified
      const part = await verifyTheirs(session, history, oid, this.#options)
      unified = addUnified(unified, await unify(session, part, author, this.#options))
    }
  }

  /** Of a head that is in our own history. */
  #checkContains(history: History, known: CommitEntry, seen: SeenHead | undefined): void {
    if (seen === undefined) return
    const before = findRecord(this.#session, history, seen)
    if (before === undefined || !history.pastOf(known)(before.position)) throw rolledBackError()
  }

  /** Returns how many bytes came. */
  async #fetch(connection: FetchConnection, head: Oid): Promise<number> {
    const { objects } = this.#session
    if (objects.read(head) !== undefined) return 0
    const { snapshot, knownCommits } = this.#session
    const haves = chooseHaves(objects, snapshot.head.commit, this.#known.seen()?.oid, knownCommits)
    const { bytes } = await connection.fetch({
      want: head,
      haves,
      into: this.#exchange,
      progress: this.#options.transfer,
    })
    return bytes
  }

  /** Whatever is here of it already. */
  async #fetchAll(head: Oid): Promise<void> {
    const connection = await connectFetch(this.#access)
    try {
      if (connection.refs.head !== head) throw movedError()
      const progress = this.#options.transfer
      await connection.fetch({ want: head, haves: [], into: this.#exchange, progress })
    } finally {
      await connection.close()
    }
  }

  #nothingThere(): Received {
    if (this.#known.seen() !== undefined && !this.#repairs) throw rolledBackError()
    return { head: undefined, commits: 0, bytes: 0, unified: nothingMoved }
  }

  get #repairs(): boolean {
    return this.#options.repair === true
  }
}

function findKnown(objects: ObjectSource, history: History, head: Oid): CommitEntry | undefined {
  return history.findCommit(head, parseLinks(readCommitBytes(objects, head)).height)
}

function readSeen(
  { objects, storeId, epochs }: StoreSession,
  { oid, height }: CommitEntry,
): SeenHead {
  const { hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
  return { oid, height, record: hash }
}

function addUnified(a: Unified, b: Unified): Unified {
  return {
    merge: b.merge ?? a.merge,
    outcomes: [...a.outcomes, ...b.outcomes],
    erased: a.erased + b.erased,
    theirsIntactBelow: lower(a.theirsIntactBelow, b.theirsIntactBelow),
  }
}

function lower(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}

function describe(
  session: StoreSession,
  { name }: Remote,
  received: Omit<Received, 'head'>,
  sent: Sent,
): Promise<SyncReport> {
  const { commits, bytes, unified } = received
  return session.reading(({ head, devices }) => ({
    remote: name,
    received: { commits, bytes },
    sent,
    merge: unified.merge,
    outcomes: unified.outcomes,
    erased: unified.erased,
    head: head.commit,
    headWords: headWords(session.storeId, head.record),
    forkedDevices: [...devices]
      .filter(([, { forked }]) => forked)
      .map(([deviceId]) => formatId('device', deviceId)),
  }))
}

function movedError(): StoreError {
  return new StoreError(
    'remote_moved',
    'The remote has changes that this store has not seen: pull them first, or sync',
  )
}

/** Two clones that lost a race together do not lose the next one together. */
async function wait(jitter: number, attempt: number): Promise<void> {
  const ms = PAUSE_MS * attempt * (0.5 + jitter / 255)
  await new Promise((resolve) => setTimeout(resolve, ms))
}
