// Describes late commits (FORMAT §7.4) for users who miss them: a removed device wrote them outside
// the past of its removal, so they are not part of the history. Trusts the commits, which were
// verified.

import { hasCode } from '../../errors.ts'
import type { Operation, RecordKind } from '../../format/change-record.ts'
import { formatId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { HistorySource } from '../history/history.ts'
import { readKnownCommit } from '../history/known-commit.ts'

/** A late commit, which is not part of the history. */
export interface LateChange {
  /** 40 hex digits. */
  readonly commit: string
  /** `dev_…`, the author. */
  readonly deviceId: string
  /** ms since 1970, by the clock of the author. */
  readonly time: number
  readonly kind: RecordKind
  /** The versions that it wrote; empty for a redaction, and a change of keyring or settings. */
  readonly versions: readonly LateVersion[]
  /** `memver_…`: the versions that a redaction names. */
  readonly redacts: readonly string[]
}

/** One version that a late commit wrote. */
export interface LateVersion {
  /** `memver_…` */
  readonly versionId: string
  /** `mem_…` */
  readonly memoryId: string
  readonly operation: Operation
  /** Undefined once redacted, and for an auditor. */
  readonly path: string | undefined
}

/** Describes commits in their order. */
export function readLateChanges(
  source: HistorySource,
  commits: readonly Oid[],
): readonly LateChange[] {
  return commits.flatMap((oid) => readIfThere(source, oid))
}

/** Redactions first: they are what cannot be seen from the memories. */
export function inOrderOfWeight(changes: readonly LateChange[]): readonly LateChange[] {
  return changes.toSorted((a, b) => Number(b.kind === 'redact') - Number(a.kind === 'redact'))
}

/** Empty if a redaction that came at the same time has erased the commit. */
function readIfThere(source: HistorySource, oid: Oid): readonly LateChange[] {
  try {
    const { commit, rows } = readKnownCommit(source, oid)
    const versions = rows.map(({ versionId, memoryId, operation, path }) => ({
      versionId: formatId('version', versionId),
      memoryId: formatId('memory', memoryId),
      operation,
      path,
    }))
    const deviceId = formatId('device', commit.deviceId)
    const { time, kind } = commit
    const redacts = commit.redacts.map((versionId) => formatId('version', versionId))
    return [{ commit: oid, deviceId, time, kind, versions, redacts }]
  } catch (error) {
    if (hasCode(error, 'object_missing')) return []
    throw error
  }
}
