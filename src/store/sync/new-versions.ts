// The version rows of commits that our history does not have yet, collected while those commits are
// verified: what a merge needs of the other side's versions.

import { compareBytes } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { MergeRow } from '../commits/new-rows.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'

interface NewVersion {
  readonly memoryId: string
  /** Whether it creates its memory. */
  readonly isFirst: boolean
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
        memoryId: row.memoryId,
        isFirst: row.operation === 'created' && row.base === zeroId,
        bases: [row.base, row.secondBase].filter((id) => id !== zeroId),
        place,
        deletedPath: isDeletion ? commit.openRow(index).path : undefined,
      })
    })
  }

  /**
   * Checks that ids are new in our history too, not on their side alone (FORMAT §6.4): otherwise a
   * merge would not verify. Yields between steps. Throws `row_version_reused` or
   * `row_memory_exists`.
   */
  *checkNew(source: HistorySource, history: History): Generator<undefined, void> {
    let last: { readonly oid: Oid; readonly record: Uint8Array } | undefined
    for (const [versionId, { memoryId, isFirst, place }] of this.#versions) {
      yield
      const known = history.find(versionId)
      if (known !== undefined) {
        const { oid } = known.commit
        if (oid === place.oid) continue
        if (last?.oid !== oid) last = { oid, record: readHash(source, known.commit) }
        // A redaction gives the commit of a record another id.
        if (compareBytes(last.record, place.record()) === 0) continue
        throw new StoreError('row_version_reused', 'A version id is used twice')
      }
      if (isFirst && history.firstOf(memoryId) !== undefined) {
        throw new StoreError('row_memory_exists', 'A memory is created twice')
      }
    }
  }

  has(versionId: string): boolean {
    return this.#versions.has(versionId)
  }

  /** Whether one that our history lacks is based on one of the given versions. */
  haveNewOn(versionIds: ReadonlySet<string>, history: History): boolean {
    return [...this.#versions].some(([id, { bases }]) => {
      return bases.some((base) => versionIds.has(base)) && history.find(id) === undefined
    })
  }

  /** Undefined unless the version is a new deletion that is not redacted. */
  deletedPath(versionId: string): string | undefined {
    return this.#versions.get(versionId)?.deletedPath
  }

  /** Adds what a merge of ours wrote, on which the next one is made: no version of theirs is. */
  addMerged(rows: readonly MergeRow[], place: Place): void {
    for (const { versionId, memoryId, operation, path } of rows) {
      const deletedPath = operation === 'deleted' ? path : undefined
      this.#versions.set(versionId, { memoryId, isFirst: false, bases: [], place, deletedPath })
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
