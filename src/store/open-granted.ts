// Opening a store with a grant (FORMAT §12), on a machine that has nothing of it: a bearer text and
// the address of a remote are enough. What the granter vouches for is not verified here, and
// everything after it is.

import { systemRandom } from '../crypto/random.ts'
import { systemDisk } from '../disk/system-disk.ts'
import { hasCode } from '../errors.ts'
import { createDiskObjectStore } from '../git/disk-store/disk-object-store.ts'
import type { RemoteAccess, RemoteOptions, TransferProgress } from '../transport/remote-access.ts'
import { openHeadKeyring } from './access/authority.ts'
import type { RemoteAddress } from './clone/remote-address.ts'
import { StagedClone } from './clone/staged-clone.ts'
import { cloneFromStart, type GrantAtRemote, noteShown, parseGrantAt } from './clone/start-clone.ts'
import type { MemoryStore } from './memory-store.ts'
import { openStore } from './open.ts'
import { checkPlaces, checkText } from './request-check.ts'
import { GrantedFiles } from './session/granted.ts'
import { openObjects } from './session/objects-of.ts'
import {
  localFiles,
  type OpenOptions,
  storageOf,
  type StorePlaces,
} from './session/open-options.ts'
import { getHead } from './session/store-id.ts'

export interface GrantedOptions
  extends
    Omit<StorePlaces, 'identity'>,
    Omit<
      OpenOptions,
      keyof StorePlaces | 'passphrase' | 'recoveryKey' | 'operatorSecret' | 'deviceName'
    > {
  /** `GLKG1-…`, from `grants.give`. */
  readonly grant: string
  /**
   * The address of the remote as git takes it, or with `#memstore_…` or `#memstore_…+…` behind it:
   * the store and a state that the remote must have (FORMAT §1.8). A clone that exists opens with
   * its own state, and a sync of it is refused until it or the remote has the named one.
   */
  readonly url: string
  readonly access?: RemoteOptions | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
  /** Begins with the whole history instead, verified from genesis. */
  readonly full?: boolean | undefined
  /**
   * Refuses a state that is older: the clone does not begin with it, and no sync takes it for the
   * newest one. By default, any age is accepted.
   */
  readonly maxAgeMs?: number | undefined
}

/**
 * Opens the clone in `directory`, which is made if it is absent or empty. Throws `invalid_identity`
 * for a mistyped grant, `grant_expired`, `store_id_mismatch` or `rolled_back` if the remote is of
 * another store than the address names, or lacks its state, `not_found` if the remote has nothing
 * for the grant, `baseline_old`, `history_needed`, a remote code, or what verification refuses;
 * nothing is left then.
 */
export async function openGranted(options: GrantedOptions): Promise<MemoryStore> {
  const { grant, url, access, transfer, full, maxAgeMs, ...others } = options
  checkText(grant, '`grant`')
  checkText(url, '`url`')
  const at = await parseGrantAt(grant, url, access, maxAgeMs)
  const opening = checkPlaces({ ...others, identity: at.held.identity })
  const { disk = systemDisk, directory } = opening
  if (disk.list(directory).length > 0) return openKept(opening, at, access)
  try {
    const attempt = (): Promise<MemoryStore> => begin(opening, at, { access, transfer, full })
    return await attempt().catch((error: unknown) => {
      // What its first request has found was replaced, and removed, before the second one.
      if (hasCode(error, 'remote_moved')) return attempt()
      throw error
    })
  } catch (error) {
    if (!hasCode(error, 'store_exists')) throw error
    // Another process of this machine has made the clone in the meantime.
    return openKept(opening, at, access)
  }
}

async function openKept(
  opening: OpenOptions,
  { held, address }: GrantAtRemote,
  access: RemoteOptions | undefined,
): Promise<MemoryStore> {
  const files = new GrantedFiles(opening)
  held.findKept = () => files.findWraps()
  files.learn(held)
  const { seenRemotes } = await localFiles(opening, held.storeId)
  held.isOver = await seenRemotes.isGrantOver()
  const reached = { signal: opening.signal, ...access, url: address.url }
  return atAddress(await openMended(opening, held.storeId, reached), address)
}

/** An earlier clone, which was deleted, may have left an anchor at a change that it never sent. */
async function begin(
  opening: OpenOptions,
  at: GrantAtRemote,
  { access, transfer, full }: Pick<GrantedOptions, 'access' | 'transfer' | 'full'>,
): Promise<MemoryStore> {
  const { disk = systemDisk, random = systemRandom, directory, signal } = opening
  const { held } = at
  const files = new GrantedFiles(opening)
  held.findKept = () => files.findWraps()
  const verified = await new StagedClone(disk, random, directory).make(async ({ repository }) => {
    const how = { ...opening, directory: repository, transfer, full }
    const objects = await createDiskObjectStore({ ...storageOf(opening), directory: repository })
    try {
      return await cloneFromStart(objects, at, { ...how, access: { signal, ...access } })
    } finally {
      await objects.close()
    }
  })
  await noteShown(opening, at, verified.head)
  return openStore({ ...opening, verified, acceptRolledBack: true })
}

/** Opens a clone, even if its start is needed for that, and damaged. */
async function openMended(
  opening: OpenOptions,
  storeId: string,
  access: RemoteAccess,
): Promise<MemoryStore> {
  try {
    return await openStore(opening)
  } catch (error) {
    if (!hasCode(error, 'baseline_malformed', 'object_missing')) throw error
    // Loaded on demand: few disks damage a file.
    const { mendStart } = await import('./clone/mend-start.ts')
    const { identity } = opening
    const objects = await openObjects(opening)
    try {
      const unlock = { type: 'identity', identity } as const
      const { epochs } = await openHeadKeyring(objects, storeId, unlock, getHead(objects))
      const granted = new GrantedFiles(opening)
      const clone = { objects, storeId, epochs, identity, granted }
      if (!(await mendStart(clone, access))) throw error
    } finally {
      await objects.close()
    }
    return openStore(opening)
  }
}

/** The clone syncs with the remote that its user names now, which must have the state named now. */
async function atAddress(store: MemoryStore, address: RemoteAddress): Promise<MemoryStore> {
  try {
    await store.remotes.put('origin', address)
    return store
  } catch (error) {
    await store.close().catch(() => undefined)
    throw error
  }
}
