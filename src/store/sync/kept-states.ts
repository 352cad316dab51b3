// What versions of a line that is left come to without the texts of authors who lost their right:
// a holder's edit is applied to the state that the followed line kept, and nothing that it rested
// on comes with it. Decides states alone: grant-work.ts writes them.

import { hasCode } from '../../errors.ts'
import { zeroId } from '../../format/record.ts'
import { readVersionContent } from '../history/contents.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import { carryContents, mergeContents } from '../merge/content-merge.ts'
import type { LeftLine } from './redo.ts'
import type { NotWritten } from './report.ts'

/** A memory without the lines of removed devices; the content is undefined once it is deleted. */
export interface KeptState {
  readonly path: string
  readonly content: string | undefined
}

/** A state, or why it is missing. */
export type KeptVersion = KeptState | Extract<NotWritten, 'not_here' | 'overlaps' | 'redacted'>

/** How many versions are searched for the one that two sides of a merge come from. */
const ANCESTRY_MAX = 4096

export interface KeptOptions {
  readonly redacted: ReadonlySet<string>
  /** Whether the author of a commit has kept the right to write. */
  readonly isCarried: (commit: CommitEntry) => boolean
  /** The largest text, in bytes. */
  readonly limit: number
}

export class KeptStates {
  readonly #line: Pick<LeftLine, 'history' | 'followed' | 'positions' | 'contents'>
  readonly #options: KeptOptions
  readonly #states: Map<string, KeptVersion> = new Map()
  /** How many versions of the line are still to come that are based on each of it. */
  readonly #uses: Map<string, number> = new Map()
  /** Memories of which merges may need any earlier version. */
  readonly #merged: Set<string> = new Set()

  constructor(line: LeftLine, options: KeptOptions) {
    this.#line = line
    this.#options = options
    for (const position of line.positions) {
      for (const { base, secondBase, memoryId } of line.history.rowsAt(position)) {
        this.#uses.set(base, (this.#uses.get(base) ?? 0) + 1)
        if (secondBase !== zeroId) this.#merged.add(memoryId)
      }
    }
  }

  /** The state that a version comes to. Call once for each, bases first. */
  add(entry: VersionEntry): KeptVersion {
    const state = this.#stateOf(entry)
    // Later versions of the memory go on from the state before.
    const next = state === 'overlaps' ? this.of(entry.base) : state
    this.#states.set(entry.versionId, next)
    return state
  }

  /** Forgets the states of versions that no other one of the line is based on. */
  release({ base, memoryId }: VersionEntry): void {
    const left = (this.#uses.get(base) ?? 0) - 1
    this.#uses.set(base, left)
    if (left <= 0 && !this.#merged.has(memoryId)) this.#states.delete(base)
  }

  /** The state at an earlier version, of the line or of the common past. */
  of(versionId: string): KeptVersion {
    const known = this.#states.get(versionId)
    if (known !== undefined) return known
    const entry = this.#line.history.find(versionId)
    if (entry === undefined || this.#line.positions.has(entry.commit.position)) return 'not_here'
    return this.#read(this.#line.followed.find(versionId) ?? entry)
  }

  #stateOf(entry: VersionEntry): KeptVersion {
    if (this.#isRedacted(entry)) return 'redacted'
    if (entry.secondBase !== zeroId) return this.#merge(entry)
    if (this.#options.isCarried(entry.commit)) return this.#carry(entry)
    return entry.base === zeroId ? 'not_here' : this.of(entry.base)
  }

  #isRedacted({ path, versionId }: VersionEntry): boolean {
    return path === undefined || this.#options.redacted.has(versionId)
  }

  /** A version as it is. */
  #read(entry: VersionEntry): KeptVersion {
    const { path } = entry
    if (path === undefined || this.#isRedacted(entry)) return 'redacted'
    if (entry.operation === 'deleted') return { path, content: undefined }
    try {
      const content = readVersionContent(this.#line.contents, entry)
      return content === undefined ? 'redacted' : { path, content }
    } catch (error) {
      // A purge has erased it since.
      if (hasCode(error, 'object_missing')) return 'redacted'
      throw error
    }
  }

  #carry(entry: VersionEntry): KeptVersion {
    const mine = this.#read(entry)
    const [before] = entry.bases
    if (typeof mine === 'string' || before === undefined) return mine
    const kept = this.of(entry.base)
    if (typeof kept === 'string') return kept
    const seen = this.#textSeen(before)
    if (typeof seen === 'string') return seen
    const path = mine.path === seen.path ? kept.path : mine.path
    if (mine.content === undefined) {
      return seen.content === kept.content ? { path, content: undefined } : 'overlaps'
    }
    if (kept.content === undefined) return this.#isOwnDeletion(before) ? mine : 'overlaps'
    const sides = { base: seen.content ?? '', edited: mine.content, kept: kept.content }
    const content = carryContents(sides, this.#options.limit)
    return content === undefined ? 'overlaps' : { path, content }
  }

  /** Whether a memory was deleted by an author who had the right to, and not since by another. */
  #isOwnDeletion({ operation, commit }: VersionEntry): boolean {
    const isLeft = this.#line.positions.has(commit.position)
    return operation === 'deleted' && (!isLeft || this.#options.isCarried(commit))
  }

  /** The text that the author of a version had before it: of a deleted memory, the last one. */
  #textSeen(before: VersionEntry): KeptVersion {
    const [earlier] = before.bases
    return before.operation === 'deleted' && earlier !== undefined
      ? this.#read(earlier)
      : this.#read(before)
  }

  /** Both sides of an open memory, merged anew. */
  #merge({ base, secondBase, bases }: VersionEntry): KeptVersion {
    const [first, second] = [this.of(base), this.of(secondBase)]
    if (first === 'redacted' || second === 'redacted') return 'redacted'
    if (typeof first === 'string') return second
    if (typeof second === 'string') return first
    if (first.content === undefined) return second
    if (second.content === undefined) return first
    const common = this.#commonOf(bases)
    const content = common !== undefined && typeof common !== 'string' ? common.content : undefined
    const sides = { base: content ?? '', older: first.content, newer: second.content }
    return { path: first.path, content: mergeContents(sides, this.#options.limit).content }
  }

  /** The newest version that both descend from. */
  #commonOf([first, second]: readonly VersionEntry[]): KeptVersion | undefined {
    if (first === undefined || second === undefined) return undefined
    const past = ancestryOf(first)
    const [common] = [...ancestryOf(second).values()]
      .filter(({ versionId }) => past.has(versionId))
      .toSorted((a, b) => b.commit.position - a.commit.position)
    return common && this.of(common.versionId)
  }
}

/** By version id. */
function ancestryOf(entry: VersionEntry): ReadonlyMap<string, VersionEntry> {
  const past = new Map([[entry.versionId, entry]])
  for (const one of past.values()) {
    if (past.size > ANCESTRY_MAX) break
    for (const base of one.bases) past.set(base.versionId, base)
  }
  return past
}
