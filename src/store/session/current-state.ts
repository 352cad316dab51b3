// What an open store knows of itself now: the verified snapshot, the epochs that open it and the
// history as far as it was read. They move in turns, one after another, with our own commits and
// with those of other processes: a newer head is verified by its new commits or, after a redaction
// or merge, by the part that differs (FORMAT §8.1, §10). Must not decide about writes.

import { Gate } from '../../async.ts'
import { equalBytes } from '../../bytes.ts'
import type { CacheBudget } from '../../cache-budget.ts'
import { assert, hasCode, StoreError } from '../../errors.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import type { EpochKeys } from '../../keys/epoch.ts'
import type { Identity } from '../../keys/identity.ts'
import type { Unlock } from '../../keys/unlock.ts'
import { findKeyring, openHeadKeyring } from '../access/authority.ts'
import { areLostCommitsLate } from '../access/post-revocation.ts'
import type { Epochs } from '../commits/decoded-commit.ts'
import type { CatchUpOptions } from '../history/catch-up.ts'
import { ContentCache, type ContentSource } from '../history/contents.ts'
import { History, type HistorySource } from '../history/history.ts'
import { LocalFiles, type LocalFilesParts } from '../local/local-files.ts'
import type { RecordAt, RemoteStateFile } from '../local/remote-state-file.ts'
import type { Head, KeyringState, Snapshot } from '../snapshot/snapshot.ts'
import type { CloneBeginning } from '../verify/beginning.ts'
import { verifyRewritten } from '../verify/verify-rewritten.ts'
import { verifyBegun, verifyDescent, verifyHistory, type VerifyOptions } from '../verify/verify.ts'
import { checkFreshness } from './freshness.ts'
import type { GrantedFiles } from './granted.ts'
import { HeldHistory } from './held-history.ts'
import type { StoreSource } from './store-id.ts'

export interface StateParts extends LocalFilesParts {
  readonly storeId: string
  readonly identity: Identity
  readonly epochs: ReadonlyMap<string, EpochKeys>
  /** What opens later keyrings; the identity by default. */
  readonly unlock?: Unlock | undefined
  readonly snapshot: Snapshot
  readonly seenRemotes: RemoteStateFile
  readonly cacheBudget: CacheBudget
  /** Where a clone without the earlier history begins. */
  readonly beginning?: CloneBeginning | undefined
  /** What the clone of a grant's holder keeps of its granter. */
  readonly granted?: GrantedFiles | undefined
}

/**
 * A cache of decrypted texts in RAM. It is cleared together with the session's own: after a
 * redaction, and when the store is closed.
 */
export interface HeldTexts {
  /** The versions of which it has a text or a part of one, ids in hex. */
  readonly versionIds: readonly string[]
  /** Forgets all of them, at once. */
  clear(): void
}

/** A verified snapshot, the epochs that open it, and where a history without its past begins. */
interface VerifiedState {
  readonly snapshot: Snapshot
  readonly epochs: Epochs
  readonly beginning: CloneBeginning | undefined
}

export class CurrentState {
  readonly objects: ObjectStore
  readonly storeId: string
  readonly identity: Identity
  readonly unlock: Unlock
  readonly seenRemotes: RemoteStateFile
  readonly local: LocalFiles
  readonly #gate = new Gate()
  readonly #held: HeldHistory
  readonly #cache: ContentCache
  readonly #texts: HeldTexts[] = []
  #now: VerifiedState
  #rewrites = 0
  readonly #granted: GrantedFiles | undefined
  /** Objects of the batch that is being written: a command may build on those of one before it. */
  #batch: Map<Oid, NewObject> = new Map()

