// Makes the clone of a grant's holder complete (FORMAT §8.3): fetches the earlier history, verifies
// all of it from genesis, and compares it with the start of the device that gave the grant. Changes
// nothing before that. A sync does the same if something was merged that is older than the clone.

import type { WorkOptions } from '../../async.ts'
import { equalBytes, toHex } from '../../bytes.ts'
import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'
import { deviceIdOf, formatId } from '../../format/id.ts'
import { lineOf } from '../../format/start.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { connectFetch } from '../../transport/fetch.ts'
import type { RemoteOptions, TransferProgress } from '../../transport/remote-access.ts'
import { catchUp } from '../history/catch-up.ts'
import { History, type HistorySource } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import { boundaryOf, type ObjectSource } from '../snapshot/git-reads.ts'
import type { CurrentVersion } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CloneBeginning } from '../verify/beginning.ts'
import { snapshotAt } from '../verify/snapshot-at.ts'
import { isVerdict } from '../verify/verdict.ts'
import { verifyDescent, verifyHistory } from '../verify/verify.ts'
import { findBound, keyringsOf } from './bound-address.ts'

export interface HistoryFetchOptions extends WorkOptions {
  /** By default `origin`. */
  readonly remote?: string | undefined
  readonly access?: RemoteOptions | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

/** Git's own number for a depth without an end. */
export const ALL = 2_147_483_647

/**
 * The number of commits. Throws `remote_moved` if this clone lacks commits of the remote: sync
 * first; `baseline_false` if the device has described another state than the history has, or one
 * whose history is refused; `rolled_back` if that lacks the state which the remote's address names;
 * a remote code, or the code of verification for later commits.
 */
export async function fetchAllHistory(
  session: StoreSession,
  remote: Remote,
  { access, transfer, signal, progress }: HistoryFetchOptions,
): Promise<number> {
  const options = { signal, progress }
  const { objects, beginning } = session
  if (beginning === undefined) return (await session.loadHistory(options)).commits.length
  const connection = await connectFetch({ signal, ...access, url: remote.url })
  const incoming = objects.exchange.incoming()
  try {
    const want = connection.refs.head
    if (want === undefined || objects.read(want) === undefined) throw movedError()
    const shallow = boundaryOf(objects)
    const depth = { shallow, deepen: ALL }
    await connection.fetch({ want, haves: [want], into: incoming, ...depth, progress: transfer })
    const whole = await verifyWhole(session, incoming, options)
    const { storeId, epochs } = session
    const keyrings = keyringsOf({ objects: incoming, storeId, epochs }, whole.history)
    await (await findBound(session, remote))?.check(keyrings, signal)
    const write: Build<void> = async () => {
      await beginWhole(session, whole)
      return { built: undefined, result: undefined }
    }
    // Another process may redact: the next sync then erases redacted texts that this brings.
    await objects.exclusive(() => session.seenRemotes.noteFetches([want]))
    await incoming.accept()
    await session.writing(write, true)
    return whole.history.commits.length
  } finally {
    incoming.drop()
    await connection.close()
  }
}

interface WholeHistory {
  /** The state that the history was compared with. */
  readonly beginning: CloneBeginning | undefined
  /** The state at our head. */
  readonly snapshot: Snapshot
  readonly history: History
}

/** Our history from genesis, in the place where it was fetched. Throws as `fetchAllHistory`. */
export async function verifyWhole(
  session: StoreSession,
  objects: ObjectSource,
  options: WorkOptions,
): Promise<WholeHistory> {
  const { storeId, epochs, beginning } = session
  const { commit: head } = await session.reading((now) => now.head)
  const source = { objects, storeId, epochs }
  const snapshot =
    beginning === undefined
      ? (await verifyHistory(source, head, options)).snapshot
      : await verifyAgainst(session, source, beginning, head, options)
  const history = new History()
  await catchUp(history, source, head, { signal: options.signal })
  checkLine(session, source, history)
  return { beginning, snapshot, history }
}

/**
 * The state at the head. Compares first: otherwise records that this clone made on a false state
 * would be refused, and not that state.
 */
async function verifyAgainst(
  session: StoreSession,
  source: HistorySource,
  beginning: CloneBeginning,
  head: Oid,
  options: WorkOptions,
): Promise<Snapshot> {
  const said = findSaid(session, beginning)
  if (said === undefined) return (await verifyHistory(source, head, options)).snapshot
  const found = await verifySaid(session, source, beginning, said, options)
  // Otherwise something was merged that is based on an older version, or redacted.
  const snapshot =
    (await verifyDescent(source, found, head, options)) ??
    (await verifyHistory(source, head, options)).snapshot
  // A floor has the redactions of the newer state, too, since its history is without those texts.
  if (!isWithin(said.redacted, snapshot.redacted)) refuseFalse(session, 'its redactions')
  // An earlier state may have been believed before this one, and changes been built on it.
  const now = await session.reading((at) => (at.head.commit === head ? at : undefined))
  if (now !== undefined) refuseFalse(session, findDifference(now, snapshot))
  return snapshot
}

/**
 * The verified state where the clone begins. All up to the state of the start is the word of its
 * device, even if the clone begins at the floor.
 */
async function verifySaid(
  session: StoreSession,
  source: HistorySource,
  { state }: CloneBeginning,
  said: Snapshot,
  options: WorkOptions,
): Promise<Snapshot> {
  const { commit, height } = said.head
  try {
    const { snapshot: whole } = await verifyHistory(source, state, options)
    const found =
      state === commit ? whole : await findAt(source, { head: state, commit, height }, options)
    if (found === undefined) refuseFalse(session, 'the commits after its floor')
    const verified = found ?? whole
    refuseFalse(session, findDifference(said, verified))
    return verified
  } catch (error) {
    throw blamed(session, error)
  }
}

/**
 * The state at a commit below a verified head, whose redactions have rewritten it too. Undefined if
 * not all later commits descend from it.
 */
async function findAt(
  source: HistorySource,
  { head, commit, height }: { readonly head: Oid; readonly commit: Oid; readonly height: number },
  { signal }: WorkOptions,
): Promise<Snapshot | undefined> {
  const history = new History()
  await catchUp(history, source, head, { signal })
  const at = history.findCommit(commit, height)
  return at?.isCut === true ? inSlices(snapshotAt(source, history, at.position), signal) : undefined
}

/** The line of keyring records that the start names begins that of the history. */
function checkLine(session: StoreSession, source: HistorySource, history: History): void {
  const said = findLine(session)
  if (said === undefined) return
  const found = [...keyringsOf(source, history)]
  const isSameLine = said.every((one, at) => equalBytes(one, found[at] ?? NONE))
  refuseFalse(session, isSameLine ? undefined : 'its members')
}

const NONE = new Uint8Array(0)

/** Undefined if the start is damaged, or for a whole clone. */
function findLine(session: StoreSession): readonly Uint8Array[] | undefined {
  const { granted, identity, beginning } = session
  if (granted === undefined || identity.grant === undefined) return undefined
  if (beginning === undefined) return undefined
  try {
    return lineOf(granted.readStart(session, identity.grant))
  } catch (error) {
    if (hasCode(error, 'baseline_malformed')) return undefined
    throw error
  }
}

/** Undefined if the kept start is damaged: the state at our head was made from it, too. */
function findSaid(session: StoreSession, beginning: CloneBeginning): Snapshot | undefined {
  try {
    return beginning.snapshot
  } catch (error) {
    if (hasCode(error, 'baseline_malformed')) return undefined
    throw blamed(session, error)
  }
}

/**
 * The clone has all of its history. Call while writing alone, once the objects are stored. Throws
 * `ref_conflict` if it has begun anew since.
 */
export async function beginWhole(
  session: StoreSession,
  { beginning, snapshot, history }: WholeHistory,
): Promise<void> {
  if (session.beginning !== beginning) throw beginsElsewhereError()
  await session.beginAtGenesis(history)
  // With the times of the devices' last records, which no start has.
  const isHead = session.snapshot.head.commit === snapshot.head.commit
  if (isHead) session.moveTo(snapshot.trusting(session.objects))
}

/** Another process has begun anew, or fetched more of the history. */
export function beginsElsewhereError(): StoreError {
  return new StoreError('ref_conflict', 'Another process has changed where this clone begins')
}

function refuseFalse(session: StoreSession, problem: string | undefined): void {
  if (problem === undefined) return
  throw falseStart(session, `a state that the history does not have: ${problem} differ`)
}

/** Refusals for which the remote, this machine or an earlier refusal may be the reason. */
const provesNoLie: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'object_missing',
  'object_corrupt',
  'history_needed',
  'baseline_false',
])

