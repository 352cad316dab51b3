// Finds the version that each line of a memory came from: the one since which the line has been
// present without a break. A deletion that was restored is no break. Line endings and the path of
// the memory do not matter. A line of a merged version is followed into the side that had it. Reads
// only.

import type { WorkOptions } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import { parseId } from '../../format/id.ts'
import { checkPath } from '../../format/path.ts'
import type { Lines } from '../../text/line-anchors.ts'
import { matchLines } from '../../text/line-matches.ts'
import { byAge } from '../snapshot/live-memory.ts'
import { type ContentSource, readVersionContent } from './contents.ts'
import type { VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { type Point, type ResolvedPoint, resolvePointOrHead, versionAt } from './points.ts'
import { inputsOf, newestOf } from './version-inputs.ts'
import { describeVersion, type Version } from './versions.ts'

export interface BlameLine {
  /** Without its line ending. */
  readonly line: string
  readonly version: Version
  /** Whether a redacted version is between this one and its predecessor: the line may be older. */
  readonly uncertain: boolean
}

export interface BlameOptions extends WorkOptions {
  /** The point in time; the head by default. */
  readonly at?: Point | undefined
}

/** The version that a line came from. */
interface LineOrigin {
  readonly entry: VersionEntry
  readonly uncertain: boolean
}

/**
 * The lines of a memory, given by its path or as `mem_…`. Yields after each version. Throws
 * `not_found` if it did not exist, `redacted` if its content is erased, and what `resolvePoint`
 * throws.
 */
export function* blameLines(
  history: History,
  source: ContentSource,
  pathOrMemoryId: string,
  at?: Point,
): Generator<undefined, readonly BlameLine[]> {
  const newest = findVersion(history, pathOrMemoryId, resolvePointOrHead(history, at))
  if (newest === undefined || newest.operation === 'deleted') {
    throw new StoreError('not_found', 'The memory did not exist at that time')
  }
  const text = readVersionContent(source, newest)
  if (text === undefined) throw new StoreError('redacted', 'The version of that time is redacted')
  const lines = linesOf(text)
  const trace = new Trace(history, newest, lines)
  while (trace.goBack((entry) => readVersionContent(source, entry) ?? '')) yield
  return describe(history, lines, trace.origins)
}

/** A version that lines were traced to. */
interface Followed {
  readonly entry: VersionEntry
  readonly lines: Lines
  /** By line of the newest version, the index of the line here, or -1 if it is traced elsewhere. */
  readonly at: Int32Array
}

/** Traces the lines of the newest version back through older ones, newer ones first. */
class Trace {
  /** By line of the newest version. */
  readonly origins: LineOrigin[] = []
  readonly #history: History
  /** By version id. */
  readonly #followed: Map<string, Followed> = new Map()

  constructor(history: History, newest: VersionEntry, lines: Lines) {
    this.#history = history
    if (lines.length === 0) return
    const at = Int32Array.from(lines, (_, index) => index)
    this.#followed.set(newest.versionId, { entry: newest, lines, at })
  }

  /** Traces the lines of one version a step further; false once all lines have an origin. */
  goBack(read: (entry: VersionEntry) => string): boolean {
    const entry = newestOf(Array.from(this.#followed.values(), (one) => one.entry))
    const followed = entry && this.#followed.get(entry.versionId)
    if (entry === undefined || followed === undefined) return false
    this.#followed.delete(entry.versionId)
    const { sources, uncertain } = readableInputs(this.#history, entry)
    const texts = sources.map((source) => {
      return { source, older: isSameText(source, entry) ? followed.lines : linesOf(read(source)) }
    })
    this.#followInto(texts, followed)
    // A line that no source has came with this version.
    for (const [place, line] of followed.at.entries()) {
      if (line !== -1) this.origins[place] = { entry, uncertain }
    }
    return this.#followed.size > 0
  }

  /**
   * A merge may have put the lines of its inputs in a new order. Lines found in one input are
   * therefore left out for the others, and the remaining lines are searched for again.
   */
  #followInto(
    texts: readonly { readonly source: VersionEntry; readonly older: Lines }[],
    { lines, at }: Followed,
  ): void {
    let remaining: readonly number[] = [...lines.keys()]
    for (let before = -1; before !== remaining.length && remaining.length > 0;) {
      before = remaining.length
      for (const { source, older } of texts) {
        const matches = findMatches(older, lines, remaining)
        this.#follow(source, at, older, matches)
        remaining = remaining.filter((line) => matches[line] === -1)
      }
      if (texts.length < 2) return
    }
  }

  /** Moves the lines that an older version has to that; `matches` has their indexes there. */
  #follow(source: VersionEntry, at: Int32Array, lines: Lines, matches: Int32Array): void {
    const { versionId } = source
    const known = this.#followed.get(versionId)?.at
    const taken = known ?? new Int32Array(at.length).fill(-1)
    for (const [place, line] of at.entries()) {
      const older = matches[line] ?? -1
      if (older === -1) continue
      taken[place] = older
      at[place] = -1
      if (known !== undefined) continue
      this.#followed.set(versionId, { entry: source, lines, at: taken })
    }
  }
}

/** By line, its index in an older version, or -1. Only the remaining lines are looked for. */
function findMatches(older: Lines, lines: Lines, remaining: readonly number[]): Int32Array {
  const found = matchLines(
    older,
    remaining.map((line) => lines[line] ?? ''),
  )
  const matches = new Int32Array(lines.length).fill(-1)
  for (const [index, line] of remaining.entries()) matches[line] = found[index] ?? -1
  return matches
}

/**
 * The nearest older versions with a readable text. Deletions are skipped, and so are redacted
 * versions, whose lines are unknown.
 */
function readableInputs(
  history: History,
  entry: VersionEntry,
): { readonly sources: readonly VersionEntry[]; readonly uncertain: boolean } {
  const sources = new Map<string, VersionEntry>()
  const passed = new Map([[entry.versionId, entry]])
  let uncertain = false
  for (const one of passed.values()) {
    for (const { entry: input } of inputsOf(history, one)) {
      const isRedacted = input.operation !== 'deleted' && input.sha256 === undefined
      if (isRedacted) uncertain = true
      const isPassed = isRedacted || input.operation === 'deleted'
      const found = isPassed ? passed : sources
      if (!found.has(input.versionId)) found.set(input.versionId, input)
    }
  }
  return { sources: [...sources.values()], uncertain }
}

function isSameText(a: VersionEntry, b: VersionEntry): boolean {
  return a.sha256 !== undefined && a.sha256 === b.sha256
}

/** The version at a point of a memory that is given by its id or its path at that point. */
function findVersion(
  history: History,
  pathOrMemoryId: string,
  resolved: ResolvedPoint,
): VersionEntry | undefined {
  if (pathOrMemoryId.startsWith('mem_')) {
    const memoryId = parseId('memory', pathOrMemoryId)
    if (history.firstOf(memoryId) !== undefined) return versionAt(history, memoryId, resolved)
    throw new StoreError('not_found', 'There is no such memory')
  }
  const path = checkPath(pathOrMemoryId)
  const found: { entry: VersionEntry; memoryId: string; created: number }[] = []
  for (const memoryId of history.memoryIds()) {
    const entry = versionAt(history, memoryId, resolved)
    if (entry?.path !== path || entry.operation === 'deleted') continue
    found.push({ entry, memoryId, created: history.firstOf(memoryId)?.commit.time ?? 0 })
  }
  // More than one only where clones had diverged: then the older memory is shown.
  const [oldest] = found.toSorted(byAge)
  if (oldest !== undefined) return oldest.entry
  throw new StoreError('not_found', 'No memory was at the path at that time', { details: { path } })
}

function describe(
  history: History,
  lines: Lines,
  origins: readonly LineOrigin[],
): readonly BlameLine[] {
  const versions = new Map<string, Version>()
  return origins.map(({ entry, uncertain }, index) => {
    const { versionId } = entry
    const version = versions.get(versionId) ?? describeVersion(history, entry)
    versions.set(versionId, version)
    return { line: lines[index] ?? '', version, uncertain }
  })
}

function linesOf(text: string): Lines {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}
