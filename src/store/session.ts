// What an open store holds, and how it stays current: the snapshot moves with our own commits and
// with those of other processes, under one mutex; the history is filled when asked for; the anchor
// and the caches are written when nothing else is to be done.

import { equalBytes } from '../bytes.ts'
import type { Clock } from '../clock.ts'
import type { Random } from '../crypto/random.ts'
import { hasCode, StoreError } from '../errors.ts'
import { zeroHash } from '../format/record.ts'
import type { Oid } from '../git/object.ts'
import type { ObjectStore } from '../git/object-store.ts'
import type { EpochKeys } from '../keys/epoch.ts'
import type { Identity } from '../keys/identity.ts'
import { timeMax } from '../limits.ts'
import type { Anchor } from './anchor.ts'
import type { CommitContext } from './commit.ts'
import type { Epochs } from './decoded-commit.ts'
import { ContentCache } from './content-cache.ts'
import type { ContentSource } from './contents.ts'
import { findKeyring, openHeadKeyring } from './authority.ts'
import { Gate } from './gate.ts'
import { catchUp } from './history.ts'
import type { History, HistorySource } from './history.ts'
import { isWorthWriting, readHistory, writeHistory } from './history-cache.ts'
import type { CacheOwner } from './sealed-cache.ts'
import type { Head, Snapshot, Undo } from './snapshot.ts'
import { writeState } from './state-cache.ts'
import { verifyDescent, verifyHistory } from './verify.ts'
import type { VerifyOptions } from './verify.ts'
import { Writer } from './writer.ts'
import type { Build } from './writer.ts'

export interface SessionParts {
  readonly objects: ObjectStore
  readonly storeId: string
  readonly identity: Identity
  readonly epochs: ReadonlyMap<string, EpochKeys>
  readonly snapshot: Snapshot
  readonly anchor: Anchor
  readonly caches: CacheOwner
  /** The folder of this device's caches. */
  readonly cacheDirectory: string
  readonly clock: Clock
  readonly random: Random
  /** Empty, or what opening has read of it. */
  readonly history: History
  /** Height of the cached snapshot, -1 without one. */
  readonly cachedHeight: number
}

/** A new snapshot cache is worth its bytes after so many commits, and at close. */
const CACHE_EVERY = 256
/** A store that is never idle writes one all the same: a killed process leaves little to verify. */
const CACHE_WHEN_BUSY = 4096
const SETTLE_AFTER_MS = 2000