  constructor(parts: StateParts) {
    this.objects = parts.objects
    this.storeId = parts.storeId
    this.identity = parts.identity
    this.unlock = parts.unlock ?? { type: 'identity', identity: parts.identity }
    this.seenRemotes = parts.seenRemotes
    this.#cache = new ContentCache(parts.cacheBudget)
    // Not kept in the parts: an earlier snapshot has paths that may be redacted later.
    const { snapshot, epochs, beginning, ...local } = parts
    this.#now = { snapshot, epochs, beginning }
    this.local = new LocalFiles(local)
    this.#granted = parts.granted
    this.#held = new HeldHistory({
      begin: () => this.newHistory(),
      read: (into, signal) => this.local.loadHistory(into, signal),
      alone: (work) => this.alone(work),
      write: (what) => this.local.keepHistory(this.snapshot, what),
    })
  }

  get now(): VerifiedState {
    return this.#now
  }

  /** The newest snapshot. Between turns it may be ahead of the disk by a batch. */
  get snapshot(): Snapshot {
    return this.#now.snapshot
  }

  /** Whether a turn is taken or waited for. */
  get isBusy(): boolean {
    return !this.#gate.free
  }

  /** Whether the snapshot is that of the newest durable head. */
  get isCurrent(): boolean {
    return this.objects.head === this.snapshot.head.commit
  }

  get epochs(): Epochs {
    return this.#now.epochs
  }

  /** In a turn. Keeps the epochs and the beginning by default. */
  moveTo({
    snapshot,
    epochs = this.epochs,
    beginning = this.beginning,
  }: Pick<VerifiedState, 'snapshot'> & Partial<VerifiedState>): void {
    const isAnew = beginning !== this.beginning
    this.#now = { snapshot, epochs, beginning }
    if (isAnew) this.history.become(this.newHistory())
  }

  /** How often the history below the head was rewritten: objects read before may be erased. */
  get rewrites(): number {
    return this.#rewrites
  }

  /** The history as far as it is in RAM. */
  get history(): History {
    return this.#held.now
  }

  /** Set if this clone lacks the earlier history. */
  get beginning(): CloneBeginning | undefined {
    return this.#now.beginning
  }

  /** The history begins earlier: call in a turn, once the commits since then are stored. */
  beginAt(beginning: CloneBeginning | undefined, history?: History): void {
    this.#now = { ...this.#now, beginning }
    this.history.become(history ?? this.newHistory())
  }

  /** An empty history, or one that begins where this clone does. */
  newHistory(): History {
    return new History(this.beginning?.snapshot)
  }

  /** Where contents are read from: the batch that is being written, then the object store. */
  get contents(): ContentSource {
    const { storeId, epochs } = this
    const read = (oid: Oid) => this.#batch.get(oid) ?? this.objects.read(oid)
    return { objects: { read }, storeId, epochs, cache: this.#cache }
  }

  /** Caches to empty together with the contents that are cached here. */
  holdTexts(texts: HeldTexts): void {
    this.#texts.push(texts)
  }

  /** The versions whose texts are held elsewhere in RAM, ids in hex. */
  get heldVersionIds(): readonly string[] {
    return this.#texts.flatMap(({ versionIds }) => versionIds)
  }

  /** Whether the batch that is being written has objects. */
  get hasBatch(): boolean {
    return this.#batch.size > 0
  }

  addToBatch(objects: readonly NewObject[]): void {
    for (const object of objects) this.#batch.set(object.oid, object)
  }

  endBatch(): void {
    // Not cleared: V8 keeps the entries of a cleared map alive.
    this.#batch = new Map()
  }

  /** Runs work that moves the snapshot, while no read happens. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#gate.run(work)
  }

  /** The same with the writer lock, which is taken first, so that no other process writes. */
  alone<T>(work: () => Promise<T>, isLong = false): Promise<T> {
    return this.objects.exclusive(() => this.inTurn(work), isLong)
  }

  /** Moves the snapshot to the head of the object store. In a turn. */
  async catchUp(): Promise<void> {
    while (!this.isCurrent) {
      const { head } = this.objects
      if (head === undefined) throw new StoreError('rolled_back', 'The history has disappeared')
      try {
        await this.#follow(head)
      } catch (error) {
        if (!hasCode(error, 'object_missing')) throw error
        this.objects.refresh()
        // Unless another process has redacted, and erased commits below the head that was read.
        if (this.objects.head === head) throw error
      }
    }
  }

  async #follow(head: Oid): Promise<void> {
    const { objects, storeId } = this
    // Kept only once the head that brought them is accepted (FORMAT §7.1).
    const epochs = await this.#epochsOf(head)
    const source = { objects, storeId, epochs }
    const { snapshot: before } = this
    const fill = () => this.historyUpTo(before.head.commit, {})
    const findLeftFor = (record: Uint8Array) => this.seenRemotes.findLeftFor(record)
    try {
      const followed = await followHead(source, before, head, { fill, findLeftFor })
      this.moveTo({ snapshot: followed.snapshot, epochs })
      if (!followed.isRewritten) return
      // Another process may have fetched earlier history, or have begun anew.
      if (this.beginning !== undefined) this.beginAt(this.#readBeginning(source))
      this.forgetAll()
    } catch (error) {
      if (!hasCode(error, 'object_missing', 'history_needed', 'rolled_back')) throw error
      const anew = await this.#findAnew(source, head)
      if (anew === undefined) throw error
      this.moveTo({ ...anew, epochs })
      this.forgetAll()
    }
  }

  /**
   * The state at a head from which another process has begun anew (decision 0066): the anchor has
   * accepted the head, and the start that leads there is kept.
   */
  async #findAnew(
    source: StoreSource,
    head: Oid,
  ): Promise<Pick<VerifiedState, 'snapshot' | 'beginning'> | undefined> {
    const beginning = this.beginning && this.#readBeginning(source)
    if (beginning === undefined) return undefined
    const { anchor } = this.local
    await anchor.refresh()
    const snapshot = await verifyBegun(source, beginning.snapshot, head)
    if (snapshot === undefined) return undefined
    await checkFreshness(source, anchor, snapshot)
    return { snapshot, beginning }
  }

  #readBeginning(source: StoreSource): CloneBeginning | undefined {
    const { grant } = this.identity
    return grant && this.#granted?.findBeginning(source, grant)
  }

  /** The history up to a head. */
  async historyUpTo(head: Oid, options: CatchUpOptions): Promise<History> {
    const history = await this.findHistory(head, options, () => true)
    assert(history !== undefined, 'this head is wanted')
    return history
  }

  /** The same; undefined, with nothing done, if `isWanted` is false when its turn comes. */
  findHistory(
    head: Oid,
    options: CatchUpOptions,
    isWanted: () => boolean,
  ): Promise<History | undefined> {
    return this.#held.upTo(this.contents, head, options, isWanted)
  }

  /** The epoch that new records are sealed under. */
  currentEpoch(keyring: KeyringState = this.snapshot.keyring): EpochKeys {
    const epoch = this.epochs.get(keyring.kid)
    if (epoch !== undefined) return epoch
    throw new StoreError('wrong_key', 'The identity of this machine has no key for new writes')
  }

  /** After a redaction of our own is durable: nothing in RAM shows what it erased any more. */
  async forget(
    oldHead: Oid,
    rewritten: ReadonlyMap<number, Oid>,
    versionIds: ReadonlySet<string>,
  ): Promise<void> {
    this.clear()
    this.#rewrites += 1
    await this.#held.forget(oldHead, rewritten, versionIds)
  }

  /** After redactions of others were adopted: the history is read again from git. */
  forgetAll(): void {
    this.clear()
    this.#rewrites += 1
    this.history.isSuperseded = true
    this.local.supersede()
  }

  /** Starts no work by itself any more. */
  stop(): void {
    this.#held.close()
  }

  /** Plaintexts leave RAM. */
  clear(): void {
    this.#cache.clear()
    this.local.clear()
    for (const texts of this.#texts) texts.clear()
  }

  /** Opening a keyring is slow compared with a command, so only a new one is opened. */
  async #epochsOf(head: Oid): Promise<Epochs> {
    const { oid, kid } = this.snapshot.keyring
    const isSame = findKeyring(this.objects, head) === oid && this.epochs.has(kid)
    if (isSame) return this.epochs
    return (await openHeadKeyring(this.objects, this.storeId, this.unlock, head)).epochs
  }
}

