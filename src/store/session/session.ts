// What the rooms of the store work with: turns to read, to plan and to write in, the history, and
// what the next commit needs. Holds the state (current-state.ts), the queue of writers
// (writer.ts) and the idle work (upkeep.ts).

import type { WorkOptions } from '../../async.ts'
import type { CacheBudget } from '../../cache-budget.ts'
import type { Random } from '../../crypto/random.ts'
import { assert, hasCode, StoreError } from '../../errors.ts'
import { zeroHash } from '../../format/record.ts'
import type { Settings } from '../../format/settings.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { EpochKeys } from '../../keys/epoch.ts'
import type { Identity } from '../../keys/identity.ts'
import type { StretchParameters } from '../../limits.ts'
import { SharedSlice } from '../../time-slice.ts'
import { forkedError } from '../access/authority.ts'
import { checkIsInTime } from '../access/grants.ts'
import { decodeAt } from '../access/post-revocation.ts'
import type { Author, CommitContext, OtherParent, Signer } from '../commits/commit-context.ts'
import type { Epochs } from '../commits/decoded-commit.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import {
  allowedTexts,
  authorTexts,
  checkGuard,
  checkPermanent,
  checkReason,
  type ContentGuard,
  guardOf,
  isGuardOn,
  type PermanentText,
} from '../guard/guard.ts'
import { type ContentSource, readMemory } from '../history/contents.ts'
import type { TextState } from '../history/history-diff.ts'
import type { History } from '../history/history.ts'
import type { GrantNotes } from '../local/grant-notes.ts'
import type { LocalFiles } from '../local/local-files.ts'
import type { Reads } from '../local/reads.ts'
import type { LeftLate, RemoteStateFile } from '../local/remote-state-file.ts'
import type { CacheFiles } from '../local/sealed-cache.ts'
import type { Head, KeyringState, Snapshot } from '../snapshot/snapshot.ts'
import type { CloneBeginning } from '../verify/beginning.ts'
import { CurrentState, type HeldTexts, type StateParts } from './current-state.ts'
import type { GrantedFiles } from './granted.ts'
import { Upkeep } from './upkeep.ts'
import { WriterClock } from './writer-clock.ts'
import { type Build, Writer } from './writer.ts'

export interface SessionParts extends StateParts {
  readonly random: Random
  readonly stretch: StretchParameters
  readonly indexBudget: CacheBudget
  /** The caller's own, in addition to that of the settings. */
  readonly guard: ContentGuard | undefined
  /** The object ids that redactions on this device have erased. */
  readonly erasures: CacheFiles
  readonly grantNotes: GrantNotes
}

export class StoreSession {
  readonly objects: ObjectStore
  readonly storeId: string
  readonly identity: Identity
  readonly unlock: CurrentState['unlock']
  readonly random: Random
  readonly stretch: StretchParameters
  readonly indexBudget: CacheBudget
  readonly clock: WriterClock
  readonly reads: Reads
  readonly seenRemotes: RemoteStateFile
  readonly erasures: CacheFiles
  readonly grantNotes: GrantNotes
  readonly local: LocalFiles
  readonly #state: CurrentState
  readonly #upkeep: Upkeep
  readonly #writer: Writer
  readonly #guard: ContentGuard | undefined
  /** What the clone of a grant's holder keeps of its granter. */
  readonly granted: GrantedFiles | undefined
  readonly #slice = new SharedSlice()
  #closing: Promise<void> | undefined

  constructor(parts: SessionParts) {
    const state = new CurrentState(parts)
    this.objects = state.objects
    this.storeId = state.storeId
    this.identity = state.identity
    this.unlock = state.unlock
    this.random = parts.random
    this.stretch = parts.stretch
    this.indexBudget = parts.indexBudget
    this.clock = new WriterClock(parts.clock)
    this.reads = state.local.reads
    this.seenRemotes = state.seenRemotes
    this.erasures = parts.erasures
    this.grantNotes = parts.grantNotes
    this.local = state.local
    this.#state = state
    this.#upkeep = new Upkeep(state)
    this.#writer = new Writer(state, this.#upkeep, parts.clock)
    this.#guard = parts.guard
    this.granted = parts.granted
  }

