// A refused head: why it has no key for this device (FORMAT §9.3), and its pack, kept for people to
// look at. A head that cannot be opened does not prove that an owner removed this device, and
// believing that leads users to join an attacker's store: it is compared first, without keys, with
// our genesis and with what the remote has shown. Its pack is kept as it was sent: at most 64 MiB,
// and nothing that is redacted here. The sender needs no key, so the search for that is bounded.

import { equalBytes } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'
import { mayHaveDetail, parseCommit, parseLinks } from '../../format/commit.ts'
import { formatId } from '../../format/id.ts'
import { decodeKeyring } from '../../format/keyring.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import type { Incoming, Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { wrongKey } from '../../keys/unlock.ts'
import { MEBIBYTE } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import { checkAuthor, readHeadKeyring } from '../access/authority.ts'
import { ancestorsDownTo } from '../commits/ancestors.ts'
import {
  decodeCommit,
  type DecodedCommit,
  openDetail,
  readCommitBytes,
  verifyDecodedCommit,
} from '../commits/decoded-commit.ts'
import { findOutgoing } from '../commits/outgoing.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import { findRecord } from '../history/known-commit.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import { ResidueSearch } from '../redaction/residue.ts'
import type { StoreSession } from '../session/session.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { checkDecodedAlone } from '../verify/context-free-check.ts'
import { snapshotAt } from '../verify/snapshot-at.ts'
import { isVerdict } from '../verify/verdict.ts'
import {
  type RemoteHeadOptions,
  type RemoteSource,
  rolledBackError,
  verifyRemoteHead,
} from './remote-head.ts'
import { findKnown } from './remote-history.ts'
import type { Peer } from './remote-state.ts'

/** A commit that the remote shows and we do not have. */
interface Foreign {
  readonly oid: Oid
  readonly height: number
  readonly parents: readonly Oid[]
}

/** Commits that this device has verified. */
type IsOurs = (oid: Oid, height: number) => boolean

/** The verdict on a head whose keyring this device cannot open. */
export async function judgeUnopened(...what: Parameters<typeof judge>): Promise<StoreError> {
  try {
    return await judge(...what)
  } catch (error) {
    // Below the head that was looked at first anything may be damaged.
    if (isVerdict(error)) return error
    throw error
  }
}

async function judge(
  from: RemoteSource,
  history: History,
  head: Oid,
  seen: SeenHead | undefined,
  options: RemoteHeadOptions,
): Promise<StoreError> {
  const { session, objects } = from
  // It opens nothing by a keyring, and may lack the genesis that would show whose store this is.
  if (session.identity.grant !== undefined) return newKeys()
  const isOurs: IsOurs = (oid, height) => history.findCommit(oid, height) !== undefined
  const foreign = await inSlices(listForeign(objects, head, isOurs), options.signal)
  if (foreign.some(({ height }) => height === 0)) return otherGenesisError()
  const known = seen && findRecord(session, history, seen)
  const commit = known?.oid ?? seen?.oid
  const shown = commit === undefined ? undefined : session.objects.read(commit)?.body
  const search = shown === undefined ? undefined : containsSealed(objects, head, shown)
  const lacksSome = search !== undefined && !(await inSlices(search, options.signal))
  const own = session.identity.deviceId
  const bases = foreign.flatMap(({ parents }) =>
    parents.flatMap((parent) => findKnown(objects, history, parent) ?? []),
  )
  if (lacksSome && !lacksOwnOnly(history, bases, known, own)) return rolledBackError()
  const remover = await findRemover(from, history, foreign, options)
  if (remover !== undefined) return removedError(own, remover)
  return lacksSome ? rolledBackError() : unprovenError()
}

/** A removed device loses the records that it had not shared: that does not cast doubt on it. */
function lacksOwnOnly(
  history: History,
  bases: readonly CommitEntry[],
  shown: CommitEntry | undefined,
  own: string,
): boolean {
  if (shown === undefined) return false
  const [isShown, isThere] = [history.pastOf(shown), history.pastOf(...bases)]
  for (const { position, deviceId, kind } of history.commits) {
    if (!isShown(position) || isThere(position)) continue
    if (deviceId !== own || bringsKeyring(kind)) return false
  }
  return true
}

