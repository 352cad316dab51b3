import { describe, expect, test } from 'vitest'
import { axisOf, type Plot, renderPlot } from '../../../scripts/bench/plot.ts'
import { renderPlots, renderReport, type Section } from '../../../scripts/bench/report.ts'
import { milliseconds } from '../../../scripts/bench/statistics.ts'

const plot: Plot = {
  name: 'a',
  title: 'Fast & <small>',
  bars: [
    { label: 'git add && "commit"', value: 20 },
    { label: 'ours', value: 0.5, ours: true },
    { label: 'absent', value: Number.NaN },
    { label: 'nothing', value: 0 },
  ],
  format: milliseconds,
}

describe('a plot', () => {
  test('escapes what it is given', () => {
    const text = renderPlot(plot) ?? ''
    expect(text).toContain('<title id="title">Fast &amp; &lt;small&gt;</title>')
    expect(text).toContain('>git add &amp;&amp; &quot;commit&quot;<')
    expect(text.replaceAll(/&(?:amp|lt|gt|quot);/g, '')).not.toContain('&')
  })

  test('shows what has a place on its axis, longest for the greatest, with its number', () => {
    const text = renderPlot(plot) ?? ''
    const widths = [...text.matchAll(/class="(?:bar|ours)".* width="(\d+)"/g)].map(([, w]) => w)
    // 0.1 to 100 ms are 360 units.
    expect(widths).toEqual(['276', '84'])
    expect(text).toContain('>20 ms<')
    expect(text).toContain('>0.5 ms<')
    expect(text).not.toContain('absent')
    expect(text).not.toContain('nothing')
    expect(renderPlot(plot)).toBe(text)
    expect(renderPlot({ ...plot, bars: plot.bars.slice(2) })).toBe(undefined)
  })

  test('has an axis of whole decades with at most seven ticks', () => {
    expect(axisOf([0.5, 20])).toEqual({ low: -1, high: 2, ticks: [0.1, 1, 10, 100] })
    expect(axisOf([1, 1]).ticks).toEqual([0.1, 1])
    expect(axisOf([0.001, 1e9]).ticks).toHaveLength(5)
  })
})

describe('the page', () => {
  const table = { title: 'T', columns: ['', 'ms'], rows: [['a', '1']], notes: [] }
  const section: Section = {
    bounds: [],
    tables: [
      { ...table, plot },
      { ...table, plot: { ...plot, name: 'b', bars: [] } },
    ],
    gains: [
      { peer: 'SQLCipher', subject: 'a change', times: 0.5 },
      { peer: 'pass', subject: 'a change', times: 40.04 },
      { peer: 'pass', subject: 'a view', times: 1.01 },
      { peer: 'SQLCipher', subject: 'a view', times: Number.NaN },
    ],
  }

  test('opens with what is gained, in words and ratios', () => {
    const lines = renderReport('m', 'c', [section]).split('\n')
    expect(lines.find((line) => line.startsWith('| pass'))).toMatch(/\| 40× faster \| as fast +\|/)
    expect(lines.find((line) => line.startsWith('| SQLC'))).toMatch(/\| 2× slower +\| +\|/)
  })

  test('names only plots that there are', () => {
    expect([...renderPlots([section]).keys()]).toEqual(['a.svg'])
    const page = renderReport('m', 'c', [section])
    expect(page).toContain('(bench/a.svg)')
    expect(page).not.toContain('b.svg')
  })
})
