// Verifies the head of another clone (FORMAT §8, §9), and compares it with what its remote has
// shown before. Must not move this store; reports each violation with the code of verification.

import type { WorkOptions } from '../../async.ts'
import { compareBytes, toHex } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { decodeKeyring } from '../../format/keyring.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import { zeroId } from '../../format/record.ts'
import type { Start } from '../../format/start.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { openHeadKeyring, readHeadKeyring } from '../access/authority.ts'
import { areLostCommitsLate, decodeAt, meetingOf } from '../access/post-revocation.ts'
import { readForeignStoreId } from '../clone/clone-remote.ts'
import { containsCommit, containsRecord } from '../commits/ancestors.ts'
import type { Epochs } from '../commits/decoded-commit.ts'
import { findDivergence } from '../commits/divergence.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import { findRecord } from '../history/known-commit.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import { onOneState } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { floorOf } from '../verify/beginning.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'
import { verifyRewritten } from '../verify/verify-rewritten.ts'
import { verifyBegun, verifyDescent, type VerifyOptions } from '../verify/verify.ts'
import { keyringConflictError, rewrittenError } from './refusals.ts'
import { NewVersions, type RemoteHead, sourceWith } from './remote-history.ts'
import type { SettingsOutcome, SyncOptions } from './report.ts'

/** This store, and the place where a head is read: outside the store until it is accepted. */
export interface RemoteSource {
  readonly session: StoreSession
  readonly objects: ObjectSource
}

export interface RemoteHeadOptions extends WorkOptions {
  /**
   * Whether the remote has shown this store before. If so, a head that is not a store's means
   * tampering, not a wrong address.
   */
  readonly wasShown?: boolean | undefined
  /** The snapshot of their head that was merged last: a descendant is verified from there. */
  readonly merged?: Snapshot | undefined
  /** Called with the commit for which the head is refused, if it is known. */
  readonly onRefused?: ((oid: Oid) => void) | undefined
}

/**
 * Throws `store_id_mismatch`, `not_a_store`, `wrong_key`, or the code of verification;
 * `ref_conflict` if our own history, with which it is compared, was rewritten concurrently.
 */
export function verifyRemoteHead(
  from: RemoteSource,
  history: History,
  head: Oid,
  options: RemoteHeadOptions,
): Promise<RemoteHead> {
  return onOneState(from.session, async () => {
    try {
      return await verifyHead(from, history, head, options)
    } catch (error) {
      const start = from.session.beginning?.start
      if (start === undefined || !hasCode(error, 'object_missing', 'history_needed')) throw error
      return verifyFromFloor(from, start, head, options)
    }
  })
}

/** From the older state of the start with which this clone began. */
async function verifyFromFloor(
  from: RemoteSource,
  start: Start,
  head: Oid,
  options: RemoteHeadOptions,
): Promise<RemoteHead> {
  const { source, how, found } = await beginWith(from, head, options)
  const beginning = await inSlices(floorOf(source, start))
  const { commit: oid, height } = beginning.snapshot.head
  const snapshot = await verifyBegun(source, beginning.snapshot, head, how)
  const isMet = snapshot !== undefined && (await reaches(from, oid))
  if (!isMet) throw rewrittenError()
  const begin = async (): Promise<void> => from.session.beginAt(beginning)
  return { ...found(), snapshot, base: { oid, height }, isSuccessor: false, begin }
}

/** Whether ours is stored down to a commit: a redaction may have rewritten all above that. */
async function reaches({ session, objects }: RemoteSource, wanted: Oid): Promise<boolean> {
  const { commit } = await session.reading(({ head }) => head)
  try {
    return await inSlices(containsCommit(objects, commit, wanted))
  } catch (error) {
    if (!hasCode(error, 'object_missing')) throw error
    return false
  }
}

