// A consistent copy of a data directory, made next to the running server, and its way back. Each
// store is copied while it holds still, and the catalogue last, so that the copy has every store
// that the catalogue lists. The copied files are still sealed, and only the identity opens them.

import { basename, dirname } from 'node:path'
import { pause } from '../async.ts'
import { atomicWrite, type Disk, makeDurableDirectory } from '../disk/disk.ts'
import { filesBelow } from '../disk/file-sweep.ts'
import { StoreError } from '../errors.ts'
import { holdStill, isOfCopy } from '../git/disk-store/repository-copy.ts'
import { MEBIBYTE } from '../limits.ts'
import { Catalogue } from './catalogue.ts'
import { Credentials } from './credentials.ts'
import { DataDirectory, type HostPlaces } from './data-directory.ts'
import type { HostNotice } from './host-backend.ts'

export interface BackupOptions extends HostPlaces {
  /** Told of each store that could not be copied or opened. */
  readonly notice?: (notice: HostNotice) => void
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
  const directory = new DataDirectory(options)
  const { disk } = directory
  const { notice = () => undefined } = options
  checkHasData(disk, options.dataDirectory)
  checkIsEmpty(disk, target)
  await makeDurableDirectory(disk, `${target}/stores`)
  try {
    const catalogue = await Catalogue.open(directory, notice, false)
    const credentials = await Credentials.open(directory, notice, false)
    const copied = new Map<string, boolean>()
    for (;;) {
      // Before the catalogue, which then has every workspace that a key names.
      const secrets = await credentials.snapshot()
      const { lists, bytes } = await catalogue.snapshot()
      const listed = lists.stores.map(({ storeId }) => storeId)
      const next = listed.filter((storeId) => !copied.has(storeId))
      for (const storeId of next) {
        copied.set(storeId, await copyStore(directory, catalogue, { storeId, target, notice }))
      }
      if (next.length > 0) continue
      await removeOthers(disk, `${target}/stores`, listed)
      await atomicWrite(disk, `${target}/credentials`, secrets.bytes)
      // Written last: a copy without it is incomplete.
      await atomicWrite(disk, `${target}/catalogue`, bytes)
      return reportOf(listed, (storeId) => copied.get(storeId) === true)
    }
  } finally {
    await directory.close()
  }
}

/**
 * Puts a backup into an absent or empty data directory, opens each store, and accepts once that all
 * are older than what the state directory knows. Keys that were revoked since the backup work
 * again. Rejects with `not_found` if there is no whole backup, `invalid_input` for a data directory
 * that is not empty, and with `wrong_key` for the backup of another identity; then nothing of it
 * is left, and it can be tried again.
 */
export async function restoreHost(source: string, options: BackupOptions): Promise<BackupReport> {
  const directory = new DataDirectory(options)
  const { disk, path } = directory
  const { notice = () => undefined } = options
  checkHasData(disk, source)
  checkIsEmpty(disk, path, basename(directory.locks))
  await directory.make()
  try {
    const unlock = await directory.holdForLife()
    try {
      return await restoreFiles(directory, source, notice)
    } catch (error) {
      for (const name of disk.list(path)) {
        if (`${path}/${name}` !== directory.locks) disk.removeTree(`${path}/${name}`)
      }
      throw error
    } finally {
      await unlock()
    }
  } finally {
    await directory.close()
  }
}

async function restoreFiles(
  directory: DataDirectory,
  source: string,
  notice: (notice: HostNotice) => void,
): Promise<BackupReport> {
  const { disk, path } = directory
  // First, since they tell whose the backup is.
  await copyFiles(disk, source, path, (file) => file === 'credentials')
  await Credentials.open(directory, notice, true)
  await copyFiles(disk, `${source}/stores`, directory.stores, () => true)
  await copyFiles(disk, source, path, (file) => file === 'catalogue')
  const catalogue = await Catalogue.open(directory, notice, true)
  const storeIds = (await catalogue.stores()).map(({ storeId }) => storeId)
  return acceptStores(directory, storeIds, notice)
}

interface CopyTask extends Required<Pick<BackupOptions, 'notice'>> {
  readonly storeId: string
  readonly target: string
}

function isPack(path: string): boolean {
  return path.startsWith('objects/pack/') && isOfCopy(path)
}

/** False if it could not be copied, also if it has just been erased. */
async function copyStore(
  directory: DataDirectory,
  catalogue: Catalogue,
  { storeId, target, notice }: CopyTask,
): Promise<boolean> {
  const { disk, random } = directory
  const from = directory.storePath(storeId)
  const to = `${target}/stores/${storeId}`
  try {
    await holdStill(
      { directory: from, disk, random },
      {
        packs: () => copyFiles(disk, from, to, isPack),
        rest: () => copyFiles(disk, from, to, isOfCopy),
      },
    )
    return true
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    disk.removeTree(to)
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

async function acceptStores(
  directory: DataDirectory,
  storeIds: readonly string[],
  notice: (notice: HostNotice) => void,
): Promise<BackupReport> {
  const opened = new Set<string>()
  for (const storeId of storeIds) {
    try {
      const store = await directory.openStore(storeId, { acceptRolledBack: true })
      await store.close()
      opened.add(storeId)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      notice({ about: storeId, error })
    }
  }
  return reportOf(storeIds, (storeId) => opened.has(storeId))
}

function reportOf(listed: readonly string[], isThere: (storeId: string) => boolean): BackupReport {
  const failed = listed.filter((storeId) => !isThere(storeId))
  return { stores: listed.length - failed.length, failed }
}

function checkHasData(disk: Disk, directory: string): void {
  if (disk.stat(`${directory}/catalogue`) !== undefined) return
  throw new StoreError('not_found', 'There is no data of a server, or no whole backup')
}

function checkIsEmpty(disk: Disk, directory: string, ignored?: string): void {
  if (disk.list(directory).every((name) => name === ignored)) return
  throw new StoreError('invalid_input', 'The directory to copy to must be absent or empty')
}

/**
 * Copies the files below `from` that are chosen and not there yet. Durable when it resolves, with
 * the names in all directories that were made.
 */
async function copyFiles(
  disk: Disk,
  from: string,
  to: string,
  isChosen: (path: string) => boolean,
): Promise<void> {
  const directories = new Set([to])
  await makeDurableDirectory(disk, to)
  for (const file of filesBelow(disk, from)) {
    const path = file.slice(from.length + 1)
    const target = `${to}/${path}`
    if (!isChosen(path) || disk.stat(target) !== undefined) continue
    await makeDurableDirectory(disk, dirname(target))
    await copyFile(disk, file, target)
    directories.add(dirname(target))
  }
  for (const directory of directories) await disk.syncDirectory(directory)
}

async function copyFile(disk: Disk, from: string, to: string): Promise<void> {
  const source = disk.open(from, 'r')
  try {
    const target = disk.open(to, 'wx')
    try {
      const size = disk.size(source)
      const buffer = new Uint8Array(Math.min(size, MEBIBYTE))
      for (let at = 0; at < size; at += buffer.length) {
        const count = disk.read(source, buffer, at)
        disk.write(target, buffer.subarray(0, count), at)
        await pause(undefined)
      }
      await disk.sync(target)
    } finally {
      disk.close(target)
    }
  } finally {
    disk.close(source)
  }
}
