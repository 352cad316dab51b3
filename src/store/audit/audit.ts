// The audit of a store by a device that holds A and not C (FORMAT §4): verifies the trail from
// genesis and lists it. Checks all of FORMAT §8 except details, contents and settings; trees by the
// ids of their blobs. Must not cache anything or keep the store open: each audit reads it again.

import type { WorkOptions } from '../../async.ts'
import type { Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import { openDiskObjectStore } from '../../git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import { roleOf } from '../access/authority.ts'
import { pin } from '../session/freshness.ts'
import {
  localFiles,
  type OpenOptions,
  storageOf,
  type StoreEnvironment,
  type StorePlaces,
} from '../session/open-options.ts'
import { checkIsHead, onSteadyHead } from '../session/steady-head.ts'
import { checkExpected, getHead, readStoreId } from '../session/store-id.ts'
import type { AuditEntry } from './audit-trail.ts'
import { checkAccepted, findLeftOut, keepLeftOut, type LeftOut, LeftOutList } from './left-out.ts'
import { verifyTrail } from './verified-trail.ts'

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
  /** What this device had verified and members have left out since, as the user accepted. */
  readonly leftOut: readonly LeftOut[]
}

/**
 * Verifies the trail with the identity of an auditor, or of any other device. Throws the code of
 * the first violation, and the codes of `openStore`.
 */
export async function auditStore(options: AuditOptions): Promise<Audit> {
  return withAudit(options, async (found) => found)
}

/** Gives `work` the objects too, from which the trail was verified. Throws as `auditStore`. */
export async function withAudit<T>(
  options: AuditOptions,
  work: (audit: Audit, objects: ObjectStore) => Promise<T>,
): Promise<T> {
  const { directory } = options
  const objects = await openDiskObjectStore({ directory, ...storageOf(options) })
  try {
    return await onSteadyHead(objects, async () => work(await audit(objects, options), objects))
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
  const head = getHead(objects)
  const trail = await verifyTrail(objects, { storeId, head }, options)
  const { snapshot, epochs } = trail
  const source = { objects, storeId, epochs }
  const { verified } = anchor
  const lost = await findLeftOut(objects, { storeId, head, known: verified, trail }, options)
  checkAccepted(lost, options)
  const list = new LeftOutList(options, storeId)
  if (options.acceptRolledBack === true) {
    await objects.exclusive(async () => list.moveAsideIfDamaged())
  }
  if (lost !== undefined) {
    await keepLeftOut(objects, lost)
    await objects.exclusive(async () => {
      checkIsHead(objects, head)
      await list.add(lost)
      await anchor.accept(snapshot.head)
    })
  } else await pin(source, anchor, snapshot)
  const present = new Set(trail.entries.map(({ record }) => record))
  // Imported here: only this needs the word list.
  const { headFingerprint } = await import('../../format/fingerprint.ts')
  return {
    storeId: formatId('store', storeId),
    deviceId: formatId('device', options.identity.deviceId),
    role: roleOf(snapshot, options.identity.deviceId),
    head,
    headFingerprint: headFingerprint(storeId, snapshot.head.record),
    memories: snapshot.count,
    entries: trail.entries,
    // A sync that was cut off may have listed what is still there.
    leftOut: list.read().filter(({ record }) => !present.has(record)),
  }
}
