// Late records (FORMAT §7.4): what a device wrote outside the past of the keyring that removes it.
// No merge takes one up as a parent; a commit that another device has built on it may be one. And
// what was written by whom a removed owner let in, from a clone that knew nothing of it (§7.2).

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
import { type CommittedChange, type KeyringSide, lateChanges, readChanges } from './keyring-join.ts'

/** What a merge of two heads has in force; of concurrent keyrings, their join (FORMAT §7.2). */
interface HeadsInForce {
  readonly forOurs: InForce
  readonly forTheirs: InForce
}

type Tip = Pick<Snapshot, 'head' | 'keyring'>

export function inForce(
  { storeId }: Pick<CommitSource, 'storeId'>,
  ours: Pick<Tip, 'keyring'>,
  theirs: Pick<Tip, 'keyring'>,
  divergence: Readonly<Record<'ours' | 'theirs', Pick<Touched, 'hasKeyring'>>>,
): HeadsInForce {
  if (!divergence.theirs.hasKeyring) return { forOurs: ours.keyring, forTheirs: ours.keyring }
  if (!divergence.ours.hasKeyring) return { forOurs: theirs.keyring, forTheirs: theirs.keyring }
  const directory = joinDirectories(storeId, [ours.keyring.directory, theirs.keyring.directory])
  return {
    forOurs: { record: ours.keyring.record, directory },
    forTheirs: { record: theirs.keyring.record, directory },
  }
}

/** `newest` is in force where the commit is to be taken up; the commit is not in its past. */
export function isLate(source: CommitSource, newest: InForce, oid: Oid): boolean {
  const { storeId, epochs, objects } = source
  const { record, hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
  return !isInTime(newest, { record: hash, authorId: record.deviceId })
}

/** Of another head that is late here, the commits of its own, newest first. */
export interface LateHead {
  readonly commits: readonly Oid[]
  /** Those among which one is looked for that can be taken over. */
  readonly candidates: readonly Oid[]
  readonly newest: InForce
}

/**
 * Undefined if the other head is not late here. With `alsoUnauthorized` it is late too if all
 * that cannot be taken over is by devices that were added on the other side without authority.
 */
export async function findLate(
  source: CommitSource,
  snapshot: Tip,
  other: Tip,
  {
    signal,
    alsoUnauthorized,
  }: { readonly signal?: AbortSignal | undefined; readonly alsoUnauthorized: boolean },
): Promise<LateHead | undefined> {
  const { commit } = other.head
  const divergence = await findDivergence(source, snapshot.head.commit, commit, signal)
  const { ours, theirs } = divergence
  if (!ours.hasKeyring || theirs.commits.length === 0) return undefined
  const { forTheirs: newest } = inForce(source, snapshot, other, divergence)
  if (alsoUnauthorized && theirs.hasKeyring) {
    const [own, known] = [sideOf(source, other, theirs), sideOf(source, snapshot, ours)]
    const unauthorized = findUnauthorized(source, theirs, own, known)
    const candidates = theirs.commits.filter((oid) => !unauthorized.has(oid))
    if (unauthorized.size > 0) return { commits: theirs.commits, candidates, newest }
  }
  if (!isLate(source, newest, commit)) return undefined
  return { commits: theirs.commits, candidates: theirs.commits, newest }
}

/** Whether nothing of ours can stay: theirs has removed who let in whoever wrote it. */
export function isAllUnauthorized(
  source: CommitSource,
  tips: Readonly<Record<'ours' | 'theirs', Pick<Tip, 'keyring'>>>,
  divergence: Divergence,
): boolean {
  const { ours, theirs } = divergence
  if (!ours.hasKeyring || !theirs.hasKeyring) return false
  const [own, other] = [sideOf(source, tips.ours, ours), sideOf(source, tips.theirs, theirs)]
  const unauthorized = findUnauthorized(source, ours, own, other)
  // What stands below it may be late by itself: of a device that both know, and one has removed.
  const { directory } = inForce(source, tips.ours, tips.theirs, divergence).forOurs
  const newest = { directory, record: zeroHash }
  return (
    unauthorized.size > 0 &&
    ours.commits.every((oid) => unauthorized.has(oid) || isLate(source, newest, oid))
  )
}

/**
 * Whether others were right to leave all that `after` has not of `before`: it came too late. What
 * cannot be read any more was not left by anybody who was right to.
 */
export async function wasLeftLate(source: CommitSource, before: Oid, after: Oid): Promise<boolean> {
  try {
    return await isAllLate(source, before, after)
  } catch (error) {
    if (hasCode(error, 'object_missing', 'envelope_epoch')) return false
    throw error
  }
}

async function isAllLate(source: CommitSource, before: Oid, after: Oid): Promise<boolean> {
  const divergence = await findDivergence(source, before, after)
  const hashOf = (oid: Oid): string => {
    const bytes = readCommitBytes(source.objects, oid)
    return toHex(decodeCommit(source.storeId, source.epochs, oid, bytes).hash)
  }
  // Records: a redaction gives commits other names.
  const kept = new Set(divergence.theirs.commits.map(hashOf))
  const lost = divergence.ours.commits.filter((oid) => !kept.has(hashOf(oid)))
  const [ours, theirs] = [tipAt(source, before), tipAt(source, after)]
  if (isAllUnauthorized(source, { ours, theirs }, divergence)) return true
  const { forOurs } = inForce(source, ours, theirs, divergence)
  return lost.every((oid) => isLate(source, forOurs, oid))
}

function tipAt(source: CommitSource, oid: Oid): Pick<Tip, 'keyring'> {
  const { objects, storeId, epochs } = source
  const { record, hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
  const keyring = findKeyring(objects, oid)
  return {
    keyring: readKeyringState(source, keyring, bringsKeyring(record.kind) ? hash : record.keyring),
  }
}

function sideOf(
  source: CommitSource,
  { keyring }: Pick<Tip, 'keyring'>,
  { keyrings }: OneSide,
): KeyringSide<CommittedChange> {
  return { keyring, changes: readChanges(source, keyrings) }
}

/**
 * What stands on keyrings that let somebody in when their authors might not (FORMAT §7.2). None
 * where a device wrote some of it that is one of the other side's: that is for people to decide, as
 * it is where both sides did so.
 */
function findUnauthorized(
  source: CommitSource,
  { commits }: OneSide,
  own: KeyringSide<CommittedChange>,
  other: KeyringSide,
): ReadonlySet<Oid> {
  const late = new Set(lateChanges(own, other).map(({ oid }) => oid))
  if (late.size === 0 || lateChanges(other, own).length > 0) return nothing
  const unauthorized = new Set<Oid>()
  const { directory } = other.keyring
  for (const oid of commits.toReversed()) {
    const bytes = readCommitBytes(source.objects, oid)
    const isOn =
      late.has(oid) || parseLinks(bytes).parents.some((parent) => unauthorized.has(parent))
    if (!isOn) continue
    unauthorized.add(oid)
    const { record, hash } = decodeCommit(source.storeId, source.epochs, oid, bytes)
    if (isInTime({ directory, record: zeroHash }, { record: hash, authorId: record.deviceId })) {
      return nothing
    }
  }
  return unauthorized
}

const nothing: ReadonlySet<Oid> = new Set()

/** Of commits, newest first, the newest that a merge may take up. */
export function findInTime(
  source: CommitSource,
  newest: InForce,
  commits: readonly Oid[],
): Oid | undefined {
  return commits.find((oid) => !isLate(source, newest, oid))
}
