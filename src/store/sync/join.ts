// A second machine: a store that a remote holds, fetched, verified from genesis and opened here
// (FORMAT §7, §8, §9). All of it happens beside the directory that is wanted, so that what goes
// wrong, a wrong key above all, leaves nothing behind.

import type { WorkOptions } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { parseId } from '../../format/id.ts'
import { systemRandom } from '../../crypto/random.ts'
import { createDiskObjectStore } from '../../git/disk-object-store.ts'
import { systemDisk } from '../../git/disk.ts'
import type { Oid } from '../../git/object.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { TransferProgress } from '../../transport/remote-access.ts'
import { openHeadKeyring } from '../authority.ts'
import type { Author } from '../commit.ts'
import type { MemoryStore } from '../memory-store.ts'
import { checkFreshness } from '../freshness.ts'
import { localFiles, openStore, unlockOf } from '../open.ts'
import type { OpenOptions, Places } from '../open.ts'
import { Beside } from './beside.ts'
import type { RemoteOptions } from './options.ts'
import { readForeignStoreId } from './theirs.ts'

export interface JoinOptions extends OpenOptions {
  /** An address as git takes it; `#memstore_…` after it names the store that is expected. */
  readonly url: string
  /** What the remote is called here; `origin` by default. */
  readonly remote?: string | undefined
  readonly access?: RemoteOptions | undefined
  /** Who is recorded where joining has to merge. */
  readonly author: Author
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

/** Other machines that join at the same moment may win so often. */
const ATTEMPTS = 5

/**
 * Opens the store of a remote in an absent or empty directory. A passphrase or recovery key makes
 * this identity a device and tells the remote; without one it has to be a device already. Throws
 * `wrong_key`, `store_exists`, `not_found` for an empty remote, `store_id_mismatch`, `rolled_back`
 * if this device has verified more of it before, a remote code, or what verification refuses;
 * nothing is left then.
 */
export async function joinStore(options: JoinOptions): Promise<MemoryStore> {
  const { disk = systemDisk, random = systemRandom, directory } = options
  const beside = new Beside(disk, random, directory)
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await joinOnce(beside, options)
    } catch (error) {
      // Two enrolments at once exclude each other, so the later one begins anew on the other.
      const lostRace = hasCode(error, 'remote_moved', 'keyring_conflict')
      if (!lostRace || attempt === ATTEMPTS) throw error
    }
  }
}

async function joinOnce(beside: Beside, options: JoinOptions): Promise<MemoryStore> {
  await beside.make(async ({ repository, state }) => {
    // Before anything else, whether the key is one of its keys.
    await fetchInto(repository, options, async (objects, head, id) => {
      const { epochs } = await openHeadKeyring(objects, id, unlockOf(options), head)
      await checkKeepsUp({ objects, storeId: id, epochs }, head, options)
    })
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
  })
  const { passphrase: _, recoveryKey: __, ...others } = options
  return openStore(others)
}

/**
 * What this device has verified of the store before counts here, too: its anchor is not in the
 * directory that is made. Throws `rolled_back`.
 */
export async function checkKeepsUp(
  source: Parameters<typeof checkFreshness>[0],
  head: Oid,
  options: Places & Pick<OpenOptions, 'acceptRolledBack' | 'disk' | 'random'>,
): Promise<void> {
  if (options.acceptRolledBack === true) return
  const { anchor } = localFiles(options, source.storeId)
  try {
    await checkFreshness(source, anchor, { head: { commit: head } })
  } catch (error) {
    throw hasCode(error, 'rolled_back') ? shownLessError(error) : error
  }
}

/** What the remote has shown counts from now on: the real state directory remembers it. */
async function keepSeen(scratch: Places, options: JoinOptions, store: string): Promise<void> {
  const storeId = parseId('store', store)
  const [name, { url }] = [nameOf(options), addressOf(options)]
  const seen = localFiles({ ...options, ...scratch }, storeId).seenRemotes.find(name, url)
  if (seen !== undefined) await localFiles(options, storeId).seenRemotes.note(name, url, seen)
}

/** What to fetch, and how. */
export interface FetchOptions
  extends
    Pick<JoinOptions, 'url' | 'storeId' | 'access' | 'transfer' | 'disk' | 'packer'>,
    Pick<WorkOptions, 'signal'> {}

/** The remote's head, its objects and nothing else, once `check` has not refused it. */
export async function fetchInto(
  directory: string,
  options: FetchOptions,
  check: (objects: ObjectStore, head: Oid, storeId: string) => Promise<void>,
): Promise<void> {
  const { url, expected } = addressOf(options)
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
      const storeId = readForeignStoreId(objects, head)
      if (expected !== undefined && expected !== storeId) throw otherStoreError()
      await check(objects, head, storeId)
      const transition = { objects: [], expected: undefined, next: head }
      await objects.exclusive(() => objects.commit([transition]))
    } finally {
      await objects.close()
    }
  } finally {
    await connection.close()
  }
}

/** The address, and the id of the store if it names one. Throws `invalid_input`. */
export function addressOf({ url, storeId }: Pick<JoinOptions, 'url' | 'storeId'>): {
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

export function nameOf({ remote = 'origin' }: Pick<JoinOptions, 'remote'>): string {
  return remote
}

function syncOptionsOf(options: JoinOptions): Parameters<MemoryStore['sync']>[1] {
  const { access, transfer, progress, signal } = options
  return { remote: nameOf(options), access, transfer, progress, signal }
}

function otherStoreError(): StoreError {
  return new StoreError('store_id_mismatch', 'The remote holds another store than the expected one')
}

function shownLessError(cause: unknown): StoreError {
  return new StoreError(
    'rolled_back',
    'The remote shows less of the store than this device has verified before: it was put back, ' +
      'or changes of this device were never sent. Sync the clone that has them, if there is one; ' +
      'to join without them, accept that once',
    { cause },
  )
}

function emptyError(): StoreError {
  return new StoreError(
    'not_found',
    'The remote is empty: make the store elsewhere, add this remote there and sync',
  )
}
