// Keys, workspaces and stores of a server, for anyone who runs it: works whether the server runs or
// not, which notices at its next request.

import type { WorkOptions } from '../async.ts'
import { StoreError } from '../errors.ts'
import type { Actor } from '../format/change-record.ts'
import type { CreateOptions } from '../store/create.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { checkNotCancelled } from '../time-slice.ts'
import { Catalogue, type HostedStore, missing, type Workspace } from './catalogue.ts'
import { type ApiKey, Credentials } from './credentials.ts'
import { DataDirectory, type HostPlaces } from './data-directory.ts'
import type { HostBackend, HostNotice } from './host-backend.ts'
import { HostedStores, type HostRecovery } from './hosted-stores.ts'

export interface NewHostedStore extends HostRecovery {
  readonly name: string
  readonly actor: Actor
  readonly workspaceId?: string | undefined
  readonly limits?: CreateOptions['limits']
  /** Whether the settings have texts with secrets refused; true by default. */
  readonly refuseSecrets?: boolean
}

export interface HostAdministration {
  /** The first is where keys belong unless told otherwise. */
  workspaces(): Promise<readonly Workspace[]>
  createWorkspace(name: string): Promise<Workspace>
  /** Oldest first, revoked ones too. */
  keys(): Promise<readonly ApiKey[]>
  /** The token is returned here and nowhere else. Rejects with `not_found` for the workspace. */
  createKey(
    name: string,
    workspaceId?: string,
  ): Promise<{ readonly key: ApiKey; readonly token: string }>
  /** A key that fetches one store by git, and does nothing else. Rejects with `not_found`. */
  createFetchKey(
    name: string,
    storeId: string,
  ): Promise<{ readonly key: ApiKey; readonly token: string }>
  /** Rejects with `not_found`. A key remains revoked for good. */
  revokeKey(keyId: string): Promise<ApiKey>
  /** Of all workspaces, newest first, archived ones too. */
  stores(): Promise<readonly HostedStore[]>
  /** Rejects with `not_found` for the workspace, and as `Host.create` does. */
  createStore(store: NewHostedStore): Promise<HostedStore>
  /** Opens a store, also next to the server. Rejects with `not_found`, and as `openStore` does. */
  use<T>(storeId: string, work: (store: MemoryStore) => Promise<T>): Promise<T>
  /** Runs `work` while no other process rotates secrets of these stores. Throws `locked`. */
  rotateAlone<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

/**
 * Makes a missing data directory. Throws `rolled_back`, `wrong_key`, `locked` or a
 * storage code.
 */
export async function openHostAdministration(
  options: HostPlaces & { readonly notice?: (notice: HostNotice) => void },
): Promise<HostAdministration> {
  return openAdministrationOf(new DataDirectory(options), options.notice)
}

/** `openHostAdministration` for a backend, which it closes. */
export async function openAdministrationOf(
  backend: HostBackend,
  notice: (notice: HostNotice) => void = () => undefined,
): Promise<HostAdministration> {
  await backend.make()
  try {
    const catalogue = await Catalogue.open(backend, notice, false)
    const credentials = await Credentials.open(backend, notice, false)
    return administrationOf({ backend, catalogue, credentials, notice })
  } catch (error) {
    await backend.close()
    throw error
  }
}

interface AdministrationParts {
  readonly backend: HostBackend
  readonly catalogue: Catalogue
  readonly credentials: Credentials
  readonly notice: (notice: HostNotice) => void
}

function administrationOf(parts: AdministrationParts): HostAdministration {
  const { backend, catalogue, credentials } = parts
  return {
    workspaces: () => catalogue.workspaces(),
    createWorkspace: (name) => catalogue.addWorkspace(name),
    keys: () => credentials.keys(),
    async createKey(name, workspaceId) {
      return credentials.createKey(await getWorkspace(catalogue, workspaceId), name)
    },
    async createFetchKey(name, storeId) {
      const store = (await catalogue.find(storeId)) ?? missing()
      return credentials.createKey(store.workspaceId, name, store.storeId)
    },
    revokeKey: (keyId) => credentials.revokeKey(keyId),
    stores: () => catalogue.stores(),
    createStore: (store) => createStore(parts, store),
    async use(storeId, work) {
      if ((await catalogue.find(storeId)) === undefined) missing()
      const store = await backend.openStore(storeId)
      try {
        return await work(store)
      } finally {
        await store.close()
      }
    },
    rotateAlone: (work) => backend.hold('rotation', work),
    close: () => backend.close(),
  }
}

async function createStore(
  { backend, catalogue, notice }: AdministrationParts,
  { name, actor, workspaceId, limits: storeLimits, refuseSecrets, ...recovery }: NewHostedStore,
): Promise<HostedStore> {
  const caller = { actor, workspaceId: await getWorkspace(catalogue, workspaceId) }
  const made = { recovery, storeLimits, refuseSecrets, cacheBudget: undefined }
  return new HostedStores({ backend, catalogue, notice, ...made }).createApart(caller, {
    name,
    description: '',
    metadata: {},
  })
}

/** Its id; of the first without one. Throws `not_found`. */
async function getWorkspace(
  catalogue: Catalogue,
  workspaceId: string | undefined,
): Promise<string> {
  const found = (await catalogue.workspaces()).find((one) => {
    return workspaceId === undefined || one.workspaceId === workspaceId
  })
  if (found === undefined) throw new StoreError('not_found', 'There is no such workspace')
  return found.workspaceId
}

export interface Rotation extends WorkOptions {
  /** `memstore_…`, of all stores. */
  readonly storeIds: readonly string[]
  /** Works with a store; rejects with `not_found` if it has been deleted. */
  readonly use: (
    storeId: string,
    work: (store: MemoryStore) => Promise<boolean>,
  ) => Promise<boolean>
  /** The new one, `GLKO1-…`. */
  readonly operatorSecret: string
  /** In whose name the stores are changed. */
  readonly actor: Actor
}

export interface RotationReport {
  /** Their earlier recovery keys open nothing that is written from now on. */
  readonly rotated: number
  /** Stores that only the new secret recovered before. */
  readonly unchanged: number
  readonly failed: readonly { readonly storeId: string; readonly error: StoreError }[]
}

/** One store after another; a failure does not keep the others. Throws `cancelled`. */
export async function rotateOperator(rotation: Rotation): Promise<RotationReport> {
  const { storeIds, use, operatorSecret, actor, progress, signal } = rotation
  const failed: { readonly storeId: string; readonly error: StoreError }[] = []
  let [rotated, unchanged] = [0, 0]
  const rotate = async (store: MemoryStore): Promise<boolean> => {
    if (await store.devices.isRecoveredBy(operatorSecret)) return false
    const made = await store.as({ actor }).keys.makeRecoveryKey({ operatorSecret })
    if (made.pending !== undefined) throw made.pending
    return true
  }
  for (const [done, storeId] of storeIds.entries()) {
    progress?.(done, storeIds.length)
    checkNotCancelled(signal)
    try {
      if (await use(storeId, rotate)) rotated += 1
      else unchanged += 1
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      if (error.code !== 'not_found') failed.push({ storeId, error })
    }
  }
  progress?.(storeIds.length, storeIds.length)
  return { rotated, unchanged, failed }
}
