// Verifies a history from genesis, or the part of it after a head that was verified before (FORMAT
// §8). Two passes: back from the head to find the commits and every redact record among them, then
// forward, checking each commit. A head is accepted as a whole or not at all.

import type { WorkOptions } from '../../async.ts'
import { toHex } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import { zeroHash } from '../../format/record.ts'
import type { HashedColumns } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { KnownVersions } from '../history/history-rows.ts'
import {
  beforeGenesis,
  type KeyringState,
  type SettingsState,
  Snapshot,
} from '../snapshot/snapshot.ts'
import { IdIndex } from '../tables/id-index.ts'
import { Table, u32 } from '../tables/table.ts'
import type { CheckedCommit } from './checked-commit.ts'
import { CommitCheckers } from './commit-checkers.ts'
import { findNewCommits, type NewCommits } from './new-commits.ts'
import { PackedObjects, worthwhileCommits } from './packed-objects.ts'
import { VerificationCursor } from './verification-cursor.ts'
import { verifyChecked } from './verify-commit.ts'
import type { VerifyContext } from './verify-rows.ts'

export interface VerifyOptions extends WorkOptions {
  /** @internal The objects that this process has just received and hashed. */
  readonly hashed?: HashedColumns | undefined
  /** @internal Called with each commit once it is accepted. */
  readonly onCommit?: ((commit: CheckedCommit) => void) | undefined
  /** @internal Called with the first commit that is refused, if it is one that refuses the head. */
  readonly onRefused?: ((oid: Oid) => void) | undefined
  /**
   * How many threads check commits in addition to this one. By default one less than the machine
   * has processors, at most 3, and none for a short history.
   */
  readonly threads?: number | undefined
}

export interface VerifiedHistory {
  readonly snapshot: Snapshot
  readonly versions: VersionMap
  /** The number of commits. */
  readonly commits: number
}

/** Verifies everything from genesis to `head`. */
export function verifyHistory(
  source: CommitSource,
  head: Oid,
  options: VerifyOptions = {},
): Promise<VerifiedHistory> {
  // A session is given too, whose properties a spread would not take over.
  const { objects, storeId, epochs, identity } = source
  const { height } = parseLinks(readCommitBytes(objects, head))
  const how = { commits: height + 1, hashed: options.hashed }
  return withPacks({ objects, storeId, epochs, identity }, how, (packed) => {
    return verifyAll(packed, head, height, options)
  })
}

async function verifyAll(
  source: CommitSource,
  head: Oid,
  height: number,
  options: VerifyOptions,
): Promise<VerifiedHistory> {
  const checkers = new CommitCheckers(source, head, height + 1, options.threads)
  try {
    const onPassed = (oid: Oid): void => checkers.checkAhead(oid)
    const found = await findNewCommits(source, head, isNeverKnown, -1, { ...options, onPassed })
    const { oids, redacted, children } = found ?? noNewCommits
    const versions = new VersionMap()
    const state = { head: beforeGenesis, keyring: unknownKeyring, settings: unknownSettings }
    const context = { ...source, redacted, versions }
    const cursor = new VerificationCursor(Snapshot.of(state, { redacted }), children)
    const snapshot = await verifyWith(checkers, context, { cursor, oids }, options)
    return { snapshot, versions, commits: oids.length }
  } finally {
    await checkers.close()
  }
}

/**
 * Verifies the commits between the snapshot's head and `head`; returns the snapshot there.
 * Undefined if not all of them descend from the snapshot's head, or if one redacts: a redaction
 * rewrites the past, and only the whole history shows whether it did (FORMAT §8.1).
 */
export async function verifyDescent(
  source: CommitSource,
  snapshot: Snapshot,
  head: Oid,
  options: VerifyOptions = {},
): Promise<Snapshot | undefined> {
  const { commit, height } = snapshot.head
  const isKnown = (oid: Oid): boolean => oid === commit
  const found = await findNewCommits(source, head, isKnown, height, options)
  if (found?.base === undefined || found.redacted.size > 0) return undefined
  const { objects, storeId, epochs, identity } = source
  const versions = new VersionMap()
  const context = { objects, storeId, epochs, identity, redacted: snapshot.redacted, versions }
  return verifyForward(context, snapshot, found, options)
}

/**
 * The same from the state at which a clone begins. It is the same commit after redactions above it,
 * so that they have rewritten later commits alone. Redactions of earlier versions are refused, but
 * for those that the snapshot has on the word of the device whose state it is.
 */
export async function verifyBegun(
  source: CommitSource,
  snapshot: Snapshot,
  head: Oid,
  options: VerifyOptions = {},
): Promise<Snapshot | undefined> {
  const { commit, height } = snapshot.head
  const isKnown = (oid: Oid): boolean => oid === commit
  const found = await findNewCommits(source, head, isKnown, height, options)
  if (found?.base === undefined) return undefined
  const { objects, storeId, epochs, identity } = source
  const { redacted: attested } = snapshot
  const redacted = new Set([...attested, ...found.redacted])
  const versions = new VersionMap()
  const context = { objects, storeId, epochs, identity, redacted, attested, versions }
  return verifyForward(context, snapshot.with({ redacted }), found, options)
}

