// Whether a store holds what this device has verified of it last (FORMAT §9), and remembering that.

import { hasCode, StoreError } from '../../errors.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import { inSlices } from '../../time-slice.ts'
import { areLostCommitsLate } from '../access/post-revocation.ts'
import { containsRecord, type RecordSource } from '../commits/ancestors.ts'
import type { Anchor } from '../local/anchor.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import type { StoreSource } from './store-id.ts'

/** FORMAT §9: the head must contain the record that this device verified last. */
export async function checkFreshness(
  source: RecordSource,
  { verified }: Pick<Anchor, 'verified'>,
  { head }: { readonly head: Pick<Head, 'commit'> },
): Promise<void> {
  if (verified === undefined) return
  if (await inSlices(containsRecord(source, head.commit, verified))) return
  throw new StoreError(
    'rolled_back',
    'The store is older than what this device has verified, or another one took its place. ' +
      'If you restored a backup on purpose, accept that once',
  )
}

/**
 * As `checkFreshness`, but where another device that uses this clone was right to leave what was
 * verified last (FORMAT §7.4), the anchor goes back to the head.
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
    if (left === undefined || !(await areLostCommitsLate(source, left, head.commit))) throw error
    const { objects } = source
    // Whoever has moved it since has seen to the anchor.
    const accept = async () => objects.head === head.commit && anchor.accept(head)
    await lockedIfAllowed(objects, accept)
  }
}

/**
 * The first head that this device sees is trusted, and remembered. Throws `ref_conflict` if another
 * process has moved the branch to where it is left out.
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
      throw new StoreError('ref_conflict', 'The branch was moved back meanwhile: try again')
    }
    await anchor.advance(head)
  })
}

async function lockedIfAllowed(objects: ObjectStore, work: () => Promise<unknown>): Promise<void> {
  try {
    await objects.exclusive(work)
  } catch (error) {
    // Who may not write to the store has no lock to take, and no other writer to fear.
    if (!hasCode(error, 'storage_denied')) throw error
    await work()
  }
}
