// FORMAT §7: the slots of a keyring. They follow from the directory and the keys of the epoch: an
// auditor makes those of auditors again, everybody else all of them.

import { concat, fromHex, label, toHex, u32, u8 } from './bytes.ts'
import { type Device, type Directory, directoryHash, type RecoveryEntry } from './directory.ts'
import { checkPadding, openEnvelope, sealEnvelope, slotContext, zeroHedge } from './envelope.ts'
import { H, keyedBlake2b, keyedH } from './hash.ts'
import { decapsulate, encapsulate, kemPublicKey } from './kem.ts'
import {
  auditorEpoch,
  auditorSlotKey,
  auditSaltKey,
  type Epoch,
  fullEpoch,
  kidOf,
  slotSeedKey,
} from './keys.ts'
import { ensure, refuse } from './refusal.ts'

export const ciphertextLength = 1120

export interface Slot {
  readonly type: 1 | 2
  /** What stands before the envelope; it ends in the KEM ciphertext. */
  readonly publicBytes: Uint8Array
  readonly envelope: Uint8Array
}

export function slotBody({ publicBytes, envelope }: Slot): Uint8Array {
  return concat(publicBytes, envelope)
}

function slotKey(
  seed: string,
  sharedSecret: Uint8Array,
  publicKey: Uint8Array,
  ciphertext: Uint8Array,
): Uint8Array {
  const names = concat(label('GLK1/slot/xwing/v1'), fromHex(seed))
  return keyedH(sharedSecret, names, H(publicKey), H(ciphertext))
}

const kinds = { nobody: 0, device: 1, passphrase: 2, recoveryKey: 3 } as const

/** The holder of a slot. */
interface Recipient {
  readonly kind: keyof typeof kinds
  /** Hex: the device's, the slot's, or a number for a decoy. */
  readonly id: string
  readonly kemKey: Uint8Array
  readonly isAuditor: boolean
  /** The public bytes before the KEM ciphertext. */
  readonly prefix: Uint8Array
}

function deviceRecipient({ deviceId, kemKey, role }: Device): Recipient {
  const isAuditor = role === 'auditor'
  return { kind: 'device', id: deviceId, kemKey, isAuditor, prefix: new Uint8Array() }
}

function recoveryRecipient(entry: RecoveryEntry): Recipient {
  const kind = entry.slotType === 2 ? 'passphrase' : 'recoveryKey'
  const { slotId: id, kemKey } = entry
  return { kind, id, kemKey, isAuditor: false, prefix: passphrasePrefix(entry) }
}

/** The public bytes of a slot of type 2 up to the salt's costs; else none. */
export function passphrasePrefix(entry: RecoveryEntry): Uint8Array {
  if (entry.slotType !== 2) return new Uint8Array()
  const { slotId, salt, passes, memoryKiB } = entry
  return concat(fromHex(slotId), salt, u32(passes), u32(memoryKiB))
}

function nobody(seed: string, epoch: Epoch, hash: string, index: number): Recipient {
  const id = index.toString(16).padStart(32, '0')
  const place = concat(label('GLK1/slot/nobody/v1'), fromHex(seed + hash + id))
  const kemKey = kemPublicKey(keyedH(slotSeedKey(epoch), place))
  return { kind: 'nobody', id, kemKey, isAuditor: false, prefix: new Uint8Array() }
}