/**
 * The same for an auditor, without keys: undefined if `head` descends from `before`, the newest
 * commit that was verified.
 */
export async function findFault(
  objects: ObjectSource,
  before: Oid,
  head: Oid,
  signal: AbortSignal | undefined,
): Promise<StoreError | undefined> {
  const ours = new Set((await findOutgoing(objects, before, [])).map(({ oid }) => oid))
  const foreign = await inSlices(
    listForeign(objects, head, (oid) => ours.has(oid)),
    signal,
  )
  if (foreign.some(({ height }) => height === 0)) return otherGenesisError()
  const search = containsSealed(objects, head, readCommitBytes(objects, before))
  return (await inSlices(search, signal)) ? undefined : rolledBackError()
}

/** By descending height along each line, down to our own commits. */
function* listForeign(
  objects: ObjectSource,
  head: Oid,
  isOurs: IsOurs,
): Generator<undefined, readonly Foreign[]> {
  const reached = new Set([head])
  const foreign: Foreign[] = []
  for (const oid of reached) {
    const { height, parents } = parseLinks(readCommitBytes(objects, oid))
    if (isOurs(oid, height)) continue
    foreign.push({ oid, height, parents })
    for (const parent of parents) reached.add(parent)
    yield
  }
  return foreign
}

/**
 * Whether the history of a head has the sealed record of a commit: a redaction gives the commit
 * another id, and leaves these bytes as they are.
 */
function* containsSealed(
  objects: ObjectSource,
  head: Oid,
  shown: Uint8Array,
): Generator<undefined, boolean> {
  const wanted = parseCommit(shown)
  for (const { height, bytes } of ancestorsDownTo(objects, head, wanted.height)) {
    yield
    if (height !== wanted.height) continue
    if (equalBytes(parseCommit(bytes).record, wanted.record)) return true
  }
  return false
}

/** The member that began an epoch without this device, if all up to that record is verified. */
async function findRemover(
  from: RemoteSource,
  history: History,
  foreign: readonly Foreign[],
  options: RemoteHeadOptions,
): Promise<string | undefined> {
  const { session, objects } = from
  const { storeId, epochs, identity } = session
  const source = { objects, storeId, epochs, identity }
  try {
    for (const { oid } of foreign.toSorted((a, b) => a.height - b.height)) {
      if (epochs.has(decodeKeyring(readHeadKeyring(objects, oid)).kid)) continue
      const commit = verifyDecodedCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
      const [parent = ''] = commit.parts.parents
      const known = findKnown(objects, history, parent)
      const before =
        known === undefined
          ? (await verifyRemoteHead(from, history, parent, options)).snapshot
          : await inSlices(snapshotAt(source, history, known.position), options.signal)
      checkRemoval(source, before, commit)
      return formatId('device', commit.record.deviceId)
    }
  } catch (error) {
    if (!isVerdict(error)) throw error
  }
  return undefined
}

/** Throws unless an owner has signed the keyring that follows. Its contents cannot be read here. */
function checkRemoval(
  source: Parameters<typeof checkDecodedAlone>[0],
  before: Snapshot,
  commit: DecodedCommit,
): void {
  const { record, oid } = commit
  const bytes = readHeadKeyring(source.objects, oid)
  const follows =
    record.kind === 'keyring' &&
    equalBytes(record.keyring, before.keyring.record) &&
    equalBytes(record.keyringHash, hash256(bytes)) &&
    record.directoryNumber === before.keyring.directory.number + 1
  if (!follows) throw unprovenError()
  const past = {
    keyring: before.keyring,
    deviceOf: (id: string) => before.devices.get(id),
    grantOf: (id: string) => before.grants.get(id),
  }
  checkAuthor(past, checkDecodedAlone(source, commit), undefined)
}

