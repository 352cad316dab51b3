// Fetches the head of a remote into an empty object store, whose branch is set only once the head
// has been checked. Shared by joining, auditing and repairing, and by stores in RAM.

import type { WorkOptions } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { parseTree } from '../../format/commit.ts'
import type { Directory } from '../../format/directory.ts'
import { formatId, parseId } from '../../format/id.ts'
import { parseStoreFile } from '../../format/public-files.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import type { HashedColumns } from '../../git/exchange.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid, SizeLimit } from '../../git/objects/object.ts'
import type { RemoteOptions, TransferProgress } from '../../transport/remote-access.ts'
import { keyringRecords, type RecordSource } from '../commits/ancestors.ts'
import type { Author } from '../commits/commit-context.ts'
import { decodeCommit, readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import type { Device } from '../devices/devices.ts'
import { checkFreshness } from '../session/freshness.ts'
import {
  localFiles,
  type OpenOptions,
  type StoreEnvironment,
  type StorePlaces,
} from '../session/open-options.ts'
import { getBlob, getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import { RemoteAddress } from './remote-address.ts'

export interface JoinOptions extends OpenOptions {
  /**
   * An address as git takes it, and what `status` on another machine shows behind it:
   * `#memstore_…+…`, the store and a state that the remote must have (FORMAT §1.8).
   */
  readonly url: string
  /**
   * Whether to trust the state that the remote shows. Called with what was verified if the address
   * names the store, here or as `storeId`, and no state of it, unless this device knows the store;
   * without it such a join is refused.
   */
  readonly trustFirstContact?: ((found: FirstContact) => Promise<boolean>) | undefined
  /** What the remote is called here; `origin` by default. */
  readonly remote?: string | undefined
  readonly access?: RemoteOptions | undefined
  /** The author of the merge commit, if joining needs one. */
  readonly author: Author
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

/** What a remote shows of a store that this device has never seen; all of it is verified. */
export interface FirstContact {
  /** `memstore_…` */
  readonly storeId: string
  readonly owners: readonly Pick<Device, 'deviceId' | 'name'>[]
  /** Ten, which move only with who may open the store; `status` shows them. */
  readonly words: readonly string[]
}

/** What to fetch, and how. */
export interface FetchOptions
  extends
    Pick<JoinOptions, 'url' | 'storeId' | 'access' | 'transfer'>,
    StoreEnvironment,
    Pick<WorkOptions, 'signal'> {}

type ContactOptions = Pick<JoinOptions, 'url' | 'storeId' | 'trustFirstContact'> &
  StorePlaces &
  StoreEnvironment

/**
 * Fetches the remote's head and its objects into an empty object store, and sets the branch to it
 * unless `check` throws. Returns what a verification reads faster.
 */
export async function fetchHead(
  objects: ObjectStore,
  options: Pick<FetchOptions, 'url' | 'storeId' | 'access' | 'transfer' | 'signal'>,
  check: (objects: ObjectStore, head: Oid, storeId: string) => Promise<void>,
): Promise<HashedColumns | undefined> {
  const address = addressOf(options)
  const { url } = address
  // Imported here: the library loads this file at its start, and few processes join a store.
  const { connectFetch } = await import('../../transport/fetch.ts')
  const connection = await connectFetch({ signal: options.signal, ...options.access, url })
  try {
    const { head } = connection.refs
    if (head === undefined) throw emptyError()
    const into = objects.exchange.incoming()
    await connection.fetch({ want: head, haves: [], into, progress: options.transfer })
    const { hashed } = into
    // The whole repository is apart: who asked for it removes it unless the head is verified.
    await into.accept()
    const storeId = readForeignStoreId(objects, head)
    address.checkStore(storeId, 'The remote holds a different store than expected')
    await check(objects, head, storeId)
    const transition = { objects: [], expected: undefined, next: head }
    await objects.exclusive(() => objects.commit([transition]))
    return hashed
  } finally {
    await connection.close()
  }
}

/** The address, with the store that it names or `storeId` does. Throws `invalid_input`. */
export function addressOf({ url, storeId }: Pick<JoinOptions, 'url' | 'storeId'>): RemoteAddress {
  return RemoteAddress.parse(url, storeId)
}

/**
 * Throws `invalid_input` unless it is said which store is joined. Anyone with a passphrase, a
 * recovery key or a device card can make another store that it opens, and would read what the new
 * device writes.
 */
export function checkNamed(options: Pick<JoinOptions, 'url' | 'storeId'>): void {
  if (addressOf(options).storeId !== undefined) return
  throw new StoreError(
    'invalid_input',
    'The address does not name its store, and neither does a key: put ' +
      '`#memstore_…+…`, which `gitlocket status` shows on another machine, after it',
  )
}

/** The newest keyring record of a head, and who the owners are. Not verified yet. */
export async function contactOf(
  source: RecordSource,
  head: Oid,
  directory: Directory,
): Promise<FirstContact> {
  const { objects, storeId, epochs } = source
  const { record, hash } = decodeCommit(storeId, epochs, head, readCommitBytes(objects, head))
  const keyring = bringsKeyring(record.kind) ? hash : record.keyring
  // A list of words.
  const { keyringFingerprint } = await import('../../format/fingerprint.ts')
  const owners = directory.devices.filter(({ role }) => role === 'owner')
  return {
    storeId: formatId('store', storeId),
    owners: owners.map((one) => ({ deviceId: formatId('device', one.deviceId), name: one.name })),
    words: keyringFingerprint(storeId, keyring),
  }
}

/**
 * Checks that the head has the state that the address names. Throws `rolled_back`.
 */
export async function checkState(
  source: RecordSource,
  head: Oid,
  options: ContactOptions,
): Promise<void> {
  await addressOf(options).check(keyringRecords(source, head))
}

/** Whom to trust about how new the store is, once all is verified. Throws `invalid_input`. */
export async function confirmContact(
  options: ContactOptions,
  found: FirstContact | undefined,
): Promise<void> {
  if (found === undefined || addressOf(options).state !== undefined) return
  const { anchor } = await localFiles(options, parseId('store', found.storeId))
  if (anchor.verified !== undefined) return
  if (await options.trustFirstContact?.(found)) return
  throw new StoreError(
    'invalid_input',
    'How new the store is that the remote shows was not confirmed, and its id does not show it: ' +
      'use the whole address that `gitlocket status` shows on another machine, ' +
      '`#memstore_…+…`, or compare the ten words there with these, ' +
      `${found.words.join(' ')}, and trust the first contact`,
  )
}

/**
 * Checks that the head contains what this device has verified of the store before: its anchor is
 * outside the directory that is being made. Throws `rolled_back`.
 */
export async function checkKeepsUp(
  source: Parameters<typeof checkFreshness>[0],
  head: Oid,
  options: StorePlaces & StoreEnvironment & Pick<OpenOptions, 'acceptRolledBack'>,
): Promise<void> {
  const { objects, storeId, epochs } = source
  // Before any other commit is read: a sender without a key must not choose how many there are.
  verifyDecodedCommit(storeId, epochs, head, readCommitBytes(objects, head))
  if (options.acceptRolledBack === true) return
  const { anchor } = await localFiles(options, storeId)
  try {
    await checkFreshness(source, anchor, { head: { commit: head } })
  } catch (error) {
    throw hasCode(error, 'rolled_back') ? hasLessError(error) : error
  }
}

export function nameOf({ remote = 'origin' }: Pick<JoinOptions, 'remote'>): string {
  return remote
}

function hasLessError(cause: unknown): StoreError {
  return new StoreError(
    'rolled_back',
    'The remote has less of the store than this device has verified: it was rolled back, or ' +
      'changes of this device were never sent. Sync the clone that has them, if there is one; ' +
      'to join without them, accept the rollback once',
    { cause },
  )
}

function emptyError(): StoreError {
  return new StoreError(
    'not_found',
    'The remote is empty: create the store elsewhere, add this remote there and sync',
  )
}

/** Reads the store id from the public file of an unverified head. Throws `not_a_store`. */
export function readForeignStoreId(objects: ObjectSource, head: Oid): string {
  const tree = treeOfForeign(objects, head)
  const entry = getTree(objects, tree).find(({ name }) => name === 'store.json')
  if (entry === undefined) throw notAStore()
  return parseStoreFile(getBlob(objects, entry.oid, 'not_a_store', storeFileLimit))
}

const storeFileLimit: SizeLimit = { bytes: 4096, refusal: notAStore }

function treeOfForeign(objects: ObjectSource, head: Oid): Oid {
  try {
    return parseTree(readCommitBytes(objects, head))
  } catch (error) {
    if (hasCode(error, 'commit_malformed')) throw notAStore()
    throw error
  }
}

function notAStore(): StoreError {
  return new StoreError('not_a_store', 'The remote holds a git repository that is not a store')
}