function makeSlot(seed: string, epoch: Epoch, hash: string, recipient: Recipient): Slot {
  const { kind, id, kemKey, isAuditor, prefix } = recipient
  const type = kind === 'passphrase' ? 2 : 1
  const seedKey = isAuditor ? auditorSlotKey(epoch) : slotSeedKey(epoch)
  const place = concat(fromHex(seed + hash), u8(kinds[kind]), fromHex(id), kemKey)
  const eseed = keyedBlake2b(64, seedKey, concat(label('GLK1/slot/eseed/v1'), place))
  const made = encapsulate(kemKey, eseed)
  if (made === undefined) return refuse('keyring_slots', 'Nothing can be sealed to an X-Wing key')
  const { ciphertext, sharedSecret } = made
  const publicBytes = concat(prefix, ciphertext)
  const key = slotKey(seed, sharedSecret, kemKey, ciphertext)
  const keys = { kid: epoch.kid, key, saltKey: auditSaltKey(epoch) }
  const plaintext = isAuditor ? auditorSlotText(epoch) : fullSlotText(epoch)
  const context = slotContext(seed, type, publicBytes)
  return { type, publicBytes, envelope: sealEnvelope('slot', keys, context, zeroHedge, plaintext) }
}

function fullSlotText({ audit, content }: Epoch): Uint8Array {
  if (content === undefined) return refuse('permission_denied', 'An auditor makes no such slot')
  return concat(audit, content)
}

function auditorSlotText({ audit, contentHash }: Epoch): Uint8Array {
  return concat(audit, contentHash)
}

/** How many slots there are of each type. */
export function slotCounts({ devices, recoveries }: Directory): { 1: number; 2: number } {
  const passphrases = recoveries.filter((entry) => entry.slotType === 2).length
  let ones = 4
  while (ones < devices.length + recoveries.length - passphrases) ones *= 2
  return { 1: ones, 2: passphrases }
}

/** All slots of a keyring, in their order. */
export function makeSlots(seed: string, epoch: Epoch, directory: Directory): Slot[] {
  const hash = directoryHash(seed, directory)
  const { devices, recoveries } = directory
  const members = [...devices.map(deviceRecipient), ...recoveries.map(recoveryRecipient)]
  const counts = slotCounts(directory)
  const missing = counts[1] + counts[2] - members.length
  const nobodies = Array.from({ length: missing }, (_, i) => nobody(seed, epoch, hash, i))
  const slots = [...members, ...nobodies].map((one) => makeSlot(seed, epoch, hash, one))
  return slots.toSorted((a, b) => (slotOrder(a) < slotOrder(b) ? -1 : 1))
}

/** Ascends by type, and among one type by body; bodies of type 2 begin with the slot id. */
export function slotOrder(slot: Slot): string {
  return `${slot.type} ${toHex(slotBody(slot))}`
}

/** The slots of auditors alone, which take no content key. */
export function makeAuditorSlots(seed: string, epoch: Epoch, directory: Directory): Slot[] {
  const hash = directoryHash(seed, directory)
  const auditors = directory.devices.filter((device) => device.role === 'auditor')
  return auditors.map((device) => makeSlot(seed, epoch, hash, deviceRecipient(device)))
}

export interface SlotPlace {
  readonly seed: string
  readonly kid: string
}

/**
 * The epoch in a slot, opened with the seed of an X-Wing key pair; refuses as openEnvelope does.
 */
export function openSlot({ seed, kid }: SlotPlace, slot: Slot, kemSeed: Uint8Array): Epoch {
  const ciphertext = slot.publicBytes.slice(-ciphertextLength)
  const { publicKey, sharedSecret } = decapsulate(ciphertext, kemSeed)
  const key = slotKey(seed, sharedSecret, publicKey, ciphertext)
  const context = slotContext(seed, slot.type, slot.publicBytes)
  // The salt key is inside: who has opened the directory makes the slot again.
  const keys = { kid, key, saltKey: new Uint8Array(32) }
  const padded = openEnvelope('slot', keys, context, slot.envelope)
  checkPadding('slot', padded, 64)
  const [audit, second] = [padded.slice(0, 32), padded.slice(32, 64)]
  if (kidOf(seed, audit, H(second)) === kid) return fullEpoch(seed, audit, second)
  const auditor = auditorEpoch(seed, audit, second)
  ensure(auditor.kid === kid, 'keyring_mismatch', 'The slot holds the keys of another epoch')
  return auditor
}
