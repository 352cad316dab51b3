// Opens a keyring's slots with what a user has: a device's identity, a passphrase, a recovery key
// or an operator secret (FORMAT §7). Must not decide about trust, nor read what the keys open.

import type { KemKeyPair } from '../crypto/recipient.ts'
import { StoreError } from '../errors.ts'
import { formatId } from '../format/id.ts'
import type { KeyringFile } from '../format/keyring.ts'
import { TimeSlice } from '../time-slice.ts'
import type { AuditKeys, EpochKeys } from './epoch.ts'
import { type Identity, parseOperatorSecret, parseRecoveryKey } from './identity.ts'
import {
  operatorKeys,
  operatorRecoveryKey,
  passphraseIdentity,
  type RecoveryIdentity,
  recoveryKeyIdentity,
} from './recovery.ts'
import { openSlot } from './slot.ts'

/** The secret that opens a keyring. */
export type Unlock =
  | { readonly type: 'identity'; readonly identity: Identity }
  | { readonly type: 'passphrase'; readonly passphrase: string }
  | { readonly type: 'recovery'; readonly recoveryKey: string }
  | { readonly type: 'operator'; readonly operatorSecret: string }

const wrongKey = {
  device:
    'This identity is not, or is no longer, a device of the store; an owner must add it, or a ' +
    'passphrase or recovery key must enrol it',
  passphrase: 'The passphrase is wrong',
  recovery: 'The recovery key is wrong or was replaced',
  operator: 'The operator secret does not open this store, or does not any more',
} as const

/** The keys in a slot, and the identity of the passphrase or recovery key that opened it. */
export interface OpenedSlot {
  readonly epoch: AuditKeys | EpochKeys
  readonly recovery: RecoveryIdentity | undefined
}

export async function openWith(file: KeyringFile, unlock: Unlock): Promise<OpenedSlot> {
  const { storeId } = file
  switch (unlock.type) {
    case 'identity':
      return { epoch: await openDeviceSlot(file, unlock.identity), recovery: undefined }
    case 'passphrase':
      return openWithPassphrase(file, unlock.passphrase)
    case 'recovery':
      return openWithRecoveryKey(file, recoveryKeyFor(storeId, unlock.recoveryKey))
    case 'operator':
      return openWithOperatorSecret(file, parseOperatorSecret(unlock.operatorSecret))
    default:
      return unlock satisfies never
  }
}

function recoveryKeyFor(storeId: string, text: string): Uint8Array {
  const { key, isOf } = parseRecoveryKey(text)
  if (isOf(storeId)) return key
  const id = formatId('store', storeId)
  throw new StoreError('wrong_key', `The recovery key is of another store than this one, ${id}`)
}

async function openWithRecoveryKey(file: KeyringFile, key: Uint8Array): Promise<OpenedSlot> {
  const recovery = recoveryKeyIdentity(file.storeId, key)
  const epoch = await findKeySlot(file, recovery.kem)
  if (epoch === undefined) throw new StoreError('wrong_key', wrongKey.recovery)
  return { epoch, recovery }
}

/** Which of its keys the store has now is not known before one opens it. */
async function openWithOperatorSecret(file: KeyringFile, secret: Uint8Array): Promise<OpenedSlot> {
  for (let counter = 0; counter < operatorKeys; counter += 1) {
    const key = operatorRecoveryKey(file.storeId, secret, counter)
    const recovery = recoveryKeyIdentity(file.storeId, key)
    const epoch = await findKeySlot(file, recovery.kem)
    if (epoch !== undefined) return { epoch, recovery }
  }
  throw new StoreError('wrong_key', wrongKey.operator)
}

/** A joined keyring may have several passphrases, each with its own salt. */
async function openWithPassphrase(file: KeyringFile, passphrase: string): Promise<OpenedSlot> {
  const slots = file.slots.flatMap((slot) =>
    slot.passphrase ? [[slot, slot.passphrase] as const] : [],
  )
  for (const [slot, { argon2 }] of slots) {
    const recovery = await passphraseIdentity(file.storeId, passphrase, argon2)
    const epoch = openSlot(file, slot, recovery.kem)
    if (epoch !== undefined) return { epoch, recovery }
  }
  if (slots.length === 0) {
    throw new StoreError('wrong_key', 'The store has no passphrase; use the recovery key')
  }
  throw new StoreError('wrong_key', wrongKey.passphrase)
}

/** Throws `wrong_key`. */
export async function openDeviceSlot(
  file: KeyringFile,
  { kem }: Identity,
): Promise<AuditKeys | EpochKeys> {
  const epoch = await findKeySlot(file, kem)
  if (epoch === undefined) throw new StoreError('wrong_key', wrongKey.device)
  return epoch
}

/** Pauses between slots: an unverified keyring may have hundreds, at a third of a ms each. */
async function findKeySlot(
  file: KeyringFile,
  pair: KemKeyPair,
): Promise<AuditKeys | EpochKeys | undefined> {
  const slice = new TimeSlice()
  for (const slot of file.slots) {
    if (slot.type !== 'key') continue
    const epoch = openSlot(file, slot, pair)
    if (epoch !== undefined) return epoch
    if (slice.isOver()) await slice.next()
  }
  return undefined
}
