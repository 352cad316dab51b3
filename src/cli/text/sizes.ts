// Formats sizes and counts for users.

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
