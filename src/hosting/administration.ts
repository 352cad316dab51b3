// Keys, workspaces and stores of a server, for whoever runs it: works whether the server runs or
// not, which notices at its next request.

import { StoreError } from '../errors.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { openStore } from '../store/open.ts'
import { Catalogue, missing, type Workspace } from './catalogue.ts'
import { type ApiKey, Credentials } from './credentials.ts'
import { DataDirectory, type HostNotice, type HostPlaces } from './data-directory.ts'

export interface HostAdministration {
  /** The first is where keys belong unless told otherwise. */
  workspaces(): readonly Workspace[]
  createWorkspace(name: string): Promise<Workspace>
  /** Oldest first, revoked ones too. */
  keys(): readonly ApiKey[]
  /** The token is returned here and nowhere else. Rejects with `not_found` for the workspace. */
  createKey(
    name: string,
    workspaceId?: string,
  ): Promise<{ readonly key: ApiKey; readonly token: string }>
  /** Rejects with `not_found`. A revoked key stays revoked. */
  revokeKey(keyId: string): Promise<ApiKey>
  /** `memstore_…`, of all workspaces. */
  storeIds(): readonly string[]
  /** Opens a store, also beside the server. Rejects with `not_found`, and as `openStore` does. */
  use<T>(storeId: string, work: (store: MemoryStore) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/**
 * Makes the data directory if there is none. Throws `rolled_back`, `wrong_key`, `locked` or a
 * storage code.
 */
export async function openHostAdministration(
  options: HostPlaces & { readonly notice?: (notice: HostNotice) => void },
): Promise<HostAdministration> {
  const directory = new DataDirectory(options)
  const { notice = () => undefined } = options
  await directory.make()
  try {
    const catalogue = await Catalogue.open(directory, notice, false)
    const credentials = await Credentials.open(directory, notice, false)
    return administrationOf(directory, catalogue, credentials)
  } catch (error) {
    await directory.close()
    throw error
  }
}

function administrationOf(
  directory: DataDirectory,
  catalogue: Catalogue,
  credentials: Credentials,
): HostAdministration {
  return {
    workspaces: () => catalogue.workspaces,
    createWorkspace: (name) => catalogue.addWorkspace(name),
    keys: () => credentials.keys(),
    async createKey(name, workspaceId) {
      const found = catalogue.workspaces.find((one) => {
        return workspaceId === undefined || one.workspaceId === workspaceId
      })
      if (found === undefined) throw new StoreError('not_found', 'There is no such workspace')
      return credentials.createKey(found.workspaceId, name)
    },
    revokeKey: (keyId) => credentials.revokeKey(keyId),
    storeIds: () => catalogue.stores.map(({ storeId }) => storeId),
    async use(storeId, work) {
      if (catalogue.find(storeId) === undefined) missing()
      const store = await openStore(directory.placeOf(storeId))
      try {
        return await work(store)
      } finally {
        await store.close()
      }
    },
    close: () => directory.close(),
  }
}
