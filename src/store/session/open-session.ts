// Opens an existing store. Trusts nothing that it finds: the repository is checked, the keyring
// opened tentatively, and the head verified from the newest state that this device has verified, or
// from genesis (FORMAT §8, §9). The order of the steps matters.

import { hasCode, StoreError } from '../../errors.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { OpenedKeyring } from '../../keys/keyring.ts'
import { openHeadKeyring, readKeyringState, readSettingsState } from '../access/authority.ts'
import type { CommitCount } from '../commits/commit-count.ts'
import { beforeBeginning } from '../history/beginning-entry.ts'
import type { OwnFiles } from '../local/own-files.ts'
import type { RemoteStateFile } from '../local/remote-state-file.ts'
import type { CacheOwner } from '../local/sealed-cache.ts'
import { findState } from '../local/state-cache.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CloneBeginning } from '../verify/beginning.ts'
import { verifyBegun, verifyDescent, verifyHistory } from '../verify/verify.ts'
import { keepUp, pin } from './freshness.ts'
import { environmentOf, localFiles, type OpenOptions, unlockOf } from './open-options.ts'
import { StoreSession } from './session.ts'
import { checkIsHead } from './steady-head.ts'
import { checkExpected, getHead, readStoreId, type StoreSource } from './store-id.ts'

export async function openSession(
  objects: ObjectStore,
  options: OpenOptions,
): Promise<{ readonly session: StoreSession; readonly opened: OpenedKeyring }> {
  const { identity, guard, signal } = options
  const { clock, random, stretch, cacheBudget, indexBudget } = environmentOf(options)
  const storeId = readStoreId(objects)
  checkExpected(storeId, options.storeId)
  // Reads the anchor before the head: otherwise a commit in between would look like a rollback.
  const local = await localFiles(options, storeId)
  const { caches, anchor, files } = local
  objects.refresh()
  const head = getHead(objects)
  const opened = await openHeadKeyring(objects, storeId, unlockOf(options), head, signal)
  const source = { objects, storeId, epochs: opened.epochs, identity }
  const { grant } = identity
  // Loaded on demand: few identities hold a grant.
  const granted = grant && new (await import('./granted.ts')).GrantedFiles(options)
  const beginning = grant && granted?.findBeginning(source, grant)
  const known =
    verifiedAt(options, objects, head) ?? (await resume(source, { caches, files }, head, options))
  const found = known ?? (await startOver(source, head, options, beginning))
  const { snapshot } = found
  // Changes that were written in time may still be sent after it, and their texts copied.
  granted?.check(snapshot, identity, (await hasUnsent(objects, local, head)) ? 0 : clock())
  if (options.acceptRolledBack !== true) await keepUp(source, anchor, snapshot)
  const parts = { ...found, ...local, beginning, objects, storeId, identity, epochs: opened.epochs }
  const unlock = options.isGuest === true ? unlockOf(options) : undefined
  const environment = { unlock, cacheBudget, indexBudget, clock, random, stretch, guard, granted }
  const session = new StoreSession({ ...parts, ...environment })
  if (options.acceptRolledBack === true) {
    await objects.exclusive(async () => {
      checkIsHead(objects, snapshot.head.commit)
      const last = snapshot.devices.get(identity.deviceId)?.sequence ?? 0
      await anchor.acceptRestored(snapshot.head, last)
    })
  } else if (anchor.verified === undefined) await pin(source, anchor, snapshot)
  if (granted?.hasNextStart === true) await tryToFinishAnew(session)
  return { session, opened }
}

/** Whether a remote has not shown this head. */
async function hasUnsent(
  { exchange }: ObjectStore,
  { seenRemotes }: { readonly seenRemotes: RemoteStateFile },
  head: Oid,
): Promise<boolean> {
  for (const { name, url } of exchange.remotes()) {
    if ((await seenRemotes.find(name, url))?.oid !== head) return true
  }
  return false
}

/** Without write access to the store nothing is changed: the branch decides which start is read. */
async function tryToFinishAnew(session: StoreSession): Promise<void> {
  try {
    // Loaded on demand: few processes die while their clone begins anew.
    await (await import('./finish-anew.ts')).finishAnew(session)
  } catch (error) {
    if (!hasCode(error, 'storage_denied')) throw error
  }
}

export interface OpenedState {
  readonly snapshot: Snapshot
  readonly cachedHeight: number
  readonly counted: CommitCount | undefined
  readonly kept: Snapshot | undefined
}

/** The state of a clone that was made just now; undefined if the branch has moved since. */
function verifiedAt(
  { verified }: OpenOptions,
  objects: ObjectStore,
  head: Oid,
): OpenedState | undefined {
  if (verified === undefined || verified.head.commit !== head) return undefined
  const snapshot = verified.trusting(objects)
  return { snapshot, cachedHeight: -1, counted: undefined, kept: undefined }
}

/**
 * Verifies from the cached snapshot; undefined if that fails or the head does not descend from it.
 */
async function resume(
  source: StoreSource,
  { caches, files }: { readonly caches: CacheOwner; readonly files: OwnFiles },
  head: Oid,
  options: OpenOptions,
): Promise<OpenedState | undefined> {
  try {
    const found = await findState(caches, files, {
      readKeyring: (oid, record) => readKeyringState(source, oid, record),
      readSettings: (oid, record) => readSettingsState(source, oid, record),
    })
    if (found === undefined) return undefined
    const { counted, kept } = found
    const cached = found.snapshot.trusting(source.objects)
    const { commit, height } = cached.head
    const snapshot = commit === head ? cached : await verifyDescent(source, cached, head, options)
    return snapshot && { snapshot, cachedHeight: height, counted, kept }
  } catch (error) {
    // The cache proves nothing about the store: the verification from genesis decides.
    if (error instanceof StoreError && error.code !== 'cancelled') return undefined
    throw error
  }
}

async function startOver(
  source: StoreSource,
  head: Oid,
  options: OpenOptions,
  beginning: CloneBeginning | undefined,
): Promise<OpenedState> {
  if (beginning !== undefined) {
    const snapshot = await verifyBegun(source, beginning.snapshot, head, options)
    if (snapshot === undefined) throw beforeBeginning()
    return { snapshot, cachedHeight: -1, counted: undefined, kept: undefined }
  }
  const { snapshot, commits } = await verifyHistory(source, head, options)
  return { snapshot, cachedHeight: -1, counted: { commit: head, commits }, kept: undefined }
}
