// Slots (FORMAT §7): an epoch's keys, sealed to one X-Wing key. A slot does not show its recipient,
// so a device tries them all; the key commitment of the envelope distinguishes another device's
// slot from a damaged one.

import { concatBytes, fromHex, label } from '../bytes.ts'
import { hash256, keyedHash } from '../crypto/digest.ts'
import type { Random } from '../crypto/random.ts'
import { decapsulate, encapsulate, type KemKeyPair } from '../crypto/recipient.ts'
import { wipe } from '../crypto/wipe.ts'
import { hasCode, StoreError } from '../errors.ts'
import { slotTypes } from '../format/directory.ts'
import { checkPadding, openEnvelope, sealEnvelope, slotContext } from '../format/envelope.ts'
import {
  type Argon2Parameters,
  type KeyringFile,
  type Slot,
  slotPlaintextLength,
  slotPublicBytes,
} from '../format/keyring.ts'
import { type AuditKeys, auditKeys, type EpochKeys, epochKeys, kidOf } from './epoch.ts'

/** The recipient of a slot. */
export interface Recipient {
  readonly type: Slot['type']
  readonly kemKey: Uint8Array
  /** Undefined for a device. */
  readonly slotId: string | undefined
  /** For a passphrase only. */
  readonly argon2: Argon2Parameters | undefined
  /** An auditor gets A and H(C), every other recipient A and C. */
  readonly auditor: boolean
}

const LABEL = label('GLK1/slot/xwing/v1')

export function sealSlot(
  storeId: string,
  epoch: EpochKeys,
  recipient: Recipient,
  random: Random,
): Slot {
  const { type, kemKey, slotId, argon2, auditor } = recipient
  const { ciphertext, sharedSecret } = encapsulate(kemKey, random)
  const publicPart = { type, slotId, argon2, ciphertext }
  const key = slotKey(storeId, sharedSecret, kemKey, ciphertext)
  const keys = { kid: epoch.kid, key, saltKey: epoch.slotSaltKey }
  const context = slotContext(storeId, slotTypes[type], slotPublicBytes(publicPart))
  const content = auditor ? epoch.contentKeyHash : epoch.contentKey
  const plaintext = concatBytes(epoch.auditKey, content)
  const envelope = sealEnvelope('slot', keys, context, random(32), plaintext)
  wipe(sharedSecret, key, plaintext)
  return { ...publicPart, envelope }
}

/**
 * The epoch in a slot, without C for an auditor; undefined if the slot is another device's. Throws
 * an envelope code if this device's slot is damaged.
 */
export function openSlot(
  file: KeyringFile,
  slot: Slot,
  pair: KemKeyPair,
): AuditKeys | EpochKeys | undefined {
  const { storeId, kid } = file
  const sharedSecret = decapsulate(slot.ciphertext, pair)
  const key = slotKey(storeId, sharedSecret, pair.publicKey, slot.ciphertext)
  const context = slotContext(storeId, slotTypes[slot.type], slotPublicBytes(slot))
  // Not used to open a slot: readers do not derive its salt again.
  const keys = { kid, key, saltKey: key }
  try {
    return readEpoch(file, openEnvelope('slot', keys, context, slot.envelope))
  } catch (error) {
    if (hasCode(error, 'envelope_commitment')) return undefined
    throw error
  } finally {
    wipe(sharedSecret, key)
  }
}

function readEpoch({ storeId, kid }: KeyringFile, padded: Uint8Array): AuditKeys | EpochKeys {
  checkPadding('slot', padded, slotPlaintextLength)
  const auditKey = padded.slice(0, 32)
  const content = padded.slice(32, 64)
  wipe(padded)
  if (kidOf(storeId, auditKey, hash256(content)) === kid) {
    return epochKeys(storeId, auditKey, content)
  }
  if (kidOf(storeId, auditKey, content) === kid) {
    return auditKeys(storeId, auditKey, content)
  }
  throw new StoreError('keyring_mismatch', 'A slot holds the keys of another epoch')
}

function slotKey(
  storeId: string,
  sharedSecret: Uint8Array,
  kemKey: Uint8Array,
  ciphertext: Uint8Array,
): Uint8Array {
  const binding = [LABEL, fromHex(storeId), hash256(kemKey), hash256(ciphertext)]
  return keyedHash(32, sharedSecret, ...binding)
}
