// Opening what is there. Trusts nothing that it finds: the repository is checked, the keyring
// opened tentatively, and the head verified from the newest state that this device has verified
// before, or from genesis (FORMAT §8, §9). Order matters and is explained at each step.

import type { Progress } from '../../async.ts'
import { type Clock, systemClock } from '../../clock.ts'
import { type Random, systemRandom } from '../../crypto/random.ts'
import { type Disk, systemDisk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { formatId, parseId } from '../../format/id.ts'
import { parseStoreFile } from '../../format/public-files.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Packer } from '../../git/pack/packer.ts'
import type { AuditKeys, EpochKeys } from '../../keys/epoch.ts'
import type { Identity } from '../../keys/identity.ts'
import type { OpenedKeyring, Unlock } from '../../keys/keyring.ts'
import { openHeadKeyring, readKeyringState, readSettingsState } from '../access/authority.ts'
import type { CommitCount } from '../commits/commit-count.ts'
import { type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import type { ContentGuard } from '../guard/guard.ts'
import { catchUp } from '../history/catch-up.ts'
import { History } from '../history/history.ts'
import { Anchor } from '../local/anchor.ts'
import { readHistory } from '../local/history-cache.ts'
import { RemoteStateFile } from '../local/remote-state-file.ts'
import type { CacheFiles, CacheOwner } from '../local/sealed-cache.ts'
import { findState } from '../local/state-cache.ts'
import { VersionIds } from '../local/version-ids.ts'
import { getBlob, getTree } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { verifyDescent, verifyHistory } from '../verify/verify.ts'
import { keepUp, pin } from './freshness.ts'
import { StoreSession } from './session.ts'
import { checkIsHead } from './steady-head.ts'

/** Given anew with every opening; nothing of it is stored. */
export interface GuardOptions {
  /** Looks at every text before it is written, beside the guard that the settings may ask for. */
  readonly guard?: ContentGuard
}

/** The system's, unless given. */
export interface StoreEnvironment {
  readonly clock?: Clock
  /** @internal Replaced in tests. */
  readonly random?: Random
  /** @internal Replaced in tests. */
  readonly disk?: Disk
  /** @internal Where packs are made: a worker thread, unless given. */
  readonly packer?: Packer
}

/** Where a store and what belongs to it lie. */
export interface StorePlaces {
  /** The bare repository. */
  readonly directory: string
  /** What must live outside the store: the anchor. One folder serves many stores. */
  readonly stateDirectory: string
  readonly identity: Identity
}

export interface OpenOptions extends StorePlaces, GuardOptions, StoreEnvironment {
  /** One of these enrols an identity that is not a device of the store yet (FORMAT §7). */
  readonly passphrase?: string
  readonly recoveryKey?: string
  /** `memstore_…`: refuse any other store, also one of the same device that took its place. */
  readonly storeId?: string
  /** Accept a store that was put back to an older state, once. */
  readonly acceptRolledBack?: boolean
  /** Reports the verification of a long history. */
  readonly progress?: Progress
  readonly signal?: AbortSignal
}

export async function openSession(
  objects: ObjectStore,
  options: OpenOptions,
): Promise<{ readonly session: StoreSession; readonly opened: OpenedKeyring }> {
  const { identity, guard } = options
  const { clock, random } = environmentOf(options)
  const storeId = readStoreId(objects)
  checkExpected(storeId, options.storeId)
  // The anchor before the head: the other way round, a commit between the two would look like a
  // rollback.
  const { caches, anchor, cacheDirectory, seenRemotes } = localFiles(options, storeId)
  objects.refresh()
  const head = getHead(objects)
  const opened = await openHeadKeyring(objects, storeId, unlockOf(options), head)
  const source = { objects, storeId, epochs: opened.epochs }
  const files = { owner: caches, directory: cacheDirectory }
  const known = await resume(source, files, head, options)
  const { history, ...found } = known ?? (await startOver(source, files, head, options))
  const { snapshot } = found
  if (options.acceptRolledBack !== true) await keepUp(source, anchor, snapshot)
  const parts = { ...found, objects, storeId, identity, epochs: opened.epochs, anchor, caches }
  const local = { cacheDirectory, clock, random, guard, seenRemotes }
  const session = new StoreSession({ ...parts, ...local }, history)
  if (options.acceptRolledBack === true) {
    await objects.exclusive(async () => {
      checkIsHead(objects, snapshot.head.commit)
      await anchor.accept(snapshot.head)
    })
  } else if (anchor.verified === undefined) await pin(source, anchor, snapshot)
  return { session, opened }
}

export function environmentOf(
  options: StoreEnvironment,
): Required<Omit<StoreEnvironment, 'packer'>> {
  const { clock = systemClock, random = systemRandom, disk = systemDisk } = options
  return { clock, random, disk }
}

export function storageOf(options: StoreEnvironment): StoreEnvironment {
  const { disk, packer } = options
  return { ...(disk && { disk }), ...(packer && { packer }) }
}

export function unlockOf(options: OpenOptions): Unlock {
  const { identity, passphrase, recoveryKey } = options
  if (passphrase !== undefined && recoveryKey !== undefined) {
    throw new StoreError('invalid_input', 'Give a passphrase or a recovery key, not both')
  }
  if (passphrase !== undefined) return { type: 'passphrase', passphrase }
  if (recoveryKey !== undefined) return { type: 'recovery', recoveryKey }
  return { type: 'identity', identity }
}

export function localFiles(
  options: StorePlaces & StoreEnvironment,
  storeId: string,
): {
  readonly caches: CacheOwner
  readonly anchor: Anchor
  readonly seenRemotes: RemoteStateFile
  readonly cacheDirectory: string
} {
  const { caches, anchorFile, remotesFile, cacheDirectory } = localPlaces(options, storeId)
  const anchor = new Anchor(caches, anchorFile)
  return { caches, anchor, seenRemotes: new RemoteStateFile(caches, remotesFile), cacheDirectory }
}

/** Where this device keeps what belongs to it alone. Reads nothing. */
export function localPlaces(
  options: StorePlaces & StoreEnvironment,
  storeId: string,
): {
  readonly caches: CacheOwner
  readonly anchorFile: string
  readonly remotesFile: string
  readonly cacheDirectory: string
} {
  const { identity, directory, stateDirectory } = options
  const { disk, random } = environmentOf(options)
  const device = formatId('device', identity.deviceId)
  const state = `${stateDirectory}/${formatId('store', storeId)}/${device}`
  return {
    caches: { disk, storeId, identity, random },
    anchorFile: `${state}.anchor`,
    remotesFile: `${state}.remotes`,
    cacheDirectory: `${directory}/gitlocket/cache/${device}`,
  }
}

export function getHead(objects: ObjectStore): Oid {
  if (objects.head !== undefined) return objects.head
  for (const _ of objects.objectIds()) {
    throw new StoreError('ref_corrupt', 'refs/heads/main is missing, though objects are there')
  }
  throw new StoreError('not_a_store', 'The repository has no commit: it is not a gitlocket store')
}

/** From the public file of the head's tree; verified with the rest of genesis. */
export function readStoreId(objects: ObjectStore): string {
  const text = Buffer.from(readCommitBytes(objects, getHead(objects)).subarray(0, 46))
  const tree = /^tree ([0-9a-f]{40})\n/.exec(text.toString('latin1'))?.[1]
  if (tree === undefined) throw new StoreError('not_a_store', 'The head is not a gitlocket commit')
  const entry = getTree(objects, tree).find((candidate) => candidate.name === 'store.json')
  if (entry === undefined) {
    throw new StoreError('not_a_store', 'The repository is not a gitlocket store')
  }
  return parseStoreFile(getBlob(objects, entry.oid, 'not_a_store'))
}

export interface Source<Keys extends AuditKeys = EpochKeys> {
  readonly objects: ObjectStore
  readonly storeId: string
  readonly epochs: Epochs<Keys>
}

export function checkExpected(found: string, expected: string | undefined): void {
  if (expected === undefined || parseId('store', expected) === found) return
  throw new StoreError('store_id_mismatch', 'Another store is in this place than the expected one')
}

export interface Verified {
  readonly snapshot: Snapshot
  readonly history: History
  readonly cachedHeight: number
  readonly counted: CommitCount | undefined
  readonly versionIds: VersionIds
}

/** From the cached snapshot, if the head descends from it. Undefined if that leads nowhere. */
async function resume(
  source: Source,
  files: CacheFiles,
  head: Oid,
  options: OpenOptions,
): Promise<Verified | undefined> {
  try {
    const found = await findState(files.owner, `${files.directory}/state`, {
      readKeyring: (oid, record) => readKeyringState(source, oid, record),
      readSettings: (oid, record, height) => readSettingsState(source, oid, record, height),
    })
    if (found === undefined) return undefined
    const { snapshot, counted, kept } = found
    const { commit, height } = snapshot.head
    const versionIds = new VersionIds(files, kept && { commit, kept })
    const history = new History()
    const known = { snapshot, history, cachedHeight: height, counted, versionIds }
    if (commit === head) return known
    const fill = async (): Promise<History> => {
      await readHistory(files.owner, files.directory, history, options.signal)
      await catchUp(history, source, commit, options)
      return history
    }
    const below = versionIds.below(source, commit, fill, options)
    return (await verifyDescent(source, snapshot, head, below, options)) ? known : undefined
  } catch (error) {
    // Whatever is wrong, the cache is no witness: the verification from genesis decides.
    if (error instanceof StoreError && error.code !== 'cancelled') return undefined
    throw error
  }
}

async function startOver(
  source: Source,
  files: CacheFiles,
  head: Oid,
  options: OpenOptions,
): Promise<Verified> {
  const { snapshot, commits, versions } = await verifyHistory(source, head, options)
  const versionIds = new VersionIds(files)
  versionIds.restart(head, versions.ids.ids)
  const counted = { commit: head, commits }
  return { snapshot, history: new History(), cachedHeight: -1, counted, versionIds }
}
