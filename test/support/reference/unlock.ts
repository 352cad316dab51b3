// FORMAT §7, recovery identities, and §7.5: from an identity, a passphrase or a recovery key to the
// epochs of a keyring. Opened values are tentative until the chain verifies (§7.1).

import { argon2id } from '@noble/hashes/argon2.js'
import { openArchives } from './archives.ts'
import { fromHex, label, Reader, utf8 } from './bytes.ts'
import { areAllowed } from './directory.ts'
import { keyedH, subkey } from './hash.ts'
import {
  deviceIdOf,
  operatorRecoveryKeys,
  parseIdentity,
  parseOperatorSecret,
  parseRecoveryKey,
  storeEndOf,
} from './identity.ts'
import { type Keyring, openDirectory } from './keyring.ts'
import type { Epoch } from './keys.ts'
import { ensure, refuse } from './refusal.ts'
import { publicKeyOf } from './signature.ts'
import { openSlot, type Slot } from './slots.ts'

export type Secret =
  | { readonly identity: string }
  | { readonly passphrase: string }
  | { readonly recoveryKey: string }
  | { readonly operatorSecret: string }

export interface RecoveryIdentity {
  readonly kemSeed: Uint8Array
  readonly signingSeed: Uint8Array
}

function recoveryIdentity(root: Uint8Array): RecoveryIdentity {
  return { kemSeed: subkey(root, 1, 'GLK1rcvr'), signingSeed: subkey(root, 2, 'GLK1rcvr') }
}

export interface PassphraseParameters {
  /** 16 bytes. */
  readonly salt: Uint8Array
  readonly passes: number
  readonly memoryKiB: number
}

/** Refuses with `weak_key_parameters` before it hashes. */
function passphraseIdentity(
  seed: string,
  passphrase: string,
  { salt, passes, memoryKiB }: PassphraseParameters,
): RecoveryIdentity {
  const allowed = areAllowed({ passes, memoryKiB })
  ensure(allowed, 'weak_key_parameters', 'The Argon2id parameters are not allowed')
  const password = utf8(passphrase.normalize('NFC'))
  const stretched = argon2id(password, salt, { t: passes, m: memoryKiB, p: 1, dkLen: 32 })
  return recoveryIdentity(keyedH(stretched, label('GLK1/slot/pass/v1'), fromHex(seed)))
}

function recoveryKeyIdentity(seed: string, key: Uint8Array): RecoveryIdentity {
  return recoveryIdentity(keyedH(key, label('GLK1/slot/recovery/v1'), fromHex(seed)))
}

/** The parameters in a slot of type 2, unchecked. */
function passphraseParameters(slot: Slot): PassphraseParameters {
  const reader = new Reader(slot.publicBytes, 'keyring_malformed')
  reader.raw(16)
  return { salt: reader.raw(16), passes: reader.u32(), memoryKiB: reader.u32() }
}

/** All epochs of the keyring, oldest first; the last is its own. Else `wrong_key`. */
export function unlock(keyring: Keyring, storeId: string, secret: Secret): Epoch[] {
  const epoch = openSome(keyring, storeId, secret)
  const older = openArchives(keyring, epoch)
  if (epoch.content === undefined) checkAuditor(keyring, epoch, secret)
  return [...older, epoch]
}

/** Only an auditor's slot lacks the content key. The slots show that. */
function checkAuditor(keyring: Keyring, epoch: Epoch, secret: Secret): void {
  const { devices } = openDirectory(keyring, epoch)
  const own = 'identity' in secret ? ownId(secret.identity) : undefined
  const audits = devices.some((one) => one.deviceId === own && one.role === 'auditor')
  ensure(audits, 'keyring_slots', 'The slot is an auditor’s, and its holder is none')
}

function ownId(identity: string): string {
  return deviceIdOf(publicKeyOf(parseIdentity(identity).signingSeed))
}

function openSome(keyring: Keyring, storeId: string, secret: Secret): Epoch {
  const { seed } = keyring
  if ('passphrase' in secret) {
    return openFirst(keyring, 2, (slot) => {
      return [passphraseIdentity(seed, secret.passphrase, passphraseParameters(slot)).kemSeed]
    })
  }
  const seeds = kemSeedsOf(seed, storeId, secret)
  return openFirst(keyring, 1, () => seeds)
}

/** The seeds of the X-Wing keys that a secret gives for a store. */
function kemSeedsOf(
  seed: string,
  storeId: string,
  secret: Exclude<Secret, { readonly passphrase: string }>,
): readonly Uint8Array[] {
  if ('identity' in secret) return [parseIdentity(secret.identity).kemSeed]
  return recoveryKeysOf(seed, storeId, secret).map((key) => recoveryKeyIdentity(seed, key).kemSeed)
}

function recoveryKeysOf(
  seed: string,
  storeId: string,
  secret: { readonly recoveryKey: string } | { readonly operatorSecret: string },
): readonly Uint8Array[] {
  if ('operatorSecret' in secret) {
    return operatorRecoveryKeys(parseOperatorSecret(secret.operatorSecret), seed)
  }
  const { storeEnd, key } = parseRecoveryKey(secret.recoveryKey)
  ensure(storeEnd === storeEndOf(storeId), 'wrong_key', 'The recovery key is another store’s')
  return [key]
}

/** Tries the slots of a type. */
function openFirst(
  keyring: Keyring,
  type: Slot['type'],
  kemSeedsFor: (slot: Slot) => readonly Uint8Array[],
): Epoch {
  for (const slot of keyring.slots.filter((s) => s.type === type)) {
    for (const kemSeed of kemSeedsFor(slot)) {
      const epoch = tryOpen(keyring, slot, kemSeed)
      if (epoch !== undefined) return epoch
    }
  }
  return refuse('wrong_key', 'No slot of the keyring opens with this key')
}

/** Undefined if the commitment does not match: the slot is another's. */
function tryOpen(keyring: Keyring, slot: Slot, kemSeed: Uint8Array): Epoch | undefined {
  try {
    return openSlot(keyring, slot, kemSeed)
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('envelope_commitment')) return undefined
    throw error
  }
}
