// Times, sizes and numbers in words, in the language and the time zone of the browser.

const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' })
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

const UNITS = [
  ['year', 365 * 24 * 3600],
  ['month', 30 * 24 * 3600],
  ['week', 7 * 24 * 3600],
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
] as const

export function absoluteTime(time: number): string {
  return ABSOLUTE.format(time)
}

/** `12:04` */
export function clockTime(time: number): string {
  return TIME.format(time)
}

/** Of `2026-01-31`. */
export function dayText(day: string): string {
  // Noon: no time zone makes another day of it.
  return DAY.format(new Date(`${day}T12:00:00`))
}

/** A span of one day: `10:12 – 10:40`. */
export function spanText(first: number, last: number): string {
  return TIME.formatRange(first, last)
}

/** Of any length, with the dates. */
export function longSpanText(first: number, last: number): string {
  return ABSOLUTE.formatRange(first, last)
}

/** `2 hours ago`; `now` for less than a minute. */
export function relativeTime(time: number): string {
  const seconds = (time - Date.now()) / 1000
  const [unit, length] = UNITS.find(([, one]) => Math.abs(seconds) >= one) ?? ['second', 0]
  return RELATIVE.format(length === 0 ? 0 : Math.round(seconds / length), unit)
}

/** `3 memories`: English, as the whole page is. */
export function countOf(count: number, what: string): string {
  const many = what.endsWith('y') ? `${what.slice(0, -1)}ies` : `${what}s`
  return `${count.toLocaleString()} ${count === 1 ? what : many}`
}

export function sizeText(bytes: number): string {
  if (bytes < 1000) return countOf(bytes, 'byte')
  const [size, unit] = bytes < 1_000_000 ? [bytes / 1000, 'kB'] : [bytes / 1_000_000, 'MB']
  return `${size.toLocaleString(undefined, { maximumFractionDigits: 1 })} ${unit}`
}
