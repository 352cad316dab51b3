// Reads from two verified heads what merge/ plans a merge from: the memories that diverged, their
// common bases, and the occupied paths. Decides nothing. The cost grows with what diverged.

import { parentPaths } from '../../format/path.ts'
import type { OtherParent } from '../commits/commit-context.ts'
import type { Divergence, OpenVersions } from '../commits/divergence.ts'
import { type ContentSource, readMemory, readVersionContent } from '../history/contents.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { BaseState, MergeInput, OpenMemory } from '../merge/merge-input.ts'
import type { StoreSession } from '../session/session.ts'
import type { CurrentVersion, LiveMemory } from '../snapshot/live-memory.ts'
import type { PathTree } from '../snapshot/path-tree.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { NewVersions } from './new-versions.ts'

export interface MergeSides {
  readonly session: StoreSession
  /** Also of what was merged just now. */
  readonly contents: ContentSource
  /** Our history, without what was merged just now. */
  readonly history: History
  readonly ours: Snapshot
  readonly theirs: Snapshot
  readonly versions: NewVersions
  /** Finds versions that both heads have in their past. */
  readonly findCommon: (versionId: string) => VersionEntry | undefined
  readonly divergence: Divergence
  readonly other: OtherParent
  readonly open: readonly OpenVersions[]
  /** Whether memories that only our side changed must stay as they are. */
  readonly keepsOurs: boolean
  readonly rowsMax?: number | undefined
}

export function mergeInput(sides: MergeSides): MergeInput {
  const { contents, history, ours, theirs, versions, other, open } = sides
  const settings = other.settings ?? ours.settings
  return {
    open: open.map((memory) => openMemory(sides, memory)),
    changed: changedMemories(sides),
    isFixed: (memoryId) => sides.keepsOurs && !other.memories.has(memoryId),
    isOccupied: (path) => isTaken(ours.paths, path) || isTaken(theirs.paths, path),
    readContent: (memory) => readMemory(contents, memory),
    readPath: ({ versionId }) => {
      return history.find(versionId)?.path ?? versions.deletedPath(versionId)
    },
    isLater: (a, b) => versions.isLater(contents, history, a.versionId, b.versionId),
    limits: { contentBytes: settings.value.limits.contentBytes, rows: sides.rowsMax },
  }
}

function openMemory(sides: MergeSides, open: OpenVersions): OpenMemory {
  return { ...open, base: baseOf(sides, open.theirs) }
}

function baseOf(
  { contents, versions, findCommon }: MergeSides,
  theirs: CurrentVersion,
): BaseState | undefined {
  const entry = versions.findCommonBase(findCommon, theirs.versionId)
  if (entry === undefined) return undefined
  return {
    path: entry.path,
    sha256: entry.sha256,
    content: () => readVersionContent(contents, entry),
  }
}

/** The live memories that only one side changed, as that side has them. */
function changedMemories({ ours, divergence, other, open }: MergeSides): readonly LiveMemory[] {
  const both = new Set(open.map(({ memoryId }) => memoryId))
  const oursAlone = [...divergence.ours.memories].filter((memoryId) => !both.has(memoryId))
  const versions = [
    ...oursAlone.map((memoryId) => ours.current.get(memoryId)),
    ...other.memories.values(),
  ]
  return versions.flatMap((version) => version?.live ?? [])
}

/** Whether there is a memory at, above or below a path. */
export function isTaken(paths: PathTree, path: string): boolean {
  return (
    paths.find(path) !== undefined ||
    parentPaths(path).some((above) => paths.findMemory(above) !== undefined)
  )
}
