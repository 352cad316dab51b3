// Durations as people write and read them: `36h`, `7d`; `36 hours`, `1.5 days`.

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

export const unitMs: Readonly<Record<string, number>> = {
  s: second,
  m: minute,
  h: hour,
  d: day,
  w: 7 * day,
}

/** Milliseconds of `90m`, `36h`, `7d`, `2w`; undefined for another text. */
export function findDuration(text: string): number | undefined {
  const match = /^(\d{1,6})([smhdw])$/.exec(text)
  return match === null ? undefined : Number(match[1]) * (unitMs[match[2] ?? ''] ?? 0)
}

const units: readonly (readonly [name: string, size: number])[] = [
  ['day', day],
  ['hour', hour],
  ['minute', minute],
]

/** A duration in its largest unit: `90 days`, `1.5 hours`. */
export function spanText(ms: number): string {
  const [unit, size] = units.find((candidate) => ms >= candidate[1]) ?? ['ms', 1]
  const count = Math.round((10 * ms) / size) / 10
  return `${count} ${unit}${count === 1 || unit === 'ms' ? '' : 's'}`
}
