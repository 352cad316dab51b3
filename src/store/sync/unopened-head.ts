// Finds out why a head has no key for this device (FORMAT §9.3). It first compares, without keys,
// with our genesis and with what the remote has shown. A head that cannot be opened does not prove
// that an owner removed this device, and believing that leads users to join an attacker's store.

import { equalBytes } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { parseCommit, parseLinks } from '../../format/commit.ts'
import { formatId } from '../../format/id.ts'
import { decodeKeyring } from '../../format/keyring.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { checkAuthor, readHeadKeyring } from '../access/authority.ts'
import { ancestorsDownTo } from '../commits/ancestors.ts'
import {
  type DecodedCommit,
  readCommitBytes,
  verifyDecodedCommit,
} from '../commits/decoded-commit.ts'
import { findOutgoing } from '../commits/outgoing.ts'
import { findRecord } from '../history/find-record.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { checkDecodedAlone } from '../verify/context-free-check.ts'
import { snapshotAt } from '../verify/snapshot-at.ts'
import { isVerdict } from './rejected-head.ts'
import {
  findKnown,
  type RemoteHeadOptions,
  type RemoteSource,
  rolledBackError,
  verifyRemoteHead,
} from './remote-head.ts'

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
 * The same for an auditor, as far as no key is needed: undefined if `head` goes on from `before`,
 * the newest commit that was verified.
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

/** By descending height along each line, down to what is ours. */
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

/** Who began an epoch without this device, if all up to that record is verified. */
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

/** Throws unless an owner has signed the keyring that follows. What it says cannot be read here. */
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
    'The remote holds another store, which somebody gave the id of this one',
  )
}

function removedError(own: string, remover: string): StoreError {
  return new StoreError(
    'wrong_key',
    `The remote no longer lets this device in, ${formatId('device', own)}: the owner ${remover} ` +
      'removed it or locked it out. What is here is kept',
    { details: { removedBy: remover } },
  )
}

function unprovenError(): StoreError {
  return new StoreError(
    'wrong_key',
    'The remote shows a state that has no key for this device, and nothing shows that an owner ' +
      'made it. Nothing was taken over, and what is here is kept',
  )
}
