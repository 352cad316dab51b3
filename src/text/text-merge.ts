// Three-way merge of texts by lines, for undo and for merges of clones. A line includes its line
// feed, so that line endings and a missing final newline are preserved. Must never write conflict
// markers: a conflict gives no text. Deterministic, and bounded in time.

import { diff3MergeRegions } from 'node-diff3'
import { findAnchors, type Lines, move, type ThreeTexts } from './line-anchors.ts'

export type TextMerge =
  | { readonly clean: true; readonly text: string }
  /** Both sides changed the same or adjacent lines, or too many lines to compare. */
  | { readonly clean: false }

/** A part of a merged text: settled, or lines of which both sides made different ones. */
export type MergePart =
  | { readonly text: string }
  | { readonly ours: string; readonly theirs: string }

/**
 * The most line comparisons in one merge, at worst a second. They are needed only between anchors
 * where both sides differ from the base.
 */
const COMPARISONS_MAX = 4_000_000

/**
 * Applies to `ours` the edits that lead from `base` to `theirs`. As in git, edits of the same or
 * adjacent lines conflict, unless they are identical.
 */
export function mergeText(base: string, ours: string, theirs: string): TextMerge {
  let text = ''
  for (const part of mergeParts(base, ours, theirs)) {
    if (!('text' in part)) return { clean: false }
    text += part.text
  }
  return { clean: true, text }
}

/** The same with its conflicts, for a user who chooses between the sides of each. */
export function mergeParts(base: string, ours: string, theirs: string): readonly MergePart[] {
  if (ours === theirs || theirs === base) return [{ text: ours }]
  if (ours === base) return [{ text: theirs }]
  return mergeLines({ base: linesOf(base), ours: linesOf(ours), theirs: linesOf(theirs) })
}

/** Splits a text into lines, each with its line feed. */
export function linesOf(text: string): Lines {
  const lines: string[] = []
  for (let start = 0; start < text.length;) {
    const feed = text.indexOf('\n', start)
    const end = feed === -1 ? text.length : feed + 1
    lines.push(text.slice(start, end))
    start = end
  }
  return lines
}

/** Between two anchors, usually only one side differs from the base; that side is taken. */
function mergeLines(texts: ThreeTexts): readonly MergePart[] {
  const merged = new Merged()
  const end = {
    base: texts.base.length,
    ours: texts.ours.length,
    theirs: texts.theirs.length,
  }
  let comparisons = 0
  let start = { base: 0, ours: 0, theirs: 0 }
  for (const anchor of [...findAnchors(texts), end]) {
    const base = texts.base.slice(start.base, anchor.base)
    const ours = texts.ours.slice(start.ours, anchor.ours)
    const theirs = texts.theirs.slice(start.theirs, anchor.theirs)
    if (areEqual(ours, theirs) || areEqual(base, theirs)) merged.settle(ours)
    else if (areEqual(base, ours)) merged.settle(theirs)
    else {
      comparisons += (base.length + 1) * (ours.length + theirs.length)
      if (comparisons > COMPARISONS_MAX) merged.leave(ours, theirs)
      else compareLines(merged, base, ours, theirs)
    }
    merged.settle(texts.base.slice(anchor.base, anchor.base + 1))
    start = move(anchor, 1)
  }
  return merged.parts()
}

function compareLines(merged: Merged, base: string[], ours: string[], theirs: string[]): void {
  for (const region of diff3MergeRegions(ours, base, theirs)) {
    if ('bufferContent' in region) merged.settle(region.bufferContent)
    else if (areEqual(region.aContent, region.bContent)) merged.settle(region.aContent)
    else merged.leave(region.aContent, region.bContent)
  }
}

/** What a merge has made so far, with neighbouring settled lines as one part. */
class Merged {
  readonly #parts: MergePart[] = []
  #settled: string[] = []

  settle(lines: Lines): void {
    for (const line of lines) this.#settled.push(line)
  }

  leave(ours: Lines, theirs: Lines): void {
    this.#close()
    this.#parts.push({ ours: ours.join(''), theirs: theirs.join('') })
  }

  parts(): readonly MergePart[] {
    this.#close()
    return this.#parts
  }

  #close(): void {
    if (this.#settled.length === 0) return
    this.#parts.push({ text: this.#settled.join('') })
    this.#settled = []
  }
}

function areEqual(a: Lines, b: Lines): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index])
}
