// Finds late commits (FORMAT §7.4), which no merge takes as a parent, and unauthorized ones, which
// devices wrote on a keyring record that is not sound (§7.2): what a clone may leave out (§9.3).
// Decides only: store/sync acts. Trusts commits, as verified.

import { toHex } from '../../bytes.ts'
import { hasCode } from '../../errors.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { type Divergence, findDivergence, type OneSide } from '../commits/divergence.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { findKeyring, readKeyringState } from './authority.ts'
import { type CommittedChange, readKeyringChanges, unsoundChanges } from './keyring-join.ts'
import { lateOf, type MergeSide, type SideCommit, voucherOf } from './lateness.ts'

type Tip = Pick<Snapshot, 'head' | 'keyring'>
type Tips<Head = Tip> = Readonly<Record<'ours' | 'theirs', Head>>
type KeyringTip = Pick<Tip, 'keyring'>

/** One side of a divergence, compared by records: a redaction changes the ids of commits. */
interface AloneSide extends MergeSide<Oid> {
  readonly changes: readonly CommittedChange[]
}

const noCommits: ReadonlySet<Oid> = new Set()

type AloneSides = Readonly<Record<keyof Divergence, AloneSide>>

async function readSides(
  source: CommitSource,
  { ours, theirs }: Divergence,
  signal?: AbortSignal,
): Promise<AloneSides> {
  const slice = new TimeSlice(signal)
  const read = async ({ commits }: OneSide): Promise<Map<string, SideCommit<Oid>>> => {
    const byRecord = new Map<string, SideCommit<Oid>>()
    for (const oid of commits.toReversed()) {
      const { record, hash, parts } = decodeAt(source, oid)
      const deviceId = record.sequence === 0 ? undefined : record.deviceId
      byRecord.set(toHex(hash), { key: oid, parents: parts.parents, deviceId })
      if (slice.isOver()) await slice.next()
    }
    return byRecord
  }
  const [our, their] = [await read(ours), await read(theirs)]
  return {
    ours: aloneSide(source, ours, without(our, their)),
    theirs: aloneSide(source, theirs, without(their, our)),
  }
}

function without<T>(all: ReadonlyMap<string, T>, others: ReadonlyMap<string, T>): readonly T[] {
  return [...all].flatMap(([record, one]) => (others.has(record) ? [] : [one]))
}

function aloneSide(
  source: CommitSource,
  { keyrings }: OneSide,
  commits: readonly SideCommit<Oid>[],
): AloneSide {
  const alone = new Set(commits.map(({ key }) => key))
  const changes = readKeyringChanges(
    source,
    keyrings.filter((oid) => alone.has(oid)),
  )
  return {
    commits,
    changes,
    additions: changes.map(({ authorId, isByRecovery, added }) => {
      return { deviceId: isByRecovery ? undefined : authorId, added }
    }),
    keyrings: changes,
  }
}

/** Our commits that a history with theirs can only leave out. */
export interface OurLate {
  readonly commits: ReadonlySet<Oid>
  /** Whether our newest commit is late, and a late keyring record would be lost with it. */
  readonly isDisputed: boolean
  /** Whether a device can keep them, by building on them. */
  vouches(deviceId: string): boolean
}

export async function findOurLate(
  source: CommitSource,
  tips: Tips<KeyringTip>,
  divergence: Divergence,
): Promise<OurLate> {
  if (!divergence.theirs.hasKeyring)
    return { commits: noCommits, isDisputed: false, vouches: () => true }
  const sides = await readSides(source, divergence)
  const vouches = voucherOf(sides.ours, sides.theirs)
  return { ...ourLeftOut(tips, sides), vouches }
}

/** Their commits that no merge with ours takes as a parent. */
export async function findTheirLate(
  source: CommitSource,
  divergence: Divergence,
): Promise<ReadonlySet<Oid>> {
  if (!divergence.ours.hasKeyring) return new Set()
  const { ours, theirs } = await readSides(source, divergence)
  return lateOf(theirs, ours)
}

/** Another head of which not all may be taken over. */
export interface LateHead {
  /** Its commits that our history lacks, newest first. */
  readonly commits: readonly Oid[]
  /** Those of them that may be taken over. */
  readonly candidates: readonly Oid[]
}

interface LateHeadOptions {
  readonly signal?: AbortSignal | undefined
  /** Also leaves out unauthorized commits. Otherwise a join is tried, and refused. */
  readonly alsoUnauthorized: boolean
}

