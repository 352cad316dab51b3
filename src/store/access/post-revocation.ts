// Finds late commits (FORMAT §7.4), which no merge takes as a parent, and what a clone may leave
// out for another head (§9.3). Decides only: store/sync acts. Trusts commits, as verified.

import { equalBytes, toHex } from '../../bytes.ts'
import { hasCode } from '../../errors.ts'
import type { ChangeRecord } from '../../format/change-record.ts'
import type { Directory } from '../../format/directory.ts'
import { grantIdOf } from '../../format/id.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { ancestorsDownTo } from '../commits/ancestors.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { type Divergence, findDivergence, type OneSide } from '../commits/divergence.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { findKeyring, readKeyringState } from './authority.ts'
import {
  endsOf,
  heldOf,
  isOwnersKind,
  lateOf,
  type SideAuthor,
  type SideCommit,
} from './lateness.ts'

/** Two heads. */
type Heads = Readonly<Record<keyof Divergence, Pick<Snapshot, 'head' | 'keyring'>>>

/** The directory in force at each of two heads. */
type Tips = Readonly<Record<keyof Divergence, Directory>>

type Sides = Readonly<Record<keyof Divergence, readonly SideCommit<Oid>[]>>

/**
 * The records that only one of two heads has, compared by records: a redaction changes the ids of
 * commits.
 */
async function readSides(
  source: CommitSource,
  { ours, theirs }: Divergence,
  signal?: AbortSignal,
): Promise<Sides> {
  const slice = new TimeSlice(signal)
  const read = async ({ commits }: OneSide): Promise<Map<string, SideCommit<Oid>>> => {
    const granters = new Granters(source)
    const byRecord = new Map<string, SideCommit<Oid>>()
    for (const oid of commits.toReversed()) {
      const { record, hash, parts } = decodeAt(source, oid)
      byRecord.set(toHex(hash), {
        key: oid,
        parents: parts.parents,
        author: granters.authorOf(oid, record),
        directory: bringsKeyring(record.kind) ? directoryAt(source, oid) : undefined,
        isOwners: isOwnersKind(record.kind),
        ends: endsOf(record),
      })
      if (slice.isOver()) await slice.next()
    }
    return byRecord
  }
  const [our, their] = [await read(ours), await read(theirs)]
  return { ours: without(our, their), theirs: without(their, our) }
}

/** Finds who gave the grant of an author: the record that begins it is in the author's past. */
class Granters {
  readonly #source: CommitSource
  readonly #known: Map<string, string | undefined> = new Map()

  constructor(source: CommitSource) {
    this.#source = source
  }

  authorOf(oid: Oid, { kind, sequence, deviceId }: ChangeRecord): SideAuthor | undefined {
    if (sequence > 0) return { deviceId, grantId: undefined }
    // A recovery identity writes keyrings alone, and a grant none.
    if (kind !== 'change') return undefined
    if (!this.#known.has(deviceId)) {
      const known = this.#source.granterOf?.(deviceId)
      this.#known.set(deviceId, known ?? this.#find(oid, deviceId))
    }
    const granter = this.#known.get(deviceId)
    return granter === undefined ? undefined : { deviceId: granter, grantId: deviceId }
  }

  #find(head: Oid, grantId: string): string | undefined {
    const { objects } = this.#source
    for (const { oid } of ancestorsDownTo(objects, head, 0)) {
      const { record } = decodeAt(this.#source, oid)
      const { deviceId, grants } = record
      if (grants.some((row) => row.begins && grantIdOf(deviceId, row.key) === grantId)) {
        return deviceId
      }
    }
    return undefined
  }
}

function without<T>(all: ReadonlyMap<string, T>, others: ReadonlyMap<string, T>): readonly T[] {
  return [...all].flatMap(([record, one]) => (others.has(record) ? [] : [one]))
}

function hasKeyring(side: readonly SideCommit<Oid>[]): boolean {
  return side.some(({ directory }) => directory !== undefined)
}

/** How two heads can become one. */
export interface Meeting {
  /** Whether both sides have changed the keyring, which nothing merges (FORMAT §7.2). */
  readonly isConflict: boolean
  /** The late commits of either side; of keyrings that have changed apart, none is known. */
  readonly late: Readonly<Record<keyof Divergence, ReadonlySet<Oid>>>
  /** The commits that only one of them has, parents before children. */
  readonly commits: Readonly<Record<keyof Divergence, readonly Oid[]>>
  /** What former owners have redacted or set: if there is any, only an owner may sign the merge. */
  readonly held: Readonly<Record<keyof Divergence, readonly Oid[]>>
}

/** What decides which commits are late. */
export type Rights = Pick<Snapshot, 'keyring' | 'grants'>

/** Whether the two have other keyrings or active grants. If not, no record is late. */
export function differInRights(ours: Rights, theirs: Rights): boolean {
  if (!equalBytes(ours.keyring.record, theirs.keyring.record)) return true
  const hasMore = (a: Rights, b: Rights): boolean =>
    [...a.grants].some(([id, { began }]) => b.grants.get(id)?.began !== began)
  return hasMore(ours, theirs) || hasMore(theirs, ours)
}

export async function meetingOf(
  source: CommitSource,
  tips: Tips,
  divergence: Divergence,
  signal?: AbortSignal,
): Promise<Meeting> {
  return meetingOfSides(await readSides(source, divergence, signal), tips)
}

