// The store that the command line would open, for programs: no paths in them.

import { loadSodium } from '../crypto/sodium.ts'
import { StoreError } from '../errors.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { openStore } from '../store/open.ts'
import type { OpenOptions } from '../store/session/open-options.ts'
import { findIdentity } from './identity-file.ts'
import { defaultPlaces, type Variables } from './places.ts'

export type DefaultStoreOptions = Omit<OpenOptions, 'directory' | 'stateDirectory' | 'identity'>

/**
 * Opens what `gitlocket` would open with these variables, `process.env` unless given: the store of
 * GITLOCKET_STORE or of XDG_DATA_HOME, with the identity file and the state directory beside it.
 * Throws as `openStore`, and `invalid_identity` where there is no identity file.
 */
export async function openDefaultStore(
  variables: Variables = process.env,
  options: DefaultStoreOptions = {},
): Promise<MemoryStore> {
  const { identityFile, ...places } = defaultPlaces(variables)
  await loadSodium()
  const identity = findIdentity(identityFile)
  if (identity !== undefined) return openStore({ ...options, ...places, identity })
  throw new StoreError(
    'invalid_identity',
    `There is no identity file at ${identityFile}: \`gitlocket init\` makes it, and a store`,
  )
}
