// A second machine: a store that a remote holds, fetched, verified from genesis and opened here
// (FORMAT §7, §8, §9). All of it happens next to the directory that is wanted, so that what goes
// wrong, a wrong key above all, leaves nothing behind.

import { systemRandom } from '../crypto/random.ts'
import { systemDisk } from '../disk/system-disk.ts'
import { hasCode, StoreError } from '../errors.ts'
import { parseId } from '../format/id.ts'
import { openHeadKeyring } from './access/authority.ts'
import {
  addressOf,
  checkKeepsUp,
  checkNamed,
  checkState,
  confirmContact,
  contactOf,
  type FirstContact,
  type JoinOptions,
  nameOf,
} from './clone/clone-remote.ts'
import { fetchInto } from './clone/fetch-into.ts'
import { StagedClone } from './clone/staged-clone.ts'
import type { MemoryStore } from './memory-store.ts'
import { openStore } from './open.ts'
import { checkPlaces, checkText } from './request-check.ts'
import { localFiles, type StorePlaces, unlockOf } from './session/open-options.ts'
import type { StoreSyncOptions } from './sync/report.ts'

/** Other machines that join at the same moment may win so often. */
const ATTEMPTS = 5

/**
 * Opens the store of a remote in an absent or empty directory. A passphrase or recovery key makes
 * this identity a device and tells the remote; without one it has to be a device already. Throws
 * `wrong_key`, `invalid_input` if nothing says which store it is, or how new, `store_exists`,
 * `not_found` for an empty remote, `store_id_mismatch`, `rolled_back` if it lacks what the address
 * names or what this device has verified before, a remote code, or what verification refuses;
 * nothing is left then.
 */
export async function joinStore(options: JoinOptions): Promise<MemoryStore> {
  const { disk = systemDisk, random = systemRandom, directory } = checkPlaces(options)
  checkText(options.url, '`url`')
  const staged = new StagedClone(disk, random, directory)
  checkNamed(options)
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await joinOnce(staged, options)
    } catch (error) {
      // Two enrolments at once exclude each other, so the later one begins anew on the other.
      const lostRace = hasCode(error, 'remote_moved', 'keyring_conflict')
      if (!lostRace || attempt === ATTEMPTS) throw error
    }
  }
}

/** The keyring of a newer epoch does not know what this attempt has enrolled. */
function overtakenError(cause: unknown): StoreError {
  return new StoreError(
    'remote_moved',
    'Access to the store has changed on the remote in the meantime',
    { cause },
  )
}

async function joinOnce(staged: StagedClone, options: JoinOptions): Promise<MemoryStore> {
  await staged.make(async ({ repository, state }) => {
    let contact: FirstContact | undefined
    // Before anything else, whether the key is one of its keys.
    const hashed = await fetchInto(repository, options, async (objects, head, storeId) => {
      const unlock = unlockOf(options)
      const opened = await openHeadKeyring(objects, storeId, unlock, head, options.signal)
      const source = { objects, storeId, epochs: opened.epochs }
      await checkKeepsUp(source, head, options)
      await checkState(source, head, options)
      contact = await contactOf(source, head, opened.directory)
    })
    // Whatever an attempt enrols counts only once the remote has it.
    const places = { directory: repository, stateDirectory: state, identity: options.identity }
    const store = await openStore({ ...options, ...places, hashed })
    const { id: storeId } = store
    try {
      // The store's own statements are verified now.
      await confirmContact(options, contact)
      await store.remotes.add(nameOf(options), addressOf(options).url)
      await store.as(options.author).sync(syncOptionsOf(options))
    } catch (error) {
      throw hasCode(error, 'wrong_key') ? overtakenError(error) : error
    } finally {
      await store.close()
    }
    await keepSeen(places, options, storeId)
  })
  const { passphrase: _, recoveryKey: __, operatorSecret: ___, ...others } = options
  return openStore(others)
}

/** What the remote has shown counts from now on: the real state directory remembers it. */
async function keepSeen(scratch: StorePlaces, options: JoinOptions, store: string): Promise<void> {
  const storeId = parseId('store', store)
  const [name, { url }] = [nameOf(options), addressOf(options)]
  const before = await localFiles({ ...options, ...scratch }, storeId)
  const seen = await before.seenRemotes.find(name, url)
  if (seen === undefined) return
  const { seenRemotes } = await localFiles(options, storeId)
  await seenRemotes.note(name, url, seen)
}

function syncOptionsOf(options: JoinOptions): StoreSyncOptions {
  const { access, transfer, progress, signal } = options
  return { remote: nameOf(options), access, transfer, progress, signal }
}