function meetingOfSides(sides: Sides, tips: Tips): Meeting {
  const after = hasKeyring(sides.theirs) ? tips.theirs : tips.ours
  const [ours, theirs] = [
    { before: tips.ours, after, other: sides.theirs },
    { before: tips.theirs, after, other: sides.ours },
  ]
  return {
    isConflict: hasKeyring(sides.ours) && hasKeyring(sides.theirs),
    late: { ours: lateOf(sides.ours, ours), theirs: lateOf(sides.theirs, theirs) },
    commits: {
      ours: sides.ours.map(({ key }) => key),
      theirs: sides.theirs.map(({ key }) => key),
    },
    held: { ours: heldOf(sides.ours, ours), theirs: heldOf(sides.theirs, theirs) },
  }
}

/**
 * Whether every commit of `before` that `after` lacks is known to be out for it (FORMAT §9.3). A
 * commit that cannot be read any more is not.
 */
export async function areLostCommitsLate(
  source: CommitSource,
  before: Oid,
  after: Oid,
): Promise<boolean> {
  const lost = await findLost(source, before, after)
  return lost !== undefined && lost.commits.every((oid) => lost.late.has(oid))
}

/** The commits of one history that another lacks, parents before children. */
export interface LostCommits {
  readonly commits: readonly Oid[]
  /** Those of them that are known to be out. */
  readonly late: ReadonlySet<Oid>
}

/** Undefined if not all of them can be read any more. */
export async function findLost(
  source: CommitSource,
  before: Oid,
  after: Oid,
): Promise<LostCommits | undefined> {
  try {
    const divergence = await findDivergence(source, before, after)
    const tips = { ours: directoryAt(source, before), theirs: directoryAt(source, after) }
    const { commits, late, isConflict } = await meetingOf(source, tips, divergence)
    return { commits: commits.ours, late: isConflict ? new Set() : late.ours }
  } catch (error) {
    if (hasCode(error, 'object_missing', 'envelope_epoch')) return undefined
    throw error
  }
}

export function directoryAt(source: CommitSource, oid: Oid): Directory {
  const { record, hash } = decodeAt(source, oid)
  const keyring = findKeyring(source.objects, oid)
  const of = bringsKeyring(record.kind) ? hash : record.keyring
  return readKeyringState(source, keyring, of).directory
}

export function decodeAt(source: CommitSource, oid: Oid): ReturnType<typeof decodeCommit> {
  const { objects, storeId, epochs } = source
  return decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
}

/**
 * One of two heads, with the records that it alone has: those to merge into the other, and the
 * rest.
 */
export interface SplitSide {
  /** All of it, parents before children. */
  readonly commits: readonly Oid[]
  /** Those that can be merged without the rest. */
  readonly kept: readonly Oid[]
  /** The rest, and why it is left. */
  readonly left: readonly Oid[]
}

/**
 * Divides a side: what is late, what changes the keyring if the other side does so too, what only
 * an owner of now may merge, and all that rests on any of these, is left.
 */
export async function splitSide(
  source: CommitSource,
  heads: Heads,
  divergence: Divergence,
  which: keyof Divergence,
  signal?: AbortSignal,
): Promise<SplitSide> {
  return splitSides(source, await readSides(source, divergence, signal), heads, which)
}

function splitSides(
  source: CommitSource,
  sides: Sides,
  heads: Heads,
  which: keyof Divergence,
): SplitSide {
  const [side, other] = which === 'ours' ? [sides.ours, sides.theirs] : [sides.theirs, sides.ours]
  const otherHead = which === 'ours' ? heads.theirs : heads.ours
  const isConflict = hasKeyring(side) && hasKeyring(other)
  const before = directoryBefore(source, side) ?? heads[which].keyring.directory
  const after = hasKeyring(other) ? otherHead.keyring.directory : before
  const judging = { before, after, other }
  const refused = new Set([...lateOf(side, judging), ...heldOf(side, judging)])
  const left = new Set<Oid>()
  for (const commit of side) {
    const isLeft =
      refused.has(commit.key) ||
      (isConflict && commit.directory !== undefined) ||
      commit.parents.some((parent) => left.has(parent))
    if (isLeft) left.add(commit.key)
  }
  const commits = side.map(({ key }) => key)
  return { commits, kept: commits.filter((oid) => !left.has(oid)), left: [...left] }
}

/** The directory in force before the keyring records of a side; undefined without one. */
function directoryBefore(
  source: CommitSource,
  side: readonly SideCommit<Oid>[],
): Directory | undefined {
  const [parent] = side.find(({ directory }) => directory !== undefined)?.parents ?? []
  return parent === undefined ? undefined : directoryAt(source, parent)
}

/** Another head of which not all may be merged. */
export interface LateHead extends SplitSide {
  readonly isConflict: boolean
}

/**
 * Undefined if their head may be merged as a whole, or people have to decide; with `keepsOurs` they
 * have decided about keyrings that changed apart.
 */
export async function findLateHead(
  source: CommitSource,
  heads: Heads,
  { keepsOurs, signal }: { readonly keepsOurs: boolean; readonly signal: AbortSignal | undefined },
): Promise<LateHead | undefined> {
  const { commit } = heads.theirs.head
  const divergence = await findDivergence(source, heads.ours.head.commit, commit, signal)
  const sides = await readSides(source, divergence, signal)
  const tips = { ours: heads.ours.keyring.directory, theirs: heads.theirs.keyring.directory }
  const { late, isConflict } = meetingOfSides(sides, tips)
  if (isConflict ? !keepsOurs : !late.theirs.has(commit)) return undefined
  return { ...splitSides(source, sides, heads, 'theirs'), isConflict }
}

/** The commits of which no other one descends: merging these merges all. */
export function newestOf(source: CommitSource, commits: readonly Oid[]): readonly Oid[] {
  const parents = new Set(commits.flatMap((oid) => decodeAt(source, oid).parts.parents))
  return commits.filter((oid) => !parents.has(oid))
}