function otherGenesisError(): StoreError {
  return new StoreError(
    'store_id_mismatch',
    'The remote holds another store, which was given the id of this one',
  )
}

function removedError(own: string, remover: string): StoreError {
  return new StoreError(
    'wrong_key',
    `The remote no longer lets this device in, ${formatId('device', own)}: the owner ${remover} ` +
      'removed it or locked it out. The local copy is kept',
    { details: { removedBy: remover } },
  )
}

/** A grant has no slot in a keyring: the granter's wraps bring it the keys. */
function newKeys(): StoreError {
  return new StoreError('wrong_key', wrongKey.grant)
}

function unprovenError(): StoreError {
  return new StoreError(
    'wrong_key',
    'The remote shows a state that has no key for this device, and nothing shows that an owner ' +
      'made it. Nothing was applied, and the local copy is kept',
  )
}

/** At most this much is kept for each remote. */
export const KEPT_BYTES_MAX: number = 64 * MEBIBYTE
/** A pack whose search opens more objects than this is not kept. */
const OPENED_MAX = 20_000
/** A pack with more bytes than this in its objects is not kept. */
const READ_BYTES_MAX = 64 * MEBIBYTE

/** The ids of the redacted versions of our own history. */
type Redacted = ReadonlySet<string>

interface RefusedHead {
  readonly remote: Remote
  readonly head: Oid
  readonly incoming: Incoming
}

/**
 * Keeps the pack of a refused head if it may be kept. Returns the verdict, which mentions size or
 * the disk as the reason that nothing is kept.
 */
export async function keepRefusedPack(
  session: StoreSession,
  history: History,
  { remote, head, incoming }: RefusedHead,
  verdict: StoreError,
  signal: AbortSignal | undefined,
): Promise<StoreError> {
  try {
    const redacted = await session.reading((now) => new Set(now.redacted))
    await forgetErased(session, history, remote, redacted, signal)
    if (hasCode(verdict, 'object_missing', 'object_corrupt', 'redaction_undone')) return verdict
    if (incoming.bytes > KEPT_BYTES_MAX) return notKeptError(verdict, tooLarge)
    const { storeId, epochs } = session
    const source = { objects: incoming, storeId, epochs }
    const search = holdsErased(source, history, redacted, incoming.ids())
    if (await inSlices(search, signal)) return verdict
    await session.writing(async () => {
      // Versions redacted after the search began, also by another process, were not searched for.
      const isSame = [...session.snapshot.redacted].every((id) => redacted.has(id))
      if (isSame) await incoming.keep(remote.name, head)
      return { built: undefined, result: undefined }
    }, true)
    return verdict
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return notKeptError(verdict, `the refused pack is not kept: ${error.message}`)
  }
}

const tooLarge = 'the refused pack is larger than 64 MiB, and nothing of it is kept'

/** Removes a pack kept earlier if a redaction was made without this device, as in a backup. */
async function forgetErased(
  { objects: { exchange }, storeId, epochs }: StoreSession,
  history: History,
  { name }: Remote,
  redacted: Redacted,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (redacted.size === 0) return
  const evidence = exchange.evidence(name)
  try {
    const source = { objects: evidence, storeId, epochs }
    const search = holdsErased(source, history, redacted, evidence.ids())
    if (await inSlices(search, signal)) await exchange.forgetRefused(name)
  } finally {
    evidence.close()
  }
}

