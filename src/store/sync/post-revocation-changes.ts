// What late commits said (FORMAT §7.4), for people who miss it: a removed device wrote it outside
// the past of its removal, so that it is no part of the history any more.

import { hasCode } from '../../errors.ts'
import type { Operation } from '../../format/change-record.ts'
import { formatId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { HistorySource } from '../history/history.ts'
import { readKnownCommit } from '../history/known-commit.ts'

/** A commit that was left out. */
export interface LateChange {
  /** 40 hex digits. */
  readonly commit: string
  /** `dev_…`, the author. */
  readonly deviceId: string
  /** ms since 1970, by the clock of the author. */
  readonly time: number
  /** What it wrote; empty for a change of something else than memories. */
  readonly versions: readonly LateVersion[]
}

/** One version that it wrote. */
export interface LateVersion {
  /** `memver_…` */
  readonly versionId: string
  /** `mem_…` */
  readonly memoryId: string
  readonly operation: Operation
  /** Undefined once redacted. */
  readonly path: string | undefined
}

/** Of verified commits, oldest first if they are given newest first. */
export function readLateChanges(
  source: HistorySource,
  commits: readonly Oid[],
): readonly LateChange[] {
  return commits.flatMap((oid) => readIfThere(source, oid)).toReversed()
}

/** A redaction that came at the same time may have erased it. */
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
    return [{ commit: oid, deviceId, time: commit.time, versions }]
  } catch (error) {
    if (hasCode(error, 'object_missing')) return []
    throw error
  }
}
