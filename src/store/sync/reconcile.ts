// Makes one history of ours and theirs in one transition of the branch (FORMAT §6.4, §10.1): first
// removes from both what either side has redacted; then adopts the head that contains the other, or
// merges them, joining keyrings that both changed (§7.2). Redactions commute, so every clone ends
// with the same commits. Must only be given a verified head.

import { equalBytes, toHex } from '../../bytes.ts'
import { assert } from '../../errors.ts'
import { findTreeEntry, type NewObject, type Oid } from '../../git/objects/object.ts'
import { mayWrite, roleOf } from '../access/authority.ts'
import { findOurLate } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import { decodeCommit, type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import { type Divergence, findDivergence, newestCommon } from '../commits/divergence.ts'
import type { History, HistorySource } from '../history/history.ts'
import { lowestOf, rewriteHead, type Rewritten } from '../redaction/rewrite.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Head, Snapshot, Undo } from '../snapshot/snapshot.ts'
import { buildErasure } from './brought-back.ts'
import { mergeHeads, type MergedHeads } from './merge-heads.ts'
import type { SyncOptions } from './options.ts'
import { readLateChanges } from './post-revocation-changes.ts'
import { keyringsLostError, notCanonicalError, ownLateError } from './reconcile-refusals.ts'
import { nothingMoved, type ReconcileResult } from './reconcile-result.ts'
import { findRecord, includesRecord, type RemoteHead } from './remote-head.ts'
import { moveToRewritten } from './rewritten-head.ts'
import { builtOnRedacted, compareSettings } from './side-effects.ts'
import { loadTheirs, TheirPast } from './their-past.ts'

/**
 * The branch has moved durably when it resolves. Undefined, with nothing done, if the keyring in
 * force here is not that of `tip` any more, with which theirs was found to be in time. Throws
 * `change_too_large` if a merge needs more rows than a commit holds, `keyring_conflict` and storage
 * codes.
 */
export async function reconcile(
  session: StoreSession,
  theirs: RemoteHead,
  tip: Pick<Snapshot, 'keyring'>,
  author: Author,
  options: ReconcileOptions,
): Promise<ReconcileResult | undefined> {
  const write: Build<ReconcileResult | undefined> = async () => {
    if (!equalBytes(session.snapshot.keyring.record, tip.keyring.record)) {
      return { built: undefined, result: undefined }
    }
    if (theirs.isSuccessor && session.snapshot.head.commit === theirs.base?.oid) {
      return adoptSuccessor(session, theirs)
    }
    const history = await session.historyNow(options)
    if (findRecord(session, history, theirs.snapshot.head) !== undefined) {
      return { built: await buildErasure(session, [theirs], options), result: nothingMoved }
    }
    return new Reconciler(session, history, theirs, options).build(author)
  }
  const reconciled = await session.writing(write, true)
  if (reconciled !== undefined && reconciled.erased > 0) session.forgetAll()
  return reconciled
}

/** Moves the branch to what only adds to our head: our history is not needed for that. */
function adoptSuccessor(
  session: StoreSession,
  { snapshot, epochs, records, versions, hasMerges }: RemoteHead,
): { built: BuiltCommit; result: ReconcileResult } {
  const { redacted, settings } = session.snapshot
  const isSame = equalBytes(settings.record, snapshot.settings.record)
  const result = {
    ...nothingMoved,
    settings: isSame ? undefined : 'replaced',
    builtOnRedacted: versions.haveNewOn(redacted),
    received: records.size,
    hasMerges,
  } as const
  const undo = session.adopt(snapshot, new Map([...session.epochs, ...epochs]))
  return { built: { head: snapshot.head, objects: [], undo }, result }
}

type ReconcileOptions = Pick<SyncOptions, 'progress' | 'signal' | 'rowsMax'>

class Reconciler {
  readonly #session: StoreSession
  readonly #history: History
  readonly #theirs: RemoteHead
  /** The epochs of both sides: with concurrent keyrings, neither side has them all. */
  readonly #epochs: Epochs
  readonly #options: ReconcileOptions
  readonly #dead: Set<Oid> = new Set()
  /** Whether theirs brings redactions; if `#dead` is empty, we store nothing of what they name. */
  #redacts = false
  /** Rewritten commits, which are on disk only once this transition is committed. */
  readonly #made: Map<Oid, NewObject> = new Map()
  readonly #undos: Undo[] = []
  /** Theirs as it was before our redactions, if there are any. */
  #theirPast: TheirPast | undefined
  #theirsIntactBelow: number | undefined

  constructor(
    session: StoreSession,
    history: History,
    theirs: RemoteHead,
    options: ReconcileOptions,
  ) {
    this.#session = session
    this.#history = history
    this.#theirs = theirs
    this.#epochs = new Map([...session.epochs, ...theirs.epochs])
    this.#options = options
  }

  async build(author: Author): Promise<{ built: BuiltCommit; result: ReconcileResult }> {
    try {
      return await this.#build(author)
    } catch (error) {
      this.#undo()
      throw error
    }
  }

  async #build(author: Author): Promise<{ built: BuiltCommit; result: ReconcileResult }> {
    const ours = this.#session.snapshot
    const theirs = this.#theirs.snapshot
    const noticed = {
      hasMerges: this.#theirs.hasMerges,
      settings: compareSettings(this.#source(), this.#history, ours, this.#theirs),
      builtOnRedacted: builtOnRedacted(this.#history, ours, this.#theirs),
    }
    const redactedByThem = without(theirs.redacted, ours.redacted)
    this.#redacts = redactedByThem.size > 0
    const erased = [...redactedByThem].filter((id) => this.#history.find(id) !== undefined).length
    const missing = without(ours.redacted, theirs.redacted)
    const oursIsPast = includesRecord(this.#session, this.#history, this.#theirs, ours.head)
    await this.#rewriteOurs(redactedByThem, oursIsPast)
    await this.#rewriteTheirs(missing)
    if (oursIsPast) {
      assert(missing.size === 0, 'a history has the redactions of what it contains')
      const received = this.#countReceived()
      return { built: this.#adopt(), result: { ...nothingMoved, ...noticed, erased, received } }
    }
    const divergence = await this.#divergence()
    const moved = {
      ...nothingMoved,
      ...noticed,
      erased,
      received: divergence.theirs.commits.length,
    }
    if (await this.#mustDropOurs(divergence, missing)) {
      await this.#noteDropped(divergence)
      const isSame = equalBytes(ours.settings.record, theirs.settings.record)
      const settings = isSame ? undefined : 'replaced'
      const leftLate = readLateChanges(this.#source(), divergence.ours.commits)
      return { built: this.#adopt(), result: { ...moved, settings, leftLate } }
    }
    const { built, ...merged } = await this.#merge(author, divergence)
    const theirsIntactBelow = this.#theirsIntactBelow
    const merge = built.head.commit
    const transition = this.#transition(built.head, built.objects)
    return { built: transition, result: { ...moved, merge, ...merged, theirsIntactBelow } }
  }

  /** The commits that ours lacks of a history that contains ours, counted above the base. */
  #countReceived(): number {
    const { base, records } = this.#theirs
    const common = base && this.#history.findCommit(base.oid, base.height)
    return records.size - (this.#history.commits.length - 1 - (common?.position ?? -1))
  }

  /**
   * Whether all our commits that theirs lacks are late (FORMAT §7.4). Throws `record_late` if our
   * newest commit is late and others are not, which cannot be merged without it.
   */
  async #mustDropOurs(divergence: Divergence, missing: ReadonlySet<string>): Promise<boolean> {
    const { ours, theirs } = divergence
    if (!theirs.hasKeyring) return false
    const source = this.#source()
    const tips = { ours: this.#session.snapshot, theirs: this.#theirs.snapshot }
    const isIntact = missing.size === 0
    const late = await findOurLate(source, tips, divergence)
    if (late.isDisputed) throw keyringsLostError()
    if (!late.commits.has(tips.ours.head.commit)) return false
    if (isIntact && ours.commits.every((oid) => late.commits.has(oid))) return true
    const { deviceId } = this.#session.identity
    const canKeep = mayWrite(roleOf(tips.theirs, deviceId), 'change') && late.vouches(deviceId)
    throw ownLateError({ canKeep, redacts: !isIntact })
  }

  /** Notes the newest common commit, so that the store opens even if this process dies. */
  async #noteDropped({ ours }: Divergence): Promise<void> {
    const source = this.#source()
    const { storeId, epochs, objects } = source
    const records = ours.commits.map((oid) => {
      return decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid)).hash
    })
    const common = newestCommon(source, ours)
    await this.#session.noteLeft({ records, common, head: this.#theirs.snapshot.head })
  }

  /** Moves the branch to theirs, which contains ours. */
  #adopt(): BuiltCommit {
    const { snapshot } = this.#theirs
    this.#undos.push(this.#session.adopt(snapshot, this.#epochs))
    return this.#transition(snapshot.head, [])
  }

  #divergence(): Promise<Divergence> {
    const [ours, theirs] = [this.#session.snapshot.head, this.#theirs.snapshot.head]
    return findDivergence(this.#source(), ours.commit, theirs.commit, this.#options.signal)
  }

  #merge(author: Author, divergence: Divergence): Promise<MergedHeads> {
    const session = this.#session
    this.#undos.push(session.adopt(session.snapshot, this.#epochs))
    const heads = {
      session,
      history: this.#history,
      theirs: this.#theirs,
      loadTheirPast: () => this.#loadTheirPast(),
      objects: this.#objects(),
      made: this.#made,
      undos: this.#undos,
      options: this.#options,
    }
    return mergeHeads(heads, author, divergence)
  }

  async #loadTheirPast(): Promise<TheirPast> {
    return this.#theirPast ?? new TheirPast(await this.#loadTheirs())
  }

  #loadTheirs(): Promise<History> {
    return loadTheirs(this.#session, this.#theirs, this.#options)
  }

  /**
   * Applies their redactions to our history. If theirs contains ours, the rewritten commits must be
   * theirs, and only the dead objects are needed.
   */
  async #rewriteOurs(versionIds: ReadonlySet<string>, isPast: boolean): Promise<void> {
    if (versionIds.size === 0) return
    const { snapshot } = this.#session
    const rewritten = await this.#rewrite(this.#history, versionIds)
    if (rewritten === undefined) return
    await this.#session.seenRemotes.noteRewrite(lowestOf(this.#history, rewritten))
    const { head, tree } = rewritten
    const record = toHex(snapshot.head.record)
    if (isPast && this.#theirs.records.get(record) !== head) throw notCanonicalError()
    this.#undos.push(moveToRewritten(snapshot, { commit: head, tree }, versionIds))
  }

  /** Applies our redactions to theirs, so that a clone that lacks them brings nothing back. */
  async #rewriteTheirs(versionIds: ReadonlySet<string>): Promise<void> {
    if (versionIds.size === 0) return
    const { snapshot } = this.#theirs
    const history = await this.#loadTheirs()
    const rewritten = await this.#rewrite(history, versionIds)
    if (rewritten === undefined) return
    this.#theirPast = new TheirPast(history, { commits: rewritten.commits, versionIds })
    this.#theirsIntactBelow = lowestOf(history, rewritten)
    const { head, tree } = rewritten
    this.#undos.push(moveToRewritten(snapshot, { commit: head, tree }, versionIds))
  }

  async #rewrite(
    history: History,
    versionIds: ReadonlySet<string>,
  ): Promise<Rewritten | undefined> {
    const rewritten = await rewriteHead({
      source: this.#source(),
      history,
      versionIds,
      emit: (made) => this.#stage(made),
      ...this.#options,
    })
    if (rewritten === undefined) return undefined
    for (const oid of rewritten.dead) this.#dead.add(oid)
    return rewritten
  }

  /** Stages rewritten objects, except those that theirs, rewritten alike, has brought. */
  async #stage(made: readonly NewObject[]): Promise<void> {
    const { objects } = this.#session
    const missing = made.filter(({ oid }) => objects.read(oid) === undefined)
    for (const object of missing) {
      // Root trees are read for their keyrings; memory trees and blobs are not read here.
      if (object.type === 'blob' || (object.type === 'tree' && !isRoot(object.body))) continue
      // A copy: the bodies of a batch share one buffer.
      this.#made.set(object.oid, { ...object, body: object.body.slice() })
    }
    if (missing.length > 0) await objects.stage(missing)
  }

  #source(): HistorySource {
    const { storeId } = this.#session
    return { objects: this.#objects(), storeId, epochs: this.#epochs }
  }

  #objects(): ObjectSource {
    const { objects } = this.#session
    return { read: (oid) => this.#made.get(oid) ?? objects.read(oid) }
  }

  #transition(head: Head, objects: readonly NewObject[]): BuiltCommit {
    const undo = (): void => this.#undo()
    const erases = this.#redacts || this.#dead.size > 0
    return { head, objects, undo, ...(erases && { dead: this.#dead }) }
  }

  #undo(): void {
    for (const undo of this.#undos.splice(0).toReversed()) undo()
  }
}

function isRoot(tree: Uint8Array): boolean {
  return findTreeEntry(tree, '100644', 'keyring') !== undefined
}

function without(all: ReadonlySet<string>, known: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...all].filter((id) => !known.has(id)))
}
