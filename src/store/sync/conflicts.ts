// What merges of clones have combined: for each memory that both sides had changed, the version
// that came of it, and what it came from. Read off the history, so every clone lists the same.

import { formatId } from '../../format/id.ts'
import { zeroId } from '../../format/record.ts'
import type { History, VersionEntry } from '../history.ts'

/**
 * `combined`: the text has parts of both sides; `kept`: it is that of one of them, `kept` tells
 * which; `deleted`: both sides had deleted it, or it went into another memory at the same path.
 */
export type Combination = 'combined' | 'kept' | 'deleted' | 'redacted'

export interface Conflict {
  /** `memver_…`: what the merge made. */
  readonly versionId: string
  readonly memoryId: string
  /** Undefined once redacted. */
  readonly path: string | undefined
  /** The two versions that it was made of, `memver_…`. */
  readonly inputs: readonly string[]
  readonly combination: Combination
  /** Of `inputs`, the one whose text was taken. */
  readonly kept: string | undefined
  /** The merge commit, 40 hex digits, and its time, ms since 1970. */
  readonly commit: string
  readonly time: number
}

/** Newest first. */
export function findConflicts(history: History, limit: number): readonly Conflict[] {
  const conflicts: Conflict[] = []
  for (let at = history.versions.length - 1; at >= 0 && conflicts.length < limit; at -= 1) {
    const entry = history.versions[at]
    if (entry !== undefined && entry.secondBase !== zeroId) {
      conflicts.push(describe(history, entry))
    }
  }
  return conflicts
}

function describe(history: History, entry: VersionEntry): Conflict {
  const inputs = [entry.base, entry.secondBase]
  const kept = inputs.find((id) => isTextOf(history.find(id), entry))
  return {
    versionId: formatId('version', entry.versionId),
    memoryId: formatId('memory', entry.memoryId),
    path: entry.path,
    inputs: inputs.map((id) => formatId('version', id)),
    combination: combinationOf(entry, kept),
    kept: kept === undefined ? undefined : formatId('version', kept),
    commit: entry.commit.oid,
    time: entry.commit.time,
  }
}

function combinationOf(entry: VersionEntry, kept: string | undefined): Combination {
  if (entry.path === undefined) return 'redacted'
  if (entry.operation === 'deleted') return 'deleted'
  return kept === undefined ? 'combined' : 'kept'
}

function isTextOf(input: VersionEntry | undefined, { sha256 }: VersionEntry): boolean {
  return sha256 !== undefined && input?.sha256 === sha256
}
