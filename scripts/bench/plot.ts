// A plot of one section: bars on a logarithmic axis, as SVG for light and dark pages. The same
// numbers give the same bytes.

import { renderPicture, escaped } from './svg.ts'

export interface Bar {
  readonly label: string
  readonly value: number
  /** One of ours: shown in colour. */
  readonly ours?: boolean
}

export interface Plot {
  /** Of the file below docs/bench, without its ending. */
  readonly name: string
  readonly title: string
  readonly bars: readonly Bar[]
  readonly format: (value: number) => string
}

const [left, plotWidth, right, top, rowHeight] = [220, 360, 90, 40, 24]
const width = left + plotWidth + right
const style = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .label { text-anchor: end }
  .axis { fill: #59636e; text-anchor: middle }
  .frame { fill: #ffffff; stroke: #d1d9e0 }
  .line { stroke: #d1d9e0 }
  .bar { fill: #8c959f }
  .ours { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #d1d7e0 }
    .axis { fill: #9198a1 }
    .frame { fill: #0d1117; stroke: #3d444d }
    .line { stroke: #3d444d }
    .bar { fill: #656c76 }
    .ours { fill: #4493f8 }
  }
`

/** Undefined if there is nothing that can be shown: only finite values above 0 have a place. */
export function renderPlot({ title, bars, format }: Plot): string | undefined {
  const shown = bars.filter(({ value }) => Number.isFinite(value) && value > 0)
  if (shown.length === 0) return undefined
  const axis = axisOf(shown.map(({ value }) => value))
  const bottom = top + shown.length * rowHeight
  const shapes = [
    `<text class="title" x="16" y="24">${escaped(title)}</text>`,
    ...axis.ticks.flatMap((tick) => [
      `<line class="line" x1="${x(axis, tick)}" x2="${x(axis, tick)}" y1="${top}" y2="${bottom}"/>`,
      `<text class="axis" x="${x(axis, tick)}" y="${bottom + 18}">${escaped(format(tick))}</text>`,
    ]),
    ...shown.flatMap((bar, index) => barShapes(bar, x(axis, bar.value), index, format)),
  ]
  return renderPicture({ title, width, height: bottom + 30, style, shapes })
}

interface Axis {
  /** Powers of ten. */
  readonly low: number
  readonly high: number
  readonly ticks: readonly number[]
}

/** Whole decades around the values, so that the shortest bar is still seen. */
export function axisOf(values: readonly number[]): Axis {
  const low = Math.floor(Math.log10(Math.min(...values)) - 0.1)
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  const step = Math.ceil((high - low) / 6)
  const ticks: number[] = []
  // Not `10 ** power`, which is not exact below 1.
  for (let power = low; power <= high; power += step) ticks.push(Number(`1e${power}`))
  return { low, high, ticks }
}

function x({ low, high }: Axis, value: number): number {
  const share = (Math.log10(value) - low) / (high - low)
  return Math.round(left + share * plotWidth)
}

function barShapes(
  { label, value, ours }: Bar,
  end: number,
  index: number,
  format: Plot['format'],
): string[] {
  const y = top + index * rowHeight
  const kind = ours === true ? 'ours' : 'bar'
  return [
    `<text class="label" x="${left - 8}" y="${y + 16}">${escaped(label)}</text>`,
    `<rect class="${kind}" x="${left}" y="${y + 4}" width="${end - left}" height="16" rx="2"/>`,
    `<text x="${end + 6}" y="${y + 16}">${escaped(format(value))}</text>`,
  ]
}
