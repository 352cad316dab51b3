// FORMAT §6.4: rows with the ids that §1 gives them, their rules, and cur(X, m) after them.

import { memoryIdOf, versionIdOf } from './identity.ts'
import type { OpenMemories } from './pasts.ts'
import { type ChangeRecord, type Row, zeroId } from './record.ts'
import { ensure, refuse } from './refusal.ts'

/** A row of a record whose hash is known. */
export interface NamedRow extends Row {
  /** Never zero. */
  readonly memoryId: string
  /** In a redact record the version to redact; then the base is zero. */
  readonly versionId: string
}

export function nameRows(
  storeId: string,
  recordHash: string,
  { kind, rows }: Pick<ChangeRecord, 'kind' | 'rows'>,
): readonly NamedRow[] {
  return rows.map((row, index) => {
    if (kind === 'redact') return { ...row, versionId: row.base, base: zeroId }
    const creates = row.memoryId === zeroId
    const memoryId = creates ? memoryIdOf(storeId, recordHash, index) : row.memoryId
    return { ...row, memoryId, versionId: versionIdOf(storeId, recordHash, index) }
  })
}

export interface VersionFact {
  readonly memoryId: string
  readonly deleted: boolean
  /** The hash of the record that brought it. */
  readonly record: string
}

/** Every version there is, in whatever past. */
export type Versions = ReadonlyMap<string, VersionFact>

export interface AllMemories {
  readonly versions: Map<string, VersionFact>
  /** Memory to the time of its first record, ms. */
  readonly created: Map<string, number>
}

export interface RowsOf {
  readonly hash: string
  readonly time: number
  readonly rows: readonly NamedRow[]
}

/** Checks the rows of a change against cur of its past; returns cur after it. */
export function applyChange(
  all: AllMemories,
  before: ReadonlyMap<string, string>,
  open: OpenMemories,
  { hash, time, rows }: RowsOf,
): ReadonlyMap<string, string> {
  const current = new Map(before)
  for (const row of rows) {
    const { memoryId, versionId, operation } = row
    const sides = open.get(memoryId)
    if (sides === undefined) checkRow(all, before.get(memoryId), row)
    else {
      const based = row.base === sides[0] && row.secondBase === sides[1]
      ensure(based, 'row_base_mismatch', 'The bases are not the versions of the parents')
    }
    all.versions.set(versionId, { memoryId, deleted: operation === 'deleted', record: hash })
    if (!all.created.has(memoryId)) all.created.set(memoryId, time)
    current.set(memoryId, versionId)
  }
  const left = [...open.keys()].filter((id) => !rows.some((row) => row.memoryId === id))
  ensure(left.length === 0, 'row_missing', 'An open memory has no row')
  return current
}

function checkRow(all: AllMemories, current: string | undefined, row: NamedRow): void {
  ensure(row.secondBase === zeroId, 'row_base_mismatch', 'Nothing is open, but a row has two bases')
  if (row.operation === 'created' && row.base === zeroId) return
  if (current === undefined) refuse('row_memory_missing', 'The memory does not exist')
  ensure(row.base === current, 'row_base_mismatch', 'The base is not the current version')
  const deleted = all.versions.get(current)?.deleted === true
  if (row.operation === 'created') {
    ensure(deleted, 'row_memory_exists', 'Only a deleted memory is restored')
  } else {
    ensure(!deleted, 'row_memory_missing', 'The memory is deleted')
  }
}

/** Checks the targets of a redact record; returns their version ids. */
export function redactTargets(
  versions: Versions,
  current: ReadonlyMap<string, string>,
  rows: readonly NamedRow[],
  isInPast: (recordHash: string) => boolean,
): string[] {
  for (const { memoryId, versionId } of rows) {
    const version = versions.get(versionId)
    const known = version?.memoryId === memoryId && isInPast(version.record)
    ensure(known, 'redact_target', 'The target is no version of that memory')
    const live = current.get(memoryId) === versionId && !version?.deleted
    ensure(!live, 'redact_target', 'The target is the current version of a live memory')
  }
  return rows.map((row) => row.versionId)
}
