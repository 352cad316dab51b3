// What an auditor has verified and the members have left out since (FORMAT §9.3): found, refused
// until the user accepts it, and listed from then on, sealed and outside the store. A redaction
// lets go of the commits; the entries remain, which name ids alone. Must not move a head or the
// anchor.

import { toHex } from '../../bytes.ts'
import type { Clock } from '../../clock.ts'
import { assert, hasCode, StoreError } from '../../errors.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import { leftOutName } from '../../git/refs/tracking-ref.ts'
import { findLost } from '../access/post-revocation.ts'
import type { VerifiedHead } from '../local/anchor.ts'
import {
  type CacheOwner,
  type CachePlace,
  moveCacheAside,
  readCache,
  writeCache,
} from '../local/sealed-cache.ts'
import { checkFreshness } from '../session/freshness.ts'
import {
  environmentOf,
  localPlaces,
  type OpenOptions,
  type StoreEnvironment,
  type StorePlaces,
} from '../session/open-options.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { SyncReport } from '../sync/report.ts'
import { type AuditEntry, type TrailKey, type VerifiedTrail, verifyTrail } from './audit-trail.ts'

/** A record that this device had verified and that the history lacks now. */
export interface LeftOut {
  /** Its hash, 64 hex digits: redactions change the commit and not this. */
  readonly record: string
  /** 40 hex digits, the id of its commit when it was left out first. */
  readonly commit: string
  /** When the user accepted that, in ms since 1970, by the clock of this machine. */
  readonly acceptedAt: number
  /**
   * `late`: of a device that has been removed, or on top of such a record (FORMAT §7.4). `missing`:
   * the removals do not explain it.
   */
  readonly why: 'late' | 'missing'
  /** Undefined if the commit could not be read any more. */
  readonly entry: AuditEntry | undefined
}

type Lost = Omit<LeftOut, 'acceptedAt'>

/** Some of the commits that are left out; undefined if nothing is. */
export type LostRecords = readonly Lost[] | undefined

interface Comparison {
  readonly storeId: string
  /** A verified head, and its trail. */
  readonly head: Oid
  readonly trail: VerifiedTrail
  /** A head that this device verified before. */
  readonly known: VerifiedHead | undefined
}

/** The commits of `known` that `head` lacks; undefined if it has them all. */
export async function findLeftOut(
  objects: ObjectSource,
  { storeId, head, known, trail }: Comparison,
  options: TrailKey,
): Promise<LostRecords> {
  const { epochs, snapshot } = trail
  if (known === undefined) return undefined
  if (await isFresh({ objects, storeId, epochs }, known, snapshot)) return undefined
  const { commit } = known
  const record = toHex(known.record)
  const unread = [{ record, commit: commit ?? '', why: 'missing', entry: undefined } as const]
  if (commit === undefined) return unread
  const before = await verifyIfThere(objects, { storeId, head: commit }, options)
  if (before === undefined) return unread
  const source = { objects, storeId, epochs: new Map([...before.epochs, ...epochs]) }
  const lost = await findLost(source, commit, head)
  if (lost === undefined) return unread
  const entries = new Map(before.entries.map((entry) => [entry.commit, entry]))
  return lost.commits.map((oid) => {
    const entry = entries.get(oid)
    assert(entry !== undefined, 'a trail lists every commit of its head')
    const why = lost.late.has(oid) ? 'late' : 'missing'
    return { record: entry.record, commit: oid, why, entry }
  })
}

/** Verified once more, since it is listed from now on. Undefined if it cannot be read any more. */
async function verifyIfThere(
  ...[objects, place, options]: Parameters<typeof verifyTrail>
): Promise<VerifiedTrail | undefined> {
  try {
    return await verifyTrail(objects, place, options)
  } catch (error) {
    if (hasCode(error, 'object_missing', 'wrong_key')) return undefined
    throw error
  }
}

