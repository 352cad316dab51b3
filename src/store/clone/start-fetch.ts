// Fetches the beginning of a grant's holder (FORMAT §12, §13) from a remote: the granter's
// wraps and start, and of the branch only what follows the state that the start describes. Nothing
// that a remote sends is used before its signature: first the wraps, by the key in the grant's
// text, then the start, then the commits. Must not move a branch or keep a file.

import { toHex } from '../../bytes.ts'
import { assert, hasCode, StoreError } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import { lineOf, type Start } from '../../format/start.ts'
import type { BoundaryChange, Incoming, ReceivedPack } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { HeldAccess, Identity } from '../../keys/identity.ts'
import { historyDepthMax, startBytesMax, wrapsBytesMax } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import type { RemoteAccess, TransferProgress } from '../../transport/remote-access.ts'
import { openHeadKeyring } from '../access/authority.ts'
import { type Epochs, readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import { beforeBeginning } from '../history/beginning-entry.ts'
import { readStart } from '../session/granted.ts'
import { storeIdAt } from '../session/store-id.ts'
import { getBlob, type ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { beginningOf, type CloneBeginning, floorOf } from '../verify/beginning.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'
import { verifyBegun } from '../verify/verify.ts'

/** Where fetched objects are kept, and read before they are verified. */
export interface StartPlace {
  readonly objects: ObjectSource
  /** The commits that are stored there without their parents. */
  shallow(): readonly Oid[]
  receive(fetch: (into: Incoming) => Promise<ReceivedPack & BoundaryChange>): Promise<void>
}

export interface StartFetchOptions {
  readonly storeId: string
  readonly identity: Identity
  readonly access: RemoteAccess
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
  /** Throws unless the granter's start may be used; called before its history is fetched. */
  readonly check?: ((start: Start) => void) | undefined
}

/** What a remote shows of a granter's clone: the branch, the wraps and the start. */
export interface ShownRefs {
  readonly head: Oid
  readonly wraps: Oid
  readonly start: Oid | undefined
}

/** Reads the commits of a branch, and their keys. */
export interface FetchedSource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
}

export interface NewStart {
  /** The verified state at the head of the remote. */
  readonly snapshot: Snapshot
  readonly epochs: FetchedSource['epochs']
  /** The state that it was verified from. */
  readonly beginning: CloneBeginning
  /** The hashes of the records since then, that one included, in hex. */
  readonly records: ReadonlySet<string>
  /** The hashes of all keyring records: of the line that the start names, and since then. */
  readonly keyrings: readonly Uint8Array[]
  readonly start: Start
  /** The wraps and the start as they came. */
  readonly wrapsBytes: Uint8Array
  readonly startBytes: Uint8Array
}

type VerifiedStart = Pick<NewStart, 'snapshot' | 'epochs' | 'beginning' | 'records' | 'keyrings'>

/** More commits than the remote may have got while this was fetched. */
const SLACK = 16

export class StartFetch {
  readonly #held: HeldAccess
  readonly #options: StartFetchOptions
  readonly #place: StartPlace

  constructor(held: HeldAccess, options: StartFetchOptions, place: StartPlace) {
    this.#held = held
    this.#options = options
    this.#place = place
  }

  /**
   * The state at the head of the remote, with all that is needed below it. Throws `not_found` for
   * an empty remote or one without wraps or a start, `grant_expired`, `history_needed` if the
   * branch does not descend from the start, `rolled_back` if it lacks the state of the start, a
   * remote code, or the code of verification.
   */
  async fetch(): Promise<NewStart> {
    const shown = await this.fetchFirst()
    const wrapsBytes = this.readBlob(shown.wraps, wrapsBytesMax)
    const epoch = this.#held.learn(wrapsBytes)
    assert(shown.start !== undefined, 'a start was asked for')
    const startBytes = this.readBlob(shown.start, startBytesMax)
    const start = readStart({ epochs: new Map([[epoch.kid, epoch]]) }, startBytes, this.#held)
    this.#options.check?.(start)
    const verified = await this.#fetchDown(shown.head, start)
    return { ...verified, start, wrapsBytes, startBytes }
  }

  /** The newest commit alone, or all, and the wraps and start of the granter. */
  async fetchFirst(full = false, withStart = !full): Promise<ShownRefs> {
    const { connectFetch } = await import('../../transport/fetch.ts')
    const access = { ...this.#options.access, grantNames: [this.#held.name] }
    const connection = await connectFetch(access)
    try {
      const { head, named } = connection.refs
      if (head === undefined) throw notFound('The remote is empty')
      const { wraps, start } = this.#held.blobsAmong(named)
      const isWhole = wraps !== undefined && (!withStart || start !== undefined)
      const wants = [wraps, withStart ? start : undefined].flatMap((oid) => oid ?? [])
      const deepen = full && isWhole ? undefined : 1
      const { transfer: progress } = this.#options
      await this.#place.receive((into) =>
        connection.fetch({ want: head, wants, haves: [], into, deepen, progress }),
      )
      // A store of another format has its grants elsewhere, if it has any.
      if (storeIdAt(this.#place.objects, head) !== this.#options.storeId) {
        throw new StoreError('store_id_mismatch', 'The remote has another store than the grant')
      }
      if (!isWhole) throw wraps === undefined ? noKeysError() : noStartError()
      return { head, wraps, start: withStart ? start : undefined }
    } finally {
      await connection.close()
    }
  }

  /** Fetches down to the state of the start, or to its floor. */
  async #fetchDown(first: Oid, start: Start): Promise<VerifiedStart> {
    const { state, floor } = start
    let head = first
    const source = await this.sourceAt(first)
    if (head !== state.commit) head = await this.#deepen(source, first, state.height)
    const fromState = await this.#verify(head, start, false)
    if (fromState !== undefined) return fromState
    // Something was merged that is based on an older version.
    if (floor === undefined) throw beforeBeginning()
    head = await this.#deepen(source, head, floor.height)
    const fromFloor = await this.#verify(head, start, true)
    if (fromFloor === undefined) throw beforeBeginning()
    return fromFloor
  }

  /** Fetches all commits down to a height. */
  async #deepen(source: FetchedSource, known: Oid, height: number): Promise<Oid> {
    const below = this.#heightOf(source, known) - height
    if (below < 0 || below > historyDepthMax) throw beforeBeginning()
    const { connectFetch } = await import('../../transport/fetch.ts')
    const connection = await connectFetch(this.#options.access)
    try {
      const { head } = connection.refs
      if (head === undefined) throw notFound('The remote is empty')
      const deepen = below + 1 + (head === known ? 0 : SLACK)
      const shallow = this.#place.shallow()
      const { transfer: progress } = this.#options
      await this.#place.receive((into) =>
        connection.fetch({ want: head, haves: [known], into, deepen, shallow, progress }),
      )
      return head
    } finally {
      await connection.close()
    }
  }

  /** Undefined if not all commits descend from the start. */
  async #verify(head: Oid, start: Start, fromFloor: boolean): Promise<VerifiedStart | undefined> {
    const source = await this.sourceAt(head)
    const { epochs } = source
    try {
      const begun = fromFloor ? floorOf(source, start) : beginningOf(source, start)
      const beginning = await inSlices(begun)
      const before = beginning.snapshot.head
      const records = new Set([toHex(before.record)])
      const keyrings = [...lineOf(start)]
      const onCommit = ({ hash, record }: CheckedCommit): void => {
        records.add(toHex(hash))
        if (bringsKeyring(record.kind)) keyrings.push(hash)
      }
      const snapshot =
        head === before.commit
          ? beginning.snapshot
          : await verifyBegun(source, beginning.snapshot, head, { onCommit })
      if (snapshot === undefined) return undefined
      // Another line of the store, or an older one: newer changes would be hidden.
      if (!records.has(toHex(start.state.record))) throw lacksStateError()
      return { snapshot, epochs, beginning, records, keyrings }
    } catch (error) {
      if (hasCode(error, 'object_missing')) return undefined
      throw error
    }
  }

  async sourceAt(head: Oid): Promise<FetchedSource> {
    const { storeId, identity } = this.#options
    const { objects } = this.#place
    const unlock = { type: 'identity', identity } as const
    const { epochs } = await openHeadKeyring(objects, storeId, unlock, head)
    return { objects, storeId, epochs }
  }

  /** After its group signature: who has no key must not choose how much is fetched. */
  #heightOf({ storeId, epochs }: FetchedSource, head: Oid): number {
    const bytes = readCommitBytes(this.#place.objects, head)
    verifyDecodedCommit(storeId, epochs, head, bytes)
    return parseLinks(bytes).height
  }

  readBlob(oid: Oid, bytes: number): Uint8Array {
    return getBlob(this.#place.objects, oid, 'baseline_malformed', { bytes, refusal: notAStart })
  }
}

/** The remote's head does not have the state that its start describes. */
export function lacksStateError(): StoreError {
  return new StoreError(
    'rolled_back',
    'The remote lacks changes that the device which gave the grant has described: it was rolled ' +
      'back, or shows different histories to different clones',
  )
}

function noKeysError(): StoreError {
  return notFound(
    'The remote has no keys for this grant: the device that gave it has not synced since, or the ' +
      'grant has ended',
  )
}

function noStartError(): StoreError {
  return notFound(
    'The remote has no baseline for this grant, or it was deleted: the device that gave it makes ' +
      'another one when it syncs. With GITLOCKET_FULL=1, and without GITLOCKET_MAX_AGE, the ' +
      'whole history is fetched and verified instead, which takes longer',
  )
}

function notAStart(): StoreError {
  return new StoreError('baseline_malformed', 'The remote has something else in place of a start')
}

function notFound(message: string): StoreError {
  return new StoreError('not_found', message)
}
