// Three-way merge of texts by lines, for undo and for merges of clones. A line includes its line
// feed, so that line endings and a missing final newline are preserved. Must never write conflict
// markers: a conflict gives no text. Deterministic, and bounded in time.

import { diff3MergeRegions } from 'node-diff3'
import { findAnchors, type Lines, move, type ThreeTexts } from './line-anchors.ts'

export type TextMerge =
  | { readonly clean: true; readonly text: string }
  /** Both sides changed the same or adjacent lines, or too many lines to compare. */
  | { readonly clean: false }

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
  if (ours === theirs || theirs === base) return { clean: true, text: ours }
  if (ours === base) return { clean: true, text: theirs }
  const texts = { base: linesOf(base), ours: linesOf(ours), theirs: linesOf(theirs) }
  const merged = mergeLines(texts)
  return merged === undefined ? { clean: false } : { clean: true, text: merged.join('') }
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
function mergeLines(texts: ThreeTexts): Lines | undefined {
  const merged: Lines[] = []
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
    if (areEqual(ours, theirs) || areEqual(base, theirs)) merged.push(ours)
    else if (areEqual(base, ours)) merged.push(theirs)
    else {
      comparisons += (base.length + 1) * (ours.length + theirs.length)
      const lines = comparisons > COMPARISONS_MAX ? undefined : compareLines(base, ours, theirs)
      if (lines === undefined) return undefined
      merged.push(lines)
    }
    merged.push(texts.base.slice(anchor.base, anchor.base + 1))
    start = move(anchor, 1)
  }
  return merged.flat()
}

function compareLines(base: string[], ours: string[], theirs: string[]): Lines | undefined {
  const merged: string[][] = []
  for (const region of diff3MergeRegions(ours, base, theirs)) {
    if ('bufferContent' in region) merged.push(region.bufferContent)
    else if (areEqual(region.aContent, region.bContent)) merged.push(region.aContent)
    else return undefined
  }
  return merged.flat()
}

function areEqual(a: Lines, b: Lines): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index])
}
