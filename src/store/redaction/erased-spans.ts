// Computes where in the canonical order the trees may still have an erased version (FORMAT §6.4):
// from the commit that wrote it until every commit descends from one that replaced it. In a linear
// history it was current there; with concurrent clones the span may be slightly longer. Pure.

import type { Operation } from '../../format/change-record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { countLeading } from '../commits/count-leading.ts'

/** A version to erase. */
export interface ErasedVersion {
  readonly versionId: string
  readonly memoryId: string
  /** The position of the commit that wrote it. */
  readonly position: number
  readonly operation: Operation
}

/** One of a line of commits that follow the newest commit of the history. */
export interface TailCommit {
  readonly oid: Oid
  /** The versions that its rows are based on. */
  readonly bases: ReadonlySet<string>
}

/** A commit with its position in the canonical order. */
interface PlacedCommit {
  readonly position: number
}

/** The part of a `History` that this file reads. */
export interface Graph {
  readonly commits: { readonly length: number; at(position: number): PlacedCommit | undefined }
  parentsOf(commit: PlacedCommit): readonly PlacedCommit[]
  ofMemory(memoryId: string): readonly {
    readonly base: string
    readonly secondBase: string
    readonly commit: PlacedCommit
  }[]
}

/** Gives the position from which on no tree has the version; infinity if the newest one has it. */
export type EndOf = (version: ErasedVersion) => number

/** Computes the ends of versions at or above the position `from`. */
export function erasedSpans(graph: Graph, tail: readonly TailCommit[], from: number): EndOf {
  const detours = detoursOf(graph, from)
  const replacements = new Map<string, ReadonlyMap<string, number>>()
  const ends = new Map<string, number>()
  tail.forEach(({ bases }, index) => {
    for (const base of bases) ends.set(base, graph.commits.length + index)
  })
  return ({ versionId, memoryId }) => {
    const known = replacements.get(memoryId) ?? replacementsIn(graph, memoryId)
    replacements.set(memoryId, known)
    const replaced = known.get(versionId) ?? ends.get(versionId)
    return replaced === undefined ? Number.POSITIVE_INFINITY : afterDetour(detours, replaced)
  }
}

/** By version of a memory, the position of the first version that is based on it. */
function replacementsIn(graph: Graph, memoryId: string): ReadonlyMap<string, number> {
  const positions = new Map<string, number>()
  for (const { base, secondBase, commit } of graph.ofMemory(memoryId)) {
    for (const id of [base, secondBase]) {
      if (!positions.has(id)) positions.set(id, commit.position)
    }
  }
  return positions
}

/** A range of positions, both included, that some line of parents skips. */
interface Detour {
  readonly start: number
  readonly end: number
}

/** Ascending; between two detours there is a position that every line of parents contains. */
function detoursOf(graph: Graph, from: number): readonly Detour[] {
  const detours: Detour[] = []
  for (let position = from + 1; position < graph.commits.length; position += 1) {
    const commit = graph.commits.at(position)
    for (const parent of commit === undefined ? [] : graph.parentsOf(commit)) {
      let start = parent.position + 1
      if (start === position) continue
      for (let last = detours.at(-1); last !== undefined; last = detours.at(-1)) {
        if (last.end < start - 1) break
        start = Math.min(start, last.start)
        detours.pop()
      }
      detours.push({ start, end: position - 1 })
    }
  }
  return detours
}

function afterDetour(detours: readonly Detour[], position: number): number {
  const detour = detours[countLeading(detours, ({ end }) => end < position)]
  return detour === undefined || detour.start > position ? position : detour.end + 1
}
