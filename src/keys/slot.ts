// Slots (FORMAT §7): an epoch's keys, sealed to one X-Wing key. A slot does not show its recipient,
// so a device tries them all; the key commitment of the envelope distinguishes another device's
// slot from a damaged one.

import { concatBytes, fromHex, label } from '../bytes.ts'
import { hash256, keyedHash } from '../crypto/digest.ts'
import {
  decapsulate,
  type Encapsulation,
  encapsulate,
  type KemKeyPair,
} from '../crypto/recipient.ts'
import { wipe } from '../crypto/wipe.ts'
import { assert, hasCode, StoreError } from '../errors.ts'
import {
  checkPadding,
  noHedge,
  openEnvelope,
  sealEnvelope,
  slotContext,
} from '../format/envelope.ts'
import {
  type KeyringFile,
  type Slot,
  slotPlaintextLength,
  slotPublicBytes,
  slotTypes,
} from '../format/keyring.ts'
import {
  type AuditKeys,
  auditKeys,
  type EpochKeys,
  epochKeys,
  kidOf,
  opensContents,
} from './epoch.ts'
import { type Recipient, recipientKinds } from './recipients.ts'

/** What the slots of a keyring are bound to. */
export interface SlotPlace {
  readonly storeId: string
  readonly directoryHash: Uint8Array
}

const LABEL = label('GLK1/slot/xwing/v1')
const SEED_LABEL = label('GLK1/slot/seed/v1')

/**
 * Seals an epoch's keys for a recipient. The result is a function of its arguments, so that each
 * holder of the keys can check the slots of all others; an auditor those of auditors. Throws
 * `keyring_slots` for a key that nothing can be sealed to.
 */
export function sealSlot(
  place: SlotPlace,
  epoch: AuditKeys | EpochKeys,
  recipient: Recipient,
): Slot {
  const { storeId } = place
  const { kind, kemKey, passphrase, isAuditor } = recipient
  const type = kind === 'passphrase' ? 'passphrase' : 'key'
  const { ciphertext, sharedSecret } = encapsulateFor(place, epoch, recipient)
  const publicPart = { type, passphrase, ciphertext } as const
  const key = slotKey(storeId, sharedSecret, kemKey, ciphertext)
  const keys = { kid: epoch.kid, key, saltKey: epoch.slotSaltKey }
  const context = slotContext(storeId, slotTypes[type], slotPublicBytes(publicPart))
  const content = isAuditor ? epoch.contentKeyHash : contentKeyOf(epoch)
  const plaintext = concatBytes(epoch.auditKey, content)
  const envelope = sealEnvelope('slot', keys, context, noHedge, plaintext)
  wipe(sharedSecret, key, plaintext)
  return { ...publicPart, envelope }
}

function encapsulateFor(
  { storeId, directoryHash }: SlotPlace,
  epoch: AuditKeys | EpochKeys,
  { kind, id, kemKey, isAuditor }: Recipient,
): Encapsulation {
  const subkey = isAuditor ? epoch.auditorSlotKey : memberKeys(epoch).slotKey
  const place = [fromHex(storeId), directoryHash, Uint8Array.of(recipientKinds[kind]), fromHex(id)]
  const seed = keyedHash(64, subkey, SEED_LABEL, ...place, kemKey)
  try {
    return encapsulateTo(kemKey, seed)
  } finally {
    wipe(seed)
  }
}

/** Throws `keyring_slots` for a key that nothing can be sealed to. */
export function checkSealable({ kemKey }: Pick<Recipient, 'kemKey'>): void {
  wipe(encapsulateTo(kemKey, new Uint8Array(64)).sharedSecret)
}

function encapsulateTo(kemKey: Uint8Array, seed: Uint8Array): Encapsulation {
  try {
    return encapsulate(kemKey, seed)
  } catch (error) {
    const message = 'A keyring lists an encryption key that nothing can be sealed to'
    throw new StoreError('keyring_slots', message, { cause: error })
  }
}

function contentKeyOf(epoch: AuditKeys | EpochKeys): Uint8Array {
  return memberKeys(epoch).contentKey
}

function memberKeys(epoch: AuditKeys | EpochKeys): EpochKeys {
  assert(opensContents(epoch), 'an auditor seals slots of auditors only')
  return epoch
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