/** What this device knows of the previous head. */
interface Known {
  /** Reads the history up to that head. */
  readonly fill: () => Promise<History>
  /** The head for which another process of this device dropped a late record (FORMAT §7.4). */
  readonly findLeftFor: (record: Uint8Array) => Promise<RecordAt | undefined>
}

/**
 * Returns the snapshot at `head`, and whether the history below the known head was rewritten.
 * Throws `rolled_back` if the head does not contain the known head, or what verification throws.
 */
export async function followHead(
  source: HistorySource,
  snapshot: Snapshot,
  head: Oid,
  { fill, findLeftFor }: Known,
): Promise<{ readonly snapshot: Snapshot; readonly isRewritten: boolean }> {
  const descended = await verifyDescent(source, snapshot, head)
  if (descended !== undefined) return { snapshot: descended, isRewritten: false }
  const filled = await tryToFill(fill)
  const known = { head: snapshot.head, leftFor: await findLeftFor(snapshot.head.record) }
  const replaced = await replace(source, known, filled, (options) => {
    if (filled === undefined) return verifyHistory(source, head, options)
    return verifyRewritten(source, filled, head, options)
  })
  return { snapshot: replaced, isRewritten: true }
}

/** Undefined if a redaction has erased the known head. */
async function tryToFill(fill: () => Promise<History>): Promise<History | undefined> {
  try {
    return await fill()
  } catch (error) {
    if (hasCode(error, 'object_missing')) return undefined
    throw error
  }
}

/**
 * Accepts a new history as a whole if it contains the known head, unless that is late. Up to the
 * position `base` the known history is unchanged.
 */
async function replace(
  source: HistorySource,
  { head: known, leftFor }: { readonly head: Head; readonly leftFor: RecordAt | undefined },
  history: History | undefined,
  verify: (
    options: VerifyOptions,
  ) => Promise<{ readonly snapshot: Snapshot; readonly base?: number }>,
): Promise<Snapshot> {
  // If a redaction has erased a dropped record, the head that it was dropped for proves it late.
  const expected = leftFor === undefined ? [known] : [known, leftFor]
  let contained = false
  const { snapshot, base = -1 } = await verify({
    onCommit: ({ record, hash }) => {
      const isIt = (one: RecordAt): boolean => {
        return one.height === record.height && equalBytes(one.record, hash)
      }
      contained ||= expected.some(isIt)
    },
  })
  // All up to the base is in the past of both heads: only later commits were rewritten.
  const position = history?.findCommit(known.commit, known.height)?.position
  if (contained || (position !== undefined && position <= base)) return snapshot
  // Another process may have dropped the rest as late, in a sync (FORMAT §7.4).
  if (await areLostCommitsLate(source, known.commit, snapshot.head.commit)) return snapshot
  throw new StoreError(
    'rolled_back',
    'The store was rolled back to a state before the newest known one',
  )
}
