// Compares two points of the store: lists each memory that was added, removed, moved or changed,
// with both states. Reads only.

import type { WorkOptions } from '../../async.ts'
import { formatId } from '../../format/id.ts'
import { checkPath, isAtOrBelow } from '../../format/path.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import { comparison } from '../snapshot/tree-diff.ts'
import { type ContentSource, findMemoriesTree, readVersionContent } from './contents.ts'
import type { VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'
import {
  findPoint,
  type Point,
  type ResolvedPoint,
  resolvePointOrHead,
  versionAt,
} from './points.ts'
import { memoriesAt } from './state-at.ts'

export interface PointDifference {
  /** `mem_…` */
  readonly memoryId: string
  /** Undefined if the memory did not exist or was displaced (`PastView`). */
  readonly before: TextState | undefined
  readonly after: TextState | undefined
}

export interface Difference {
  /** By path, in code-unit order. */
  readonly changes: readonly PointDifference[]
  /** The number of memories that cannot be compared because one state is redacted. */
  readonly redacted: number
  /** Those of them with one readable state; the redacted one is undefined here. */
  readonly halfRedacted: readonly PointDifference[]
}

export interface DifferenceOptions extends WorkOptions {
  /** Only memories at or below this path at either point. */
  readonly path?: string | undefined
}

/** Progress is reported at least every this many memories. */
const BATCH = 64

/** The two versions of a memory; undefined where it did not exist. */
interface Pair {
  readonly memoryId: string
  readonly before: VersionEntry | undefined
  readonly after: VersionEntry | undefined
}

/** Undefined for the empty store before the first commit. */
type PointOrStart = ResolvedPoint | undefined

/**
 * `to` may be before `from`; undefined means the head. Yields after each memory. Throws as
 * `findPoint` does.
 */
export function* comparePoints(
  history: History,
  source: ContentSource,
  points: { readonly from: Point; readonly to: Point | undefined },
  options: DifferenceOptions,
): Generator<undefined, Difference> {
  const from = findPoint(history, points.from)
  const to = points.to ? findPoint(history, points.to) : resolvePointOrHead(history, undefined)
  const pairs = yield* differingPairs(history, [from, to], options)
  const blobsBefore = yield* findBlobs(source.objects, from, to)
  const blobsAfter = yield* findBlobs(source.objects, to, from)
  const changes: PointDifference[] = []
  const halfRedacted: PointDifference[] = []
  for (const [index, { memoryId, before, after }] of pairs.entries()) {
    yield
    if (index % BATCH === BATCH - 1) options.progress?.(index, pairs.length)
    const old = stateOf(source, before, blobsBefore)
    const now = stateOf(source, after, blobsAfter)
    const [known, nowKnown] = [old, now].map((state) => (state === 'redacted' ? undefined : state))
    const change = { memoryId: formatId('memory', memoryId), before: known, after: nowKnown }
    if (old !== 'redacted' && now !== 'redacted') changes.push(change)
    else if (known !== undefined || nowKnown !== undefined) halfRedacted.push(change)
  }
  return {
    changes: changes.toSorted(byPath),
    redacted: pairs.length - changes.length,
    halfRedacted: halfRedacted.toSorted(byPath),
  }
}

function byPath(a: PointDifference, b: PointDifference): number {
  return pathOf(a) < pathOf(b) ? -1 : 1
}

/**
 * The blobs that differ from another point's, by memory id, found in one comparison of trees.
 * Empty where clones had diverged, since no tree then holds all memories, and where one side is the
 * empty store: each blob is then looked up by its commit.
 */
function* findBlobs(
  objects: ObjectSource,
  resolved: PointOrStart,
  other: PointOrStart,
): Generator<undefined, ReadonlyMap<string, Oid>> {
  const blobs = new Map<string, Oid>()
  if (resolved === undefined || other === undefined) return blobs
  if (resolved.tips.length + other.tips.length > 2) return blobs
  const [tree, otherTree] = [resolved, other].map(({ commit }) => {
    return findMemoriesTree(objects, commit.oid)
  })
  yield* comparison(objects, otherTree, tree, {
    tree: () => undefined,
    blob: (memoryId, oid) => oid !== undefined && blobs.set(memoryId, oid),
  })
  return blobs
}

function* differingPairs(
  history: History,
  points: readonly [from: PointOrStart, to: PointOrStart],
  { path }: DifferenceOptions,
): Generator<undefined, readonly Pair[]> {
  if (path !== undefined && path !== '/') checkPath(path)
  const displaced: ReadonlySet<string>[] = []
  for (const resolved of points) {
    const hadDiverged = resolved !== undefined && resolved.tips.length > 1
    const hidden = hadDiverged ? (yield* memoriesAt(history, resolved)).displaced : []
    displaced.push(new Set(hidden))
  }
  const pairs: Pair[] = []
  for (const memoryId of history.memoryIds()) {
    yield
    const [before, after] = points.map((resolved, index) => {
      return resolved === undefined || displaced[index]?.has(memoryId) === true
        ? undefined
        : liveVersion(history, memoryId, resolved)
    })
    if (!differ(before, after) || !concerns(before, after, path)) continue
    pairs.push({ memoryId, before, after })
  }
  return pairs
}

function liveVersion(
  history: History,
  memoryId: string,
  resolved: ResolvedPoint,
): VersionEntry | undefined {
  const entry = versionAt(history, memoryId, resolved)
  return entry?.operation === 'deleted' ? undefined : entry
}

/** Whether the states may differ; redacted ones always may. */
function differ(before: VersionEntry | undefined, after: VersionEntry | undefined): boolean {
  if (before?.versionId === after?.versionId) return false
  if (isRedacted(before) || isRedacted(after)) return true
  return before?.path !== after?.path || before?.sha256 !== after?.sha256
}

/** Whether a state is at or below the path. A redacted state is taken to be at the other's path. */
function concerns(
  before: VersionEntry | undefined,
  after: VersionEntry | undefined,
  path: string | undefined,
): boolean {
  if (path === undefined) return true
  const known = [before?.path, after?.path].filter((each) => each !== undefined)
  return known.length === 0 || known.some((each) => isAtOrBelow(each, path))
}

function isRedacted(entry: VersionEntry | undefined): boolean {
  return entry !== undefined && entry.path === undefined
}

/** Undefined if the memory did not exist. */
function stateOf(
  source: ContentSource,
  entry: VersionEntry | undefined,
  blobs: ReadonlyMap<string, Oid>,
): TextState | undefined | 'redacted' {
  if (entry === undefined) return undefined
  const content = readVersionContent(source, entry, blobs.get(entry.memoryId))
  const { path } = entry
  return content === undefined || path === undefined ? 'redacted' : { path, content }
}

function pathOf({ before, after }: PointDifference): string {
  return (after ?? before)?.path ?? ''
}

/** A memory at some point. */
export interface TextState {
  readonly path: string
  readonly content: string
}
