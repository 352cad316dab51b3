// Merges a verified head into ours. A merge has a row for every memory that both sides changed
// (FORMAT §6.4), and may need more than one commit holds: ancestors of their head are merged before
// it then; where ours alone needs too many, theirs gives way. All commits are one transition of the
// branch: those between need not be heads that verify, since a redaction above them may have erased
// what is below. Must not rewrite histories.

import { hasCode, StoreError } from '../../errors.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import { findTheirLate } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildMerge, type BuiltCommit, type BuiltVersions } from '../commits/commit.ts'
import { compareSnapshots, type Divergence, findDivergence } from '../commits/divergence.ts'
import type { MergeRow } from '../commits/new-rows.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import { type MergeOutcome, planMerge } from '../merge/plan.ts'
import type { StoreSession } from '../session/session.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot, Undo } from '../snapshot/snapshot.ts'
import { addJoinReports, describeJoin, joinHeadKeyrings } from './joined-keyrings.ts'
import { mergeInput, type MergeSides } from './merge-source.ts'
import { findSteps } from './merge-steps.ts'
import type { SyncOptions } from './options.ts'
import { checkMayMerge, theirsLateError } from './reconcile-refusals.ts'
import type { ReconcileResult } from './reconcile-result.ts'
import type { RemoteHead } from './remote-head.ts'
import type { TheirPast } from './their-past.ts'

export interface HeadsToMerge {
  readonly session: StoreSession
  /** Our history, as it was before their redactions were applied. */
  readonly history: History
  readonly theirs: RemoteHead
  readonly loadTheirPast: () => Promise<TheirPast>
  /** Both histories, rewritten by the redactions of either. */
  readonly objects: ObjectSource
  /** Receives what is made here until the transition is on disk. */
  readonly made: Map<Oid, NewObject>
  /** Receives what takes back the changes of the session. */
  readonly undos: Undo[]
  readonly options: Pick<SyncOptions, 'progress' | 'signal' | 'rowsMax'>
}

export interface MergedHeads extends Pick<ReconcileResult, 'outcomes' | 'keyrings'> {
  /** The newest commit, with the objects of all. */
  readonly built: Pick<BuiltCommit, 'head' | 'objects'>
}

type FindCommon = (versionId: string) => VersionEntry | undefined

/**
 * Moves the session's snapshot to the merge. Throws `record_late`, `keyring_conflict` or
 * `permission_denied`; `change_too_large` if not even an ancestor of theirs is small enough.
 */
export async function mergeHeads(
  heads: HeadsToMerge,
  author: Author,
  divergence: Divergence,
): Promise<MergedHeads> {
  return new HeadMerger(heads, author).run(divergence)
}

class HeadMerger {
  readonly #heads: HeadsToMerge
  readonly #author: Author
  #findCommon: FindCommon
  #theirPast: TheirPast | undefined

  constructor(heads: HeadsToMerge, author: Author) {
    this.#heads = heads
    this.#author = author
    this.#findCommon = (versionId) => heads.history.find(versionId)
  }

  /** Each round merges at least one commit of theirs, so that this ends. */
  async run(first: Divergence): Promise<MergedHeads> {
    const objects: NewObject[] = []
    let divergence = first
    const outcomes: MergeOutcome[] = []
    let keyrings: MergedHeads['keyrings']
    for (;;) {
      const { isWhole, built, ...made } = await this.#mergeNext(divergence)
      for (const object of built.objects) objects.push(object)
      for (const outcome of made.outcomes) outcomes.push(outcome)
      keyrings = addJoinReports(keyrings, made.keyrings)
      if (isWhole) return { built: { head: built.head, objects }, outcomes, keyrings }
      divergence = await this.#divergenceFrom(this.#heads.theirs.snapshot)
    }
  }

  /**
   * Merges their head or, if one commit has no room for that, the best ancestor for which one has.
   * If ours alone has more to move or to join than a commit has rows, theirs gives way: the oldest
   * commit of theirs changes no more memories than that.
   */
  async #mergeNext(divergence: Divergence): Promise<MergedHeads & { readonly isWhole: boolean }> {
    let steps: readonly Oid[] | undefined
    for (const keepsOurs of [false, true]) {
      const whole = await this.#tryMerge(this.#heads.theirs.snapshot, divergence, keepsOurs)
      if (whole !== undefined) return { ...whole, isWhole: true }
      steps ??= await findSteps(this.#source(), divergence, this.#heads.options)
      const step = await this.#mergeStep(steps, keepsOurs)
      if (step !== undefined) return { ...step, isWhole: false }
    }
    throw tooLargeError()
  }

