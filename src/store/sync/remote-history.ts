// The remote's side of a merge, once its head is verified: its history, the versions that ours
// lacks, the state after an ancestor that is merged before the head, and the input of `../merge`.
// Below a redaction an ancestor does not verify alone, since no record in its past names the erased
// versions: it was verified with the whole (FORMAT §8.1). Decides nothing.

import type { WorkOptions } from '../../async.ts'
import { compareBytes } from '../../bytes.ts'
import { assert } from '../../errors.ts'
import { treeOf, parseLinks } from '../../format/commit.ts'
import { parentPaths } from '../../format/path.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { decodeAt } from '../access/post-revocation.ts'
import type { OtherParent } from '../commits/commit-context.ts'
import { type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import type { Divergence, OpenVersions } from '../commits/divergence.ts'
import type { MergeRow } from '../commits/new-rows.ts'
import { catchUp } from '../history/catch-up.ts'
import { type ContentSource, readMemory, readVersionContent } from '../history/contents.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { BaseState, MergeInput, OpenMemory } from '../merge/merge-input.ts'
import type { Rewritten } from '../redaction/rewrite.ts'
import type { StoreSession } from '../session/session.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { CurrentVersion, LiveMemory } from '../snapshot/live-memory.ts'
import type { PathTree } from '../snapshot/path-tree.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'
import { snapshotAt } from '../verify/snapshot-at.ts'

/** A head of a remote that verification has passed. */
export interface RemoteHead {
  readonly snapshot: Snapshot
  readonly objects: ObjectSource
  readonly epochs: Epochs
  /** The newest commit that both histories have under the same id. */
  readonly base: Pick<CommitEntry, 'oid' | 'height'> | undefined
  /** Hex record hash → commit, above the base. */
  readonly records: ReadonlyMap<string, Oid>
  /** The versions that its commits above the base wrote. */
  readonly versions: NewVersions
  /** Whether some of its commits above the base are merges. */
  readonly hasMerges: boolean
  /** Whether the base was our head, and nothing above it redacts. */
  readonly isSuccessor: boolean
  /**
   * Set if it was verified from an earlier beginning than that of this clone, which begins there
   * from then on: call while writing alone, once the objects are stored.
   */
  readonly begin?: (() => Promise<void>) | undefined
}

/** As the head that their remote has shown. */
export function seenAs({ snapshot }: Pick<RemoteHead, 'snapshot'>): SeenHead {
  const { commit: oid, height, record } = snapshot.head
  return { oid, height, record }
}

/** Our redactions that were applied to their history. */
export interface AppliedRedactions extends Pick<Rewritten, 'commits'> {
  readonly versionIds: ReadonlySet<string>
}

/** Reads the commits of either side. */
export function sourceWith(
  { storeId, epochs, granterOf }: StoreSession,
  {
    objects,
    epochs: theirs,
    snapshot: { grants },
  }: Pick<RemoteHead, 'objects' | 'epochs' | 'snapshot'>,
): HistorySource {
  return {
    objects,
    storeId,
    epochs: new Map([...epochs, ...theirs]),
    granterOf: (grantId) => grants.get(grantId)?.granter ?? granterOf(grantId),
  }
}

/** The entry of a commit in a history; undefined if it is not there. */
export function findKnown(
  objects: ObjectSource,
  history: History,
  oid: Oid,
): CommitEntry | undefined {
  return history.findCommit(oid, parseLinks(readCommitBytes(objects, oid)).height)
}

/** The history of a verified head, which must be part of the store. */
export async function loadTheirs(
  session: StoreSession,
  { snapshot, epochs }: RemoteHead,
  options: WorkOptions,
): Promise<History> {
  const { objects, storeId } = session
  const history = session.newHistory()
  await catchUp(history, { objects, storeId, epochs }, snapshot.head.commit, options)
  return history
}

export class RemoteHistory {
  /** As it was verified: contents that our redactions erase can still be read. */
  readonly #history: History
  readonly #redactions: AppliedRedactions | undefined
  /** The positions of rewritten commits. */
  readonly #positions: ReadonlyMap<Oid, number>
  readonly #merged: readonly CommitEntry[]

  constructor(
    history: History,
    redactions?: AppliedRedactions,
    merged: readonly CommitEntry[] = [],
  ) {
    this.#history = history
    this.#redactions = redactions
    this.#merged = merged
    this.#positions = new Map(
      Array.from(redactions?.commits ?? [], ([position, oid]) => [oid, position]),
    )
  }

  /** The state after an ancestor, as our redactions leave it. */
  async snapshotAt(source: HistorySource, oid: Oid, options: WorkOptions): Promise<Snapshot> {
    const past = this.#history.prefix(this.#history.commits.length)
    await catchUp(past, source, this.#entryOf(source, oid).oid, options)
    const newest = past.commits.length - 1
    const snapshot = await inSlices(snapshotAt(source, past, newest), options.signal)
    if (this.#redactions === undefined) return snapshot
    const tree = treeOf(readCommitBytes(source.objects, oid))
    return afterRewrite(snapshot, { commit: oid, tree }, this.#redactions.versionIds)
  }

  /** The same once an ancestor is merged into ours. */
  withMerged(source: HistorySource, oid: Oid): RemoteHistory {
    const merged = [...this.#merged, this.#entryOf(source, oid)]
    return new RemoteHistory(this.#history, this.#redactions, merged)
  }

  /**
   * Finds versions that our history, to which the merged ancestors belong, has in common with
   * theirs. A merge of an ancestor has taken nothing from a redacted one.
   */
  commonWith(ours: History): (versionId: string) => VersionEntry | undefined {
    if (this.#merged.length === 0) return (versionId) => ours.find(versionId)
    const isMerged = this.#history.pastOf(...this.#merged)
    return (versionId) => {
      const entry = this.#history.find(versionId)
      if (entry === undefined || ours.find(versionId) !== undefined) return entry
      return isMerged(entry.commit.position) && entry.path !== undefined ? entry : undefined
    }
  }

  /** The commit as it was verified. */
  #entryOf({ objects }: HistorySource, oid: Oid): CommitEntry {
    const position = this.#positions.get(oid)
    const entry =
      position === undefined
        ? findKnown(objects, this.#history, oid)
        : this.#history.commits.at(position)
    assert(entry !== undefined, 'an ancestor is in the history')
    return entry
  }
}

/** The records at a rewritten head are the same, and erased versions are not live. */
export function afterRewrite(
  snapshot: Snapshot,
  head: Pick<Head, 'commit' | 'tree'>,
  versionIds: ReadonlySet<string>,
): Snapshot {
  const memories = new Map<string, CurrentVersion>()
  for (const version of snapshot.current.live()) {
    if (!versionIds.has(version.versionId)) continue
    memories.set(version.live.memoryId, { ...version, live: undefined })
  }
  const unchanged = {
    devices: new Map(),
    grants: new Map(),
    keyring: undefined,
    settings: undefined,
  }
  const redacted = new Set([...snapshot.redacted, ...versionIds])
  const rewritten = { head: { ...snapshot.head, ...head }, memories, ...unchanged }
  return snapshot.with({ redacted }).apply(rewritten)
}

interface NewVersion {
  readonly bases: readonly string[]
  readonly place: RecordPlace
  /** The path of a deletion; undefined once redacted, and for other operations. */
  readonly deletedPath: string | undefined
}

/** The commit that wrote a version, and what orders it. */
interface RecordPlace {
  readonly oid: Oid
  /** The record's own time: a placed time depends on the head. */
  readonly time: number
  readonly record: () => Uint8Array
}

export class NewVersions {
  readonly #versions: Map<string, NewVersion> = new Map()

  add(commit: CheckedCommit): void {
    const { record, hash } = commit
    if (record.kind === 'redact') return
    const place = { oid: commit.oid, time: record.time, record: () => hash }
    record.rows.forEach((row, index) => {
      const isDeletion = row.operation === 'deleted' && commit.hasDetail(index)
      this.#versions.set(row.versionId, {
        bases: [row.base, row.secondBase].filter((id) => id !== zeroId),
        place,
        deletedPath: isDeletion ? commit.openRow(index).path : undefined,
      })
    })
  }

  /** The same from a history that has the commit. */
  addKnown(source: HistorySource, entry: VersionEntry): void {
    const { versionId, bases, commit, operation, path } = entry
    const place = {
      oid: commit.oid,
      time: commit.time,
      record: () => decodeAt(source, commit.oid).hash,
    }
    this.#versions.set(versionId, {
      bases: bases.map((base) => base.versionId),
      place,
      deletedPath: operation === 'deleted' ? path : undefined,
    })
  }

  has(versionId: string): boolean {
    return this.#versions.has(versionId)
  }

  /** Whether one for which `isNew` holds is based on one of the given versions. */
  haveNewOn(
    versionIds: ReadonlySet<string>,
    isNew: (versionId: string) => boolean = () => true,
  ): boolean {
    return [...this.#versions].some(([id, { bases }]) => {
      return bases.some((base) => versionIds.has(base)) && isNew(id)
    })
  }

  /** Undefined unless the version is a new deletion that is not redacted. */
  deletedPath(versionId: string): string | undefined {
    return this.#versions.get(versionId)?.deletedPath
  }

  /** Adds what a merge of ours wrote, on which the next one is made: no version of theirs is. */
  addMerged(versionIds: readonly string[], rows: readonly MergeRow[], place: RecordPlace): void {
    for (const [index, { operation, path }] of rows.entries()) {
      const deletedPath = operation === 'deleted' ? path : undefined
      this.#versions.set(versionIds[index] ?? '', { bases: [], place, deletedPath })
    }
  }

  /**
   * The newest version in common that a version of theirs descends from. Our current version
   * descends from it too (FORMAT §6.4), so it is the base of a three-way merge.
   */
  findCommonBase(
    findCommon: (versionId: string) => VersionEntry | undefined,
    versionId: string,
  ): VersionEntry | undefined {
    const ancestry = new Set([versionId])
    let common: VersionEntry | undefined
    for (const id of ancestry) {
      const known = findCommon(id)
      if (known === undefined) for (const base of this.#basesOf(id)) ancestry.add(base)
      else if (common === undefined || known.commit.position > common.commit.position) {
        common = known
      }
    }
    return common
  }

  /**
   * Whether version `a` was written after `b`, by the times of their records and then by their
   * hashes: the same for all who have both, whichever side they call ours. Not by height, which
   * counts commits: a side that wrote much would pass for the later one.
   */
  isLater(source: HistorySource, history: History, a: string, b: string): boolean {
    const [first, second] = [this.#placeOf(source, history, a), this.#placeOf(source, history, b)]
    if (first === undefined || second === undefined) return false
    if (first.time !== second.time) return first.time > second.time
    return compareBytes(first.record(), second.record()) > 0
  }

  #basesOf(versionId: string): readonly string[] {
    return this.#versions.get(versionId)?.bases ?? []
  }

  #placeOf(source: HistorySource, history: History, versionId: string): RecordPlace | undefined {
    const known = history.find(versionId)
    if (known === undefined) return this.#versions.get(versionId)?.place
    const { commit } = known
    const { oid, time } = commit
    return { oid, time, record: () => decodeAt(source, commit.oid).hash }
  }
}

export interface MergeSides {
  readonly session: StoreSession
  /** Includes the versions that were merged just now. */
  readonly contents: ContentSource
  /** Our history, without the versions that were merged just now. */
  readonly history: History
  readonly ours: Snapshot
  readonly theirs: Snapshot
  readonly versions: NewVersions
  /** Finds versions that both histories have. */
  readonly findCommon: (versionId: string) => VersionEntry | undefined
  readonly divergence: Divergence
  readonly other: OtherParent
  readonly open: readonly OpenVersions[]
  /** Whether memories that only our side changed must not change. */
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
