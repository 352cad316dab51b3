// The remotes and the head of a clone, for the holder of the clone: an auditor, or a device whose
// store does not open. Contacts no one, and neither decrypts nor verifies anything.

import { StoreError } from '../errors.ts'
import { parseAddress } from '../format/address.ts'
import { formatId, parseId } from '../format/id.ts'
import { openDiskObjectStore } from '../git/disk-store/disk-object-store.ts'
import type { Remote } from '../git/exchange.ts'
import type { ObjectStore } from '../git/object-store.ts'
import type { Oid } from '../git/objects/object.ts'
import { parseRemoteUrl } from '../transport/remote-url.ts'
import type { MemoryStore } from './memory-store.ts'
import { localFiles, type StorePlaces } from './session/open-options.ts'
import { readStoreId } from './session/store-id.ts'

/**
 * Names the remote at an address as `joinStore` takes it. Throws `invalid_input` for a name or an
 * address that git refuses, and `store_id_mismatch` for the address of another store.
 */
export function addRemote(directory: string, name: string, address: string): Promise<Remote> {
  return withClone(directory, async (objects) => {
    const url = urlOf(address, readStoreId(objects))
    await objects.exchange.addRemote({ name, url })
    return { name, url }
  })
}

/** `addRemote` for a store that is open. */
export async function addRemoteTo(
  store: MemoryStore,
  name: string,
  address: string,
): Promise<Remote> {
  const url = urlOf(address, parseId('store', store.id))
  await store.remotes.add(name, url)
  return { name, url }
}

function urlOf(address: string, own: string): string {
  const { url, storeId: expected } = parseAddress(address)
  const { text } = parseRemoteUrl(url)
  if (expected !== undefined && expected !== own) throw anotherStoreError(expected, own)
  return text
}

/** In the order of the repository's config. */
export function listRemotes(directory: string): Promise<readonly Remote[]> {
  return withClone(directory, async ({ exchange }) => exchange.remotes())
}

/** The newest commit of the clone, as it is on the disk. */
export function findCloneHead(directory: string): Promise<Oid | undefined> {
  return withClone(directory, async ({ head }) => head)
}

/** Those that this device has synced a store with, even if the store itself no longer exists. */
export async function listSeenRemotes(
  places: StorePlaces,
  storeId: string,
): Promise<readonly Remote[]> {
  return (await localFiles(places, parseId('store', storeId))).seenRemotes.list()
}

/** Throws `not_found`. */
export function removeRemote(directory: string, name: string): Promise<void> {
  return withClone(directory, ({ exchange }) => exchange.removeRemote(name))
}

async function withClone<T>(
  directory: string,
  work: (objects: ObjectStore) => Promise<T>,
): Promise<T> {
  // Nothing of the history is read, so it may be missing.
  const objects = await openDiskObjectStore({ directory, mayBeShallow: true })
  try {
    // Of another repository nothing is told or changed.
    readStoreId(objects)
    return await work(objects)
  } finally {
    await objects.close()
  }
}

function anotherStoreError(expected: string, own: string): StoreError {
  const [theirs, ours] = [expected, own].map((id) => formatId('store', id))
  return new StoreError('store_id_mismatch', `The address is of ${theirs}, not of ${ours}`)
}
