// Finds late commits (FORMAT §7.4): those of a device outside the past of the keyring that removes
// it, which no merge takes as a parent, and unauthorized ones, which devices wrote on a keyring
// record that is not sound (§7.2). Decides only: store/sync acts. Trusts commits, as verified.

import { toHex } from '../../bytes.ts'
import { hasCode } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import { joinDirectories } from '../../format/directory-join.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import { zeroHash } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import {
  type Divergence,
  findDivergence,
  type OneSide,
  type Touched,
} from '../commits/divergence.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { findKeyring, type InForce, isInTime, readKeyringState } from './authority.ts'
import {
  type CommittedChange,
  type KeyringSide,
  readKeyringChanges,
  unsoundChanges,
} from './keyring-join.ts'

/** For each head, what is in force in a merge of both. */
interface HeadsInForce {
  readonly forOurs: InForce
  readonly forTheirs: InForce
}

type Tip = Pick<Snapshot, 'head' | 'keyring'>
type Tips<Head = Tip> = Readonly<Record<'ours' | 'theirs', Head>>
type KeyringTip = Pick<Tip, 'keyring'>

/** The keyring of a merge of two heads is the newer one, or the join of two concurrent ones. */
export function keyringsInForce(
  { storeId }: Pick<CommitSource, 'storeId'>,
  { ours, theirs }: Tips<KeyringTip>,
  divergence: Tips<Pick<Touched, 'hasKeyring'>>,
): HeadsInForce {
  if (!divergence.theirs.hasKeyring) return { forOurs: ours.keyring, forTheirs: ours.keyring }
  if (!divergence.ours.hasKeyring) return { forOurs: theirs.keyring, forTheirs: theirs.keyring }
  const directory = joinDirectories(storeId, [ours.keyring.directory, theirs.keyring.directory])
  return {
    forOurs: { record: ours.keyring.record, directory },
    forTheirs: { record: theirs.keyring.record, directory },
  }
}

