// Counts, sizes, lists and short ids within a message.

import { visibleLine } from '../../text/visible.ts'

/** `512 B`, `1.5 kB`, `2.0 MB`: powers of 1,000, one decimal from the first kilobyte on. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  let value = bytes
  for (const unit of ['kB', 'MB', 'GB']) {
    value /= 1000
    if (value < 999.95) return `${value.toFixed(1)} ${unit}`
  }
  return `${(value / 1000).toFixed(1)} TB`
}

/** `1 memory`, `2,000 memories`. */
export function countText(count: number, one: string, many: string): string {
  return `${numberText(count)} ${count === 1 ? one : many}`
}

/** `102,400`, for a whole number. Avoids Intl, which takes ten milliseconds to load its tables. */
export function numberText(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

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

/** Ids are hashes, so these distinguish a million. Commands that take an id take them. */
const SHORT_DIGITS = 8

/** The first digits of an id without its prefix: `3k9f0z2c` of `memver_3k9f0z2c1d…`. */
export function shortId(id: string): string {
  const start = id.indexOf('_') + 1
  return id.slice(start, start + SHORT_DIGITS)
}