  async #mergeStep(steps: readonly Oid[], keepsOurs: boolean): Promise<MergedHeads | undefined> {
    const heads = this.#heads
    this.#theirPast ??= await heads.loadTheirPast()
    // The farther from their head, the fewer the rows.
    for (let at = 0; at < steps.length; at = Math.ceil((at + steps.length) / 2)) {
      const oid = steps[at] ?? ''
      const part = await this.#theirPast.snapshotAt(this.#source(), oid, heads.options)
      const merged = await this.#tryMerge(part, await this.#divergenceFrom(part), keepsOurs)
      if (merged === undefined) continue
      this.#theirPast.addMerged(this.#source(), oid)
      this.#findCommon = this.#theirPast.commonWith(heads.history)
      return merged
    }
    return undefined
  }

  /** Undefined, with nothing changed, if it needs more rows than a commit has. */
  async #tryMerge(
    part: Snapshot,
    divergence: Divergence,
    keepsOurs: boolean,
  ): Promise<MergedHeads | undefined> {
    const { undos } = this.#heads
    const before = undos.length
    try {
      return await this.#merge(part, divergence, keepsOurs)
    } catch (error) {
      if (!hasCode(error, 'change_too_large')) throw error
      for (const undo of undos.splice(before).toReversed()) undo()
      return undefined
    }
  }

  async #merge(theirs: Snapshot, divergence: Divergence, keepsOurs: boolean): Promise<MergedHeads> {
    const { session, undos } = this.#heads
    const ours = session.snapshot
    const { other, open } = compareSnapshots(ours, theirs, divergence)
    const tips = { ours, theirs }
    const keyring =
      other.concurrent && (await joinHeadKeyrings(session, this.#source(), tips, divergence))
    if (keyring !== undefined) undos.push(session.addEpoch(keyring.epoch))
    const keyrings = keyring && describeJoin(tips, keyring)
    const late = await findTheirLate(this.#source(), divergence)
    if (late.has(theirs.head.commit)) throw theirsLateError()
    if (keyring === undefined) {
      // With the keyring in force: this device may have written before it knew of that keyring.
      const newest = divergence.theirs.hasKeyring ? theirs : ours
      checkMayMerge(newest, session.identity.deviceId)
    }
    const time = session.nextTime()
    const { rows, outcomes } = planMerge(
      mergeInput({ ...this.#sources(), ours, theirs, divergence, other, open, keepsOurs }),
    )
    // The texts have passed the guard when they were written.
    await session.checkContents([], this.#author)
    const context = await session.commitContext(time, this.#author, other)
    // The epoch of either side may be known to a device that the other has removed.
    const sealing = keyring === undefined ? context : { ...context, epoch: keyring.epoch }
    const built = await buildMerge(sealing, ours, other, { rows, author: this.#author, keyring })
    undos.push(built.undo)
    this.#keep(built, rows, time)
    return { built, outcomes, keyrings }
  }

  /** Notes a merge, on which another may be built. */
  #keep(
    { objects, head, versionIds }: BuiltVersions,
    rows: readonly MergeRow[],
    time: number,
  ): void {
    const { made, theirs } = this.#heads
    for (const object of objects) made.set(object.oid, object)
    theirs.versions.addMerged(versionIds, rows, {
      oid: head.commit,
      time,
      record: () => head.record,
    })
  }

  #sources(): Pick<
    MergeSides,
    'session' | 'contents' | 'history' | 'versions' | 'findCommon' | 'rowsMax'
  > {
    const { session, history, theirs, objects, options } = this.#heads
    const contents = { ...session.contents, objects }
    const { rowsMax } = options
    const findCommon = this.#findCommon
    return { session, contents, history, versions: theirs.versions, findCommon, rowsMax }
  }

  #divergenceFrom({ head }: Snapshot): Promise<Divergence> {
    const { session, options } = this.#heads
    const { commit } = session.snapshot.head
    return findDivergence(this.#source(), commit, head.commit, options.signal)
  }

  /** With the epochs that merges have begun. */
  #source(): HistorySource {
    const { session, objects } = this.#heads
    return { objects, storeId: session.storeId, epochs: session.epochs }
  }
}

/** Late commits on which others have built (FORMAT §7.4) are merged all at once, or on top of. */
function tooLargeError(): StoreError {
  return new StoreError(
    'change_too_large',
    'Late changes, on which others have built, and changes here conflict in more memories than ' +
      'one commit can merge. Sync this clone with another, empty remote, and from there a device ' +
      'that has built on the late changes: it merges in several commits',
  )
}