async function verifyHead(
  from: RemoteSource,
  history: History,
  head: Oid,
  options: RemoteHeadOptions,
): Promise<RemoteHead> {
  const { source, how, found } = await beginWith(from, head, options)
  const findAt = (commit: Oid): Promise<Snapshot | undefined> =>
    from.session.reading((now) => (now.head.commit === commit ? now : undefined))
  // Otherwise a clone that loses many races would verify the same commits with each attempt.
  const { merged, ...others } = how
  const known = merged && history.findCommit(merged.head.commit, merged.head.height)
  const descended =
    merged === undefined || known === undefined
      ? undefined
      : await verifyDescent(source, merged, head, others)
  const { snapshot, base } =
    descended === undefined || known === undefined
      ? await verifyRewritten(source, history, head, others, findAt)
      : { snapshot: descended, base: known.position }
  // All commits may be here by chance: then too this clone must begin where they meet.
  if (base === -1 && from.session.beginning !== undefined) throw rewrittenError()
  const common = base === -1 ? undefined : history.commits.at(base)
  return {
    ...found(),
    snapshot,
    base: common && { oid: common.oid, height: common.height },
    isSuccessor: false,
  }
}

/**
 * The same without our history, if `head` only adds to our head and redacts nothing: then all that
 * our history has is in the past of both. Undefined if it does not.
 */
export function verifySuccessor(
  from: RemoteSource,
  head: Oid,
  options: RemoteHeadOptions,
): Promise<RemoteHead | undefined> {
  return onOneState(from.session, async () => {
    const { source, how, found } = await beginWith(from, head, options)
    const ours = await from.session.reading((now) => now)
    const { commit: oid, height } = ours.head
    const snapshot = await verifyDescent(source, ours, head, how)
    if (snapshot === undefined) return undefined
    return { ...found(), snapshot, base: { oid, height }, isSuccessor: true }
  })
}

interface Verification {
  readonly source: HistorySource
  readonly how: RemoteHeadOptions & VerifyOptions
  /** What verification has passed. */
  readonly found: () => Omit<RemoteHead, 'snapshot' | 'base' | 'isSuccessor'>
}

async function beginWith(
  from: RemoteSource,
  head: Oid,
  options: RemoteHeadOptions,
): Promise<Verification> {
  const { session, objects } = from
  const { storeId, identity } = session
  checkStoreId(objects, head, storeId, options)
  const epochs = await epochsOf(from, head, options.signal)
  const records = new Map<string, Oid>()
  const versions = new NewVersions()
  let hasMerges = false
  const onCommit = (commit: CheckedCommit): void => {
    records.set(toHex(commit.hash), commit.oid)
    versions.add(commit)
    hasMerges ||= commit.parents.length > 1
  }
  return {
    source: { objects, storeId, epochs, identity },
    how: { ...options, onCommit },
    found: () => ({ objects, epochs, records, versions, hasMerges }),
  }
}

/** Whether their head contains what the remote has shown before, except late commits. */
export async function containsSeen(
  session: StoreSession,
  history: History,
  theirs: RemoteHead,
  seen: SeenHead,
): Promise<boolean> {
  if (includesRecord(session, history, theirs, seen)) return true
  return lacksOnlyLateOf(seen, sourceWith(session, theirs), history, theirs.snapshot.head.commit)
}

/** As `containsSeen`, for a successor of our head; false if only our history shows it. */
export async function successorContains(
  session: StoreSession,
  { base, records }: RemoteHead,
  seen: SeenHead,
): Promise<boolean> {
  if (records.has(toHex(seen.record))) return true
  return base !== undefined && inSlices(containsRecord(session, base.oid, seen))
}

/** As `containsSeen`, for a head that is in our own history. */
export async function knownContainsSeen(
  session: StoreSession,
  history: History,
  known: CommitEntry,
  seen: SeenHead,
): Promise<boolean> {
  const before = findRecord(session, history, seen)
  if (before !== undefined) return history.pastOf(known)(before.position)
  // It was part of our history once, until another clone left it out as late.
  return lacksOnlyLateOf(seen, session, history, known.oid)
}

/** Whether `head` lacks only late commits of a head that the remote has shown. */
async function lacksOnlyLateOf(
  seen: SeenHead,
  source: HistorySource,
  history: History,
  head: Oid,
): Promise<boolean> {
  const oid = findRecord(source, history, seen)?.oid ?? seen.oid
  return source.objects.read(oid) !== undefined && areLostCommitsLate(source, oid, head)
}

