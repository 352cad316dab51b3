// Creating a store, and opening one (open-session.ts).

import type { Actor } from '../format/change-record.ts'
import { zeroHash } from '../format/record.ts'
import { checkSettings, type Settings } from '../format/settings.ts'
import { createDiskObjectStore, openDiskObjectStore } from '../git/disk-store/disk-object-store.ts'
import { formatRecoveryKey, generateRecoveryKey } from '../keys/identity.ts'
import { createKeyring } from '../keys/keyring.ts'
import { contentBytesDefault, memoriesDefault } from '../limits.ts'
import { checkActor } from './commits/author.ts'
import { buildGenesis } from './commits/commit.ts'
import { enrolDevice, sealSettings } from './devices/administration.ts'
import { History } from './history/history.ts'
import { VersionIds } from './local/version-ids.ts'
import { MemoryStore } from './memory-store.ts'
import {
  type GuardOptions,
  type StoreEnvironment,
  environmentOf,
  localFiles,
  type OpenOptions,
  openSession,
  type StorePlaces,
  storageOf,
} from './session/open-session.ts'
import { StoreSession } from './session/session.ts'
import { onSteadyHead } from './session/steady-head.ts'

export interface CreateOptions extends StorePlaces, GuardOptions, StoreEnvironment {
  /** Lets a new device join with a passphrase; at least 8 characters. */
  readonly passphrase?: string
  readonly limits?: { readonly contentBytes?: number; readonly memories?: number }
  readonly name?: string
  /** Who is recorded as the founder. */
  readonly actor?: Actor
}

/**
 * Makes a new store in an absent or empty directory and opens it. The recovery key is returned here
 * and nowhere else. Throws `store_exists`, `invalid_input` or a storage code.
 */
export async function createStore(
  options: CreateOptions,
): Promise<{ readonly store: MemoryStore; readonly recoveryKey: string }> {
  const { identity, directory } = options
  const { clock, random } = environmentOf(options)
  const settings = checkSettings(initialSettings(options))
  const recoveryKey = generateRecoveryKey(random)
  const passphrase = options.passphrase
  const keyring = await createKeyring({ identity, passphrase, recoveryKey, random })
  const { storeId, epoch } = keyring
  const pair = identity.signing
  const signer = { deviceId: identity.deviceId, pair, sequence: 1, previous: zeroHash }
  const context = { storeId, epoch, signer, time: clock(), random }
  const sealed = sealSettings(context, settings)
  const { built, snapshot } = await buildGenesis(
    context,
    keyring,
    { bytes: sealed, value: settings },
    options.actor && checkActor(options.actor),
  )
  const objects = await createDiskObjectStore({ directory, ...storageOf(options) })
  const { caches, anchor, cacheDirectory, seenRemotes } = localFiles(options, storeId)
  try {
    await objects.exclusive(async () => {
      // Genesis has number 1, so the next one is asked for: 1 is never given again.
      await anchor.reserve(1, snapshot.head)
      const transition = { objects: built.objects, expected: undefined, next: built.head.commit }
      await objects.commit([transition])
    })
    await objects.checkpoint()
  } catch (error) {
    await objects.close().catch(() => undefined)
    throw error
  }
  const epochs = new Map([[epoch.kid, epoch]])
  const parts = { objects, storeId, identity, epochs, snapshot, anchor, caches, cacheDirectory }
  const counted = { commit: built.head.commit, commits: 1 }
  const versionIds = new VersionIds({ owner: caches, directory: cacheDirectory })
  versionIds.restart(built.head.commit)
  const local = { clock, random, cachedHeight: -1, counted, guard: options.guard, seenRemotes }
  const session = new StoreSession({ ...parts, ...local, versionIds }, new History())
  return { store: new MemoryStore(session), recoveryKey: formatRecoveryKey(recoveryKey) }
}

/**
 * Opens a store. Throws `not_a_store`, `unsupported_repository`, `upgrade_required`, `wrong_key`,
 * `rolled_back`, a storage code, or the code of whatever verification refused.
 */
export async function openStore(options: OpenOptions): Promise<MemoryStore> {
  const objects = await openDiskObjectStore({ directory: options.directory, ...storageOf(options) })
  try {
    // A redaction of another process erases what lies below the head that was read.
    const { session, opened } = await onSteadyHead(objects, () => openSession(objects, options))
    await session.keepVerified()
    await enrolDevice(session, opened)
    return new MemoryStore(session)
  } catch (error) {
    await objects.close().catch(() => undefined)
    throw error
  }
}

function initialSettings(options: CreateOptions): Settings {
  const { contentBytes = contentBytesDefault, memories = memoriesDefault } = options.limits ?? {}
  const name = options.name ?? 'agent memory'
  const limits = { contentBytes, memories }
  return { name, description: '', metadata: {}, archivedAt: undefined, limits }
}