/** Verifies commits that descend from the snapshot's head; returns the snapshot at the last one. */
export function verifyForward(
  context: VerifyContext,
  snapshot: Snapshot,
  commits: Pick<NewCommits, 'oids' | 'children'>,
  options: VerifyOptions,
): Promise<Snapshot> {
  const how = { commits: commits.oids.length, hashed: options.hashed }
  return withPacks(context, how, (packed) => {
    return verifyOnward(packed, snapshot, commits, options)
  })
}

async function verifyOnward(
  context: VerifyContext,
  snapshot: Snapshot,
  { oids, children }: Pick<NewCommits, 'oids' | 'children'>,
  options: VerifyOptions,
): Promise<Snapshot> {
  const checkers = new CommitCheckers(context, oids.at(-1) ?? '', oids.length, options.threads)
  const cursor = new VerificationCursor(snapshot, children)
  try {
    return await verifyWith(checkers, context, { cursor, oids }, options)
  } finally {
    await checkers.close()
  }
}

/** Lends a source that reads packs faster, if the number of commits makes that worthwhile. */
async function withPacks<Source extends CommitSource, T>(
  source: Source,
  { commits, hashed }: Pick<VerifyOptions, 'hashed'> & { readonly commits: number },
  work: (source: Source) => Promise<T>,
): Promise<T> {
  const { packDirectories } = source.objects
  if (packDirectories === undefined || commits < worthwhileCommits) return work(source)
  const objects = new PackedObjects(packDirectories, source.objects, hashed)
  try {
    return await work({ ...source, objects })
  } finally {
    objects.close()
  }
}

interface VerifyTask {
  readonly cursor: VerificationCursor
  /** The commits, in the order in which they are checked. */
  readonly oids: readonly Oid[]
}

async function verifyWith(
  checkers: CommitCheckers,
  context: VerifyContext,
  { cursor, oids }: VerifyTask,
  options: VerifyOptions,
): Promise<Snapshot> {
  let done = 0
  const slice = new TimeSlice(options.signal)
  try {
    for await (const batch of checkers.inOrder(oids)) {
      for (const commit of batch) {
        await inSlices(verifyChecked(context, commit, cursor))
        options.onCommit?.(commit)
        done += 1
        if (slice.isOver()) await slice.next()
      }
      options.progress?.(done, oids.length)
      await slice.next()
    }
    return cursor.snapshot
  } catch (error) {
    const refused = oids[done]
    if (refused !== undefined) options.onRefused?.(refused)
    if (hasCode(error, ...duplicateCodes)) refuseDuplicate(context, oids)
    throw error
  }
}

/** The codes with which the second of two commits of one record may be refused. */
const duplicateCodes = ['record_parents', 'record_height', 'detail_missing'] as const

/**
 * Throws `duplicate_record` if one record is in two commits: that explains why a commit was
 * refused for its position, or for a detail that no redaction explains.
 */
function refuseDuplicate(source: CommitSource, oids: readonly Oid[]): void {
  const seen = new Set<string>()
  for (const oid of oids.toReversed()) {
    const bytes = readCommitBytes(source.objects, oid)
    const hash = toHex(decodeCommit(source.storeId, source.epochs, oid, bytes).hash)
    if (seen.has(hash)) throw duplicateError()
    seen.add(hash)
  }
}

function duplicateError(): StoreError {
  return new StoreError('duplicate_record', 'One record is in two commits of the history')
}

/**
 * Version id → memory id of every version in the past. New versions are added here and not to
 * `known`, so that a refused history leaves nothing behind.
 */
export class VersionMap implements KnownVersions {
  readonly #known: Pick<KnownVersions, 'findMemory'> | undefined
  readonly #versionIds = new IdIndex()
  readonly #memoryIds = new IdIndex()
  /** The number of each version's memory, by the number of the version. */
  readonly #memories = new Table({ memory: u32 })

  constructor(known?: Pick<KnownVersions, 'findMemory'>) {
    this.#known = known
  }

  get size(): number {
    return this.#versionIds.size
  }

  findMemory(versionId: string): string | undefined {
    const version = this.#versionIds.find(versionId)
    if (version === undefined) return this.#known?.findMemory(versionId)
    return this.#memoryIds.idAt(this.#memories.columns.memory.get(version))
  }

  add(versionId: string, memoryId: string): void {
    const version = this.#versionIds.add(versionId)
    // Ids follow from records (FORMAT §1): this record was verified before, in another commit.
    if (version < this.#memories.length) throw duplicateError()
    this.#memories.columns.memory.set(this.#memories.add(), this.#memoryIds.add(memoryId))
  }
}

function isNeverKnown(): boolean {
  return false
}

const noNewCommits: NewCommits = {
  oids: [],
  children: new Map(),
  redacted: new Set(),
  base: undefined,
}

/** A placeholder that genesis replaces before anything reads it. */
const unknownKeyring: KeyringState = {
  record: zeroHash,
  oid: '',
  kid: '',
  archived: [],
  directory: {
    number: 0,
    previous: undefined,
    devices: [],
    removed: [],
    recovery: [],
    quota: 0,
    givers: 'owners and writers',
    founderRandom: undefined,
  },
}
const unknownSettings: SettingsState = {
  oid: '',
  value: {
    name: '',
    description: '',
    metadata: {},
    archivedAt: undefined,
    limits: { contentBytes: 0, memories: 0 },
  },
  record: zeroHash,
  height: -1,
  updated: 0,
  created: 0,
}