/** Whether one of our records is in their history, under whichever commit id. */
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

/**
 * The refusal of a head that lacks what the remote showed before; undefined if both sides changed
 * the keyring and the user chose to follow the remote.
 */
export async function findRefusal(
  session: StoreSession,
  theirs: RemoteHead,
  { signal, takeTheirs }: SyncOptions,
): Promise<StoreError | undefined> {
  const ours = await session.reading(({ head, keyring }) => ({ head, keyring }))
  const source = sourceWith(session, theirs)
  const { snapshot } = theirs
  const [our, their] = [ours.head.commit, snapshot.head.commit]
  const divergence = await findDivergence(source, our, their, signal)
  const tips = { ours: ours.keyring.directory, theirs: snapshot.keyring.directory }
  const { isConflict } = await meetingOf(source, tips, divergence, signal)
  if (!isConflict) return rolledBackError()
  return takeTheirs === true ? undefined : keyringConflictError(source, divergence, true)
}

/** The hashes of the keyring records that a verified head has and our history lacks. */
export function* newKeyrings(session: StoreSession, theirs: RemoteHead): Generator<Uint8Array> {
  yield theirs.snapshot.keyring.record
  const source = sourceWith(session, theirs)
  for (const oid of theirs.records.values()) {
    const { record, hash } = decodeAt(source, oid)
    if (bringsKeyring(record.kind)) yield hash
  }
}

export function rolledBackError(): StoreError {
  return new StoreError(
    'rolled_back',
    'The remote has less than it has shown before: it was rolled back, or shows different ' +
      'histories to different clones. A sync with `repair` restores the missing changes there',
  )
}

/**
 * The epochs of a head. Its keyring is opened only if its epoch is unknown here: a device that was
 * enrolled later has no slot in an older keyring. Throws `wrong_key` or `cancelled`.
 */
export async function epochsOf(
  { session, objects }: RemoteSource,
  head: Oid,
  signal: AbortSignal | undefined,
): Promise<Epochs> {
  const keyring = decodeKeyring(readHeadKeyring(objects, head))
  if (session.epochs.has(keyring.kid)) return session.epochs
  const { unlock } = session
  return (await openHeadKeyring(objects, session.storeId, unlock, head, signal)).epochs
}

/** Checks the store id of an unverified head. Throws `store_id_mismatch` or `not_a_store`. */
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
      'The newest commit on the remote is not of a store, though the remote has shown this store ' +
        'before',
      { cause: error },
    )
  }
}

/** Compares the settings of both heads before they are reconciled. */
export function compareSettings(
  source: HistorySource,
  history: History,
  { settings: ours }: Pick<Snapshot, 'settings'>,
  theirs: RemoteHead,
): SettingsOutcome | undefined {
  const { settings: other } = theirs.snapshot
  if (findRecord(source, history, other) !== undefined) return undefined
  if (includesRecord(source, history, theirs, ours)) return 'replaced'
  const order = ours.height - other.height || compareBytes(ours.record, other.record)
  return order > 0 ? 'kept' : 'replaced'
}

/**
 * Whether one side wrote versions without knowing that the other one has redacted their base: they
 * may repeat its text (`built-on.ts`).
 */
export function isBuiltOnRedacted(
  history: History,
  { redacted }: Pick<Snapshot, 'redacted'>,
  theirs: RemoteHead,
): boolean {
  const isNew = (versionId: string): boolean => history.find(versionId) === undefined
  if (theirs.versions.haveNewOn(redacted, isNew)) return true
  const redactedByThem = new Set([...theirs.snapshot.redacted].filter((id) => !redacted.has(id)))
  if (redactedByThem.size === 0) return false
  const common = theirs.base?.height ?? -1
  for (const entry of history.versions.reversed()) {
    if (entry.commit.height <= common) break
    const isUnknown = !theirs.versions.has(entry.versionId)
    const bases = [entry.base, entry.secondBase].filter((id) => id !== zeroId)
    if (isUnknown && bases.some((id) => redactedByThem.has(id))) return true
  }
  return false
}
