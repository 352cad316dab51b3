// The audit of a store by a device that holds A and not C (FORMAT §4): verifies the trail from
// genesis and lists it. Checks all of FORMAT §8 except details, contents and settings; trees by the
// ids of their blobs. Must not cache anything or keep the store open: each audit reads it again.

import type { WorkOptions } from '../../async.ts'
import type { MemberRole } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import { openDiskObjectStore } from '../../git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import { roleOf } from '../access/authority.ts'
import type { Anchor } from '../local/anchor.ts'
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
import { type ComparedState, comparedOf } from '../snapshot/compared.ts'
import type { Head } from '../snapshot/snapshot.ts'
import { type AuditEntry, verifyTrail } from './audit-trail.ts'
import {
  checkAccepted,
  findLeftOut,
  keepLeftOut,
  type LeftOut,
  LeftOutList,
  type LostRecords,
} from './left-out.ts'

export interface AuditOptions
  extends
    StorePlaces,
    StoreEnvironment,
    Pick<OpenOptions, 'storeId' | 'acceptRolledBack'>,
    Pick<WorkOptions, 'progress' | 'signal'> {}

export interface Audit extends ComparedState {
  /** `memstore_…` */
  readonly storeId: string
  /** The auditing device, `dev_…`, and its role. */
  readonly deviceId: string
  readonly role: MemberRole | undefined
  /** The newest commit, 40 hex digits. */
  readonly head: string
  /** The number of live memories. */
  readonly memories: number
  /** Ascending by height, then by record: the same in every clone. */
  readonly entries: readonly AuditEntry[]
  /** What this device had verified and members have left out since, as the user accepted. */
  readonly leftOut: readonly LeftOut[]
}

/** Asked once the trail is verified, before this device remembers anything of it. */
type Confirm = () => Promise<void>

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
  confirm?: Confirm,
): Promise<T> {
  const { directory } = options
  const objects = await openDiskObjectStore({ directory, ...storageOf(options) })
  try {
    return await onSteadyHead(objects, async () => {
      return work(await audit(objects, options, confirm), objects)
    })
  } finally {
    await objects.close()
  }
}

/** Lists records that are left out from now on, and remembers the head that leaves it out. */
async function leave(
  objects: ObjectStore,
  lost: NonNullable<LostRecords>,
  { list, anchor, head }: { readonly list: LeftOutList; anchor: Anchor; head: Head },
): Promise<void> {
  await keepLeftOut(objects, lost)
  await objects.exclusive(async () => {
    checkIsHead(objects, head.commit)
    await list.add(lost)
    await anchor.accept(head)
  })
}

async function audit(
  objects: ObjectStore,
  options: AuditOptions,
  confirm: Confirm | undefined,
): Promise<Audit> {
  const storeId = readStoreId(objects)
  checkExpected(storeId, options.storeId)
  // The anchor before the head, as in opening a store.
  const { anchor } = await localFiles(options, storeId)
  objects.refresh()
  const head = getHead(objects)
  const trail = await verifyTrail(objects, { storeId, head }, options)
  await confirm?.()
  const { snapshot, epochs } = trail
  const source = { objects, storeId, epochs }
  const { verified } = anchor
  const lost = await findLeftOut(objects, { storeId, head, known: verified, trail }, options)
  checkAccepted(lost, options)
  const list = new LeftOutList(options, storeId)
  if (options.acceptRolledBack === true) {
    await objects.exclusive(async () => list.moveAsideIfDamaged())
  }
  if (lost === undefined) await pin(source, anchor, snapshot)
  else await leave(objects, lost, { list, anchor, head: snapshot.head })
  const present = new Set(trail.entries.map(({ record }) => record))
  return {
    storeId: formatId('store', storeId),
    deviceId: formatId('device', options.identity.deviceId),
    role: roleOf(snapshot, options.identity.deviceId),
    head,
    ...(await comparedOf(storeId, snapshot)),
    memories: snapshot.count,
    entries: trail.entries,
    // A sync that was cut off may have listed records that still exist.
    leftOut: list.read().filter(({ record }) => !present.has(record)),
  }
}
