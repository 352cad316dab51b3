// What a store is opened with, and where it and what belongs to it lie. Reads nothing.

import type { Progress } from '../../async.ts'
import { toHex, utf8 } from '../../bytes.ts'
import { type CacheBudget, cachesOfProcess, indexesOfProcess } from '../../cache-budget.ts'
import { type Clock, systemClock } from '../../clock.ts'
import { hash256 } from '../../crypto/digest.ts'
import { type Random, systemRandom } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { HashedColumns } from '../../git/exchange.ts'
import type { Packer } from '../../git/pack/packer.ts'
import type { SharedLog } from '../../git/replica/shared-log.ts'
import type { Identity } from '../../keys/identity.ts'
import type { Unlock } from '../../keys/unlock.ts'
import { standardStretch, type StretchParameters } from '../../limits.ts'
import { dirname, resolve } from '../../platform/paths.ts'
import type { ContentGuard } from '../guard/guard.ts'
import { Anchor } from '../local/anchor.ts'
import { GrantNotes } from '../local/grant-notes.ts'
import { OwnDirectory, type OwnFiles } from '../local/own-files.ts'
import { RemoteStateFile } from '../local/remote-state-file.ts'
import { type CacheFiles, type CacheOwner, journalSecretOf } from '../local/sealed-cache.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** Given with each opening and never stored. */
export interface GuardOptions {
  /** Checks every text before it is written, in addition to the guard of the settings. */
  readonly guard?: ContentGuard
}

/** Defaults to the system's. */
export interface StoreEnvironment {
  readonly clock?: Clock
  /** @internal Replaced in tests. */
  readonly random?: Random
  /** @internal Replaced in tests. */
  readonly disk?: Disk
  /** @internal What new passphrases are stretched with: tests take the least that is allowed. */
  readonly stretch?: StretchParameters
  /**
   * @internal The log of a store, by its id (`memstore_…`), where several servers share stores. The
   * directory is then a replica, private to this process.
   */
  readonly sharedLog?: (storeId: string) => SharedLog
  /**
   * @internal What the device keeps for itself of a store, by its id, for one handle; by default
   * files in the places of the store.
   */
  readonly ownFiles?: (storeId: string) => OwnFiles
  /** @internal Where packs are made; a worker thread by default. */
  readonly packer?: Packer
  /** @internal What caches may hold; by default together with all other stores of the process. */
  readonly cacheBudget?: CacheBudget
  /** @internal What indexes for searches may hold; by default `cacheBudget`, or as that does. */
  readonly indexBudget?: CacheBudget
}

/** The locations of a store and of what belongs to it. */
export interface StorePlaces {
  /** The bare repository. */
  readonly directory: string
  /** For the anchor, which must be outside the store. One folder serves many stores. */
  readonly stateDirectory: string
  readonly identity: Identity
}

export interface OpenOptions extends StorePlaces, GuardOptions, StoreEnvironment {
  /** One of these enrols an identity that is not a device of the store yet (FORMAT §7). */
  readonly passphrase?: string
  readonly recoveryKey?: string
  /** `GLKO1-…`, from `generateOperatorSecret`. */
  readonly operatorSecret?: string
  /** For the enrolled device: a text for people, by default empty. */
  readonly deviceName?: string
  /** `memstore_…`: refuses any other store, also another one of the same device. */
  readonly storeId?: string
  /** Accepts once a store that was restored to an older state. */
  readonly acceptRolledBack?: boolean
  /** @internal The objects that this process has just received and hashed. */
  readonly hashed?: HashedColumns | undefined
  /** Reports the verification of a long history. */
  readonly progress?: Progress
  readonly signal?: AbortSignal
  /** @internal Opens every keyring with the recovery key, and makes no device of the identity. */
  readonly isGuest?: boolean | undefined
  /** @internal The verified state of a clone that was made just now. */
  readonly verified?: Snapshot | undefined
}

export function environmentOf(
  options: StoreEnvironment,
): Required<Omit<StoreEnvironment, 'packer' | 'sharedLog' | 'ownFiles'>> {
  const { clock = systemClock, random = systemRandom, disk = systemDisk } = options
  const { stretch = standardStretch, cacheBudget = cachesOfProcess } = options
  // Where caches have a bound of their own, such as in a server, indexes share it.
  const { indexBudget = options.cacheBudget ?? indexesOfProcess } = options
  return { clock, random, disk, stretch, cacheBudget, indexBudget }
}

/** What an object store of this device is opened with. */
export function storageOf(
  options: StoreEnvironment & Pick<StorePlaces, 'identity'>,
): StoreEnvironment & { readonly secret: Uint8Array; readonly mayBeShallow: boolean } {
  const { disk, packer, cacheBudget, identity } = options
  const given = { ...(disk && { disk }), ...(packer && { packer }) }
  const secret = journalSecretOf(identity)
  const mayBeShallow = identity.grant !== undefined
  return { ...given, ...(cacheBudget && { cacheBudget }), secret, mayBeShallow }
}

