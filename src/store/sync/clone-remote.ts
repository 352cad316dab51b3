// Fetches the head of a remote into a new repository, whose branch is set only once the head has
// been checked. Shared by joining, auditing and repairing.

import type { WorkOptions } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { formatId, parseId } from '../../format/id.ts'
import { createDiskObjectStore } from '../../git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { TransferProgress } from '../../transport/remote-access.ts'
import type { Author } from '../commits/commit-context.ts'
import { readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import { checkFreshness } from '../session/freshness.ts'
import {
  localFiles,
  type OpenOptions,
  type StoreEnvironment,
  type StorePlaces,
} from '../session/open-options.ts'
import type { RemoteOptions } from './options.ts'
import { readForeignStoreId } from './remote-head.ts'

export interface JoinOptions extends OpenOptions {
  /** An address as git takes it; `#memstore_…` after it names the store that is expected. */
  readonly url: string
  /**
   * Whether `memstore_…`, the store that the remote shows, is the right one. Called if neither
   * `url`, `storeId`, a recovery key nor an operator secret says so; without it such a join is
   * refused.
   */
  readonly confirmStore?: ((storeId: string) => Promise<boolean>) | undefined
  /** What the remote is called here; `origin` by default. */
  readonly remote?: string | undefined
  readonly access?: RemoteOptions | undefined
  /** The author of the merge commit, if joining needs one. */
  readonly author: Author
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

/** What to fetch, and how. */
export interface FetchOptions
  extends
    Pick<JoinOptions, 'url' | 'storeId' | 'access' | 'transfer'>,
    StoreEnvironment,
    Pick<WorkOptions, 'signal'> {}

type ConfirmOptions = Pick<
  JoinOptions,
  'url' | 'storeId' | 'confirmStore' | 'recoveryKey' | 'operatorSecret'
>

/** Fetches the remote's head and its objects, and sets the branch to it unless `check` throws. */
export async function fetchInto(
  directory: string,
  options: FetchOptions,
  check: (objects: ObjectStore, head: Oid, storeId: string) => Promise<void>,
): Promise<void> {
  const { url, expected } = addressOf(options)
  // Imported here: the library loads this file at its start, and few processes join a store.
  const { connectFetch } = await import('../../transport/fetch.ts')
  const connection = await connectFetch({ signal: options.signal, ...options.access, url })
  try {
    const { head } = connection.refs
    if (head === undefined) throw emptyError()
    const { disk, packer } = options
    const how = { ...(disk && { disk }), ...(packer && { packer }) }
    const objects = await createDiskObjectStore({ directory, ...how })
    try {
      const into = objects.exchange.incoming()
      await connection.fetch({ want: head, haves: [], into, progress: options.transfer })
      // The whole repository is apart: who asked for it removes it unless the head is verified.
      await into.accept()
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

/**
 * Confirms which store is joined. Whoever knows a passphrase or has seen a device card can make
 * another store that it opens, and the new device would hand over what it writes. A recovery key
 * and an operator secret open their own store alone. Throws `invalid_input`.
 */
export async function confirmStore(options: ConfirmOptions, storeId: string): Promise<void> {
  const { recoveryKey, operatorSecret } = options
  if (addressOf(options).expected !== undefined) return
  if (recoveryKey !== undefined || operatorSecret !== undefined) return
  if (await options.confirmStore?.(formatId('store', storeId))) return
  throw new StoreError(
    'invalid_input',
    'Which store the remote holds was not confirmed, and neither a passphrase nor a device card ' +
      'shows it: put `#memstore_…`, the id that `gitlocket status` shows on another machine, ' +
      'after the address',
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
  // Before any other commit is read: who has no key must not choose how many there are.
  verifyDecodedCommit(storeId, epochs, head, readCommitBytes(objects, head))
  if (options.acceptRolledBack === true) return
  const { anchor } = localFiles(options, storeId)
  try {
    await checkFreshness(source, anchor, { head: { commit: head } })
  } catch (error) {
    throw hasCode(error, 'rolled_back') ? hasLessError(error) : error
  }
}

export function nameOf({ remote = 'origin' }: Pick<JoinOptions, 'remote'>): string {
  return remote
}

function otherStoreError(): StoreError {
  return new StoreError('store_id_mismatch', 'The remote holds a different store than expected')
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
