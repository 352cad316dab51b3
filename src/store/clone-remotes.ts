// The remotes and the head of a clone, for the holder of the clone: an auditor, or a device whose
// store does not open. Contacts no one, and neither decrypts nor verifies anything of the store.

import { parseId } from '../format/id.ts'
import { openDiskObjectStore } from '../git/disk-store/disk-object-store.ts'
import type { Remote } from '../git/exchange.ts'
import type { ObjectStore } from '../git/object-store.ts'
import type { Oid } from '../git/objects/object.ts'
import type { Identity } from '../keys/identity.ts'
import { parseRemoteUrl } from '../transport/remote-url.ts'
import { RemoteAddress } from './clone/remote-address.ts'
import type { MemoryStore } from './memory-store.ts'
import { localFiles, type StorePlaces } from './session/open-options.ts'
import { readStoreId } from './session/store-id.ts'

/** Where a clone is, and the identity that seals what this device notes of its remotes. */
export interface ClonePlaces extends Pick<StorePlaces, 'directory' | 'stateDirectory'> {
  /** Undefined for a missing file, unless it `isNeeded`. */
  findIdentity(isNeeded: boolean): Identity | undefined
}

/**
 * Names the remote at an address as `remotes.add` of an open store does. An identity is needed only
 * if the address names a state. Throws `invalid_input` for a name or an address that git refuses,
 * and `store_id_mismatch` for the address of another store.
 */
export function addRemote(places: ClonePlaces, name: string, address: string): Promise<Remote> {
  return withClone(places.directory, async (objects) => {
    const storeId = readStoreId(objects)
    const { url, state } = remoteAt(address, storeId)
    const identity = places.findIdentity(state !== undefined)
    await objects.exchange.addRemote({ name, url })
    if (identity === undefined) return { name, url }
    const { seenRemotes } = await localFiles({ ...places, identity }, storeId)
    const bound = state === undefined ? undefined : { url, state, isMet: false }
    const isKnown = (await seenRemotes.findBound(name, url))?.state === state
    if (!isKnown) await objects.exclusive(() => seenRemotes.bind(name, bound))
    return { name, url }
  })
}

/** `addRemote` for a store that is open. */
export async function addRemoteTo(
  store: MemoryStore,
  name: string,
  address: string,
): Promise<Remote> {
  await store.remotes.add(name, address)
  return { name, url: remoteAt(address, parseId('store', store.id)).url }
}

function remoteAt(text: string, own: string): RemoteAddress {
  const address = RemoteAddress.parse(text)
  const { text: url } = parseRemoteUrl(address.url)
  address.checkStore(own)
  return address.withUrl(url)
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
