// Lists within a message.

import { visibleLine } from '../../text/visible.ts'

/** A list within an error, whose details hold all of it. */
export function fewOf(items: readonly string[]): string {
  const [first = '', ...others] = items
  return others.length === 0 ? first : `${first}, and ${others.length} more`
}

/** The first lines of a list, and how many more there are. No name makes another line of it. */
export function listOf(lines: readonly string[]): string {
  const shown = lines.slice(0, 20).map((line) => `  ${visibleLine(line)}`)
  const more = lines.length - shown.length
  return [...shown, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n')
}
