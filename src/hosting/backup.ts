// A consistent copy of a host as a directory, made next to running servers, and its way back, also
// to another kind of backend. Each store is copied while it holds still, and the catalogue last, so
// that the copy has every store that the catalogue lists. The copied files are still sealed, and
// only the identity opens them. What a data directory holds is such a copy.

import { atomicWrite, type Disk, makeDurableDirectory } from '../disk/disk.ts'
import { StoreError } from '../errors.ts'
import { Catalogue, type CatalogueRecords } from './catalogue.ts'
import { Credentials, type CredentialsRecords } from './credentials.ts'
import { DataDirectory, type HostPlaces } from './data-directory.ts'
import {
  type HostBackend,
  type HostNotice,
  notEmptyError,
  type RecordsRole,
} from './host-backend.ts'
import type { Lists } from './host-records.ts'
import { type ListFile, openList } from './list-file.ts'

type Notice = (notice: HostNotice) => void

export interface BackupOptions extends HostPlaces {
  /** Told of each store that could not be copied or opened. */
  readonly notice?: Notice
}

export interface BackupReport {
  /** How many are listed, and there. */
  readonly stores: number
  /** `memstore_…`: listed, but could not be copied or opened. */
  readonly failed: readonly string[]
}

/**
 * Copies the data directory into an absent or empty one. Rejects with `not_found` if there is no
 * server's data, with `invalid_input` for another target, and as opening the server does.
 */
export async function backupHost(options: BackupOptions, target: string): Promise<BackupReport> {
  return backupHostOf(new DataDirectory(options), target, options.notice)
}

/** `backupHost` of a backend, which it closes. */
export async function backupHostOf(
  backend: HostBackend,
  target: string,
  notice: Notice = () => undefined,
): Promise<BackupReport> {
  const { disk } = backend.owner
  try {
    if ((await backend.contents()) !== 'host') throw noHostError()
    if (disk.list(target).length > 0) throw notEmptyError()
    await makeDurableDirectory(disk, `${target}/stores`)
    const catalogue = await Catalogue.open(backend, notice, false)
    const credentials = await Credentials.open(backend, notice, false)
    return await copyAll({ backend, catalogue, target, notice }, credentials)
  } finally {
    await backend.close()
  }
}

interface BackupTask {
  readonly backend: HostBackend
  readonly catalogue: Catalogue
  readonly target: string
  readonly notice: Notice
}

async function copyAll(task: BackupTask, credentials: Credentials): Promise<BackupReport> {
  const { catalogue, target } = task
  const { disk } = task.backend.owner
  const copied = new Map<string, boolean>()
  for (;;) {
    // Before the catalogue, which then has every workspace that a key names.
    const secrets = await credentials.snapshot()
    const { lists, bytes } = await catalogue.snapshot()
    const listed = lists.stores.map(({ storeId }) => storeId)
    const next = listed.filter((storeId) => !copied.has(storeId))
    for (const storeId of next) copied.set(storeId, await copyStore(task, storeId))
    if (next.length > 0) continue
    await removeOthers(disk, `${target}/stores`, listed)
    await atomicWrite(disk, `${target}/credentials`, secrets.bytes)
    // Written last: a copy without it is incomplete.
    await atomicWrite(disk, `${target}/catalogue`, bytes)
    return reportOf(listed, (storeId) => copied.get(storeId) === true)
  }
}

/** False if it could not be copied, also if it has just been erased. */
async function copyStore(
  { backend, catalogue, target, notice }: BackupTask,
  storeId: string,
): Promise<boolean> {
  const to = `${target}/stores/${storeId}`
  try {
    await backend.copyStore(storeId, to)
    return true
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    backend.owner.disk.removeTree(to)
    if ((await catalogue.find(storeId)) !== undefined) notice({ about: storeId, error })
    return false
  }
}

/** Those that were erased while the copy was made. */
async function removeOthers(disk: Disk, stores: string, listed: readonly string[]): Promise<void> {
  const kept = new Set(listed)
  for (const name of disk.list(stores)) if (!kept.has(name)) disk.removeTree(`${stores}/${name}`)
  await disk.syncDirectory(stores)
}

/**
 * Puts a backup into an absent or empty data directory, opens each store, and accepts once that all
 * are older than what the state directory knows. Keys that were revoked since the backup work
 * again. Rejects with `not_found` if there is no whole backup, `invalid_input` for a data directory
 * that is not empty, and with `wrong_key` for the backup of another identity; then nothing of it
 * is left, and it can be tried again. After a crash, the files of a directory are left; a database
 * is refused by servers, and the next restore begins it anew.
 */
export async function restoreHost(source: string, options: BackupOptions): Promise<BackupReport> {
  return restoreHostTo(source, new DataDirectory(options), options.notice)
}

/** `restoreHost` to a backend, which it closes. */
export async function restoreHostTo(
  source: string,
  backend: HostBackend,
  notice: Notice = () => undefined,
): Promise<BackupReport> {
  try {
    if (backend.owner.disk.stat(`${source}/catalogue`) === undefined) throw noHostError()
    return await backend.fill(notice, () => restoreAll(source, backend, notice))
  } finally {
    await backend.close()
  }
}

async function restoreAll(
  source: string,
  backend: HostBackend,
  notice: Notice,
): Promise<BackupReport> {
  // Read before anything is written: they tell whose the backup is.
  const secrets = readList<Lists<CredentialsRecords>>(source, backend, 'credentials')
  const list = readList<Lists<CatalogueRecords>>(source, backend, 'catalogue')
  await Credentials.open(backend, notice, true, secrets)
  const storeIds = list.value.stores.map(({ storeId }) => storeId)
  const restored = new Set<string>()
  for (const storeId of storeIds) {
    if (await restoreStore(source, backend, storeId, notice)) restored.add(storeId)
  }
  const catalogue = await Catalogue.open(backend, notice, true, list)
  // Nothing, if a server was started here at the same time.
  if ((await catalogue.count()) < storeIds.length) throw notEmptyError()
  return reportOf(storeIds, (storeId) => restored.has(storeId))
}

/** Throws `wrong_key`, and `not_found` if the backup is not whole. */
function readList<T>(source: string, { owner }: HostBackend, role: RecordsRole): ListFile<T> {
  const bytes = owner.disk.readFile(`${source}/${role}`)
  if (bytes === undefined) throw noHostError()
  return openList<T>(owner, role, bytes)
}

/** False if it could not be copied or opened. */
async function restoreStore(
  source: string,
  backend: HostBackend,
  storeId: string,
  notice: Notice,
): Promise<boolean> {
  try {
    await backend.restoreStore(storeId, `${source}/stores/${storeId}`)
    const store = await backend.openStore(storeId, { acceptRolledBack: true })
    await store.close()
    return true
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    notice({ about: storeId, error })
    return false
  }
}

function reportOf(listed: readonly string[], isThere: (storeId: string) => boolean): BackupReport {
  const failed = listed.filter((storeId) => !isThere(storeId))
  return { stores: listed.length - failed.length, failed }
}

export function noHostError(): StoreError {
  return new StoreError('not_found', 'There is no data of a server, or no whole backup')
}
