// The secrets that open a store without a device: passphrases and recovery keys. Keeps no secret.

import { equalBytes } from '../../bytes.ts'
import type { RecoveryEntry } from '../../format/directory.ts'
import type { Seeded } from '../../format/envelope.ts'
import { operatorSigningKeys } from '../../keys/recovery.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** The number of passphrases and recovery keys. */
export interface Secrets {
  readonly passphrases: number
  readonly recoveryKeys: number
}

export function countSecrets({ keyring }: Pick<Snapshot, 'keyring'>): Secrets {
  const count = (type: RecoveryEntry['type']): number => {
    return keyring.directory.recovery.filter((entry) => entry.type === type).length
  }
  return { passphrases: count('passphrase'), recoveryKeys: count('recovery') }
}

/** Whether there are recovery keys, and all of them follow from an operator secret. */
export function isRecoveredBy(
  store: Seeded,
  { keyring }: Pick<Snapshot, 'keyring'>,
  operatorSecret: Uint8Array,
): boolean {
  const entries = keyring.directory.recovery.filter(({ type }) => type === 'recovery')
  const own = operatorSigningKeys(store, operatorSecret)
  const follows = ({ signingKey }: RecoveryEntry): boolean => {
    return own.some((key) => equalBytes(key, signingKey))
  }
  return entries.length > 0 && entries.every(follows)
}
