// What a merge of clones makes of two contents of a memory (docs/FORMAT.md leaves that to writers):
// one text, always, without markers. Decides between a merge by lines, both sides' lines, and
// the newer text where lines put together would be no text of that kind.

import { mergeText } from '../../text/text-merge.ts'
import { type TextSides, uniteTexts } from '../../text/text-union.ts'

export interface MergedContent {
  readonly content: string
  /**
   * `same`: both sides had it. `merged`: the edits stand apart. `both_kept`: they overlap, so the
   * lines of both sides are in it. `newer_kept`: the whole text of the newer side, because the two
   * together would not be JSON any more, or too large.
   */
  readonly how: 'same' | 'merged' | 'both_kept' | 'newer_kept'
}

/** `limit` is in bytes of UTF-8; a side that is larger already may stay so. */
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

function isFit(content: string, { older, newer }: TextSides, limit: number): boolean {
  if (Buffer.byteLength(content) > limit) return false
  return !isJson(older) || !isJson(newer) || isJson(content)
}

/** An object or an array. A number or a quoted word on a line of its own is text as any other. */
function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