/** Whether some of these objects are redacted here, or cannot be searched for that. */
export function* holdsErased(
  source: HistorySource,
  history: History,
  redacted: Redacted,
  oids: Iterable<Oid>,
): Generator<undefined, boolean> {
  if (redacted.size === 0) return false
  const { storeId, epochs } = source
  const search = new ResidueSearch(source, history, redacted)
  let opened = 0
  let bytesLeft = READ_BYTES_MAX
  try {
    for (const oid of oids) {
      yield
      const object = bytesLeft > 0 ? source.objects.read(oid) : undefined
      // Beyond the limit, or of a kind that cannot be searched.
      if (object === undefined) return true
      const { type, body } = object
      bytesLeft -= body.length
      opened += type === 'blob' ? 1 + search.cost : 1
      if (opened > OPENED_MAX) return true
      // The detail may be of an erased row.
      if (type === 'commit' && mayHaveDetail(body))
        openDetail(decodeCommit(storeId, epochs, oid, body))
      if (search.look(oid, object).length > 0) return true
    }
    return false
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    // Damaged objects, and details that do not open, cannot be searched.
    return true
  }
}

function notKeptError(verdict: StoreError, problem: string): StoreError {
  const { code, message, details } = verdict
  return new StoreError(code, `${message}; ${problem}`, { cause: verdict, details })
}

// Noted refusals: the next syncs, also of later processes, refuse such a head again without
// fetching and verifying it, until the remote shows another one. A note must not lock a clone out
// of an honest head: it holds only what no later sync could judge otherwise, and only as long as
// the clone knows no more that such a judgement depends on.

/** Raised by a release that accepts a head which an earlier one has refused. */
const VERIFICATION_VERSION = 1

/**
 * Refusals that follow from the bytes of commits, which their ids fix. Keys and objects may arrive
 * later, a redaction elsewhere explains missing details and other trees, and users decide on
 * the rest: those are not in the list.
 */
const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'envelope_truncated',
  'envelope_magic',
  'envelope_type',
  'envelope_flags',
  'envelope_commitment',
  'envelope_tag',
  'envelope_padding',
  'envelope_salt',
  'commit_too_large',
  'commit_malformed',
  'commit_not_canonical',
  'group_signature_invalid',
  'record_malformed',
  'record_parents',
  'record_height',
  'record_keyring',
  'record_epoch',
  'record_device',
  'record_after_revocation',
  'record_role',
  'record_sequence',
  'record_chain',
  'record_rows',
  'device_signature_invalid',
  'grant_known',
  'grant_limit',
  'grant_time',
  'grant_foreign',
  'grant_ended',
  'row_base_mismatch',
  'row_memory_exists',
  'row_memory_missing',
  'row_path_conflict',
  'detail_malformed',
  'detail_mismatch',
  'duplicate_record',
  'memory_malformed',
  'memory_mismatch',
  'keyring_malformed',
  'keyring_mismatch',
  'keyring_slots',
  'keyring_chain',
  'settings_malformed',
  'settings_mismatch',
])

/** The refusal of a head that this clone has refused before and would refuse again. */
export async function findNotedRefusal(
  { session, remote }: Peer,
  head: Oid,
): Promise<StoreError | undefined> {
  const { name, url } = remote
  const noted = await session.seenRemotes.findRefusal(name, url, head)
  if (noted === undefined || noted.basis !== (await basisOf(session))) return undefined
  const { code, message, details } = noted
  return new StoreError(code, message, { details })
}

/** Notes a refusal that lasts. A note that cannot be written is left out. */
export async function noteRefusal(
  { session, remote }: Peer,
  head: Oid,
  { code, message, details }: StoreError,
): Promise<void> {
  if (!lasting.has(code)) return
  const { name, url } = remote
  const basis = await basisOf(session)
  const refusal = { name, url, head, basis, code, message, details }
  const { objects, seenRemotes } = session
  try {
    await objects.exclusive(() => seenRemotes.noteRefusal(refusal))
  } catch (error) {
    if (!(error instanceof StoreError) || hasCode(error, 'cancelled', 'store_closed')) throw error
  }
}

/** All that a judgement depends on but the head: the release, redactions, the beginning. */
async function basisOf(session: StoreSession): Promise<string> {
  const redacted = await session.reading((now) => now.redacted.size)
  const begins = session.beginning?.snapshot.head.commit ?? 'genesis'
  return `${VERIFICATION_VERSION} ${redacted} ${begins}`
}
