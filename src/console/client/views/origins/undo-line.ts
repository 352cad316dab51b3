// The text that undoes a line: in the version that it came from, the lines that were changed
// together with it get their text before that version. The store merges that with all later edits.
// Must not touch the page.

import { diffArrays } from 'diff'

/** Beyond it two texts are treated as having nothing in common: the page must not hang. */
const TIMEOUT_MS = 500

/**
 * The text of a version without its changes around these lines. Undefined if it did not write them.
 */
export function withoutLines(
  before: string,
  after: string,
  lines: readonly string[],
): string | undefined {
  const parts = diffArrays(before.split('\n'), after.split('\n'), { timeout: TIMEOUT_MS })
  const texts = lines.filter((line) => line.trim() !== '')
  const wanted = new Set(texts.length === 0 ? lines : texts)
  const kept: string[] = []
  let removed: readonly string[] = []
  let isFound = false
  for (const { value, ...part } of parts ?? []) {
    if (part.removed) {
      // Those that were removed wait for the ones in their place.
      removed = value
      continue
    }
    const isMeant = part.added && value.some((line) => wanted.has(line))
    kept.push(...(isMeant ? removed : value))
    isFound ||= isMeant
    removed = []
  }
  return isFound ? kept.join('\n') : undefined
}
