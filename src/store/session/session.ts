// What an open store holds, and how it stays current: the snapshot moves with our own commits and
// with those of other processes, under one mutex; the history is filled when asked for; the anchor
// and the caches are written when nothing else is to be done.

import { Gate, type WorkOptions } from '../../async.ts'
import type { Clock } from '../../clock.ts'
import type { Random } from '../../crypto/random.ts'
import { assert, hasCode, StoreError } from '../../errors.ts'
import { zeroHash } from '../../format/record.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { EpochKeys } from '../../keys/epoch.ts'
import type { Identity } from '../../keys/identity.ts'
import { SharedSlice } from '../../time-slice.ts'
import { findKeyring, forkedError, openHeadKeyring } from '../access/authority.ts'
import type { CommitContext, OtherParent } from '../commits/commit-context.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import type { Epochs } from '../commits/decoded-commit.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import { checkGuard, checkReason, type ContentGuard, guardOf } from '../guard/guard.ts'
import { ContentCache } from '../history/content-cache.ts'
import { type ContentSource, readMemory } from '../history/contents.ts'
import type { History } from '../history/history.ts'
import { LocalFiles, type LocalFilesParts } from '../local/local-files.ts'
import type { Reads } from '../local/reads.ts'
import type { LeftLate, RemoteStateFile } from '../local/remote-state-file.ts'
import type { Head, KeyringState, Snapshot, Undo } from '../snapshot/snapshot.ts'
import { followHead } from './follow.ts'
import { HeldHistory } from './held-history.ts'
import { WriterClock } from './writer-clock.ts'
import { type Build, Writer } from './writer.ts'

export interface SessionParts extends LocalFilesParts {
  readonly storeId: string
  readonly identity: Identity
  readonly epochs: ReadonlyMap<string, EpochKeys>
  readonly snapshot: Snapshot
  readonly clock: Clock
  readonly random: Random
  /** The caller's own, beside that of the settings. */
  readonly guard: ContentGuard | undefined
  readonly seenRemotes: RemoteStateFile
}

const SETTLE_AFTER_MS = 2000

export class StoreSession {
  readonly objects: ObjectStore
  readonly storeId: string
  readonly identity: Identity
  readonly random: Random
  readonly clock: WriterClock
  readonly reads: Reads
  readonly seenRemotes: RemoteStateFile
  readonly local: LocalFiles
  /** One sync at a time: each sends all that was acknowledged before it was asked for. */
  readonly syncs: Gate = new Gate()
  readonly #parts: SessionParts
  readonly #gate = new Gate()
  readonly #history: HeldHistory
  readonly #writer: Writer
  readonly #cache = new ContentCache()
  readonly #reads = new SharedSlice()
  #epochs: Epochs
  #snapshot: Snapshot
  #rewrites = 0
  /** The newest head that is certainly on disk. */
  #durable: Head | undefined
  #settleTimer: NodeJS.Timeout | undefined
  #settling: Promise<void> | undefined
  #closing: Promise<void> | undefined