  /**
   * Read it only in a turn (`reading`, `writing`, `planning`): between turns it may be ahead of
   * the disk by a batch that is being written.
   */
  get snapshot(): Snapshot {
    assert(this.#state.isBusy, 'the snapshot is read in a turn')
    return this.#state.snapshot
  }

  /** How often the history below the head was rewritten: objects read before may be erased. */
  get rewrites(): number {
    return this.#state.rewrites
  }

  get epochs(): Epochs {
    return this.#state.epochs
  }

  /** The device that gave a grant, if it is active at the newest head or where the clone begins. */
  readonly granterOf = (grantId: string): string | undefined =>
    (this.#state.snapshot.grants.get(grantId) ?? this.beginning?.snapshot.grants.get(grantId))
      ?.granter

  /** Where contents are read from: a batch sees its own objects before they are stored. */
  get contents(): ContentSource {
    return this.#state.contents
  }

  /** Call once for each cache of texts in RAM: it is emptied together with the session's. */
  holdTexts(texts: HeldTexts): void {
    this.#state.holdTexts(texts)
  }

  /** The versions whose texts are held so, ids in hex. */
  get heldVersionIds(): readonly string[] {
    return this.#state.heldVersionIds
  }

  /** Perhaps not on disk yet. */
  get newestHead(): Head {
    return this.#state.snapshot.head
  }

  /** Set if this clone lacks the earlier history. */
  get beginning(): CloneBeginning | undefined {
    return this.#state.beginning
  }

  /** The history begins earlier: call while writing alone, once the commits since are stored. */
  beginAt(beginning: CloneBeginning): void {
    this.#state.beginAt(beginning)
  }

  /** The whole history is stored and verified: call while writing alone. */
  async beginAtGenesis(history: History): Promise<void> {
    await this.granted?.forgetStart()
    this.#state.beginAt(undefined, history)
    this.local.outdate()
  }

  /** A holder keeps new keys of its granter. A host that shows other wraps cannot end a grant. */
  async learnWraps(wraps: Uint8Array): Promise<void> {
    const { granted, identity } = this
    if (identity.grant === undefined || granted === undefined) return
    try {
      identity.grant.learn(wraps)
    } catch (error) {
      // A sync continues with the keys that are known here.
      const isOfOthers = hasCode(
        error,
        'wraps_malformed',
        'device_signature_invalid',
        'grant_keys_missing',
        'keyring_mismatch',
        'upgrade_required',
      )
      if (isOfOthers) return
      throw error
    }
    await this.objects.exclusive(() => granted.keepWraps(wraps))
  }

  /** An empty history, or one that begins where this clone does. */
  newHistory(): History {
    return this.#state.newHistory()
  }

  /** The commits that are in RAM already, oldest first. */
  get knownCommits(): History['commits'] {
    return this.#state.history.commits
  }

  /**
   * Moves to a verified snapshot of this store on which the same command builds more commits. Call
   * while writing alone: if the command or its write fails, the store is as it was before.
   */
  moveTo(snapshot: Snapshot, epochs?: Epochs, beginning?: CloneBeginning): void {
    this.#state.moveTo({ snapshot, ...(epochs && { epochs }), ...(beginning && { beginning }) })
  }

  /** Runs a synchronous read on the snapshot of the newest durable head. */
  async reading<T>(read: (snapshot: Snapshot) => T): Promise<T> {
    if (this.#slice.isOver()) await this.#slice.next()
    this.#checkOpen()
    if (this.objects.renew !== undefined) await this.objects.renew()
    const state = this.#state
    if (!state.isBusy) {
      this.objects.refresh()
      if (state.isCurrent) return read(state.snapshot)
    }
    return this.planning(async () => read(state.snapshot))
  }

  /** With `alone`, no other command shares the batch. */
  async writing<T>(build: Build<T>, alone = false): Promise<T> {
    this.#checkOpen()
    return this.#writer.submit(build, alone)
  }

  /** Has `told` called after each durable batch of this handle, merges of syncs included. */
  whenWritten(told: () => void): void {
    this.#upkeep.told = told
  }

  /** For one sync at a time: holds commands back until the result is called, `limitMs` at most. */
  holdBack(limitMs: number): () => void {
    this.#checkOpen()
    this.#writer.hold()
    const limit = setTimeout(() => this.#writer.goOn(), limitMs)
    return () => {
      clearTimeout(limit)
      this.#writer.goOn()
    }
  }

  /** Runs a plan that writes nothing as `writing` would run it, on the newest snapshot. */
  async planning<T>(plan: () => Promise<T>): Promise<T> {
    this.#checkOpen()
    if (this.objects.renew !== undefined) await this.objects.renew()
    return this.#state.inTurn(async () => {
      this.objects.refresh()
      await this.#state.catchUp()
      return plan()
    })
  }

  /** The history up to the newest head. */
  async loadHistory(options: WorkOptions = {}): Promise<History> {
    for (;;) {
      const { rewrites } = this
      const { commit } = await this.reading((snapshot) => snapshot.head)
      // Filling up to a head from before a redaction would restore what that has erased.
      const isNew = (): boolean => this.rewrites === rewrites
      try {
        const history = await this.#state.findHistory(commit, options, isNew)
        if (history !== undefined) return history
      } catch (error) {
        if (!hasCode(error, 'object_missing')) throw error
        await this.reading(() => undefined)
        // Unless another process has redacted, and erased the old history.
        if (isNew()) throw error
      }
    }
  }

  /** Call while writing alone or planning: it never contains a commit that is not on disk. */
  async historyNow(options: WorkOptions = {}): Promise<History> {
    assert(!this.#state.hasBatch, 'the history is read only while writing alone')
    return this.#state.historyUpTo(this.newestHead.commit, options)
  }

  /** The time for the next record, ms since 1970. */
  nextTime(): number {
    const { snapshot } = this.#state
    const grant = snapshot.grants.get(this.identity.deviceId)
    if (grant === undefined) return this.clock.stamp(snapshot)
    const { began, notAfter } = grant
    return this.clock.stampHeld({
      began,
      notAfter,
      signedAt: () => this.beginning?.time ?? 0,
      newest: () => decodeAt(this.contents, snapshot.head.commit).record.time,
    })
  }

  /**
   * Throws `sensitive_content`. Call while writing or planning, before the rows are sealed.
   * The reason is the author's: reasons that the store generates are not checked.
   */
  async checkContents(
    rows: readonly PlannedRow[],
    { reason, guard: own }: Pick<Author, 'reason' | 'guard'>,
  ): Promise<void> {
    const { current, settings } = this.#state.snapshot
    const guard = guardOf([this.#guard, own], settings.value)
    await checkReason(guard, reason)
    const before = ({ memoryId }: PlannedRow): TextState | undefined => {
      const live = current.get(memoryId)?.live
      return live && { path: live.path, content: readMemory(this.contents, live) }
    }
    return checkGuard(guard, rows, before, allowedTexts(settings.value))
  }

  /**
   * Throws `sensitive_content` for texts that no redaction can erase. The guard is enabled if the
   * given metadata, which will be set, enable it. Call while writing.
   */
  async checkPermanent(
    texts: readonly PermanentText[],
    metadata: Settings['metadata'] = {},
    own?: ContentGuard,
  ): Promise<void> {
    const { value } = this.#state.snapshot.settings
    const enabling = isGuardOn({ metadata }) ? { metadata } : value
    const guard = guardOf([this.#guard, own], enabling)
    await checkPermanent(guard, texts)
  }

  /**
   * The context of this device's next commit, also of a merge, for this author, who is checked by
   * the guard: `sensitive_content`. Call while writing.
   */
  async commitContext(time: number, author: Author, other?: OtherParent): Promise<CommitContext> {
    await this.checkPermanent(authorTexts(author), {}, author.guard)
    const { storeId, random } = this
    const signer = await this.#signerAt(time, other)
    return { storeId, epoch: this.currentEpoch(other?.keyring), signer, time, random }
  }

  async #signerAt(time: number, other?: OtherParent): Promise<Signer> {
    const { deviceId, signing, grant } = this.identity
    const { devices, grants, head } = this.#state.snapshot
    if (grant !== undefined) {
      checkIsInTime(grant.isOver ? undefined : grants.get(deviceId), time)
      return { deviceId, pair: signing, sequence: 0, previous: zeroHash }
    }
    const last = other?.devices.get(deviceId) ?? devices.get(deviceId)
    if (last?.forked === true) throw forkedError()
    const sequence = await this.local.anchor.reserve(last?.sequence ?? 0, head)
    return { deviceId, pair: signing, sequence, previous: last?.record ?? zeroHash }
  }

  /** The epoch that new records are sealed under. */
  currentEpoch(keyring?: KeyringState): EpochKeys {
    return this.#state.currentEpoch(keyring)
  }

  /**
   * Notes records that a sync drops as late. Call while writing, before the branch moves off them:
   * the store must open even if this process dies.
   */
  async noteLeft(left: LeftLate): Promise<void> {
    const { oid, height, record } = left.common
    await this.local.anchor.accept({ commit: oid, height, record })
    await this.seenRemotes.noteLeft(left)
  }

  /** After a long verification: the next open does not repeat it, even if this process dies. */
  keepVerified(): Promise<void> {
    return this.#upkeep.keepVerified()
  }

  /** After a redaction of our own is durable: nothing in RAM shows what it erased any more. */
  forget(
    oldHead: Oid,
    rewritten: ReadonlyMap<number, Oid>,
    versionIds: ReadonlySet<string>,
  ): Promise<void> {
    return this.#state.forget(oldHead, rewritten, versionIds)
  }

  /** The same after redactions of others were adopted. */
  forgetAll(): void {
    this.#state.forgetAll()
  }

  /** Erases redacted objects from the whole store and rebuilds the caches. */
  async erase(): Promise<void> {
    if (this.objects.status().purgePending === 0) return
    await this.checkpoint()
    await this.#state.inTurn(() => this.local.erase(this.#state.history))
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

  async #close(): Promise<void> {
    try {
      this.#upkeep.stop()
      this.#writer.goOn()
      await this.#writer.idle()
      this.#state.stop()
      await this.#upkeep.finish()
    } finally {
      this.#state.clear()
      await this.objects.close()
    }
  }
}
