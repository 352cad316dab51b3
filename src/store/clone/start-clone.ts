// A clone for the holder of a grant (FORMAT §12, §13): of the branch of a remote, only what follows
// the state that the granter's start describes, instead of the whole history.

import type { Progress } from '../../async.ts'
import { toHex } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import type { Start } from '../../format/start.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import { HeldGrant } from '../../keys/held-grant.ts'
import { startBytesMax, wrapsBytesMax } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import type {
  RemoteAccess,
  RemoteOptions,
  TransferProgress,
} from '../../transport/remote-access.ts'
import { containsRecord, keyringRecords } from '../commits/ancestors.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import { GrantedFiles, readStart } from '../session/granted.ts'
import {
  environmentOf,
  localFiles,
  remotesSeenByClones,
  type StoreEnvironment,
  type StorePlaces,
} from '../session/open-options.ts'
import { checkAge } from '../session/shown-age.ts'
import { boundaryOf } from '../snapshot/git-reads.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import { checkGranted } from '../verify/beginning.ts'
import { verifyHistory } from '../verify/verify.ts'
import { RemoteAddress } from './remote-address.ts'
import { lacksStateError, type StartPlace, StartFetch } from './start-fetch.ts'

export interface StartCloneOptions extends StorePlaces, StoreEnvironment {
  readonly access: Omit<RemoteAccess, 'url'>
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
  readonly progress?: Progress | undefined
  readonly signal?: AbortSignal | undefined
  /** Fetches the whole history, which is verified from genesis; no start is needed for it. */
  readonly full?: boolean | undefined
}

/** A grant, and the address that it is used at. */
export interface GrantAtRemote {
  readonly held: HeldGrant
  readonly address: RemoteAddress
}

/** Throws `invalid_identity`, `invalid_input`, or `store_id_mismatch` for another store. */
export async function parseGrantAt(
  grant: string,
  text: string,
  access: RemoteOptions | undefined,
  maxAgeMs?: number,
): Promise<GrantAtRemote> {
  const held = await HeldGrant.parse(grant)
  if (maxAgeMs !== undefined && !(maxAgeMs > 0)) {
    throw new StoreError('invalid_input', '`maxAgeMs` must be above 0')
  }
  held.maxAgeMs = maxAgeMs
  const address = RemoteAddress.parse(text)
  address.checkStore(held.storeId, 'The grant is of another store than the address')
  // Loaded here: the library loads this file at its start.
  const { parseRemoteUrl } = await import('../../transport/remote-url.ts')
  return { held, address: address.withUrl(parseRemoteUrl(address.url, access).text) }
}

/**
 * Fills an empty object store and sets its branch. Returns the verified snapshot there. Throws
 * `rolled_back` if the remote lacks the state of the address, and what `StartFetch` and
 * `verifyHistory` throw.
 */
export async function cloneFromStart(
  objects: ObjectStore,
  at: GrantAtRemote,
  options: StartCloneOptions,
): Promise<Snapshot> {
  const { held, address } = at
  const snapshot = await fetchInto(objects, at, options)
  checkGranted(snapshot, held.identity, environmentOf(options).clock())
  const transition = { objects: [], expected: undefined, next: snapshot.head.commit }
  await objects.exclusive(() => objects.commit([transition]))
  await objects.exchange.addRemote({ name: 'origin', url: address.url })
  return snapshot
}

/**
 * The remote has shown this head, and with it the state of the address: it must contain the head
 * from now on, and lacks nothing yet.
 */
export async function noteShown(
  options: StorePlaces & StoreEnvironment,
  { held, address: { url, state } }: GrantAtRemote,
  { commit: oid, height, record }: Head,
): Promise<void> {
  const { clock } = environmentOf(options)
  const { seenRemotes } = await localFiles(options, held.storeId)
  await seenRemotes.note('origin', url, { oid, height, record, seenAt: clock() })
  if (state !== undefined) await seenRemotes.bind('origin', { url, state, isMet: true })
}

/** The state at the head of the remote. */
async function fetchInto(
  objects: ObjectStore,
  { held, address }: GrantAtRemote,
  options: StartCloneOptions,
): Promise<Snapshot> {
  const { transfer, signal, progress } = options
  const access = { ...options.access, url: address.url }
  const { storeId, identity } = held
  const check = ({ time }: Pick<Start, 'time'>): void => {
    checkAge(held, time, environmentOf(options).clock())
  }
  const how = { storeId, identity, access, transfer, check }
  const fetch = new StartFetch(held, how, placeOf(objects))
  const files = new GrantedFiles(options)
  // Read before the fetch: another process may make the clone during it, and see more.
  const remotes = remotesSeenByClones(options, storeId)
  const found = await Promise.all(remotes.map((one) => one.find('origin', access.url)))
  const seen = found.flatMap((one) => one ?? [])
  if (options.full === true) {
    const { head, wraps, start } = await fetch.fetchFirst(true, held.maxAgeMs !== undefined)
    const bytes = fetch.readBlob(wraps, wrapsBytesMax)
    held.learn(bytes)
    await files.keepWraps(bytes)
    const { epochs } = await fetch.sourceAt(head)
    const source = { objects, storeId, epochs }
    const described =
      start === undefined
        ? undefined
        : readStart(source, fetch.readBlob(start, startBytesMax), held)
    if (described !== undefined) check(described)
    const { snapshot } = await verifyHistory(source, head, { signal, progress })
    await address.check(keyringRecords(source, head), signal)
    if (described !== undefined) {
      const { height, record } = described.state
      if (!(await inSlices(containsRecord(source, head, { height, record })))) {
        throw lacksStateError()
      }
      held.signedAt = described.time
    }
    for (const one of seen) {
      if (!(await inSlices(containsRecord(source, head, one)))) throw lacksSeenError()
    }
    return snapshot
  }
  const { snapshot, start, records, keyrings, wrapsBytes, startBytes } = await fetch.fetch()
  await address.check(keyrings, signal)
  const isLacking = ({ height, record }: SeenHead): boolean =>
    height >= start.state.height && !records.has(toHex(record))
  if (seen.some(isLacking)) throw lacksSeenError()
  await files.keepWraps(wrapsBytes)
  await files.keepStart(startBytes)
  return snapshot
}

/** Another clone of the grant, or one that was deleted, has seen more of the remote. */
function lacksSeenError(): StoreError {
  return new StoreError(
    'rolled_back',
    'The remote lacks changes that it has shown to a clone of the grant on this machine: it was ' +
      'rolled back, or shows different histories to different clones',
  )
}

function placeOf(objects: ObjectStore): StartPlace {
  return {
    objects,
    shallow: () => boundaryOf(objects),
    async receive(fetch) {
      const into = objects.exchange.incoming()
      await fetch(into)
      // The whole repository is apart: who asked for it removes it unless the head is verified.
      await into.accept()
    },
  }
}
