// Counts what opens a store besides its devices: passphrases and recovery keys. Knows none of them.

import type { RecoveryEntry } from '../../format/directory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** What opens the store besides its devices: several passphrases only after keyrings joined. */
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
