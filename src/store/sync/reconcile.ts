// Makes one history of ours and theirs in one transition of the branch (FORMAT §6.4, §10.1): first
// removes from both what either side has redacted; then adopts the head that contains the other, or
// merges them. Redactions commute, so every clone ends with the same commits. Must only be given a
// verified head.

import { equalBytes, toHex } from '../../bytes.ts'
import { assert } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import { findTreeEntry, type NewObject, type Oid } from '../../git/objects/object.ts'
import { differInRights, type Rights } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import { decodeCommit, type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import { type Divergence, findDivergence, newestCommon } from '../commits/divergence.ts'
import { findRecord } from '../history/find-record.ts'
import type { History, HistorySource } from '../history/history.ts'
import { lowestOf, rewriteHead, type Rewritten } from '../redaction/rewrite.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Head, Undo } from '../snapshot/snapshot.ts'
import { buildErasure } from './erase.ts'
import { type HeadsToMerge, mergeHeads, type MergedHeads } from './merge.ts'
import type { SyncOptions } from './options.ts'
import type { LeftLine } from './redo.ts'
import { notCanonicalError } from './refusals.ts'
import { includesRecord } from './remote-head.ts'
import {
  type AppliedRedactions,
  loadTheirs,
  moveToRewritten,
  NewVersions,
  type RemoteHead,
  TheirPast,
} from './remote-history.ts'
import { nothingMoved, type ReconcileResult } from './report.ts'
import { builtOnRedacted, compareSettings } from './side-effects.ts'
import { decideLeaving, describeLeft, type Leaving, takeTheirs } from './take-theirs.ts'

/**
 * The branch has moved durably when it resolves. Undefined, with nothing done, if the keyring or an
 * end of a grant is newer here than in `tip`, by which theirs was found to be in time. Throws
 * `change_too_large` if a merge needs more rows than a commit holds, `keyring_conflict` and storage
 * codes.
 */
export async function reconcile(
  session: StoreSession,
  theirs: RemoteHead,
  tip: Rights,
  author: Author,
  options: ReconcileOptions,
): Promise<ReconcileResult | undefined> {
  const write: Build<ReconcileResult | undefined> = async () => {
    if (differInRights(session.snapshot, tip)) {
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

type ReconcileOptions = Pick<
  SyncOptions,
  'progress' | 'signal' | 'rowsMax' | 'takeTheirs' | 'mergeHeld'
>

class Reconciler {
  readonly #session: StoreSession
  readonly #history: History
  readonly #theirs: RemoteHead
  /** The epochs of both sides. */
  readonly #epochs: Epochs
  readonly #options: ReconcileOptions
  readonly #dead: Set<Oid> = new Set()
  /** Whether theirs brings redactions; if `#dead` is empty, we store nothing of what they name. */
  #redacts = false
  /** Rewritten commits, which are on disk only once this transition is committed. */
  readonly #made: Map<Oid, NewObject> = new Map()
  readonly #undos: Undo[] = []
  /** Their redactions, if they have rewritten ours. */
  #ourRedactions: AppliedRedactions | undefined
  /** The head of theirs, as it was received. */
  readonly #theirsHead: Oid
  /** Theirs as it was before our redactions, if there are any. */
  #theirHistory: History | undefined
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
    this.#theirsHead = theirs.snapshot.head.commit
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
    const leaving = oursIsPast ? undefined : await this.#decideLeaving()
    await this.#rewriteTheirs(leaving?.leavesRedaction === true ? new Set() : missing)
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
    if (leaving !== undefined) return this.#takeTheirs(author, leaving, divergence, moved)
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

  async #decideLeaving(): Promise<Leaving | undefined> {
    const tips = { ours: this.#session.snapshot, theirs: this.#theirs.snapshot }
    if (!differInRights(tips.ours, tips.theirs)) return undefined
    const divergence = await this.#divergence()
    return decideLeaving(this.#session, this.#source(), tips, divergence, this.#options)
  }

  /** Moves the branch to theirs, with what of ours can be merged into it. */
  async #takeTheirs(
    author: Author,
    leaving: Leaving,
    divergence: Divergence,
    moved: ReconcileResult,
  ): Promise<{ built: BuiltCommit; result: ReconcileResult }> {
    const session = this.#session
    const ours = session.snapshot
    const theirs = this.#theirs.snapshot
    const leftLate = describeLeft(this.#source(), leaving, session.identity.deviceId)
    await this.#noteDropped(leaving.left, divergence)
    const history = this.#theirHistory ?? (await this.#loadTheirs())
    this.#undos.push(session.adopt(theirs, this.#epochs))
    const { head, objects, merge, outcomes, hasRepeated } = await takeTheirs(
      {
        ...this.#heads(),
        history,
        theirs: { ...this.#theirs, snapshot: ours, versions: this.#versionsOf(leaving.commits) },
        loadTheirPast: async () => new TheirPast(this.#history, this.#ourRedactions),
        line: this.#lineOf(leaving.left, history),
      },
      leaving,
      author,
    )
    const isSame = equalBytes(ours.settings.record, session.snapshot.settings.record)
    const result: ReconcileResult = {
      ...moved,
      merge,
      outcomes,
      settings: isSame ? undefined : 'replaced',
      hasRepeated,
      leftLate,
    }
    return { built: this.#transition(head, objects), result }
  }

  /** Of ours, seen from theirs. */
  #lineOf(left: readonly Oid[], followed: History): LeftLine {
    const contents = { ...this.#session.contents, objects: this.#objects(), epochs: this.#epochs }
    return { history: this.#history, followed, positions: this.#positionsOf(left), contents }
  }

  #versionsOf(commits: readonly Oid[]): NewVersions {
    const versions = new NewVersions()
    for (const position of this.#positionsOf(commits)) {
      for (const entry of this.#history.rowsAt(position)) versions.addKnown(this.#source(), entry)
    }
    return versions
  }

  /** Of commits of ours, as their redactions have rewritten them. */
  #positionsOf(commits: readonly Oid[]): ReadonlySet<number> {
    const rewritten = new Map(
      Array.from(this.#ourRedactions?.commits ?? [], ([position, oid]) => [oid, position]),
    )
    const { objects } = this.#source()
    return new Set(
      commits.map((oid) => {
        const known = rewritten.get(oid)
        if (known !== undefined) return known
        const { height } = parseLinks(readCommitBytes(objects, oid))
        const entry = this.#history.findCommit(oid, height)
        assert(entry !== undefined, 'our history has our commits')
        return entry.position
      }),
    )
  }

  /** Notes the newest common commit, so that the store opens even if this process dies. */
  async #noteDropped(left: readonly Oid[], { ours }: Divergence): Promise<void> {
    const source = this.#source()
    const { storeId, epochs, objects } = source
    const records = left.map((oid) => {
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
      ...this.#heads(),
      history: this.#history,
      theirs: this.#theirs,
      loadTheirPast: () => this.#loadTheirPast(),
    }
    return mergeHeads(heads, author, divergence)
  }

  #heads(): Omit<HeadsToMerge, 'history' | 'theirs' | 'loadTheirPast'> {
    return {
      session: this.#session,
      objects: this.#objects(),
      made: this.#made,
      undos: this.#undos,
      head: this.#theirsHead,
      takesHeld: this.#options.mergeHeld === this.#theirsHead,
      options: this.#options,
    }
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
    this.#ourRedactions = { commits: rewritten.commits, versionIds }
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
    this.#theirHistory = history
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
