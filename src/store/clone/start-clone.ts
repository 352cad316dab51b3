// A clone for the holder of a grant (FORMAT §12, §13): of the branch of a remote, only what follows
// the state that the granter's start describes, instead of the whole history. Nothing that a remote
// sends is used before its signature: first the wraps, by the key in the grant's text, then the
// start, then the commits.

import type { Progress } from '../../async.ts'
import { equalBytes } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { parseAddress } from '../../format/address.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Start } from '../../format/start.ts'
import type { Incoming } from '../../git/exchange.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import { HeldGrant } from '../../keys/held-grant.ts'
import { historyDepthMax, startBytesMax, wrapsBytesMax } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import type {
  RemoteAccess,
  RemoteOptions,
  TransferProgress,
} from '../../transport/remote-access.ts'
import { openHeadKeyring } from '../access/authority.ts'
import { readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import { beforeBeginning } from '../history/beginning-entry.ts'
import { GrantedFiles, readStart } from '../session/granted.ts'
import {
  environmentOf,
  localFiles,
  type StoreEnvironment,
  type StorePlaces,
} from '../session/open-options.ts'
import type { StoreSource } from '../session/store-id.ts'
import { getBlob } from '../snapshot/git-reads.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import { beginningOf, checkGranted, floorOf } from '../verify/beginning.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'
import { verifyBegun, verifyHistory } from '../verify/verify.ts'

export interface StartCloneOptions extends StorePlaces, StoreEnvironment {
  readonly access: RemoteAccess
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
  readonly progress?: Progress | undefined
  readonly signal?: AbortSignal | undefined
  /** Fetches the whole history, which is verified from genesis; no start is needed for it. */
  readonly full?: boolean | undefined
}

/** What a remote shows of a granter's clone: the branch, the wraps and the start. */
interface ShownRefs {
  readonly head: Oid
  readonly wraps: Oid
  readonly start: Oid | undefined
}

/** More commits than the remote may have got while this clone was being made. */
const SLACK = 16

/** A grant, and the address that it is used at. */
export interface GrantAtRemote {
  readonly held: HeldGrant
  readonly url: string
}

/** Throws `invalid_identity`, `invalid_input`, or `store_id_mismatch` for another store. */
export async function parseGrantAt(
  grant: string,
  address: string,
  access: RemoteOptions | undefined,
): Promise<GrantAtRemote> {
  const held = await HeldGrant.parse(grant)
  const { url, storeId } = parseAddress(address)
  if (storeId !== undefined && storeId !== held.storeId) {
    throw new StoreError('store_id_mismatch', 'The grant is of another store than the address')
  }
  // Loaded here: the library loads this file at its start.
  const { parseRemoteUrl } = await import('../../transport/remote-url.ts')
  return { held, url: parseRemoteUrl(url, access).text }
}

/**
 * Fills an empty object store and sets its branch. Returns the verified snapshot there. Throws
 * `not_found` for an empty remote or one without wraps or a start, `grant_expired`,
 * `history_needed` if the branch does not descend from the start, `rolled_back` if it lacks the
 * state of the start, a remote code, or the code of verification.
 */
export async function cloneFromStart(
  objects: ObjectStore,
  held: HeldGrant,
  options: StartCloneOptions,
): Promise<Snapshot> {
  const snapshot = await new StartClone(held, options, objects).fetch()
  checkGranted(snapshot, held.identity, environmentOf(options).clock())
  const transition = { objects: [], expected: undefined, next: snapshot.head.commit }
  await objects.exclusive(() => objects.commit([transition]))
  await objects.exchange.addRemote({ name: 'origin', url: options.access.url })
  return snapshot
}

/** The remote has shown this head: it must contain it from now on, and lacks nothing yet. */
export async function noteShown(
  options: StorePlaces & StoreEnvironment,
  storeId: string,
  url: string,
  { commit: oid, height, record }: Head,
): Promise<void> {
  const { clock } = environmentOf(options)
  const { seenRemotes } = await localFiles(options, storeId)
  await seenRemotes.note('origin', url, { oid, height, record, seenAt: clock() })
}

class StartClone {
  readonly #held: HeldGrant
  readonly #options: StartCloneOptions
  readonly #objects: ObjectStore

  constructor(held: HeldGrant, options: StartCloneOptions, objects: ObjectStore) {
    this.#held = held
    this.#options = options
    this.#objects = objects
  }

  /** The state at the head of the remote, with all that the clone needs below it. */
  async fetch(): Promise<Snapshot> {
    const { head, ...shown } = await this.#fetchFirst()
    const wraps = this.#readBlob(shown.wraps, wrapsBytesMax)
    const epoch = this.#held.learn(wraps)
    const files = new GrantedFiles(this.#options, this.#held.storeId)
    if (shown.start === undefined) {
      await files.keepWraps(wraps)
      const { signal, progress } = this.#options
      return (await verifyHistory(await this.#sourceAt(head), head, { signal, progress })).snapshot
    }
    const bytes = this.#readBlob(shown.start, startBytesMax)
    const start = readStart({ epochs: new Map([[epoch.kid, epoch]]) }, bytes, this.#held)
    const snapshot = await this.#fetchDown(head, start)
    await files.keepWraps(wraps)
    await files.keepStart(bytes)
    return snapshot
  }

  /** The newest commit alone, and the wraps and start of the granter. */
  async #fetchFirst(): Promise<ShownRefs> {
    const { connectFetch } = await import('../../transport/fetch.ts')
    const { full = false } = this.#options
    const connection = await connectFetch(this.#options.access)
    try {
      const { head, named } = connection.refs
      if (head === undefined) throw notFound('The remote is empty')
      const { wraps, start } = this.#held.blobsAmong(named)
      if (wraps === undefined) {
        throw notFound(
          'The remote has no keys for this grant: the device that gave it has not synced since, ' +
            'or the grant has ended',
        )
      }
      if (start === undefined && !full) {
        throw notFound(
          'The remote has no start for this grant, or it was deleted: the device that ' +
            'gave it makes another one when it syncs. With GITLOCKET_FULL=1 the whole history is ' +
            'fetched and verified instead, which takes longer',
        )
      }
      const wants = [wraps, ...(start === undefined || full ? [] : [start])]
      const deepen = full ? undefined : 1
      const { transfer: progress } = this.#options
      await this.#receive((into) =>
        connection.fetch({ want: head, wants, haves: [], into, deepen, progress }),
      )
      return { head, wraps, start: full ? undefined : start }
    } finally {
      await connection.close()
    }
  }

  /** Fetches down to the state of the start, or to its floor. */
  async #fetchDown(first: Oid, start: Start): Promise<Snapshot> {
    const { state, floor } = start
    let head = first
    const source = await this.#sourceAt(first)
    if (head !== state.commit) head = await this.#deepen(source, first, state.height)
    const snapshot = await this.#verify(head, start, false)
    if (snapshot !== undefined) return snapshot
    // Something was merged that is based on an older version.
    if (floor === undefined) throw beforeBeginning()
    head = await this.#deepen(source, head, floor.height)
    const fromFloor = await this.#verify(head, start, true)
    if (fromFloor === undefined) throw beforeBeginning()
    return fromFloor
  }

  /** Fetches all commits down to a height. */
  async #deepen(source: StoreSource, known: Oid, height: number): Promise<Oid> {
    const below = this.#heightOf(source, known) - height
    if (below < 0 || below > historyDepthMax) throw beforeBeginning()
    const { connectFetch } = await import('../../transport/fetch.ts')
    const connection = await connectFetch(this.#options.access)
    try {
      const { head } = connection.refs
      if (head === undefined) throw notFound('The remote is empty')
      const { exchange } = this.#objects
      const deepen = below + 1 + (head === known ? 0 : SLACK)
      const shallow = exchange.shallow()
      const { transfer: progress } = this.#options
      await this.#receive((into) =>
        connection.fetch({ want: head, haves: [known], into, deepen, shallow, progress }),
      )
      return head
    } finally {
      await connection.close()
    }
  }

  async #receive(fetch: (into: Incoming) => Promise<unknown>): Promise<void> {
    const into = this.#objects.exchange.incoming()
    await fetch(into)
    // The whole repository is apart: who asked for it removes it unless the head is verified.
    await into.accept()
  }

  /** The snapshot at the head; undefined if not all commits descend from the start. */
  async #verify(head: Oid, start: Start, fromFloor: boolean): Promise<Snapshot | undefined> {
    const source = await this.#sourceAt(head)
    try {
      const begun = fromFloor ? floorOf(source, start) : beginningOf(source, start)
      const { snapshot } = await inSlices(begun)
      let hasState = !fromFloor
      const onCommit = ({ hash }: CheckedCommit): void => {
        hasState ||= equalBytes(hash, start.state.record)
      }
      if (head === snapshot.head.commit && hasState) return snapshot
      const verified = await verifyBegun(source, snapshot, head, { onCommit })
      // Another line of the store, or an older one: newer changes would be hidden.
      if (verified !== undefined && !hasState) throw lacksStateError()
      return verified
    } catch (error) {
      if (hasCode(error, 'object_missing')) return undefined
      throw error
    }
  }

  async #sourceAt(head: Oid): Promise<StoreSource> {
    const { storeId, identity } = this.#held
    const objects = this.#objects
    const unlock = { type: 'identity', identity } as const
    const { epochs } = await openHeadKeyring(objects, storeId, unlock, head)
    return { objects, storeId, epochs }
  }

  /** After its group signature: who has no key must not choose how much is fetched. */
  #heightOf({ storeId, epochs }: StoreSource, head: Oid): number {
    const bytes = readCommitBytes(this.#objects, head)
    verifyDecodedCommit(storeId, epochs, head, bytes)
    return parseLinks(bytes).height
  }

  #readBlob(oid: Oid, bytes: number): Uint8Array {
    return getBlob(this.#objects, oid, 'start_malformed', { bytes, refusal: notAStart })
  }
}

function lacksStateError(): StoreError {
  return new StoreError(
    'rolled_back',
    'The remote lacks changes that the device which gave the grant has described: it was rolled ' +
      'back, or shows different histories to different clones',
  )
}

function notAStart(): StoreError {
  return new StoreError('start_malformed', 'The remote has something else in place of a start')
}

function notFound(message: string): StoreError {
  return new StoreError('not_found', message)
}
