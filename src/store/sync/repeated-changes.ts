// Repeats, as changes of this device, what some devices wrote on a line of history that is left
// (FORMAT §9.3): version by version, merged by text with what is there now. What others wrote in
// between does not come with it. Must not commit.

import { formatId } from '../../format/id.ts'
import { zeroId } from '../../format/record.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { Change } from '../changes/changes.ts'
import { type ContentSource, readMemory, readVersionContent } from '../history/contents.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { mergeContents } from '../merge/content-merge.ts'
import { pathsAside } from '../merge/placement.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { isTaken } from './merge-source.ts'

/** A line of history that is left. */
export interface LeftLine {
  readonly history: History
  /** That of the line that is followed, where what is redacted on the left one may be whole. */
  readonly followed: History
  /** The positions of the commits that are left. */
  readonly positions: ReadonlySet<number>
  /** Reads the contents of that line, and of the one that is followed. */
  readonly contents: ContentSource
}

interface Text {
  readonly path: string
  readonly content: string
}

/** A memory of the left line, and what it is to become. */
interface Repeated {
  /** The live memory that changes; undefined if a new one is created. */
  readonly live: LiveMemory | undefined
  /** Undefined to have none. */
  target: Text | undefined
}

/** The changes that bring what one device wrote there into the snapshot. */
export async function planRepeats(
  snapshot: Snapshot,
  line: LeftLine,
  deviceId: string,
  signal?: AbortSignal,
): Promise<readonly Change[]> {
  const slice = new TimeSlice(signal)
  const repeats = new Repeats(snapshot, line)
  for (const position of [...line.positions].toSorted((a, b) => a - b)) {
    if (slice.isOver()) await slice.next()
    if (line.history.commits.at(position)?.deviceId !== deviceId) continue
    for (const entry of line.history.rowsAt(position)) {
      const isRedacted = entry.path === undefined || snapshot.redacted.has(entry.versionId)
      if (!isRedacted) repeats.add(entry)
    }
  }
  return repeats.changes()
}

class Repeats {
  readonly #snapshot: Snapshot
  readonly #contents: ContentSource
  readonly #followed: History
  /** By the id of the memory on the left line. */
  readonly #memories: Map<string, Repeated> = new Map()

  constructor(snapshot: Snapshot, { contents, followed }: LeftLine) {
    this.#snapshot = snapshot
    this.#contents = contents
    this.#followed = followed
  }

  /** Of a version that is not redacted. */
  add(entry: VersionEntry): void {
    const { path = '' } = entry
    const content = readVersionContent(this.#contents, entry)
    const mine = content === undefined ? undefined : { path, content }
    const repeated = this.#memories.get(entry.memoryId) ?? this.#begin(entry, path)
    this.#memories.set(entry.memoryId, repeated)
    repeated.target = this.#merge(this.#baseOf(entry), mine, repeated.target)
  }

  changes(): readonly Change[] {
    const taken = new Set<string>()
    return [...this.#memories].flatMap(([memoryId, { live, target }]): readonly Change[] => {
      if (live === undefined) {
        if (target === undefined) return []
        const path = this.#freePath(target.path, memoryId, taken)
        taken.add(path)
        return [{ type: 'create', path, content: target.content }]
      }
      const id = formatId('memory', live.memoryId)
      if (target === undefined) return [{ type: 'delete', memoryId: id }]
      const isFree = target.path !== live.path && this.#isFree(target.path, taken)
      const path = isFree ? target.path : live.path
      taken.add(path)
      return [{ type: 'update', memoryId: id, content: target.content, path }]
    })
  }

  /** The memory as it is now, or another one at the path where one was created. */
  #begin({ memoryId, base }: VersionEntry, path: string): Repeated {
    const { current, paths } = this.#snapshot
    const same = current.get(memoryId)?.live
    const live = same ?? (base === zeroId ? paths.findMemory(path) : undefined)
    if (live === undefined) return { live, target: undefined }
    return { live, target: { path: live.path, content: readMemory(this.#contents, live) } }
  }

  /** Undefined for a creation, and if nothing can be read of what was there before. */
  #baseOf({ bases: [before] }: VersionEntry): Text | undefined {
    const base = before && (this.#followed.find(before.versionId) ?? before)
    const content = base && readVersionContent(this.#contents, base)
    return content === undefined || base?.path === undefined
      ? undefined
      : { path: base.path, content }
  }

  #merge(base: Text | undefined, mine: Text | undefined, now: Text | undefined): Text | undefined {
    // An edit of the other line outlives a deletion, as in a merge.
    if (mine === undefined) return now?.content === base?.content ? undefined : now
    if (now === undefined) return mine
    const sides = { base: base?.content ?? '', older: now.content, newer: mine.content }
    const limit = this.#snapshot.settings.value.limits.contentBytes
    const { content } = mergeContents(sides, limit)
    return { content, path: mine.path === base?.path ? now.path : mine.path }
  }

  #freePath(path: string, memoryId: string, taken: ReadonlySet<string>): string {
    const free = [path, ...pathsAside(path, memoryId)].find((one) => this.#isFree(one, taken))
    return free ?? path
  }

  #isFree(path: string, taken: ReadonlySet<string>): boolean {
    return !taken.has(path) && !isTaken(this.#snapshot.paths, path)
  }
}
