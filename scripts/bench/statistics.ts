// Computes and formats numbers from samples.

/** As many quantiles as there are fractions; NaN if there are no samples. */
export function quantiles<const F extends readonly number[]>(
  samples: readonly number[],
  fractions: F,
): { readonly [I in keyof F]: number } {
  const sorted = samples.toSorted((a, b) => a - b)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- map keeps the length
  return fractions.map((fraction) => quantile(sorted, fraction)) as {
    readonly [I in keyof F]: number
  }
}

/** A quantile of an ascending list, with linear interpolation; NaN if it is empty. */
function quantile(sorted: readonly number[], fraction: number): number {
  const at = (sorted.length - 1) * fraction
  const below = sorted[Math.floor(at)] ?? Number.NaN
  const above = sorted[Math.ceil(at)] ?? Number.NaN
  return below + (above - below) * (at - Math.floor(at))
}

/** Three significant digits, no exponent. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return '?'
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

export function ratio(value: number): string {
  return `${digits(value)}×`
}

export function milliseconds(value: number): string {
  return `${digits(value)} ms`
}

export function percent(value: number): string {
  return `${digits(value * 100)} %`
}

export function bytes(value: number): string {
  if (value >= 1e6) return `${digits(value / 1e6)} MB`
  return `${digits(value / 1e3)} kB`
}
