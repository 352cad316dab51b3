// The head of another clone, verified and nothing else: this store has not moved (FORMAT §8, §9).
// Nothing is read from it before that, and what is wrong with it is said with its own code.

import type { WorkOptions } from '../../async.ts'
import { equalBytes, toHex } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { parseCommit, parseLinks } from '../../format/commit.ts'
import { formatId } from '../../format/id.ts'
import { decodeKeyring } from '../../format/keyring.ts'
import { parseStoreFile } from '../../format/public-files.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { findKeyring, openHeadKeyring } from '../access/authority.ts'
import { wasLeftLate } from '../access/post-revocation.ts'
import { decodeCommit, type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { VersionsBelow } from '../local/version-ids.ts'
import { onOneState } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import { getBlob, getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'
import { type VerifiedAgain, verifyRewritten } from '../verify/verify-rewritten.ts'
import { verifyDescent, type VerifyOptions } from '../verify/verify.ts'
import { NewVersions } from './new-versions.ts'

export interface RemoteHead {
  readonly snapshot: Snapshot
  readonly epochs: Epochs
  /** The newest commit of ours that theirs builds on as it is, with its past. */
  readonly base: Pick<CommitEntry, 'oid' | 'height'> | undefined
  /** Hex record hash → commit, above the base. */
  readonly records: ReadonlyMap<string, Oid>
  /** What its commits above the base wrote. */
  readonly versions: NewVersions
}

export interface RemoteHeadOptions extends WorkOptions {
  /**
   * Whether the remote has shown this store before. If so, a head that is no store is tampering,
   * and no wrong address.
   */
  readonly wasShown?: boolean | undefined
  /** Of a head that was merged before, for this to move on with one that descends from it. */
  readonly merged?: Snapshot | undefined
}

/**
 * Throws `store_id_mismatch`, `not_a_store`, `wrong_key`, or what verification refuses;
 * `ref_conflict` if our own history, by which it is judged, was made again meanwhile.
 */
export function verifyRemoteHead(
  session: StoreSession,
  history: History,
  head: Oid,
  options: RemoteHeadOptions,
): Promise<RemoteHead> {
  return onOneState(session, () => verifyHead(session, history, head, options))
}

async function verifyHead(
  session: StoreSession,
  history: History,
  head: Oid,
  options: RemoteHeadOptions,
): Promise<RemoteHead> {
  checkStoreId(session.objects, head, session.storeId, options)
  const epochs = await epochsOf(session, head)
  const { objects, storeId } = session
  const records = new Map<string, Oid>()
  const versions = new NewVersions()
  const source = { objects, storeId, epochs }
  const onCommit = (commit: CheckedCommit): void => {
    records.set(toHex(commit.hash), commit.oid)
    versions.add(commit)
  }
  const how = { ...options, onCommit }
  const copyAt = (commit: Oid): Promise<Snapshot | undefined> =>
    session.reading((now) => (now.head.commit === commit ? now.copy() : undefined))
  const { snapshot, base } =
    (await goOn(source, history, head, how)) ??
    (await verifyRewritten(source, history, head, how, copyAt))
  await inSlices(versions.checkNew(source, history), options.signal)
  const { oid = '', height = 0 } = (base === -1 ? undefined : history.commits.at(base)) ?? {}
  const common = oid === '' ? undefined : { oid, height }
  return { snapshot, epochs, base: common, records, versions }
}

/**
 * What the remote has on top of a head that our history has as it is. A clone that writes much
 * would never overtake another one if it verified all of the remote's again with each attempt.
 */
async function goOn(
  source: HistorySource,
  history: History,
  head: Oid,
  { merged, ...how }: RemoteHeadOptions & VerifyOptions,
): Promise<VerifiedAgain | undefined> {
  if (merged === undefined) return undefined
  const known = history.findCommit(merged.head.commit, merged.head.height)
  if (known === undefined) return undefined
  const isDescent = await verifyDescent(source, merged, head, comparedAfterwards, how)
  return isDescent ? { snapshot: merged, base: known.position } : undefined
}

/** With all of our history, which has what is below. */
const comparedAfterwards: VersionsBelow = {
  checkNew: async () => undefined,
  extend: () => undefined,
}

/** Whether theirs has all that the remote has shown before, but for what is late. */
export async function hasShown(
  session: StoreSession,
  history: History,
  theirs: RemoteHead,
  seen: SeenHead,
): Promise<boolean> {
  if (includesRecord(session, history, theirs, seen)) return true
  const { objects, storeId } = session
  const epochs = new Map([...session.epochs, ...theirs.epochs])
  const head = theirs.snapshot.head.commit
  return wasLate({ objects, storeId, epochs }, history, head, seen)
}

/** Of a head that is in our own history. */
export function findKnown(
  objects: ObjectSource,
  history: History,
  head: Oid,
): CommitEntry | undefined {
  return history.findCommit(head, parseLinks(readCommitBytes(objects, head)).height)
}

/** The same of a head that is in our own history. */
export async function showsStill(
  session: StoreSession,
  history: History,
  known: CommitEntry,
  seen: SeenHead,
): Promise<boolean> {
  const before = findRecord(session, history, seen)
  if (before !== undefined) return history.pastOf(known)(before.position)
  // Taken over here once, and left when others did.
  return wasLate(session, history, known.oid, seen)
}

/** Whether others were right to leave out what the remote has shown. */
async function wasLate(
  source: HistorySource,
  history: History,
  head: Oid,
  seen: SeenHead,
): Promise<boolean> {
  const { objects, storeId, epochs } = source
  const oid = findRecord(source, history, seen)?.oid ?? seen.oid
  if (objects.read(oid) === undefined) return false
  return wasLeftLate({ objects, storeId, epochs }, oid, head)
}

/** Whether one of our records is in the past of theirs, whatever its commit is called there. */
export function includesRecord(
  source: HistorySource,
  history: History,
  { base, records }: Pick<RemoteHead, 'base' | 'records'>,
  wanted: { readonly height: number; readonly record: Uint8Array },
): boolean {
  if (records.has(toHex(wanted.record))) return true
  const common = base && history.findCommit(base.oid, base.height)
  if (common === undefined || wanted.height > common.height) return false
  const entry = findRecord(source, history, wanted)
  return entry !== undefined && history.pastOf(common)(entry.position)
}

export function rolledBackError(): StoreError {
  return new StoreError(
    'rolled_back',
    'The remote shows less than it has shown before: it was put back, or shows another history ' +
      'to you than to others. A sync with `repair` puts back what is missing there',
  )
}

/** Most keyrings are of an epoch that we have; who was enrolled since may have no slot in them. */
export async function epochsOf(session: StoreSession, head: Oid): Promise<Epochs> {
  const { objects } = session
  const keyring = getBlob(objects, findKeyring(objects, head), 'keyring_mismatch')
  if (session.epochs.has(decodeKeyring(keyring).kid)) return session.epochs
  const unlock = { type: 'identity', identity: session.identity } as const
  try {
    return (await openHeadKeyring(session.objects, session.storeId, unlock, head)).epochs
  } catch (error) {
    if (!hasCode(error, 'wrong_key')) throw error
    const device = formatId('device', session.identity.deviceId)
    throw new StoreError(
      'wrong_key',
      `The newest keyring on the remote has no slot for this device, ${device}: it was removed, ` +
        'or never added there',
      { cause: error },
    )
  }
}

/** Of a head that nobody has verified. Throws `store_id_mismatch`, `not_a_store`. */
export function checkStoreId(
  objects: ObjectSource,
  head: Oid,
  expected: string,
  { wasShown = false }: RemoteHeadOptions,
): void {
  if (findStoreId(objects, head, wasShown) === expected) return
  throw new StoreError('store_id_mismatch', 'The remote holds another store than this one')
}

function findStoreId(objects: ObjectSource, head: Oid, wasShown: boolean): string {
  try {
    return readForeignStoreId(objects, head)
  } catch (error) {
    if (!wasShown || !hasCode(error, 'not_a_store')) throw error
    throw new StoreError(
      'commit_malformed',
      'The newest commit on the remote is not one of a store, though the remote has shown this ' +
        'one before',
      { cause: error },
    )
  }
}

/** From the public file of a head that nobody has verified. Throws `not_a_store`. */
export function readForeignStoreId(objects: ObjectSource, head: Oid): string {
  const { tree } = parseForeign(objects, head)
  const entry = getTree(objects, tree).find(({ name }) => name === 'store.json')
  if (entry === undefined) throw notAStore()
  return parseStoreFile(getBlob(objects, entry.oid, 'not_a_store'))
}

function parseForeign(objects: ObjectSource, head: Oid): { readonly tree: Oid } {
  try {
    return parseCommit(readCommitBytes(objects, head))
  } catch (error) {
    if (hasCode(error, 'commit_malformed')) throw notAStore()
    throw error
  }
}

function notAStore(): StoreError {
  return new StoreError('not_a_store', 'The remote holds a git repository that is not a store')
}

/**
 * Where our own history has a record; undefined if it has not. Redactions may have given its commit
 * another id.
 */
export function findRecord(
  source: HistorySource,
  history: History,
  { height, record }: { readonly height: number; readonly record: Uint8Array },
): CommitEntry | undefined {
  return history.atHeight(height).find(({ oid }) => {
    const bytes = readCommitBytes(source.objects, oid)
    return equalBytes(decodeCommit(source.storeId, source.epochs, oid, bytes).hash, record)
  })
}
