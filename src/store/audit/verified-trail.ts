// The trail of a head, verified from genesis with A alone (FORMAT §8.4). Records nothing, and does
// not check whether the head was rolled back.

import type { WorkOptions } from '../../async.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import type { Identity } from '../../keys/identity.ts'
import { openAuditKeyring } from '../../keys/keyring.ts'
import { inSlices } from '../../time-slice.ts'
import { readHeadKeyring } from '../access/authority.ts'
import type { Epochs } from '../commits/decoded-commit.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'
import { verifyHistory } from '../verify/verify.ts'
import { type AuditEntry, Trail } from './audit-trail.ts'

export interface VerifiedTrail {
  readonly snapshot: Snapshot
  readonly epochs: Epochs<AuditKeys>
  /** In the canonical order. */
  readonly entries: readonly AuditEntry[]
}

/** The identity of this device, and how to verify. */
export interface TrailKey extends Pick<WorkOptions, 'progress' | 'signal'> {
  readonly identity: Identity
}

/** Verifies the trail of any head whose keyring has a slot for this device. */
export async function verifyTrail(
  objects: ObjectSource,
  { storeId, head }: { readonly storeId: string; readonly head: Oid },
  { identity, progress, signal }: TrailKey,
): Promise<VerifiedTrail> {
  const keyring = readHeadKeyring(objects, head)
  const { epochs } = await openAuditKeyring(keyring, identity, signal)
  const source = { objects, storeId, epochs }
  const trail = new Trail(source)
  const onCommit = (commit: CheckedCommit): void => trail.add(commit)
  const { snapshot } = await verifyHistory(source, head, { progress, signal, onCommit })
  const entries = await inSlices(trail.entries(snapshot.redacted), signal)
  return { snapshot, epochs, entries }
}
