// Checks that a store contains what this device last verified of it (FORMAT §9), and records that.

import { hasCode, type HeadState, StoreError } from '../../errors.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import { inSlices } from '../../time-slice.ts'
import { areLostCommitsLate } from '../access/post-revocation.ts'
import { containsRecord, type RecordSource, type RecordToFind } from '../commits/ancestors.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { Anchor, VerifiedHead } from '../local/anchor.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import type { StoreSource } from './store-id.ts'

/** FORMAT §9: the head must contain the record that this device last verified. */
export async function checkFreshness(
  source: RecordSource,
  { verified, anew }: Pick<Anchor, 'verified'> & Partial<Pick<Anchor, 'anew'>>,
  { head }: { readonly head: Pick<Head, 'commit'> },
): Promise<void> {
  if (verified === undefined) return
  if (anew !== undefined && (await findsRecord(source, head.commit, anew))) return
  if (await inSlices(containsRecord(source, head.commit, verified))) return
  throw new StoreError(
    'rolled_back',
    'The store is older than what this device has verified, or was replaced by another one. ' +
      'If you restored a backup on purpose, accept that once',
  )
}

/** Above the boundary of a clone without earlier history. */
async function findsRecord(
  source: RecordSource,
  head: Oid,
  wanted: RecordToFind,
): Promise<boolean> {
  try {
    return await inSlices(containsRecord(source, head, wanted))
  } catch (error) {
    if (!hasCode(error, 'object_missing')) throw error
    return false
  }
}

/**
 * Checks freshness as `checkFreshness` does, but moves the anchor back to the head if another
 * device that uses this clone left the last verified record out (FORMAT §9.3).
 */
export async function keepUp(
  source: StoreSource<AuditKeys>,
  anchor: Anchor,
  snapshot: Snapshot,
): Promise<void> {
  try {
    await checkFreshness(source, anchor, snapshot)
  } catch (error) {
    const { head } = snapshot
    const left = anchor.verified?.commit
    if (left === undefined || !(await areLostCommitsLate(source, left, head.commit))) {
      throw await withStates(error, source, anchor, head)
    }
    const { objects } = source
    // A process that has moved the head since has updated the anchor too.
    const accept = async () => objects.head === head.commit && anchor.accept(head)
    await lockedIfAllowed(objects, accept)
  }
}

/** Adds the last verified head and the present one, for people to compare. */
async function withStates(
  error: unknown,
  source: StoreSource<AuditKeys>,
  anchor: Anchor,
  head: Head,
): Promise<unknown> {
  const { verified } = anchor
  if (!hasCode(error, 'rolled_back') || verified === undefined) return error
  // A list of words, which little else needs.
  const { headFingerprint } = await import('../../format/fingerprint.ts')
  const { objects, storeId, epochs } = source
  const stateOf = (at: VerifiedHead, time: number | undefined): HeadState => {
    const { commit, height, record } = at
    return { commit, height, time, words: headFingerprint(storeId, record) }
  }
  const bytes = readCommitBytes(objects, head.commit)
  const written = decodeCommit(storeId, epochs, head.commit, bytes).record.time
  const details = {
    verified: stateOf(verified, await anchor.notedAt()),
    present: stateOf(head, written),
  }
  return new StoreError(error.code, error.message, { cause: error, details })
}

/**
 * Trusts and records the first head that this device sees. Throws `ref_conflict` if another
 * process has moved the branch to a head that does not contain it.
 */
export function pin(
  source: StoreSource<AuditKeys>,
  anchor: Anchor,
  { head }: Snapshot,
): Promise<void> {
  const { objects } = source
  return lockedIfAllowed(objects, async () => {
    const now = objects.head
    const isHere =
      now === head.commit ||
      (now !== undefined && (await inSlices(containsRecord(source, now, head))))
    if (!isHere) {
      throw new StoreError('ref_conflict', 'The branch was moved back in the meantime: try again')
    }
    await anchor.advance(head)
  })
}

async function lockedIfAllowed(objects: ObjectStore, work: () => Promise<unknown>): Promise<void> {
  try {
    await objects.exclusive(work)
  } catch (error) {
    // Without write access to the store there is no lock to take.
    if (!hasCode(error, 'storage_denied')) throw error
    await work()
  }
}
