// Merges two contents of a memory into one text (docs/FORMAT.md leaves that to writers): a merge by
// lines, the lines of both sides, or the newer text if combined lines would not be valid JSON or
// too large. Must not write conflict markers.

import { Bytes } from '../../platform/bytes.ts'
import { carryEdits } from '../../text/carried-edits.ts'
import { type MergePart, mergeParts, mergeText } from '../../text/text-merge.ts'
import { type TextSides, uniteTexts } from '../../text/text-union.ts'

export interface MergedContent {
  readonly content: string
  /**
   * `same`: both sides had this content. `merged`: the edits do not overlap. `both_kept`: they
   * overlap, so it has the lines of both sides. `newer_kept`: the whole text of the newer side,
   * because the combined text would not be JSON any more, or too large.
   */
  readonly how: 'same' | 'merged' | 'both_kept' | 'newer_kept'
}

/** `limit` is in bytes of UTF-8; the content of one side may exceed it. */
export function mergeContents(sides: TextSides, limit: number): MergedContent {
  const { base, older, newer } = sides
  if (older === newer) return { content: newer, how: 'same' }
  const merged = mergeText(base, older, newer)
  const content = merged.clean ? merged.text : uniteTexts(sides)
  if (content !== older && content !== newer && !isFit(content, sides, limit)) {
    return { content: newer, how: 'newer_kept' }
  }
  return { content, how: merged.clean ? 'merged' : 'both_kept' }
}

/** An edit of a text, and an earlier state of that, which lacks what others wrote since. */
export interface CarriedSides {
  readonly base: string
  readonly edited: string
  readonly kept: string
}

/**
 * Applies an edit to the earlier state alone. Undefined if it cannot be told apart from what others
 * wrote in between, or if the combined text would not be valid JSON any more, or too large.
 */
export function carryContents(
  { base, edited, kept }: CarriedSides,
  limit: number,
): string | undefined {
  const content = carryEdits(base, edited, kept)
  if (content === undefined || content === kept || content === edited) return content
  return isFit(content, { older: kept, newer: edited }, limit) ? content : undefined
}

/**
 * Merges the text of an editor into a newer one, for a user who reviews it:
 * what overlaps is theirs to choose. That is the whole text if the lines of both sides would not be
 * valid JSON any more.
 */
export function mergeEdits(base: string, ours: string, theirs: string): readonly MergePart[] {
  const parts = mergeParts(base, ours, theirs)
  const merged = parts.map((part) => ('text' in part ? part.text : part.ours)).join('')
  if (merged === ours || merged === theirs || !isJson(ours) || !isJson(theirs)) return parts
  return isJson(merged) ? parts : [{ ours, theirs }]
}

function isFit(content: string, { older, newer }: Omit<TextSides, 'base'>, limit: number): boolean {
  if (Bytes.byteLength(content) > limit) return false
  return !isJson(older) || !isJson(newer) || isJson(content)
}

/**
 * Whether the text is a JSON object or array. A single number or string is treated as plain text.
 */
function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
