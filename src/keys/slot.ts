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
import { wipe } from '../crypto/sodium.ts'
import { assert, hasCode, StoreError } from '../errors.ts'
import {
  checkPadding,
  noHedge,
  openEnvelope,
  sealEnvelope,
  slotContext,
  type Seeded,
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

const LABEL = label('GLK1/slot/xwing/v1')
const ESEED_LABEL = label('GLK1/slot/eseed/v1')

/**
 * Seals an epoch's keys for a recipient. The result is a function of its arguments, so that each
 * holder of the keys can check the slots of all others; an auditor those of auditors. Throws
 * `keyring_slots` for a key that nothing can be sealed to.
 */
export function sealSlot(
  epoch: AuditKeys | EpochKeys,
  directoryHash: Uint8Array,
  recipient: Recipient,
): Slot {
  const { kind, kemKey, passphrase, isAuditor } = recipient
  const type = kind === 'passphrase' ? 'passphrase' : 'key'
  const { ciphertext, sharedSecret } = encapsulateFor(epoch, directoryHash, recipient)
  const publicPart = { type, passphrase, ciphertext } as const
  const key = slotKey(epoch, sharedSecret, kemKey, ciphertext)
  const keys = { kid: epoch.kid, key, saltKey: epoch.slotSaltKey }
  const context = slotContext(epoch, slotTypes[type], slotPublicBytes(publicPart))
  const content = isAuditor ? epoch.contentKeyHash : contentKeyOf(epoch)
  const plaintext = concatBytes(epoch.auditKey, content)
  const envelope = sealEnvelope('slot', keys, context, noHedge, plaintext)
  wipe(sharedSecret, key, plaintext)
  return { ...publicPart, envelope }
}

function encapsulateFor(
  epoch: AuditKeys | EpochKeys,
  directoryHash: Uint8Array,
  { kind, id, kemKey, isAuditor }: Recipient,
): Encapsulation {
  const subkey = isAuditor ? epoch.auditorSlotKey : memberKeys(epoch).slotKey
  const holder = [Uint8Array.of(recipientKinds[kind]), fromHex(id), kemKey]
  const eseed = keyedHash(64, subkey, ESEED_LABEL, fromHex(epoch.seed), directoryHash, ...holder)
  try {
    return encapsulateTo(kemKey, eseed)
  } finally {
    wipe(eseed)
  }
}

/** Throws `keyring_slots` for a key that nothing can be sealed to. */
export function checkSealable({ kemKey }: Pick<Recipient, 'kemKey'>): void {
  wipe(encapsulateTo(kemKey, new Uint8Array(64)).sharedSecret)
}

function encapsulateTo(kemKey: Uint8Array, eseed: Uint8Array): Encapsulation {
  try {
    return encapsulate(kemKey, eseed)
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
  const { kid } = file
  const sharedSecret = decapsulate(slot.ciphertext, pair)
  const key = slotKey(file, sharedSecret, pair.publicKey, slot.ciphertext)
  const context = slotContext(file, slotTypes[slot.type], slotPublicBytes(slot))
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

function readEpoch({ seed, kid }: KeyringFile, padded: Uint8Array): AuditKeys | EpochKeys {
  checkPadding('slot', padded, slotPlaintextLength)
  const auditKey = padded.slice(0, 32)
  const content = padded.slice(32, 64)
  wipe(padded)
  if (kidOf(seed, auditKey, hash256(content)) === kid) {
    return epochKeys(seed, auditKey, content)
  }
  if (kidOf(seed, auditKey, content) === kid) {
    return auditKeys(seed, auditKey, content)
  }
  throw new StoreError('keyring_mismatch', 'A slot holds the keys of another epoch')
}

function slotKey(
  { seed }: Seeded,
  sharedSecret: Uint8Array,
  kemKey: Uint8Array,
  ciphertext: Uint8Array,
): Uint8Array {
  const binding = [LABEL, fromHex(seed), hash256(kemKey), hash256(ciphertext)]
  return keyedHash(32, sharedSecret, ...binding)
}
