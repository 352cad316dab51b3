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
import type { Anchor } from './anchor.ts'
import type { CommitContext } from './commit.ts'
import type { Epochs } from './decoded-commit.ts'
import { ContentCache } from './content-cache.ts'
import type { ContentSource } from './contents.ts'
import { findKeyring, openHeadKeyring } from './authority.ts'
import { Gate } from './gate.ts'
import { catchUp } from './history.ts'
import type { History } from './history.ts'
import { readHistory, writeHistory } from './history-cache.ts'
import type { CacheOwner } from './sealed-cache.ts'
import type { Head, Snapshot } from './snapshot.ts'
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
  #wrote = false
  #settleTimer: NodeJS.Timeout | undefined
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

  /** Adds an epoch that a keyring of our own begins. */
  addEpoch(epoch: EpochKeys): void {
    this.#epochs = new Map([...this.#epochs, [epoch.kid, epoch]])
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
    return Math.max(this.#parts.clock(), before)
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
    await this.#refreshEpochs(head)
    if (await this.#follow(head)) return
    await this.#replaceSnapshot(head)
  }

  /** Opening a keyring is slow beside a command, so only for one that is new. */
  async #refreshEpochs(head: Oid): Promise<void> {
    if (findKeyring(this.objects, head) === this.#snapshot.keyring.oid) return
    const unlock = { type: 'identity', identity: this.identity } as const
    this.#epochs = (await openHeadKeyring(this.objects, this.storeId, unlock, head)).epochs
  }

  async #follow(head: Oid): Promise<boolean> {
    await this.#fillHistory(this.#snapshot.head.commit, {})
    return verifyDescent(this, this.#snapshot, head, this.#history)
  }

  /** Another process rewrote the history: accept it as a whole if it still holds all we know. */
  async #replaceSnapshot(head: Oid): Promise<void> {
    const known = this.#snapshot.head
    let contained = false
    const { snapshot } = await verifyHistory(this, head, {
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
    this.#wrote = true
    clearTimeout(this.#settleTimer)
    this.#settleTimer = setTimeout(
      () => void this.#settle().catch(() => undefined),
      SETTLE_AFTER_MS,
    )
    this.#settleTimer.unref()
  }

  /** Idle work. Failing leaves the files of before, which are as good, only older. */
  async #settle(): Promise<void> {
    await this.#gate.run(async () => {
      const { head } = this.#snapshot
      await this.#parts.anchor.advance(head)
      if (head.height >= this.#cachedHeight + CACHE_EVERY) await this.#writeState(head)
    })
  }

  async #writeState(head: Head): Promise<void> {
    await writeState(this.#parts.caches, `${this.#parts.cacheDirectory}/state`, this.#snapshot)
    this.#cachedHeight = head.height
  }

  async #close(): Promise<void> {
    clearTimeout(this.#settleTimer)
    this.#cache.clear()
    await this.#writer.idle()
    try {
      await this.#gate.run(() => this.#leave())
    } finally {
      await this.objects.close()
    }
  }

  async #leave(): Promise<void> {
    const { head } = this.#snapshot
    const { anchor } = this.#parts
    if (this.#wrote) {
      const last = this.#snapshot.devices.get(this.identity.deviceId)?.sequence ?? 0
      await anchor.advance(head, last + 1)
    } else if (head.height > (anchor.verified?.height ?? -1)) {
      await orNotAllowed(anchor.advance(head))
    }
    if (head.height !== this.#cachedHeight) await orNotAllowed(this.#writeCaches(head))
  }

  async #writeCaches(head: Head): Promise<void> {
    const { caches, cacheDirectory } = this.#parts
    await this.#writeState(head)
    if (this.#history.commits.length > 0) await writeHistory(caches, cacheDirectory, this.#history)
  }
}

/** Who may only read leaves no caches behind. */
async function orNotAllowed(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!hasCode(error, 'storage_denied')) throw error
  })
}