/** The error for a refusal at or below the described state; any other error as it is. */
function blamed(session: StoreSession, error: unknown): unknown {
  if (!isVerdict(error) || provesNoLie.has(error.code)) return error
  const { code, message } = error
  return falseStart(session, `a state whose history is refused: ${message} (${code})`, error)
}

/** `what` the device has described, as the end of a sentence. */
function falseStart(
  { identity, beginning }: StoreSession,
  what: string,
  cause?: StoreError,
): StoreError {
  const deviceId = identity.grant ? deviceIdOf(identity.grant.granterKey) : beginning?.deviceId
  const device = formatId('device', deviceId ?? '')
  return new StoreError(
    'baseline_false',
    `The device ${device}, which gave the grant of this clone, has described ${what}`,
    { cause, ...(cause && { details: cause.details }) },
  )
}

/** What differs between two snapshots of one commit. */
function findDifference(said: Snapshot, found: Snapshot): string | undefined {
  if (!equalBytes(said.keyring.record, found.keyring.record)) return 'its members'
  if (!isSame([settingsOf(said)], [settingsOf(found)])) return 'its settings'
  if (!isWithin(found.redacted, said.redacted)) return 'its redactions'
  if (!isSame(devicesOf(said), devicesOf(found))) return 'the last changes of its devices'
  if (!isSame(grantsOf(said), grantsOf(found))) return 'its grants'
  const isSameContents = isSame(Array.from(said.current, textOf), Array.from(found.current, textOf))
  return isSameContents ? undefined : 'its memories'
}

function isWithin(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every((one) => all.has(one))
}

function settingsOf({ settings }: Snapshot): string {
  const { record, height, created, updated } = settings
  return `${toHex(record)} ${height} ${created} ${updated}`
}

/** The time of a device's last record is in no start. */
function devicesOf({ devices }: Snapshot): readonly string[] {
  return Array.from(devices, ([id, { sequence, forked, record }]) => {
    return `${id} ${sequence} ${String(forked)} ${toHex(record)}`
  })
}

function grantsOf({ grants }: Snapshot): readonly string[] {
  return Array.from(
    grants,
    ([id, { role, began, notAfter }]) => `${id} ${role} ${began} ${notAfter}`,
  )
}

function textOf([id, { versionId, operation, created, live }]: readonly [
  string,
  CurrentVersion,
]): string {
  const { path, size, sha256, updated, kid } = live ?? {}
  return JSON.stringify([id, versionId, operation, created, path, size, sha256, updated, kid])
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join('\n') === other.toSorted().join('\n')
}

function movedError(): StoreError {
  return new StoreError(
    'remote_moved',
    'The remote has changes that this clone lacks: sync first, and then fetch the history',
  )
}
