// What a forged commit may say and where it may be spoiled: the vocabulary of forge.ts and of the
// tests that use it.

import type { KemKeyPair } from '../../src/crypto/recipient.ts'
import type { SigningKeyPair } from '../../src/crypto/signature.ts'
import type {
  ChangeRecord,
  GrantRow,
  Operation,
  RecordBody,
} from '../../src/format/change-record.ts'
import type { CommitParts } from '../../src/format/commit.ts'
import type { DetailRow } from '../../src/format/detail.ts'
import { type DeviceKeys, signDeviceKeys } from '../../src/format/device-keys.ts'
import {
  type AdmittedBy,
  type Admitter,
  byOwner,
  type DeviceEntry,
  type Directory,
  type RecoveryEntry,
  type Role,
} from '../../src/format/directory.ts'
import { recoveryIdOf } from '../../src/format/id.ts'
import type { MemoryBlob } from '../../src/format/memory-blob.ts'
import { zeroHash } from '../../src/format/record.ts'
import type { Settings } from '../../src/format/settings.ts'
import type { Oid } from '../../src/git/objects/object.ts'
import type { EpochKeys } from '../../src/keys/epoch.ts'
import type { Identity } from '../../src/keys/identity.ts'
import type { RawEntry, SealFault, Spoil } from './forge-seal.ts'

export interface ForgedAuthor {
  /** Empty for the holder of a grant, whose id follows from the device that gave it. */
  readonly deviceId: string
  readonly signing: SigningKeyPair
  readonly heldKey?: Uint8Array
}

/** A row of grants; an end may name the key, for the grant of it that was begun last. */
export type ForgedGrantRow = GrantRow | { readonly key: Uint8Array; readonly begins: undefined }

/**
 * A row of a change as it should be; omitted fields follow from the history. Ids are labels of the
 * test's, for rows that the forge has written or will write with this row, or those of the format.
 */
export interface NewRow {
  readonly memoryId: string
  readonly operation: Operation
  readonly path: string
  readonly content?: string
  readonly versionId?: string
  readonly base?: string
  readonly secondBase?: string
  readonly note?: string
}

/** Where to spoil a commit, in the order in which it is made. */
export interface Fault {
  readonly author?: ForgedAuthor
  /** The epoch that the record, its detail and its memories are sealed under. */
  readonly epoch?: EpochKeys
  /** Before the record commits to it: what its author claims. */
  readonly claim?: (row: DetailRow) => DetailRow
  /** After the commitments to the details were made. */
  readonly details?: (rows: readonly DetailRow[]) => readonly DetailRow[]
  readonly record?: (record: RecordBody) => RecordBody
  /** The encoded record, before it is signed. */
  readonly body?: Spoil
  readonly signature?: (signature: Uint8Array, body: Uint8Array) => Uint8Array
  /** For a genesis: a store id in place of the one that follows from its record. */
  readonly storeId?: string
  readonly recordSeal?: SealFault
  readonly detailSeal?: SealFault
  readonly blob?: (blob: MemoryBlob) => MemoryBlob
  readonly blobSeal?: SealFault
  /** The keyring or settings blob, after the record named its hash. */
  readonly swappedFile?: Spoil
  /** Memory id to blob, as the tree shows it. */
  readonly memories?: (blobs: ReadonlyMap<string, Oid>) => ReadonlyMap<string, Oid>
  readonly root?: (entries: readonly RawEntry[]) => readonly RawEntry[]
  readonly parts?: (parts: CommitParts) => CommitParts
  readonly group?: SigningKeyPair
  /** The whole commit. */
  readonly bytes?: Spoil
}

export interface Chain {
  readonly sequence: number
  readonly hash: Uint8Array
  readonly time: number
}

export interface MemoryState {
  readonly versionId: string
  readonly operation: Operation
  readonly path: string
  readonly created: number
  readonly blob: Oid | undefined
}

/** A commit as it was made, to make it again. */
export interface Entry {
  readonly oid: Oid
  readonly record: ChangeRecord
  readonly signed: Uint8Array
  readonly hash: Uint8Array
  readonly epoch: EpochKeys
  readonly details: readonly DetailRow[]
  /** Memory id to blob, of the rows. */
  readonly blobs: ReadonlyMap<string, Oid>
  readonly keyring: Oid
  readonly settings: Oid
}

export const plainSettings: Settings = {
  name: 'forged',
  description: '',
  metadata: {},
  archivedAt: undefined,
  limits: { contentBytes: 102_400, memories: 10_000 },
}

export function memberOf(
  { deviceId, signing, kem, keySignature }: DeviceKeys,
  role: Role,
  added: number,
  { admittedBy, slotId }: Admitter = byOwner,
): DeviceEntry {
  const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey, keySignature }
  return { deviceId, ...keys, role, admittedBy, slotId, added, name: '' }
}

/** The same device with another X-Wing key, which it has signed. */
export function withKem<T extends Pick<Identity, 'signing'>>(
  identity: T,
  kem: KemKeyPair,
): T & Pick<Identity, 'kem' | 'keySignature'> {
  return { ...identity, kem, keySignature: signDeviceKeys(identity.signing, kem) }
}

/** A recovery identity as the author of a record: it has no sequence numbers (FORMAT §7). */
export function asRecovery(
  { slotId }: Pick<RecoveryEntry, 'slotId'>,
  { signing }: Pick<Identity, 'signing'>,
): Fault & { readonly author: ForgedAuthor } {
  const author = { deviceId: recoveryIdOf(slotId, signing.publicKey), signing }
  return { ...fields({ sequence: 0, previous: zeroHash }), author }
}

/** The directory with one more device. */
export function withMember(
  next: Directory,
  identity: DeviceKeys,
  role: Role,
  admittedBy: AdmittedBy = 'owner',
  // By default the first one of its kind.
  slotId: string | undefined = next.recovery.find(({ type }) => type === admittedBy)?.slotId,
): Directory {
  const devices = [...next.devices, memberOf(identity, role, next.number, { admittedBy, slotId })]
  return { ...next, devices: devices.toSorted(byId) }
}

/** The directory with one device less; `Forge.keyring` lists it as removed. */
export function withoutMember(
  next: Directory,
  { deviceId }: Pick<Identity, 'deviceId'>,
): Directory {
  return { ...next, devices: next.devices.filter((one) => one.deviceId !== deviceId) }
}

/** Lists the devices that a change dropped as removed, unless the change has its own list. */
export function withRemovals(
  before: Directory,
  next: Directory,
  chains: ReadonlyMap<string, Chain>,
): Directory {
  if (next.removed !== before.removed) return next
  const kept = new Set(next.devices.map(({ deviceId }) => deviceId))
  const dropped = before.devices.filter(({ deviceId }) => !kept.has(deviceId))
  const removed = dropped.map(({ deviceId }) => {
    const { sequence, hash: record } = chains.get(deviceId) ?? { sequence: 0, hash: zeroHash }
    return { deviceId, removed: next.number, sequence, record }
  })
  return { ...next, removed: [...before.removed, ...removed].toSorted(byId) }
}

function byId(a: { readonly deviceId: string }, b: { readonly deviceId: string }): number {
  return a.deviceId < b.deviceId ? -1 : 1
}

/** Changes the record of a fault by fields. */
export function fields(change: Partial<RecordBody>): Fault {
  return { record: (record) => ({ ...record, ...change }) }
}
