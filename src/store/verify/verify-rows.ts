// The row rules of FORMAT §6.4: a record's rows are compared with the past, and with the details
// and memories of the commit. Returns the versions that the rows write.

import { type ErrorCode, StoreError } from '../../errors.ts'
import type { RecordRow } from '../../format/change-record.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { OtherParent } from '../commits/commit-context.ts'
import type { CommitSource } from '../commits/decoded-commit.ts'
import type { OpenVersions } from '../commits/divergence.ts'
import type { KnownVersions } from '../history/history-rows.ts'
import { getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import type { CurrentVersion, LiveMemory } from '../snapshot/live-memory.ts'
import { findBlob } from '../snapshot/memory-tree.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import type { CheckedCommit } from './checked-commit.ts'

export interface VerifyContext extends CommitSource {
  /** R of FORMAT §8.1: every version that a redact record of this head names. */
  readonly redacted: ReadonlySet<string>
  /** Those of them whose versions may be from before the state at which a clone begins. */
  readonly attested?: ReadonlySet<string> | undefined
  readonly versions: KnownVersions
}

/** What checking a commit needs to know of earlier commits, in addition to the snapshot. */
export interface MergeContext {
  /** Set for a commit with two verified parents, neither an ancestor of the other. */
  readonly merging?: Merging | undefined
  /** Whether a version was verified but is not in the past of the commit. */
  isElsewhere(versionId: string): boolean
}

/** `ours` is the snapshot's side of a merge, `theirs` the other parent's. */
export interface Merging {
  readonly other: OtherParent
  /** The memories that both sides changed, by memory id. */
  readonly open: ReadonlyMap<string, OpenVersions>
  /** In ascending order of the record hash. */
  readonly parents: readonly Head[]
  readonly isOursFirst: boolean
  /** Whether a parent is late, and who alone may merge these two (FORMAT §7.4). */
  readonly isLate: boolean
  readonly needsOwner: boolean
}

/** The state of a memory that a row changes. */
interface Before {
  readonly created: number
  /** The versions that are not deletions; empty if one is redacted, since its path is not known. */
  readonly live: readonly LiveMemory[]
}

/** Yields after each row. */
export function* readRows(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: CheckedCommit,
  mergeContext: MergeContext,
): Generator<undefined, ReadonlyMap<string, CurrentVersion>> {
  const memories = new Map<string, CurrentVersion>()
  const { record } = commit
  if (record.kind === 'redact') {
    for (const row of record.rows) {
      checkRedactTarget(context, snapshot, row, mergeContext)
      yield
    }
    return memories
  }
  for (const [index, row] of record.rows.entries()) {
    context.versions.add(row.versionId, row.memoryId)
    const before = findBefore(snapshot, row, mergeContext.merging) ?? {
      created: record.time,
      live: [],
    }
    const live = isRedacted(context, commit, row, index)
      ? undefined
      : readLive(commit, row, index, before)
    const operation = row.operation ?? 'deleted'
    const { created } = before
    memories.set(row.memoryId, { versionId: row.versionId, operation, created, live })
    yield
  }
  for (const memoryId of mergeContext.merging?.open.keys() ?? []) {
    if (!memories.has(memoryId)) {
      refuse('row_missing', 'A merge has no row for a memory that both sides changed')
    }
  }
  return memories
}

/** Undefined for the first version of a memory. */
function findBefore(
  snapshot: Snapshot,
  row: RecordRow,
  merging: Merging | undefined,
): Before | undefined {
  const open = merging?.open.get(row.memoryId)
  if (merging !== undefined && open !== undefined) {
    const sides = merging.isOursFirst ? [open.ours, open.theirs] : [open.theirs, open.ours]
    if (row.base !== sides[0]?.versionId || row.secondBase !== sides[1]?.versionId) {
      refuse('row_base_mismatch', 'A row of a merge is not based on the versions of its parents')
    }
    return { created: open.ours.created, live: liveOf(sides) }
  }
  if (row.secondBase !== zeroId) {
    refuse('row_base_mismatch', 'A row has a second base, but there is nothing to merge')
  }
  if (row.operation === 'created' && row.base === zeroId) return undefined
  const current = merging?.other.memories.get(row.memoryId) ?? snapshot.current.get(row.memoryId)
  checkBase(row, current)
  return { created: current.created, live: liveOf([current]) }
}

function liveOf(versions: readonly CurrentVersion[]): readonly LiveMemory[] {
  const kept = versions.filter(({ operation }) => operation !== 'deleted')
  const live = kept.flatMap((version) => version.live ?? [])
  return live.length === kept.length ? live : []
}

function checkBase(
  row: RecordRow,
  current: CurrentVersion | undefined,
): asserts current is CurrentVersion {
  if (current === undefined) {
    return refuse('row_memory_missing', 'A row changes a memory that does not exist')
  }
  if (row.base !== current.versionId) {
    refuse('row_base_mismatch', 'A row is not based on the current version of its memory')
  }
  if (row.operation === 'created' && current.operation !== 'deleted') {
    refuse('row_memory_exists', 'Only a deleted memory is created again')
  }
  if (row.operation !== 'created' && current.operation === 'deleted') {
    refuse('row_memory_missing', 'A row changes a memory that is deleted')
  }
}

/** FORMAT §8.1: redacted versions have no detail, and all others have one. */
function isRedacted(
  context: VerifyContext,
  commit: CheckedCommit,
  row: RecordRow,
  index: number,
): boolean {
  const redacted = context.redacted.has(row.versionId)
  // An auditor learns it from the trees only.
  if (!commit.isWhole) return redacted
  if (commit.hasDetail(index)) {
    if (redacted) refuse('redaction_undone', 'A redacted version has its text back')
    return false
  }
  if (!redacted) refuse('detail_missing', 'A detail is missing and no redaction explains it')
  // Comparing the tree shows that its content is erased too.
  return true
}

/** The memory after a row; undefined if the row deletes it. */
function readLive(
  commit: CheckedCommit,
  row: RecordRow,
  index: number,
  before: Before,
): LiveMemory | undefined {
  const { path, memory } = commit.openRow(index)
  if (memory === undefined) {
    const { live } = before
    if (live.length > 0 && !live.some((one) => one.path === path)) {
      refuse('detail_mismatch', 'The detail of a deletion names another path')
    }
    return undefined
  }
  const { created } = before
  if (commit.isWhole && memory.created !== created) {
    refuse('memory_mismatch', 'A memory is not the one that its detail describes')
  }
  const { blob, size, sha256 } = memory
  const { memoryId, versionId } = row
  const times = { created, updated: commit.record.time }
  return { memoryId, versionId, path, size, sha256, ...times, blob, kid: commit.epoch.kid }
}

function checkRedactTarget(
  context: VerifyContext,
  snapshot: Snapshot,
  row: RecordRow,
  mergeContext: MergeContext,
): void {
  const memoryId = context.versions.findMemory(row.versionId)
  const isEarlier = memoryId === undefined && context.attested?.has(row.versionId) === true
  if ((memoryId !== row.memoryId && !isEarlier) || mergeContext.isElsewhere(row.versionId)) {
    refuse('redact_target', 'A redaction names a version that is not in its past')
  }
  const current = snapshot.current.get(row.memoryId)
  if (current?.versionId === row.versionId && current.operation !== 'deleted') {
    refuse('redact_target', 'A redaction names the current version of a live memory')
  }
}

/** The blob of a memory in the tree of a commit. */
export function findMemory(objects: ObjectSource, root: Oid, memoryId: string): Oid | undefined {
  const tree = getTree(objects, root).find((entry) => entry.name === 'm')?.oid
  return tree === undefined ? undefined : findBlob(objects, tree, memoryId)
}

function refuse(code: ErrorCode, message: string): never {
  throw new StoreError(code, message)
}