/** Undefined if their head may be taken over as a whole, or users have to decide. */
export async function findLateHead(
  source: CommitSource,
  tips: Tips,
  { signal, alsoUnauthorized }: LateHeadOptions,
): Promise<LateHead | undefined> {
  const { commit } = tips.theirs.head
  const divergence = await findDivergence(source, tips.ours.head.commit, commit, signal)
  const { commits } = divergence.theirs
  if (!divergence.ours.hasKeyring || commits.length === 0) return undefined
  const sides = await readSides(source, divergence, signal)
  const late = lateOf(sides.theirs, sides.ours)
  const found = findUnauthorized('theirs', tips, sides)
  if (found.kind !== 'none' && (found.kind === 'disputed' || !alsoUnauthorized)) return undefined
  const isLeftOut = (oid: Oid): boolean => found.commits.has(oid) || late.has(oid)
  if (!isLeftOut(commit)) return undefined
  return { commits, candidates: commits.filter((oid) => !isLeftOut(oid)) }
}

/**
 * Our commits that are late, and those that are unauthorized if all others are late. None if users
 * have to decide between keyrings: who removes the author of an old commit there, and so makes late
 * what was built on it, must not have others abandon their history with sound keyring records.
 */
function ourLeftOut(tips: Tips<KeyringTip>, sides: AloneSides): Omit<OurLate, 'vouches'> {
  const late = lateOf(sides.ours, sides.theirs)
  const found = findUnauthorized('ours', tips, sides)
  const isOut = (oid: Oid): boolean => found.commits.has(oid) || late.has(oid)
  const all = sides.ours.commits.map(({ key }) => key)
  if (found.kind !== 'none' && (found.kind === 'disputed' || !all.every(isOut))) {
    return { commits: noCommits, isDisputed: false }
  }
  const keeps = sides.ours.changes.some(({ oid }) => !found.unsound.has(oid) && isOut(oid))
  const newest = all.at(-1)
  const isDisputed = keeps && newest !== undefined && isOut(newest)
  return { commits: keeps ? noCommits : new Set(all.filter(isOut)), isDisputed }
}

/**
 * Whether every commit of `before` that `after` lacks is known to be late. A commit that cannot be
 * read any more is not.
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
  /** Those of them that are known to be late. */
  readonly late: ReadonlySet<Oid>
}

/** Undefined if not all of them can be read any more. */
export async function findLost(
  source: CommitSource,
  before: Oid,
  after: Oid,
): Promise<LostCommits | undefined> {
  try {
    const sides = await readSides(source, await findDivergence(source, before, after))
    const tips = { ours: readKeyringTip(source, before), theirs: readKeyringTip(source, after) }
    const commits = sides.ours.commits.map(({ key }) => key)
    return { commits, late: ourLeftOut(tips, sides).commits }
  } catch (error) {
    if (hasCode(error, 'object_missing', 'envelope_epoch')) return undefined
    throw error
  }
}

function readKeyringTip(source: CommitSource, oid: Oid): KeyringTip {
  const { record, hash } = decodeAt(source, oid)
  const keyring = findKeyring(source.objects, oid)
  return {
    keyring: readKeyringState(source, keyring, bringsKeyring(record.kind) ? hash : record.keyring),
  }
}

function decodeAt(source: CommitSource, oid: Oid): ReturnType<typeof decodeCommit> {
  const { objects, storeId, epochs } = source
  return decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
}

/**
 * The commits of one side that contain a keyring record that is not sound (FORMAT §7.2).
 * `disputed`: a user has to decide, since both sides have such records, or a device that is active
 * on the other side wrote one of the commits.
 */
interface Unauthorized {
  readonly kind: 'none' | 'disputed' | 'unauthorized'
  readonly commits: ReadonlySet<Oid>
  /** Those of the keyring records that are not sound. */
  readonly unsound: ReadonlySet<Oid>
}

function findUnauthorized(
  name: keyof Divergence,
  tips: Tips<KeyringTip>,
  sides: AloneSides,
): Unauthorized {
  const otherName = name === 'ours' ? 'theirs' : 'ours'
  const [side, otherSide] = [sides[name], sides[otherName]]
  const own = { keyring: tips[name].keyring, changes: side.changes }
  const other = { keyring: tips[otherName].keyring, changes: otherSide.changes }
  const unsound = new Set(unsoundChanges(own, other).map(({ oid }) => oid))
  const none = { commits: noCommits, unsound }
  if (unsound.size === 0) return { kind: 'none', ...none }
  if (unsoundChanges(other, own).length > 0) return { kind: 'disputed', ...none }
  const vouches = voucherOf(side, otherSide)
  const commits = new Set<Oid>()
  for (const { key, parents, deviceId } of side.commits) {
    if (!unsound.has(key) && !parents.some((parent) => commits.has(parent))) continue
    if (deviceId !== undefined && vouches(deviceId)) return { kind: 'disputed', ...none }
    commits.add(key)
  }
  return { kind: 'unauthorized', commits, unsound }
}
