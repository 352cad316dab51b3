// A second machine: a store that a remote holds, fetched, verified from genesis and opened here
// (FORMAT §7, §8, §9). All of it happens in a directory beside the one that is wanted, so that what
// goes wrong, a wrong key above all, leaves nothing behind.

import { hasCode, StoreError } from '../../errors.ts'
import { parseId } from '../../format/id.ts'
import { toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { createDiskObjectStore } from '../../git/disk-object-store.ts'
import { systemDisk } from '../../git/disk.ts'
import type { Disk } from '../../git/disk.ts'
import type { Oid } from '../../git/object.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { TransferProgress } from '../../transport/remote-access.ts'
import { openHeadKeyring } from '../authority.ts'
import type { Author } from '../commit.ts'
import type { MemoryStore } from '../memory-store.ts'
import { localFiles, openStore, unlockOf } from '../open.ts'
import type { OpenOptions, Places } from '../open.ts'
import type { RemoteOptions } from './sync.ts'
import { readStoreId } from './theirs.ts'

export interface JoinOptions extends OpenOptions {
  /** An address as git takes it; `#memstore_…` after it names the store that is expected. */
  readonly url: string
  /** What the remote is called here; `origin` by default. */
  readonly remote?: string
  readonly access?: RemoteOptions
  /** Who is recorded where joining has to merge. */
  readonly author: Author
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

/** Other machines that join at the same moment may win so often. */
const ATTEMPTS = 5

/**
 * Opens the store of a remote in an absent or empty directory. A passphrase or recovery key makes
 * this identity a device and tells the remote; without one it has to be a device already. Throws
 * `wrong_key`, `store_exists`, `not_found` for an empty remote, `store_id_mismatch`, a remote code,
 * or what verification refuses; nothing is left then.
 */
export async function joinStore(options: JoinOptions): Promise<MemoryStore> {
  const disk = options.disk ?? systemDisk
  checkIsFree(disk, options.directory)
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await joinOnce(disk, options)
    } catch (error) {
      // Two enrolments at once exclude each other, so the later one begins anew on the other.
      const lostRace = hasCode(error, 'remote_moved', 'keyring_conflict')
      if (!lostRace || attempt === ATTEMPTS) throw error
    }
  }
}

async function joinOnce(disk: Disk, options: JoinOptions): Promise<MemoryStore> {
  const { directory } = options
  const scratch = `${directory}.join-${toHex((options.random ?? systemRandom)(8))}`
  const [repository, state] = [`${scratch}/store`, `${scratch}/state`]
  try {
    disk.makeDirectory(scratch)
    await fetchInto(repository, options)
    // Whatever an attempt enrols counts only once the remote has it.
    const places = { directory: repository, stateDirectory: state, identity: options.identity }
    const store = await openStore({ ...options, ...places })
    const { id: storeId } = store
    try {
      await store.addRemote(nameOf(options), addressOf(options).url)
      await store.sync(options.author, syncOptionsOf(options))
    } finally {
      await store.close()
    }
    await keepSeen(places, options, storeId)
    disk.rename(repository, directory)
    await disk.syncDirectory(parentOf(directory))
  } finally {
    disk.removeTree(scratch)
  }
  const { passphrase: _, recoveryKey: __, ...others } = options
  return openStore(others)
}

/** What the remote has shown counts from now on: the real state directory remembers it. */
async function keepSeen(scratch: Places, options: JoinOptions, store: string): Promise<void> {
  const storeId = parseId('store', store)
  const [name, { url }] = [nameOf(options), addressOf(options)]
  const seen = localFiles({ ...options, ...scratch }, storeId).seenRemotes.find(name, url)
  if (seen !== undefined) await localFiles(options, storeId).seenRemotes.note(name, url, seen)
}

/** The remote's head, its objects and nothing else, once the key has opened its keyring. */
async function fetchInto(directory: string, options: JoinOptions): Promise<void> {
  const { url } = addressOf(options)
  // The library loads this file at its start, and few join.
  const { connectFetch } = await import('../../transport/fetch.ts')
  const connection = await connectFetch({ signal: options.signal, ...options.access, url })
  try {
    const { head } = connection.refs
    if (head === undefined) throw emptyError()
    const { disk, packer } = options
    const how = { ...(disk && { disk }), ...(packer && { packer }) }
    const objects = await createDiskObjectStore({ directory, ...how })
    try {
      const { exchange: into } = objects
      await connection.fetch({ want: head, haves: [], into, progress: options.transfer })
      await checkKey(objects, head, options)
      const transition = { objects: [], expected: undefined, next: head }
      await objects.exclusive(() => objects.commit([transition]))
    } finally {
      await objects.close()
    }
  } finally {
    await connection.close()
  }
}

/** Before anything else: whether this is the store, and the key one of its keys. */
async function checkKey(objects: ObjectStore, head: Oid, options: JoinOptions): Promise<void> {
  const storeId = readStoreId(objects, head)
  const { expected } = addressOf(options)
  if (expected !== undefined && expected !== storeId) {
    throw new StoreError(
      'store_id_mismatch',
      'The remote holds another store than the expected one',
    )
  }
  await openHeadKeyring(objects, storeId, unlockOf(options), head)
}

/** The address, and the id of the store if it names one. Throws `invalid_input`. */
function addressOf({ url, storeId }: JoinOptions): {
  readonly url: string
  readonly expected: string | undefined
} {
  const hash = url.lastIndexOf('#memstore_')
  const expected = hash === -1 ? storeId : url.slice(hash + 1)
  return {
    url: hash === -1 ? url : url.slice(0, hash),
    expected: expected === undefined ? undefined : parseId('store', expected),
  }
}

function nameOf({ remote = 'origin' }: JoinOptions): string {
  return remote
}

function syncOptionsOf(options: JoinOptions): Parameters<MemoryStore['sync']>[1] {
  const { access, transfer, progress, signal } = options
  return { remote: nameOf(options), access, transfer, progress, signal }
}

function checkIsFree(disk: Disk, directory: string): void {
  if (disk.list(directory).length === 0) return
  throw new StoreError('store_exists', 'The directory for the store is not empty')
}

function parentOf(directory: string): string {
  return directory.slice(0, directory.lastIndexOf('/')) || '/'
}

function emptyError(): StoreError {
  return new StoreError(
    'not_found',
    'The remote is empty: make the store elsewhere, add this remote there and sync',
  )
}