export function unlockOf(options: OpenOptions): Unlock {
  const { identity, passphrase, recoveryKey, operatorSecret } = options
  const given = [passphrase, recoveryKey, operatorSecret].filter((secret) => secret !== undefined)
  if (given.length > 1) {
    throw new StoreError(
      'invalid_input',
      'Give a passphrase, a recovery key or an operator secret: one of them',
    )
  }
  if (operatorSecret !== undefined) return { type: 'operator', operatorSecret }
  if (passphrase !== undefined) return { type: 'passphrase', passphrase }
  if (recoveryKey !== undefined) return { type: 'recovery', recoveryKey }
  return { type: 'identity', identity }
}

/** Reads the anchor: throws `anchor_corrupt` or `upgrade_required`. */
export async function localFiles(
  options: StorePlaces & StoreEnvironment,
  storeId: string,
): Promise<{
  readonly caches: CacheOwner
  readonly files: OwnFiles
  readonly anchor: Anchor
  readonly seenRemotes: RemoteStateFile
  readonly grantNotes: GrantNotes
  readonly erasures: CacheFiles
  readonly cacheDirectory: string
}> {
  const { caches, erasuresDirectory, cacheDirectory } = localPlaces(options, storeId)
  const files = ownFilesOf(options, storeId)
  const anchor = await Anchor.open(caches, files)
  const seenRemotes = new RemoteStateFile(caches, files)
  const grantNotes = new GrantNotes(caches, files)
  const erasures = { owner: caches, directory: erasuresDirectory }
  return { caches, files, anchor, seenRemotes, grantNotes, erasures, cacheDirectory }
}

/** For one handle of the store. */
export function ownFilesOf(options: StorePlaces & StoreEnvironment, storeId: string): OwnFiles {
  const { ownFiles } = options
  if (ownFiles !== undefined) return ownFiles(formatId('store', storeId))
  return ownDirectoryOf(localPlaces(options, storeId))
}

/** What remotes have shown to each clone of a grant on this machine, also to deleted ones. */
export function remotesSeenByClones(
  options: StorePlaces & StoreEnvironment,
  storeId: string,
): readonly RemoteStateFile[] {
  const places = localPlaces(options, storeId)
  const { caches, remotesFile } = places
  const [folder, device] = [dirname(remotesFile), formatId('device', options.identity.deviceId)]
  const isOne = (name: string): boolean =>
    name.startsWith(`${device}-`) && name.endsWith('.remotes')
  const filesOf = (name: string): OwnFiles =>
    ownDirectoryOf({ ...places, remotesFile: `${folder}/${name}` })
  const names = caches.disk.list(folder).filter(isOne)
  return names.map((name) => new RemoteStateFile(caches, filesOf(name)))
}

function ownDirectoryOf(places: ReturnType<typeof localPlaces>): OwnFiles {
  const { caches, anchorFile: anchor, remotesFile: remotes, cacheDirectory } = places
  return new OwnDirectory(caches.disk, {
    anchor,
    remotes,
    grants: places.grantsFile,
    reads: `${cacheDirectory}/reads`,
    state: `${cacheDirectory}/state`,
    'state-changes': `${cacheDirectory}/state-changes`,
  })
}

/** The paths of this device's local files. Reads nothing. */
export function localPlaces(
  options: StorePlaces & StoreEnvironment,
  storeId: string,
): {
  readonly caches: CacheOwner
  /** Begins the paths of all of them in the state directory. */
  readonly state: string
  readonly anchorFile: string
  readonly remotesFile: string
  /** What this device notes of the grants that it gave. */
  readonly grantsFile: string
  /** The records that an auditor has verified and that members left out since. */
  readonly leftOutFile: string
  /** The object ids that redactions on this device have erased. */
  readonly erasuresDirectory: string
  readonly cacheDirectory: string
} {
  const { identity, directory, stateDirectory } = options
  const { disk, random } = environmentOf(options)
  const device = formatId('device', identity.deviceId)
  // A device has one state on a machine, as its records follow one another. The clones of a grant
  // are independent, and told apart by their place: a name in one could be put back with it.
  const clone = identity.grant && `-${toHex(hash256(utf8(resolve(directory))).subarray(0, 8))}`
  const state = `${stateDirectory}/${formatId('store', storeId)}/${device}${clone ?? ''}`
  return {
    caches: { disk, storeId, identity, random },
    state,
    anchorFile: `${state}.anchor`,
    remotesFile: `${state}.remotes`,
    grantsFile: `${state}.grants`,
    leftOutFile: `${state}.left-out`,
    erasuresDirectory: `${state}.erasures`,
    cacheDirectory: `${directory}/gitlocket/cache/${device}`,
  }
}
