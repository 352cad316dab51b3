// Opens the store that the command line would open, so that programs need no paths.

import { loadSodium } from '../crypto/sodium.ts'
import { StoreError } from '../errors.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { openStore } from '../store/open.ts'
import type { OpenOptions } from '../store/session/open-options.ts'
import { cloneNameOf, findGrant } from './grant.ts'
import { findIdentity } from './identity-file.ts'
import { defaultPlaces, type Variables } from './places.ts'

/** The author of merges that no one asked for. */
const merging = { actor: { type: 'service_account', id: 'gitlocket' } } as const

export type DefaultStoreOptions = Omit<OpenOptions, 'directory' | 'stateDirectory' | 'identity'>

/**
 * Opens the store that `gitlocket` would open with these variables, by default `process.env`: the
 * store of GITLOCKET_STORE or XDG_DATA_HOME, with its identity file and its state directory. Throws
 * what `openStore` throws, and `invalid_identity` if there is no identity file. GITLOCKET_GRANT or
 * GITLOCKET_GRANT_FILE opens the store of that grant instead, from GITLOCKET_REMOTE: then it throws
 * what `openGranted` throws.
 */
export async function openDefaultStore(
  variables: Variables = process.env,
  options: DefaultStoreOptions = {},
): Promise<MemoryStore> {
  const grant = findGrant(variables)
  const found = defaultPlaces(variables, grant && cloneNameOf(grant))
  if (grant !== undefined) {
    const { directory, stateDirectory } = found
    const { openGranted } = await import('../store/open-granted.ts')
    const access = { environment: variables }
    const store = await openGranted({ ...options, ...grant, directory, stateDirectory, access })
    store.syncAutomatically({ author: merging, access })
    return store
  }
  const { identityFile, identityIsNamed, directory, stateDirectory } = found
  await loadSodium()
  const identity = findIdentity({ identityFile, identityIsNamed })
  if (identity !== undefined) return openStore({ ...options, directory, stateDirectory, identity })
  throw new StoreError(
    'invalid_identity',
    `There is no identity file at ${identityFile}: \`gitlocket init\` creates it, and a store`,
  )
}
