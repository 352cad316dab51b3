// Late records (FORMAT §7.4): what a device wrote outside the past of the keyring that removes it.
// No merge takes one up as a parent; a commit that another device has built on it may be one.

import type { Oid } from '../../git/object.ts'
import { isInTime } from '../authority.ts'
import { decodeCommit, readCommitBytes } from '../decoded-commit.ts'
import { findDivergence } from '../divergence.ts'
import type { HistorySource } from '../history.ts'
import type { KeyringState, Snapshot } from '../snapshot.ts'

/** `newest` is the keyring in force where the commit is to be taken up; it is not in its past. */
export function isLate(source: HistorySource, newest: KeyringState, oid: Oid): boolean {
  const { storeId, epochs, objects } = source
  const { record, hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
  return !isInTime(newest, { record: hash, authorId: record.deviceId })
}

/**
 * The commits that another head has of its own, newest first, if that head is late here; else
 * undefined.
 */
export async function findLate(
  source: HistorySource,
  { head, keyring }: Pick<Snapshot, 'head' | 'keyring'>,
  other: Oid,
  signal: AbortSignal | undefined,
): Promise<readonly Oid[] | undefined> {
  const { ours, theirs } = await findDivergence(source, head.commit, other, signal)
  if (!ours.hasKeyring || theirs.hasKeyring || theirs.commits.length === 0) return undefined
  return isLate(source, keyring, other) ? theirs.commits : undefined
}

/** Of commits, newest first, the newest that a merge may take up. */
export function findInTime(
  source: HistorySource,
  newest: KeyringState,
  commits: readonly Oid[],
): Oid | undefined {
  return commits.find((oid) => !isLate(source, newest, oid))
}
