// FORMAT §6.4: cur(X, m), and the rules of rows for one parent. The state is what the causal past
// of the next record says about versions and memories.

import { type Row, zeroId } from './record.ts'
import { ensure, refuse } from './refusal.ts'

export interface VersionFact {
  readonly memoryId: string
  readonly deleted: boolean
}

export interface MemoryState {
  /** Every version of the causal past. */
  readonly versions: Map<string, VersionFact>
  /** cur: memory to its newest version. */
  readonly current: Map<string, string>
  /** Memory to the time of its first record, ms. */
  readonly created: Map<string, number>
}

export function emptyState(): MemoryState {
  return { versions: new Map(), current: new Map(), created: new Map() }
}

/** Checks the rows of a change against the state of its parent, then moves the state. */
export function applyChange(state: MemoryState, rows: readonly Row[], time: number): void {
  for (const row of rows) checkRow(state, row)
  for (const { memoryId, versionId, operation } of rows) {
    const reused = state.versions.has(versionId)
    ensure(!reused, 'row_version_reused', 'A version id is in the record twice')
    state.versions.set(versionId, { memoryId, deleted: operation === 'deleted' })
    state.current.set(memoryId, versionId)
    if (!state.created.has(memoryId)) state.created.set(memoryId, time)
  }
}

function checkRow(state: MemoryState, row: Row): void {
  ensure(!state.versions.has(row.versionId), 'row_version_reused', 'A version id is not new')
  ensure(row.versionId !== zeroId, 'record_rows', 'A version id is zero, which means none')
  ensure(row.secondBase === zeroId, 'record_rows', 'A second base belongs to merges')
  const current = state.current.get(row.memoryId)
  if (row.operation === 'created' && row.base === zeroId) {
    ensure(current === undefined, 'row_memory_exists', 'The memory exists')
    return
  }
  if (current === undefined) refuse('row_memory_missing', 'The memory does not exist')
  ensure(row.base === current, 'row_base_mismatch', 'The base is not the current version')
  const deleted = state.versions.get(current)?.deleted === true
  if (row.operation === 'created') {
    ensure(deleted, 'row_memory_exists', 'Only a deleted memory is restored')
  } else {
    ensure(!deleted, 'row_memory_missing', 'The memory is deleted')
  }
}

/** Checks the targets of a redact record; returns their version ids. */
export function redactTargets(state: MemoryState, rows: readonly Row[]): string[] {
  for (const { memoryId, versionId } of rows) {
    const version = state.versions.get(versionId)
    const known = version?.memoryId === memoryId
    ensure(known, 'redact_target', 'The target is no version of that memory')
    const live = state.current.get(memoryId) === versionId && !version?.deleted
    ensure(!live, 'redact_target', 'The target is the current version of a live memory')
  }
  return rows.map((row) => row.versionId)
}
