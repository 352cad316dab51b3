// The keys of an epoch (FORMAT §4). A and C are independent, so that an auditor can be given A and
// H(C), which open the signed trail, but no contents or paths.

import { fromHex, label, toHex } from '../bytes.ts'
import { deriveKey, hash256 } from '../crypto/digest.ts'
import { type SigningKeyPair, signingKeyPair } from '../crypto/signature.ts'
import { wipe } from '../crypto/sodium.ts'
import type { EnvelopeKeys, Seeded } from '../format/envelope.ts'

/** Keys from A: for records, the group signature, the directory, the archive of older A. */
export interface AuditKeys extends Seeded {
  readonly kid: string
  readonly auditKey: Uint8Array
  /** H(C), which gives the kid together with A. */
  readonly contentKeyHash: Uint8Array
  readonly group: SigningKeyPair
  readonly record: EnvelopeKeys
  readonly directory: EnvelopeKeys
  readonly archiveA: EnvelopeKeys
  /** The salt subkey for slots. */
  readonly slotSaltKey: Uint8Array
  /** From which auditors' slots are encapsulated. */
  readonly auditorSlotKey: Uint8Array
}

/** Keys from A and C: for everything. */
export interface EpochKeys extends AuditKeys {
  readonly contentKey: Uint8Array
  readonly memory: EnvelopeKeys
  readonly detail: EnvelopeKeys
  readonly settings: EnvelopeKeys
  readonly archiveC: EnvelopeKeys
  readonly start: EnvelopeKeys
  /** From which all other slots are encapsulated. */
  readonly slotKey: Uint8Array
  /** The names of refs are derived from that of the first epoch. */
  readonly refNameKey: Uint8Array
}

const CONTEXT = 'GLK1keys'
const KID_LABEL = label('GLK1/kcv/v1')

/** 32 hex digits. */
export function kidOf(seed: string, auditKey: Uint8Array, contentKeyHash: Uint8Array): string {
  const hash = hash256(KID_LABEL, fromHex(seed), hash256(auditKey), contentKeyHash)
  return toHex(hash.subarray(0, 16))
}

/** Derives keys from A and H(C). */
export function auditKeys(
  seed: string,
  auditKey: Uint8Array,
  contentKeyHash: Uint8Array,
): AuditKeys {
  const kid = kidOf(seed, auditKey, contentKeyHash)
  const saltKey = deriveKey(auditKey, 4, CONTEXT)
  const purpose = (subkey: number): EnvelopeKeys => {
    return { kid, saltKey, key: deriveKey(auditKey, subkey, CONTEXT) }
  }
  return {
    kid,
    seed,
    auditKey,
    contentKeyHash,
    group: signingKeyPair(deriveKey(auditKey, 2, CONTEXT)),
    record: purpose(1),
    directory: purpose(3),
    archiveA: purpose(5),
    slotSaltKey: saltKey,
    auditorSlotKey: deriveKey(auditKey, 6, CONTEXT),
  }
}

/** Derives keys from A and C. */
export function epochKeys(seed: string, auditKey: Uint8Array, contentKey: Uint8Array): EpochKeys {
  const audit = auditKeys(seed, auditKey, hash256(contentKey))
  const { kid } = audit
  const saltKey = deriveKey(contentKey, 4, CONTEXT)
  const purpose = (subkey: number): EnvelopeKeys => {
    return { kid, saltKey, key: deriveKey(contentKey, subkey, CONTEXT) }
  }
  return {
    ...audit,
    contentKey,
    memory: purpose(1),
    detail: purpose(2),
    settings: purpose(3),
    archiveC: purpose(5),
    start: purpose(7),
    slotKey: deriveKey(contentKey, 6, CONTEXT),
    refNameKey: deriveKey(contentKey, 9, CONTEXT),
  }
}

/** Whether these are the keys of a member, and not of an auditor. */
export function opensContents(epoch: AuditKeys | EpochKeys): epoch is EpochKeys {
  return 'contentKey' in epoch
}

/** Overwrites every secret of an epoch that is no longer needed. */
export function wipeEpoch(epoch: EpochKeys): void {
  const { record, directory, archiveA, memory, detail, settings, archiveC, start } = epoch
  for (const { key, saltKey } of [
    record,
    directory,
    archiveA,
    memory,
    detail,
    settings,
    archiveC,
    start,
  ]) {
    wipe(key, saltKey)
  }
  wipe(epoch.auditKey, epoch.contentKey, epoch.group.secretKey)
  wipe(epoch.auditorSlotKey, epoch.slotKey, epoch.refNameKey)
}
