// Opens a keyring's slots with what a user has: a device's identity, a passphrase, a recovery key
// or an operator secret (FORMAT §7). Must not decide about trust, nor read what the keys open.

import type { KemKeyPair } from '../crypto/recipient.ts'
import { StoreError } from '../errors.ts'
import { formatId } from '../format/id.ts'
import type { KeyringFile } from '../format/keyring.ts'
import { inSlices } from '../time-slice.ts'
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

export const wrongKey = {
  device:
    'This identity is not, or is no longer, a device of the store; an owner must add it, or a ' +
    'passphrase or recovery key must enrol it',
  passphrase: 'The passphrase is wrong',
  recovery: 'The recovery key is wrong or was replaced',
  grant:
    'The keys of the store have changed since the device that gave the grant last synced: the ' +
    'grant opens the store again once that device has synced, unless it or the grant was ' +
    'removed. Changes that were not sent are kept',
  operator: 'The operator secret does not open this store, or does not any more',
} as const

/** The keys in a slot, and the identity of the passphrase or recovery key that opened it. */
export interface OpenedSlot {
  readonly epoch: AuditKeys | EpochKeys
  readonly recovery: RecoveryIdentity | undefined
}

/** Throws `wrong_key`, `weak_key_parameters`, `invalid_identity`, or `cancelled`. */
export async function openWith(
  file: KeyringFile,
  storeId: string,
  unlock: Unlock,
  signal: AbortSignal | undefined,
): Promise<OpenedSlot> {
  switch (unlock.type) {
    case 'identity':
      return { epoch: await openOwn(file, unlock.identity, signal), recovery: undefined }
    case 'passphrase':
      return openWithPassphrase(file, unlock.passphrase, signal)
    case 'recovery': {
      const keys = [recoveryKeyFor(storeId, unlock.recoveryKey)]
      return (await openWithKeys(file, keys, signal)) ?? refuse('recovery')
    }
    case 'operator': {
      const keys = operatorKeysOf(file, parseOperatorSecret(unlock.operatorSecret))
      return (await openWithKeys(file, keys, signal)) ?? refuse('operator')
    }
    default:
      return unlock satisfies never
  }
}

async function openOwn(
  file: KeyringFile,
  identity: Identity,
  signal: AbortSignal | undefined,
): Promise<AuditKeys | EpochKeys> {
  if (identity.grant === undefined) return openDeviceSlot(file, identity, signal)
  return identity.grant.epochOf(file.kid) ?? refuse('grant')
}

function recoveryKeyFor(storeId: string, text: string): Uint8Array {
  const { key, isOf } = parseRecoveryKey(text)
  if (isOf(storeId)) return key
  const id = formatId('store', storeId)
  throw new StoreError('wrong_key', `The recovery key is of another store than this one, ${id}`)
}

/** Which of its keys the store has now is not known before one opens it. */
function* operatorKeysOf(file: KeyringFile, secret: Uint8Array): Generator<Uint8Array> {
  for (let counter = 0; counter < operatorKeys; counter += 1) {
    yield operatorRecoveryKey(file, secret, counter)
  }
}

function openWithKeys(
  file: KeyringFile,
  keys: Iterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<OpenedSlot | undefined> {
  return inSlices(findRecoverySlot(file, keys), signal)
}

function* findRecoverySlot(
  file: KeyringFile,
  keys: Iterable<Uint8Array>,
): Generator<undefined, OpenedSlot | undefined> {
  for (const key of keys) {
    const recovery = recoveryKeyIdentity(file, key)
    const epoch = yield* findKeySlot(file, recovery.kem)
    if (epoch !== undefined) return { epoch, recovery }
  }
  return undefined
}

async function openWithPassphrase(
  file: KeyringFile,
  passphrase: string,
  signal: AbortSignal | undefined,
): Promise<OpenedSlot> {
  const slot = file.slots.find((one) => one.passphrase !== undefined)
  if (slot?.passphrase === undefined) {
    throw new StoreError('wrong_key', 'The store has no passphrase; use the recovery key')
  }
  const { argon2 } = slot.passphrase
  const recovery = await passphraseIdentity(file, passphrase, argon2, signal)
  const epoch = openSlot(file, slot, recovery.kem)
  return epoch === undefined ? refuse('passphrase') : { epoch, recovery }
}

/** Throws `wrong_key` or `cancelled`. */
export async function openDeviceSlot(
  file: KeyringFile,
  { kem }: Identity,
  signal: AbortSignal | undefined,
): Promise<AuditKeys | EpochKeys> {
  return (await inSlices(findKeySlot(file, kem), signal)) ?? refuse('device')
}

/** In steps, one for each slot: an unverified keyring may have hundreds, at a ms or two each. */
function* findKeySlot(
  file: KeyringFile,
  pair: KemKeyPair,
): Generator<undefined, AuditKeys | EpochKeys | undefined> {
  for (const slot of file.slots) {
    if (slot.type !== 'key') continue
    yield
    const epoch = openSlot(file, slot, pair)
    if (epoch !== undefined) return epoch
  }
  return undefined
}

function refuse(kind: keyof typeof wrongKey): never {
  throw new StoreError('wrong_key', wrongKey[kind])
}