/** Whether a commit outside the past of the keyring record in force is by a removed device. */
export function isLateCommit(source: CommitSource, inForce: InForce, oid: Oid): boolean {
  const { storeId, epochs, objects } = source
  const { record, hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
  return !isInTime(inForce, { record: hash, authorId: record.deviceId })
}

/** The first commit of a list, newest first, that is not late. */
export function findNewestInTime(
  source: CommitSource,
  inForce: InForce,
  commits: readonly Oid[],
): Oid | undefined {
  return commits.find((oid) => !isLateCommit(source, inForce, oid))
}

/** Another head of which not all may be taken over. */
export interface LateHead {
  /** Its commits that our history lacks, newest first. */
  readonly commits: readonly Oid[]
  /** Those of them that may be taken over, if they are not late by `inForce`. */
  readonly candidates: readonly Oid[]
  readonly inForce: InForce
}

interface LateHeadOptions {
  readonly signal?: AbortSignal | undefined
  /** Also treats a head as late that has unauthorized commits. */
  readonly alsoUnauthorized: boolean
}

/** Undefined if their head may be taken over as a whole. */
export async function findLateHead(
  source: CommitSource,
  tips: Tips,
  { signal, alsoUnauthorized }: LateHeadOptions,
): Promise<LateHead | undefined> {
  const { commit } = tips.theirs.head
  const divergence = await findDivergence(source, tips.ours.head.commit, commit, signal)
  const { ours, theirs } = divergence
  if (!ours.hasKeyring || theirs.commits.length === 0) return undefined
  const { forTheirs: inForce } = keyringsInForce(source, tips, divergence)
  if (alsoUnauthorized && theirs.hasKeyring) {
    const found = findUnauthorized(source, 'theirs', tips, divergence)
    if (found.kind === 'unauthorized') {
      const candidates = theirs.commits.filter((oid) => !found.commits.has(oid))
      return { commits: theirs.commits, candidates, inForce }
    }
  }
  if (!isLateCommit(source, inForce, commit)) return undefined
  return { commits: theirs.commits, candidates: theirs.commits, inForce }
}

/** Whether our side has unauthorized commits, and every other commit of it is late. */
export function isOurSideUnauthorized(
  source: CommitSource,
  tips: Tips<KeyringTip>,
  divergence: Divergence,
): boolean {
  const { ours, theirs } = divergence
  if (!ours.hasKeyring || !theirs.hasKeyring) return false
  const found = findUnauthorized(source, 'ours', tips, divergence)
  if (found.kind !== 'unauthorized') return false
  // A commit below an unauthorized one may be late by itself: by a device that one side removed.
  const { directory } = keyringsInForce(source, tips, divergence).forOurs
  const inForce = { directory, record: zeroHash }
  return ours.commits.every((oid) => {
    return found.commits.has(oid) || isLateCommit(source, inForce, oid)
  })
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
  try {
    return await areReadableAndLate(source, before, after)
  } catch (error) {
    if (hasCode(error, 'object_missing', 'envelope_epoch')) return false
    throw error
  }
}

async function areReadableAndLate(source: CommitSource, before: Oid, after: Oid): Promise<boolean> {
  const divergence = await findDivergence(source, before, after)
  const hashOf = (oid: Oid): string => {
    const bytes = readCommitBytes(source.objects, oid)
    return toHex(decodeCommit(source.storeId, source.epochs, oid, bytes).hash)
  }
  // Compared by record: a redaction changes the ids of commits.
  const kept = new Set(divergence.theirs.commits.map(hashOf))
  const lost = divergence.ours.commits.filter((oid) => !kept.has(hashOf(oid)))
  const tips = { ours: readKeyringTip(source, before), theirs: readKeyringTip(source, after) }
  if (isOurSideUnauthorized(source, tips, divergence)) return true
  const { forOurs } = keyringsInForce(source, tips, divergence)
  return lost.every((oid) => isLateCommit(source, forOurs, oid))
}

function readKeyringTip(source: CommitSource, oid: Oid): KeyringTip {
  const { objects, storeId, epochs } = source
  const { record, hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
  const keyring = findKeyring(objects, oid)
  return {
    keyring: readKeyringState(source, keyring, bringsKeyring(record.kind) ? hash : record.keyring),
  }
}

function readKeyringSide(
  source: CommitSource,
  { keyring }: KeyringTip,
  { keyrings }: OneSide,
): KeyringSide<CommittedChange> {
  return { keyring, changes: readKeyringChanges(source, keyrings) }
}

/**
 * The commits of one side that contain a keyring record that is not sound (FORMAT §7.2).
 * `disputed`: a user has to decide, since both sides have such records, or a device that is active
 * on the other side wrote one of the commits.
 */
type Unauthorized =
  | { readonly kind: 'none' }
  | { readonly kind: 'disputed' }
  | { readonly kind: 'unauthorized'; readonly commits: ReadonlySet<Oid> }

function findUnauthorized(
  source: CommitSource,
  side: keyof Divergence,
  tips: Tips<KeyringTip>,
  divergence: Divergence,
): Unauthorized {
  const otherSide = side === 'ours' ? 'theirs' : 'ours'
  const own = readKeyringSide(source, tips[side], divergence[side])
  const other = readKeyringSide(source, tips[otherSide], divergence[otherSide])
  const unsound = new Set(unsoundChanges(own, other).map(({ oid }) => oid))
  if (unsound.size === 0) return { kind: 'none' }
  if (unsoundChanges(other, own).length > 0) return { kind: 'disputed' }
  const commits = new Set<Oid>()
  const inForce = { directory: other.keyring.directory, record: zeroHash }
  for (const oid of divergence[side].commits.toReversed()) {
    const { parents } = parseLinks(readCommitBytes(source.objects, oid))
    if (!unsound.has(oid) && !parents.some((parent) => commits.has(parent))) continue
    if (!isLateCommit(source, inForce, oid)) return { kind: 'disputed' }
    commits.add(oid)
  }
  return { kind: 'unauthorized', commits }
}
