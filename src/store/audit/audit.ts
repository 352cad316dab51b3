// The audit of a store by a device that holds A and not C (FORMAT §4): verifies the trail from
// genesis and lists it. Checks all of FORMAT §8 except details, contents and settings; trees by the
// ids of their blobs. Must not cache anything or keep the store open: each audit reads it again.

import type { WorkOptions } from '../../async.ts'
import type { Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import { openDiskObjectStore } from '../../git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import { openAuditKeyring } from '../../keys/keyring.ts'
import { findKeyring, roleOf } from '../access/authority.ts'
import type { Epochs } from '../commits/decoded-commit.ts'
import { keepUp, pin } from '../session/freshness.ts'
import {
  localFiles,
  type OpenOptions,
  storageOf,
  type StoreEnvironment,
  type StorePlaces,
} from '../session/open-options.ts'
import { checkIsHead, onSteadyHead } from '../session/steady-head.ts'
import { checkExpected, getHead, readStoreId } from '../session/store-id.ts'
import { getBlob } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'
import { verifyHistory } from '../verify/verify.ts'
import { type AuditEntry, Trail } from './audit-trail.ts'

export interface AuditOptions
  extends
    StorePlaces,
    StoreEnvironment,
    Pick<OpenOptions, 'storeId' | 'acceptRolledBack'>,
    Pick<WorkOptions, 'progress' | 'signal'> {}

export interface Audit {
  /** `memstore_…` */
  readonly storeId: string
  /** The auditing device, `dev_…`, and its role. */
  readonly deviceId: string
  readonly role: Role | undefined
  /** The newest commit, 40 hex digits, and its fingerprint for comparison by voice. */
  readonly head: string
  readonly headFingerprint: readonly string[]
  /** The number of live memories. */
  readonly memories: number
  /** Ascending by height, then by record: the same in every clone. */
  readonly entries: readonly AuditEntry[]
}

/**
 * Verifies the trail with the identity of an auditor, or of any other device. Throws the code of
 * the first violation, and the codes of `openStore`.
 */
export async function auditStore(options: AuditOptions): Promise<Audit> {
  const { directory } = options
  const objects = await openDiskObjectStore({ directory, ...storageOf(options) })
  try {
    return await onSteadyHead(objects, () => audit(objects, options))
  } finally {
    await objects.close()
  }
}

async function audit(objects: ObjectStore, options: AuditOptions): Promise<Audit> {
  const storeId = readStoreId(objects)
  checkExpected(storeId, options.storeId)
  // The anchor before the head, as in opening a store.
  const { anchor } = localFiles(options, storeId)
  objects.refresh()
  const {
    audit: found,
    snapshot,
    epochs,
  } = await verifyTrail(objects, { storeId, head: getHead(objects) }, options)
  const source = { objects, storeId, epochs }
  if (options.acceptRolledBack === true) {
    await objects.exclusive(() => {
      checkIsHead(objects, found.head)
      return anchor.accept(snapshot.head)
    })
  } else {
    await keepUp(source, anchor, snapshot)
    await pin(source, anchor, snapshot)
  }
  return found
}

/** The verified trail of a head. Whether the head was rolled back is not checked. */
export interface VerifiedTrail {
  readonly audit: Audit
  readonly snapshot: Snapshot
  readonly epochs: Epochs<AuditKeys>
}

/** Verifies the trail of any head whose keyring has a slot for this device. Records nothing. */
export async function verifyTrail(
  objects: ObjectStore,
  place: { readonly storeId: string; readonly head: Oid },
  { identity, progress, signal }: Pick<AuditOptions, 'identity' | 'progress' | 'signal'>,
): Promise<VerifiedTrail> {
  const { storeId, head } = place
  const keyring = getBlob(objects, findKeyring(objects, head), 'keyring_mismatch')
  const { epochs } = openAuditKeyring(keyring, storeId, identity)
  const source = { objects, storeId, epochs }
  const trail = new Trail(source)
  const onCommit = (commit: CheckedCommit): void => trail.add(commit)
  const { snapshot } = await verifyHistory(source, head, { progress, signal, onCommit })
  // Imported here: only this needs the word list.
  const { headFingerprint } = await import('../../format/fingerprint.ts')
  return {
    snapshot,
    epochs,
    audit: {
      storeId: formatId('store', storeId),
      deviceId: formatId('device', identity.deviceId),
      role: roleOf(snapshot, identity.deviceId),
      head,
      headFingerprint: headFingerprint(storeId, snapshot.head.record),
      memories: snapshot.count,
      entries: trail.entries(snapshot.redacted),
    },
  }
}
