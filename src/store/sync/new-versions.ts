// The version rows of commits that our history does not have yet, collected while those commits are
// verified: what a merge needs of the other side's versions.

import { compareBytes } from '../../bytes.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { MergeRow } from '../commits/new-rows.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'

interface NewVersion {
  readonly bases: readonly string[]
  readonly place: Place
  /** The path of a deletion; undefined once redacted, and for other operations. */
  readonly deletedPath: string | undefined
}

/** The commit that wrote a version, and what orders it. */
interface Place {
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
    const place = { oid: commit.oid, time: commit.time, record: () => readHash(source, commit) }
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
  addMerged(versionIds: readonly string[], rows: readonly MergeRow[], place: Place): void {
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

  #placeOf(source: HistorySource, history: History, versionId: string): Place | undefined {
    const known = history.find(versionId)
    if (known === undefined) return this.#versions.get(versionId)?.place
    const { commit } = known
    const { oid, time } = commit
    return { oid, time, record: () => readHash(source, commit) }
  }
}

function readHash({ objects, storeId, epochs }: HistorySource, { oid }: CommitEntry): Uint8Array {
  return decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid)).hash
}