  /** `history` is empty, or what opening has read of it. */
  constructor(parts: SessionParts, history: History) {
    this.#parts = parts
    this.objects = parts.objects
    this.storeId = parts.storeId
    this.identity = parts.identity
    this.random = parts.random
    this.clock = new WriterClock(parts.clock)
    this.seenRemotes = parts.seenRemotes
    this.#epochs = parts.epochs
    this.#snapshot = parts.snapshot
    this.local = new LocalFiles(parts)
    this.#history = new HeldHistory(history, {
      read: (into, signal) => this.local.loadHistory(into, signal),
      alone: (work) => this.#alone(work),
      write: (what) => this.local.keepHistory(this.#snapshot, what),
    })
    this.reads = this.local.reads
    this.#writer = new Writer({
      objects: parts.objects,
      locked: (work) => this.#gate.run(work),
      catchUp: () => this.#catchUp(),
      head: () => this.#snapshot.head.commit,
      written: (commits) => this.#written(commits),
    })
  }

  /**
   * Only in a turn (`reading`, `writing`, `planning`): between turns it may be ahead of the disk,
   * by a batch that is being written.
   */
  get snapshot(): Snapshot {
    assert(!this.#gate.free, 'the snapshot is looked at in a turn')
    return this.#snapshot
  }

  /** How often the history below the head was made again: what was read before may be erased. */
  get rewrites(): number {
    return this.#rewrites
  }

  get epochs(): Epochs {
    return this.#epochs
  }

  /** What contents are read from: a batch sees what it has made and not stored yet. */
  get contents(): ContentSource {
    const { storeId, epochs } = this
    const read = (oid: Oid) => this.#writer.findMade(oid) ?? this.objects.read(oid)
    return { objects: { read }, storeId, epochs, cache: this.#cache }
  }

  /** The newest head, which may be on its way to the disk. */
  get newestHead(): Head {
    return this.#snapshot.head
  }

  /** The commits as far as they are in RAM already, oldest first. */
  get knownCommits(): History['commits'] {
    return this.#history.now.commits
  }

  /** Adds an epoch that a keyring of our own begins; returns how to take it back. */
  addEpoch(epoch: EpochKeys): Undo {
    const before = this.#epochs
    this.#epochs = new Map([...before, [epoch.kid, epoch]])
    return () => {
      this.#epochs = before
    }
  }

  /** Takes another verified snapshot of this store in place of the own; returns how to go back. */
  adopt(snapshot: Snapshot, epochs: Epochs): Undo {
    const [before, epochsBefore] = [this.#snapshot, this.#epochs]
    this.#snapshot = snapshot
    this.#epochs = epochs
    return () => {
      this.#snapshot = before
      this.#epochs = epochsBefore
    }
  }

  /** Runs a synchronous read on the snapshot of the newest durable head. */
  async reading<T>(read: (snapshot: Snapshot) => T): Promise<T> {
    if (this.#reads.isOver()) await this.#reads.next()
    this.#checkOpen()
    if (this.#gate.free) {
      this.objects.refresh()
      if (this.objects.head === this.#snapshot.head.commit) return read(this.#snapshot)
    }
    return this.planning(async () => read(this.#snapshot))
  }

  /** With `alone`, no other command shares the batch. */
  async writing<T>(build: Build<T>, alone = false): Promise<T> {
    this.#checkOpen()
    return this.#writer.submit(build, alone)
  }

  /** Runs what only looks as `writing` would run it, on the newest snapshot. */
  async planning<T>(plan: () => Promise<T>): Promise<T> {
    this.#checkOpen()
    return this.#gate.run(async () => {
      this.objects.refresh()
      await this.#catchUp()
      return plan()
    })
  }

  /** The history up to the newest head. */
  async loadHistory(options: WorkOptions = {}): Promise<History> {
    for (;;) {
      const rewrites = this.#rewrites
      const { commit } = await this.reading((snapshot) => snapshot.head)
      // A head from before a redaction would bring back what that has erased.
      const isNew = (): boolean => this.#rewrites === rewrites
      try {
        const history = await this.#fillHistory(commit, options, isNew)
        if (history !== undefined) return history
      } catch (error) {
        if (!hasCode(error, 'object_missing')) throw error
        await this.reading(() => undefined)
        // Unless another process redacted meanwhile, and has erased the history of before.
        if (isNew()) throw error
      }
    }
  }

  /** While writing alone, or planning: no commit comes into it that is not on the disk. */
  async historyNow(options: WorkOptions = {}): Promise<History> {
    assert(!this.#writer.hasMade, 'who reads the history while writing has the batch alone')
    return this.#historyUpTo(this.#snapshot.head.commit, options)
  }

  /** What the next record is stamped with, ms since 1970. */
  nextTime(): number {
    return this.clock.stamp(this.#snapshot)
  }

  /**
   * Throws `sensitive_content`. Call while writing or planning, before anything of the rows is
   * sealed. The reason is the author's own: what the store words itself is not asked about.
   */
  async checkContents(rows: readonly PlannedRow[], reason: string | undefined): Promise<void> {
    const guard = guardOf(this.#parts.guard, this.#snapshot.settings.value)
    await checkReason(guard, reason)
    return checkGuard(guard, rows, ({ memoryId }) => {
      const live = this.#snapshot.current.get(memoryId)?.live
      return live && { path: live.path, content: readMemory(this.contents, live) }
    })
  }

  /** What the next commit of this device needs, a merge with another head too. While writing. */
  async commitContext(time: number, other?: OtherParent): Promise<CommitContext> {
    const { deviceId, signing } = this.identity
    const last = other?.devices.get(deviceId) ?? this.#snapshot.devices.get(deviceId)
    if (last?.forked === true) throw forkedError()
    const sequence = await this.local.anchor.reserve(last?.sequence ?? 0, this.#snapshot.head)
    const signer = { deviceId, pair: signing, sequence, previous: last?.record ?? zeroHash }
    const { storeId, random } = this
    return { storeId, epoch: this.currentEpoch(other?.keyring), signer, time, random }
  }

  /** The epoch that new records are sealed under. */
  currentEpoch(keyring: KeyringState = this.#snapshot.keyring): EpochKeys {
    const epoch = this.#epochs.get(keyring.kid)
    if (epoch !== undefined) return epoch
    throw new StoreError('wrong_key', 'This identity has no key for the current epoch')
  }

  /**
   * While writing, before the branch leaves what the anchor names: whatever becomes of this
   * process, the store opens.
   */
  async noteLeft(left: LeftLate): Promise<void> {
    const { oid, height, record } = left.common
    await this.local.anchor.accept({ commit: oid, height, record })
    await this.seenRemotes.noteLeft(left)
  }

  /** After a long verification: the next open shall not repeat it, even if this process dies. */
  async keepVerified(): Promise<void> {
    if (this.local.isDue(this.#snapshot, 'idle')) await this.#leave()
  }

  /** After a redaction of our own is durable: nothing that was kept in RAM shows it any more. */
  async forget(
    oldHead: Oid,
    rewritten: ReadonlyMap<number, Oid>,
    versionIds: ReadonlySet<string>,
  ): Promise<void> {
    this.#cache.clear()
    this.#rewrites += 1
    await this.#history.forget(oldHead, rewritten, versionIds)
  }

  /** The same after redactions of others were taken over: the history is read again from git. */
  forgetAll(): void {
    this.#cache.clear()
    this.#rewrites += 1
    this.#history.now.isSuperseded = true
  }

  /** Erases from the whole store what redactions have left, and makes the caches again. */
  async erase(): Promise<void> {
    if (this.objects.status().purgePending === 0) return
    await this.checkpoint()
    await this.#gate.run(async () => this.local.forget(this.#history.now))
    await this.keepVerified()
  }

  async checkpoint(): Promise<void> {
    this.#checkOpen()
    await this.#writer.settled()
    await this.objects.checkpoint()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #checkOpen(): void {
    if (this.#closing === undefined) return
    throw new StoreError('store_closed', 'The store is closed; open it again')
  }

  /** Moves the snapshot to the object store's head. Call under the gate. */
  async #catchUp(): Promise<void> {
    const head = this.objects.head
    if (head === this.#snapshot.head.commit) return
    if (head === undefined) throw new StoreError('rolled_back', 'The history has disappeared')
    // Kept only once the head that brought them is accepted (FORMAT §7.1).
    const epochs = await this.#epochsOf(head)
    const { objects, storeId } = this
    const source = { objects, storeId, epochs }
    const findLeftFor = (record: Uint8Array) => this.seenRemotes.findLeftFor(record)
    const before = this.#snapshot
    // The snapshot is on its way when they are asked.
    const { commit } = before.head
    const fill = () => this.#historyUpTo(commit, {})
    const below = this.local.versionIds.below(source, commit, fill)
    this.#snapshot = await followHead(source, before, head, { fill, below, findLeftFor })
    if (this.#snapshot !== before) this.forgetAll()
    this.#epochs = epochs
  }

  /** Opening a keyring is slow beside a command, so only for one that is new. */
  async #epochsOf(head: Oid): Promise<Epochs> {
    const { oid, kid } = this.#snapshot.keyring
    const same = findKeyring(this.objects, head) === oid && this.#epochs.has(kid)
    if (same) return this.#epochs
    const unlock = { type: 'identity', identity: this.identity } as const
    return (await openHeadKeyring(this.objects, this.storeId, unlock, head)).epochs
  }

  async #historyUpTo(head: Oid, options: WorkOptions): Promise<History> {
    const history = await this.#fillHistory(head, options)
    assert(history !== undefined, 'this head is wanted')
    return history
  }

  /** Undefined, with nothing done, if the head is not the one to fill up to any more. */
  #fillHistory(
    head: Oid,
    options: WorkOptions,
    isWanted = () => true,
  ): Promise<History | undefined> {
    return this.#history.upTo(this.contents, head, options, isWanted)
  }

  #written(commits: readonly BuiltCommit[]): void {
    if (commits.length === 0) return
    this.local.noteWritten(commits)
    this.#durable = this.#snapshot.head
    clearTimeout(this.#settleTimer)
    if (this.#closing !== undefined) return
    if (this.local.isDue(this.#snapshot, 'busy')) this.#settling ??= this.#settleNow()
    this.#settleTimer = setTimeout(
      () => void this.#settle().catch(() => undefined),
      SETTLE_AFTER_MS,
    )
    this.#settleTimer.unref()
  }

  async #settleNow(): Promise<void> {
    await this.#settle().catch(() => undefined)
    this.#settling = undefined
  }

  /** Idle work. Failing leaves the files of before, which are as good, only older. */
  #settle(): Promise<void> {
    return this.#alone(() => this.local.settle(this.contents, this.#durable, this.#snapshot))
  }

  /** No other process writes and no command of this one runs: in this order, as the writer. */
  #alone(work: () => Promise<void>): Promise<void> {
    return this.objects.exclusive(() => this.#gate.run(work))
  }

  async #close(): Promise<void> {
    try {
      await this.#writer.idle()
      clearTimeout(this.#settleTimer)
      this.#history.close()
      await this.#settling
      const news = this.local.hasNews(this.#snapshot, this.#history.now)
      if (this.#durable !== undefined || news) await this.#leave()
    } finally {
      this.#cache.clear()
      await this.objects.close()
    }
  }

  /** What a reader may not do, or cannot for another process in the way, loses nothing. */
  async #leave(): Promise<void> {
    try {
      await this.#alone(() => {
        return this.local.leave(this.contents, this.#durable, this.#snapshot, this.#history.now)
      })
    } catch (error) {
      if (!hasCode(error, 'locked', 'storage_denied')) throw error
    }
  }
}
