// Days and spans of time in words, in the language and the time zone of the browser.

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' })
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

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
  return DATE.formatRange(first, last)
}
