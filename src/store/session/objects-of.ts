// Where the objects of a store are: in its directory, or in the log of an engine, of which the
// directory is a replica.

import { systemRandom } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { parseId } from '../../format/id.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { LogPosition, SharedLog } from '../../git/replica/shared-log.ts'
import {
  type OpenOptions,
  storageOf,
  type StoreEnvironment,
  type StorePlaces,
} from './open-options.ts'

type ObjectPlaces = StoreEnvironment & Pick<StorePlaces, 'directory' | 'identity'>

/** Throws what opening a repository throws, or, for a log, `not_found`. */
export function openObjects(
  options: ObjectPlaces & Pick<OpenOptions, 'storeId'>,
): Promise<ObjectStore> {
  const { directory, storeId, sharedLog } = options
  if (sharedLog === undefined) return openDiskObjectStore({ directory, ...storageOf(options) })
  if (storeId === undefined) {
    throw new StoreError('invalid_input', 'A store of an engine is named by its id, memstore_…')
  }
  return openShared(options, storeId)
}

/** The empty object store of a new store, whose log has been made. */
export function createObjects(options: ObjectPlaces, storeId: string): Promise<ObjectStore> {
  const { directory, sharedLog } = options
  if (sharedLog !== undefined) return openShared(options, storeId)
  return createDiskObjectStore({ directory, ...storageOf(options) })
}

/** Makes the repository in `directory` the newest state of a shared store, at `from` in its log. */
export async function shareObjects(
  options: ObjectPlaces & { readonly disk: Disk },
  storeId: string,
  from?: LogPosition,
): Promise<void> {
  const { directory, disk } = options
  const { beginLog } = await import('../../git/replica/base.ts')
  const log = await sealedLogOf(options, storeId)
  await beginLog(log, disk, { ...storageOf(options), directory }, from)
}

/** Loaded when it is needed: most processes share nothing. */
async function openShared(options: ObjectPlaces, storeId: string): Promise<ObjectStore> {
  const { openReplicatedStore } = await import('../../git/replica/replicated-store.ts')
  const log = await sealedLogOf(options, storeId)
  return openReplicatedStore({ ...storageOf(options), directory: options.directory, log })
}

async function sealedLogOf(options: ObjectPlaces, storeId: string): Promise<SharedLog> {
  const { identity, sharedLog, random = systemRandom } = options
  if (sharedLog === undefined) throw new Error('only a shared store has a log')
  const { SealedLog } = await import('../local/sealed-log.ts')
  const owner = { storeId: parseId('store', storeId), identity, random }
  return new SealedLog(sharedLog(storeId), owner)
}