export class StoreSession {
  readonly objects: ObjectStore
  readonly storeId: string
  readonly identity: Identity
  readonly random: Random
  readonly #parts: SessionParts
  readonly #gate = new Gate()
  readonly #historyGate = new Gate()
  readonly #history: History
  readonly #writer: Writer
  readonly #cache = new ContentCache()
  #epochs: Epochs
  #snapshot: Snapshot
  #cachedHeight: number
  /** The newest head that is certainly on disk. */
  #durable: Head | undefined
  #settleTimer: NodeJS.Timeout | undefined
  #settling: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.objects = parts.objects
    this.storeId = parts.storeId
    this.identity = parts.identity
    this.random = parts.random
    this.#epochs = parts.epochs
    this.#snapshot = parts.snapshot
    this.#history = parts.history
    this.#cachedHeight = parts.cachedHeight
    this.#writer = new Writer({
      objects: parts.objects,
      locked: (work) => this.#gate.run(work),
      catchUp: () => this.#catchUp(),
      head: () => this.#snapshot.head.commit,
      written: (count) => this.#written(count),
    })
  }

  get snapshot(): Snapshot {
    return this.#snapshot
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

  /** Adds an epoch that a keyring of our own begins; returns how to take it back. */
  addEpoch(epoch: EpochKeys): Undo {
    const before = this.#epochs
    this.#epochs = new Map([...before, [epoch.kid, epoch]])
    return () => {
      this.#epochs = before
    }
  }

  /** Runs a synchronous read on the snapshot of the newest durable head. */
  async reading<T>(read: (snapshot: Snapshot) => T): Promise<T> {
    this.#checkOpen()
    if (this.#gate.free) {
      this.objects.refresh()
      if (this.objects.head === this.#snapshot.head.commit) return read(this.#snapshot)
    }
    return this.#gate.run(async () => {
      this.objects.refresh()
      await this.#catchUp()
      return read(this.#snapshot)
    })
  }

  async writing<T>(build: Build<T>): Promise<T> {
    this.#checkOpen()
    return this.#writer.submit(build)
  }

  /** The history up to the newest head. */
  async loadHistory(options: VerifyOptions = {}): Promise<History> {
    const { commit } = await this.reading((snapshot) => snapshot.head)
    await this.#fillHistory(commit, options)
    return this.#history
  }

  /** Now, but never before this device's previous record (FORMAT §8). */
  nextTime(): number {
    const before = this.#snapshot.devices.get(this.identity.deviceId)?.time ?? 0
    return Math.min(Math.max(Math.floor(this.#parts.clock()), before), timeMax)
  }

  /** What the next commit of this device needs. Call while writing. */
  async commitContext(time: number): Promise<CommitContext> {
    const { deviceId, signing } = this.identity
    const last = this.#snapshot.devices.get(deviceId)
    const sequence = await this.#parts.anchor.reserve(last?.sequence ?? 0, this.#snapshot.head)
    const signer = { deviceId, pair: signing, sequence, previous: last?.record ?? zeroHash }
    const { storeId, random } = this
    return { storeId, epoch: this.currentEpoch(), signer, time, random }
  }

  /** The epoch that new records are sealed under. */
  currentEpoch(): EpochKeys {
    const epoch = this.#epochs.get(this.#snapshot.keyring.kid)
    if (epoch !== undefined) return epoch
    throw new StoreError('wrong_key', 'This identity has no key for the current epoch')
  }

  /** After a long verification: the next open shall not repeat it, even if this process dies. */
  async keepVerified(): Promise<void> {
    if (this.#snapshot.head.height >= this.#cachedHeight + CACHE_EVERY) await this.#leave()
  }

  async checkpoint(): Promise<void> {
    this.#checkOpen()
    await this.#writer.idle()
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
    await this.#fillHistory(this.#snapshot.head.commit, {})
    const follows = await verifyDescent(source, this.#snapshot, head, this.#history)
    if (!follows) await this.#replaceSnapshot(source, head)
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

  /** Another process rewrote the history: accept it as a whole if it still holds all we know. */
  async #replaceSnapshot(source: HistorySource, head: Oid): Promise<void> {
    const known = this.#snapshot.head
    let contained = false
    const { snapshot } = await verifyHistory(source, head, {
      onCommit: (commit) => {
        contained ||= commit.record.height === known.height && equalBytes(commit.hash, known.record)
      },
    })
    if (!contained) {
      throw new StoreError(
        'rolled_back',
        'The store was put back to a state before the newest known',
      )
    }
    this.#snapshot = snapshot
  }

  #fillHistory(head: Oid, options: VerifyOptions): Promise<void> {
    return this.#historyGate.run(async () => {
      if (this.#history.commits.length === 0) {
        readHistory(this.#parts.caches, this.#parts.cacheDirectory, this.#history)
      }
      await catchUp(this.#history, this, head, options)
    })
  }

  #written(count: number): void {
    if (count === 0) return
    this.#durable = this.#snapshot.head
    clearTimeout(this.#settleTimer)
    if (this.#closing !== undefined) return
    const due = this.#snapshot.head.height >= this.#cachedHeight + CACHE_WHEN_BUSY
    if (due) this.#settling ??= this.#settleNow()
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
    return this.#alone(async () => {
      if (this.#durable !== undefined) await this.#parts.anchor.advance(this.#durable)
      const { height } = this.#snapshot.head
      if (height >= this.#cachedHeight + CACHE_EVERY) await this.#writeState()
    })
  }

  /** No other process writes and no command of this one runs: in this order, as the writer. */
  #alone(work: () => Promise<void>): Promise<void> {
    return this.objects.exclusive(() => this.#gate.run(work))
  }

  async #writeState(): Promise<void> {
    await writeState(this.#parts.caches, `${this.#parts.cacheDirectory}/state`, this.#snapshot)
    this.#cachedHeight = this.#snapshot.head.height
  }

  async #close(): Promise<void> {
    try {
      await this.#writer.idle()
      clearTimeout(this.#settleTimer)
      await this.#settling
      const cached = this.#snapshot.head.height === this.#cachedHeight
      const worthIt = isWorthWriting(this.#history)
      if (this.#durable !== undefined || !cached || worthIt) await this.#leave()
    } finally {
      this.#cache.clear()
      await this.objects.close()
    }
  }

  /** What a reader may not do, or cannot for another process in the way, loses nothing. */
  async #leave(): Promise<void> {
    try {
      await this.#alone(async () => {
        await this.#advanceAnchor()
        await this.#writeCaches().catch(ignoreStorage)
      })
    } catch (error) {
      if (!hasCode(error, 'locked', 'storage_denied')) throw error
    }
  }

  async #advanceAnchor(): Promise<void> {
    const { anchor } = this.#parts
    // Frames of a process that died may not be on disk, whoever can read them.
    const packed = this.objects.status().journalFrames === 0
    const head = packed ? this.#snapshot.head : this.#durable
    if (head !== undefined) await anchor.advance(head)
    await anchor.settle()
  }

  async #writeCaches(): Promise<void> {
    const { caches, cacheDirectory } = this.#parts
    if (this.#snapshot.head.height !== this.#cachedHeight) await this.#writeState()
    if (isWorthWriting(this.#history)) await writeHistory(caches, cacheDirectory, this.#history)
  }
}

/** Caches can be made again. */
function ignoreStorage(error: unknown): void {
  if (!hasCode(error, 'storage_denied', 'storage_full', 'storage_failed')) throw error
}
