// Which version each line of a memory came from: the one since which the line has been there
// without a break. Deletions that were restored are no break. A line is its text: how it ends (line
// feed, carriage return, nothing) and where the memory lay do not matter. Reads only.

import { StoreError } from '../errors.ts'
import { parseId } from '../format/id.ts'
import { checkPath } from '../format/path.ts'
import { readVersionContent } from './contents.ts'
import type { ContentSource } from './contents.ts'
import type { History, VersionEntry } from './history.ts'
import type { Lines } from './line-anchors.ts'
import { matchLines } from './line-matches.ts'
import { versionAt } from './past.ts'
import { commitAt } from './points.ts'
import type { Point } from './points.ts'
import { pause } from './verify.ts'
import type { VerifyOptions } from './verify.ts'
import { describeVersion } from './versions.ts'
import type { Version } from './versions.ts'

export interface BlameLine {
  /** Without its line ending. */
  readonly line: string
  readonly version: Version
  /** A redacted version lies between this one and the one before: the line may be older. */
  readonly uncertain: boolean
}

export interface BlameOptions extends VerifyOptions {
  /** The memory as it was then; now, if left out. */
  readonly at?: Point | undefined
}

/** Where a line came from. */
interface Origin {
  readonly entry: VersionEntry
  readonly uncertain: boolean
}

/**
 * The lines of a memory, given by its path or as `mem_…`. Throws `not_found` if it was not there,
 * `redacted` if what it held is erased, and what `heightOf` throws.
 */
export async function blameLines(
  history: History,
  source: ContentSource,
  pathOrMemoryId: string,
  options: BlameOptions,
): Promise<readonly BlameLine[]> {
  const { height } = commitAt(history, options.at)
  const versions = findMemory(history, pathOrMemoryId, height)
  const [newest, ...older] = versions.filter(({ commit }) => commit.height <= height).toReversed()
  if (newest === undefined || newest.operation === 'deleted') {
    throw new StoreError('not_found', 'The memory was not there at that time')
  }
  const text = readVersionContent(source, newest)
  if (text === undefined) throw new StoreError('redacted', 'The version of that time was redacted')
  const lines = linesOf(text)
  const trace = new Trace(newest, lines)
  for (const entry of older) {
    if (trace.isDone) break
    trace.goBack(entry, () => readVersionContent(source, entry))
    await pause(options.signal)
  }
  return describe(history, lines, trace.finish())
}

/** Follows the lines of the newest version back through older ones. */
class Trace {
  readonly #origins: Origin[] = []
  /** The version that the lines were followed to, and its lines. */
  #entry: VersionEntry
  #lines: Lines
  /** For each of its lines the place in the newest version, or -1. */
  #places: Int32Array
  #left: number
  #skippedRedacted = false

  constructor(newest: VersionEntry, lines: Lines) {
    this.#entry = newest
    this.#lines = lines
    this.#places = Int32Array.from(lines, (_, index) => index)
    this.#left = lines.length
  }

  get isDone(): boolean {
    return this.#left === 0
  }

  goBack(entry: VersionEntry, read: () => string | undefined): void {
    if (entry.operation === 'deleted') return
    const same = entry.sha256 !== undefined && entry.sha256 === this.#entry.sha256
    const text = same ? undefined : read()
    if (text !== undefined) this.#compare(linesOf(text))
    else if (!same) {
      this.#skippedRedacted = true
      return
    }
    this.#entry = entry
    this.#skippedRedacted = false
  }

  /** By place in the newest version. */
  finish(): readonly Origin[] {
    for (const place of this.#places) this.#settle(place)
    return this.#origins
  }

  #compare(older: Lines): void {
    const places = new Int32Array(older.length).fill(-1)
    const matches = matchLines(older, this.#lines)
    for (const [index, place] of this.#places.entries()) {
      const match = matches[index] ?? -1
      if (match === -1) this.#settle(place)
      else places[match] = place
    }
    this.#lines = older
    this.#places = places
  }

  /** The line came with the version that it was followed to. */
  #settle(place: number): void {
    if (place === -1) return
    this.#origins[place] = { entry: this.#entry, uncertain: this.#skippedRedacted }
    this.#left -= 1
  }
}

function findMemory(
  history: History,
  pathOrMemoryId: string,
  height: number,
): readonly VersionEntry[] {
  if (pathOrMemoryId.startsWith('mem_')) {
    const found = history.ofMemory(parseId('memory', pathOrMemoryId))
    if (found.length > 0) return found
    throw new StoreError('not_found', 'There is no such memory')
  }
  const path = checkPath(pathOrMemoryId)
  for (const versions of history.memories()) {
    const entry = versionAt(versions, height)
    if (entry?.path === path && entry.operation !== 'deleted') return versions
  }
  throw new StoreError('not_found', 'No memory was at the path at that time', { details: { path } })
}

function describe(
  history: History,
  lines: Lines,
  origins: readonly Origin[],
): readonly BlameLine[] {
  const versions = new Map<VersionEntry, Version>()
  return origins.map(({ entry, uncertain }, index) => {
    const version = versions.get(entry) ?? describeVersion(history, entry)
    versions.set(entry, version)
    return { line: lines[index] ?? '', version, uncertain }
  })
}

function linesOf(text: string): Lines {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}
