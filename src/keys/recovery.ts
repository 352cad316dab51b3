// Recovery identities (FORMAT §7): a passphrase and a recovery key each give two key pairs, so that
// an owner can seal a new epoch to them without knowing either, and they can enrol a device.

import { fromHex, label, toHex } from '../bytes.ts'
import { deriveKey, keyedHash } from '../crypto/digest.ts'
import { stretchPassphrase } from '../crypto/passphrase.ts'
import type { Random } from '../crypto/random.ts'
import { type KemKeyPair, kemKeyPair } from '../crypto/recipient.ts'
import { type SigningKeyPair, signingKeyPair } from '../crypto/signature.ts'
import { wipe } from '../crypto/sodium.ts'
import { StoreError } from '../errors.ts'
import type { Argon2Parameters } from '../format/directory.ts'
import type { Seeded } from '../format/envelope.ts'
import { argon2, passphraseCharactersMin, type StretchParameters } from '../limits.ts'

export interface RecoveryIdentity {
  readonly signing: SigningKeyPair
  readonly kem: KemKeyPair
}

const CONTEXT = 'GLK1rcvr'
const PASSPHRASE_LABEL = label('GLK1/slot/pass/v1')
const RECOVERY_KEY_LABEL = label('GLK1/slot/recovery/v1')
const OPERATOR_LABEL = label('GLK1/operator/v1')

/**
 * Throws `weak_key_parameters` or `cancelled`. Takes about a second. Bound to the store, as a
 * recovery key is.
 */
export async function passphraseIdentity(
  { seed }: Seeded,
  passphrase: string,
  parameters: Argon2Parameters,
  signal?: AbortSignal,
): Promise<RecoveryIdentity> {
  const stretched = await stretchPassphrase({ passphrase, ...parameters }, signal)
  const root = keyedHash(32, stretched, PASSPHRASE_LABEL, fromHex(seed))
  wipe(stretched)
  return identityOf(root)
}

/** Derives the identity of a 32-byte recovery key, which needs no stretching. */
export function recoveryKeyIdentity({ seed }: Seeded, key: Uint8Array): RecoveryIdentity {
  return identityOf(keyedHash(32, key, RECOVERY_KEY_LABEL, fromHex(seed)))
}

/** The recovery keys that an operator secret gives for one store, one after the other. */
export const operatorKeys = 16

/** The recovery key number `counter` of an operator secret of 32 bytes (FORMAT §1.3). */
export function operatorRecoveryKey(
  { seed }: Seeded,
  secret: Uint8Array,
  counter: number,
): Uint8Array {
  return keyedHash(32, secret, OPERATOR_LABEL, fromHex(seed), Uint8Array.of(counter))
}

/**
 * The first key of an operator secret that a store never had: an older one may have been removed
 * because it leaked. `known` are the signing keys of all its recovery entries, ever, in hex. Throws
 * `store_full`.
 */
export function nextOperatorKey(
  store: Seeded,
  secret: Uint8Array,
  known: ReadonlySet<string>,
): Uint8Array {
  for (const [counter, signingKey] of operatorSigningKeys(store, secret).entries()) {
    if (!known.has(toHex(signingKey))) return operatorRecoveryKey(store, secret, counter)
  }
  throw new StoreError(
    'store_full',
    `The store has had all ${operatorKeys} recovery keys that this operator secret gives for it: ` +
      'make a new operator secret',
  )
}

/** The signing keys of all recovery keys that an operator secret gives for a store, in order. */
export function operatorSigningKeys(store: Seeded, secret: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: operatorKeys }, (_, counter) => {
    const key = operatorRecoveryKey(store, secret, counter)
    return recoveryKeyIdentity(store, key).signing.publicKey
  })
}

/** The parameters of stretching a new passphrase. */
export interface Stretching extends Seeded {
  readonly random: Random
  /** Minimum costs; those of earlier passphrases apply too. */
  readonly stretch: StretchParameters
}

/**
 * Stretches a new passphrase, if there is one, with a new salt and at least the cost of the ones in
 * `before`. Throws `invalid_input`.
 */
export async function newPassphrase(
  passphrase: string | null | undefined,
  before: readonly Argon2Parameters[],
  { random, stretch, ...store }: Stretching,
): Promise<{ readonly argon2: Argon2Parameters; readonly identity: RecoveryIdentity } | undefined> {
  if (passphrase === null || passphrase === undefined) return undefined
  checkNewPassphrase(passphrase)
  // Starts from our own bounds: a previous keyring can raise the cost, within the ceiling, but not
  // lower it.
  const parameters = {
    salt: random(16),
    passes: atMost(argon2.passes, stretch.passes, ...before.map((one) => one.passes)),
    memoryKiB: atMost(argon2.memoryKiB, stretch.memoryKiB, ...before.map((one) => one.memoryKiB)),
  }
  return { argon2: parameters, identity: await passphraseIdentity(store, passphrase, parameters) }
}

function atMost({ ceiling }: { readonly ceiling: number }, ...values: readonly number[]): number {
  return Math.min(Math.max(...values), ceiling)
}

/** For new passphrases only: existing ones are always accepted. */
function checkNewPassphrase(passphrase: string): void {
  if (Array.from(passphrase).length < passphraseCharactersMin || !passphrase.isWellFormed()) {
    const least = `A passphrase must have at least ${passphraseCharactersMin} characters`
    throw new StoreError('invalid_input', least)
  }
  // Another version of Unicode may give them another normal form, and so another key.
  if (/\p{Cn}/u.test(passphrase)) {
    throw new StoreError(
      'invalid_input',
      'A passphrase must not have characters that this release of Node does not know',
    )
  }
}

/** Derives both key pairs, and wipes the root. */
function identityOf(root: Uint8Array): RecoveryIdentity {
  const kem = kemKeyPair(deriveKey(root, 1, CONTEXT))
  const signing = signingKeyPair(deriveKey(root, 2, CONTEXT))
  wipe(root)
  return { kem, signing }
}