async function isFresh(
  source: Parameters<typeof checkFreshness>[0],
  verified: VerifiedHead,
  snapshot: Snapshot,
): Promise<boolean> {
  try {
    await checkFreshness(source, { verified }, snapshot)
    return true
  } catch (error) {
    if (hasCode(error, 'rolled_back')) return false
    throw error
  }
}

/** Throws `rolled_back` unless nothing is left out or the user accepts it. */
export function checkAccepted(
  lost: LostRecords,
  { acceptRolledBack = false }: Pick<OpenOptions, 'acceptRolledBack'>,
): void {
  if (lost === undefined || acceptRolledBack) return
  const late = lost.filter(({ why }) => why === 'late').length
  if (late === lost.length) {
    throw new StoreError(
      'rolled_back',
      `The history leaves out ${late} of the records that this device has verified: their ` +
        'devices were removed, or could no longer write, before the members had them, or they ' +
        'were written on such records. Accept that once; an audit lists them from then on',
    )
  }
  throw new StoreError(
    'rolled_back',
    'The history has less than this device has verified: it was rolled back, differs between ' +
      'clones, or lacks changes that no member could take over or that were never sent. Ask a ' +
      'member for the cause; if it is legitimate, accept that once, and an audit lists the ' +
      'missing changes',
  )
}

/** Keeps the commits, until a redaction. Not inside `exclusive`. */
export async function keepLeftOut(objects: ObjectStore, lost: LostRecords): Promise<void> {
  const newest = lost?.findLast(({ entry }) => entry !== undefined)
  if (newest === undefined) return
  await objects.exchange.track(leftOutName(newest.commit), newest.commit)
}

interface LeftOutFile {
  readonly version: 1
  readonly leftOut: readonly LeftOut[]
}

/** The sealed list of one device. */
export class LeftOutList {
  readonly #owner: CacheOwner
  readonly #place: CachePlace
  readonly #clock: Clock

  constructor(options: StorePlaces & StoreEnvironment, storeId: string) {
    const { caches, leftOutFile } = localPlaces(options, storeId)
    this.#owner = caches
    this.#place = { path: leftOutFile, role: 'leftOut', generation: 0 }
    this.#clock = environmentOf(options).clock
  }

  /** Oldest first. Throws `left_out_corrupt` if the file is damaged. */
  read(): readonly LeftOut[] {
    try {
      return readCache<LeftOutFile>(this.#owner, this.#place, 1)?.leftOut ?? []
    } catch (error) {
      if (hasCode(error, 'upgrade_required')) throw error
      throw new StoreError(
        'left_out_corrupt',
        'The list of left-out changes in the state directory is damaged or belongs to another ' +
          'identity',
        { cause: error },
      )
    }
  }

  /** Moves a damaged list aside, once the user accepts that. Call under the writer lock. */
  moveAsideIfDamaged(): void {
    try {
      this.read()
    } catch (error) {
      if (!hasCode(error, 'left_out_corrupt')) throw error
      moveCacheAside(this.#owner, this.#place)
    }
  }

  /**
   * Adds what the user has accepted, with whatever became of the list before. Call under the writer
   * lock, before anything moves.
   */
  async add(lost: readonly Lost[]): Promise<void> {
    this.moveAsideIfDamaged()
    const before = this.read()
    const known = new Set(before.map(({ record }) => record))
    const acceptedAt = this.#clock()
    const added = lost
      .filter(({ record }) => !known.has(record))
      .map(({ record, commit, why, entry }): LeftOut => {
        return { record, commit, acceptedAt, why, entry }
      })
    const leftOut = [...before, ...added]
    const file: LeftOutFile = { version: 1, leftOut }
    await writeCache(this.#owner, this.#place, file)
  }
}

/** For the report of a sync. */
export function lateChangeOf({ commit, entry }: Lost): SyncReport['late'] {
  if (entry === undefined) return []
  const { deviceId, time, kind } = entry
  const versions = entry.versions.map(({ versionId, memoryId, operation }) => {
    return { versionId, memoryId, operation, path: undefined }
  })
  return [{ commit, deviceId, time, kind, versions, redacts: entry.redacts }]
}
