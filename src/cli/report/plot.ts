// The writes of a report over time, as bars in SVG: one for each day, month or year, whichever
// gives few enough. Pure.

import type { WriteCount } from '../../store/report/audit-report.ts'
import { numberText } from '../text/sizes.ts'
import { html, type Html } from './html.ts'

/** The writes of one day, month or year. */
export interface Bin {
  /** `2026-01-31`, `2026-01` or `2026`, in UTC. */
  readonly label: string
  readonly created: number
  readonly modified: number
  readonly deleted: number
}

export interface Bins {
  readonly unit: 'day' | 'month' | 'year'
  /** Ascending, without gaps: unless clocks are so wrong that only years with writes are there. */
  readonly bins: readonly Bin[]
}

/** More bars could not be told apart. */
const BINS_MAX = 92
const WIDTH = 960
const HEIGHT = 220
const LEFT = 52
const TOP = 12
const BOTTOM = 28

/** Adds the writes of all actors up. */
export function binWrites(writes: readonly WriteCount[]): Bins {
  for (const unit of ['day', 'month'] as const) {
    const bins = fill(sumUp(writes, unit), unit)
    if (bins !== undefined) return { unit, bins }
  }
  const years = sumUp(writes, 'year')
  return { unit: 'year', bins: fill(years, 'year') ?? [...years.values()].slice(-BINS_MAX) }
}

/** How many characters of `-01-31` a label lacks: a year may have more than four digits. */
const cut = { day: 0, month: 3, year: 6 } as const

function sumUp(writes: readonly WriteCount[], unit: Bins['unit']): ReadonlyMap<string, Bin> {
  const sums = new Map<string, Bin>()
  for (const { day, created, modified, deleted } of writes) {
    const label = day.slice(0, day.length - cut[unit])
    const sum = sums.get(label) ?? emptyBin(label)
    sums.set(label, {
      label,
      created: sum.created + created,
      modified: sum.modified + modified,
      deleted: sum.deleted + deleted,
    })
  }
  return sums
}

/** With those between, which have no writes; undefined if there are too many. */
function fill(sums: ReadonlyMap<string, Bin>, unit: Bins['unit']): readonly Bin[] | undefined {
  const [first, last] = [[...sums.keys()][0], [...sums.keys()].at(-1)]
  if (first === undefined || last === undefined) return []
  const bins: Bin[] = []
  for (let label = first; bins.length < BINS_MAX; label = next(label, unit)) {
    bins.push(sums.get(label) ?? emptyBin(label))
    if (label === last) return bins
  }
  return undefined
}

function emptyBin(label: string): Bin {
  return { label, created: 0, modified: 0, deleted: 0 }
}

function next(label: string, unit: Bins['unit']): string {
  const date = new Date(label)
  if (unit === 'day') date.setUTCDate(date.getUTCDate() + 1)
  if (unit === 'month') date.setUTCMonth(date.getUTCMonth() + 1)
  if (unit === 'year') date.setUTCFullYear(date.getUTCFullYear() + 1)
  const [day = ''] = date.toISOString().split('T')
  return day.slice(0, day.length - cut[unit])
}

export function totalOf({ created, modified, deleted }: Bin): number {
  return created + modified + deleted
}

/** Read aloud it is its title; the table next to it has the numbers. */
export function plot({ unit, bins }: Bins): Html {
  const highest = niceMaximum(Math.max(...bins.map(totalOf)))
  const step = (WIDTH - LEFT) / bins.length
  const width = Math.min(step * 0.8, 48)
  const base = HEIGHT - BOTTOM
  const heightOf = (count: number): number => ((base - TOP) * count) / highest
  const bars = bins.map((bin, index) => {
    const height = heightOf(totalOf(bin))
    const x = LEFT + step * index + (step - width) / 2
    return html`<rect
      x="${fixed(x)}"
      y="${fixed(base - height)}"
      width="${fixed(width)}"
      height="${fixed(height)}"
    /> `
  })
  const lines = [0, highest / 2, highest].map((count) => {
    const y = fixed(base - heightOf(count))
    return html`<line x1="${LEFT}" x2="${WIDTH}" y1="${y}" y2="${y}" /><text
        x="${LEFT - 8}"
        y="${y}"
        dy=".32em"
        text-anchor="end"
        >${numberText(count)}</text
      > `
  })
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="plot">
    <title id="plot">Versions written per ${unit}; the table below has the numbers</title>
    ${lines}${bars}${labels(bins, step)}
  </svg> `
}

/** Below the first, the middle and the last bar. */
function labels(bins: readonly Bin[], step: number): readonly Html[] {
  const last = bins.length - 1
  const shown = new Set(last < 2 ? [0, last] : [0, Math.round(last / 2), last])
  return [...shown].map((index) => {
    const isEdge = bins.length > 8 && (index === 0 || index === last)
    const anchor = isEdge ? (index === 0 ? 'start' : 'end') : 'middle'
    const x = isEdge ? LEFT + step * (index === 0 ? 0 : bins.length) : LEFT + step * (index + 0.5)
    return html`<text x="${fixed(x)}" y="${HEIGHT - 8}" text-anchor="${anchor}"
      >${bins[index]?.label ?? ''}</text
    > `
  })
}

/** An even number of 1, 2 or 5 times a power of ten, or such a number itself. */
function niceMaximum(most: number): number {
  for (let power = 1; ; power *= 10) {
    const found = [2, 4, 10].find((factor) => factor * power >= most)
    if (found !== undefined) return found * power
  }
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100)
}
