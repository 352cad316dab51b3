// Lines of a memory with their numbers, as the memory tool shows them.

import type { Lines } from '../../api/actions.ts'
import { renderSnippet } from '../../memory-tool/render.ts'

export function numbered(lines: Lines): string {
  return lines.lines.length === 0 ? '' : `${renderSnippet(lines)}\n`
}
