// The memories that merges of clones had to combine: those that both sides had changed, that were
// joined with another one of the same path, or that were moved because of a path conflict. Lists
// the resulting version and its inputs. Computed from the history, so every clone lists the same.

import { formatId } from '../../format/id.ts'
import type { CommitEntry, VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { findMovedFrom, inputsOf, isOneSided, joinOf, mergedInputsOf } from './version-inputs.ts'

/**
 * `combined`: the text has parts of several inputs; `kept`: it is that of one input, named by
 * `Conflict.kept`; `deleted`: both sides had deleted the memory.
 */
export type Combination = 'combined' | 'kept' | 'deleted' | 'redacted'

export interface Conflict {
  /** `memver_…`: the version that the merge wrote. */
  readonly versionId: string
  readonly memoryId: string
  /** Undefined once redacted. */
  readonly path: string | undefined
  /**
   * The merged versions, `memver_…`: those of both sides, then those of a memory that was joined
   * into it. A single one if the merge only joined or moved the memory.
   */
  readonly inputs: readonly string[]
  /** The devices, `dev_…`, that wrote `inputs`, in their order. */
  readonly inputDevices: readonly string[]
  readonly combination: Combination
  /** The newest version that the first two of `inputs` have in common. */
  readonly base: string | undefined
  /** The one of `inputs` whose text was kept. */
  readonly kept: string | undefined
  /** The other memory, `mem_…`, which had the same path and was deleted for this one. */
  readonly joined: string | undefined
  /** The previous path if it was moved because another memory is at, above or below that. */
  readonly movedFrom: string | undefined
  /** The merge commit, 40 hex digits, and its time, ms since 1970. */
  readonly commit: string
  readonly time: number
}

export interface ConflictOptions {
  /** At most this many conflicts. Default: 100. */
  readonly limit?: number | undefined
}

/** The conflicts of the merges for which `isWanted`, newest first. Yields after each version. */
export function* findConflicts(
  history: History,
  { limit = 100 }: ConflictOptions,
  isWanted: (commit: CommitEntry) => boolean = () => true,
): Generator<undefined, readonly Conflict[]> {
  const conflicts: Conflict[] = []
  for (const entry of history.versions.reversed()) {
    yield
    if (conflicts.length >= limit) break
    const { commit } = entry
    if (!history.isMerge(commit) || !isWanted(commit)) continue
    // A joined memory is listed with the one that received its text.
    if (joinOf(history, entry) !== undefined) continue
    const conflict = describe(history, entry)
    if (conflict.movedFrom === undefined && isOneSided(history, entry)) continue
    conflicts.push(conflict)
  }
  return conflicts
}

function describe(history: History, entry: VersionEntry): Conflict {
  const inputs = mergedInputsOf(history, entry)
  const kept = inputs.find((input) => isTextOf(input, entry))
  const joined = inputs.find(({ memoryId }) => memoryId !== entry.memoryId)
  const base = inputsOf(history, entry)[1]?.common
  return {
    versionId: formatId('version', entry.versionId),
    memoryId: formatId('memory', entry.memoryId),
    path: entry.path,
    inputs: inputs.map(({ versionId }) => formatId('version', versionId)),
    inputDevices: inputs.map(({ commit }) => formatId('device', commit.deviceId)),
    base: base && formatId('version', base.versionId),
    combination: combinationOf(entry, kept),
    kept: kept && formatId('version', kept.versionId),
    joined: joined && formatId('memory', joined.memoryId),
    movedFrom: findMovedFrom(history, entry),
    commit: entry.commit.oid,
    time: entry.commit.time,
  }
}

function combinationOf(entry: VersionEntry, kept: VersionEntry | undefined): Combination {
  if (entry.path === undefined) return 'redacted'
  if (entry.operation === 'deleted') return 'deleted'
  return kept === undefined ? 'combined' : 'kept'
}

function isTextOf(input: VersionEntry, { sha256 }: VersionEntry): boolean {
  return sha256 !== undefined && input.sha256 === sha256
}
