// The results as one page of Markdown: the budgets with their verdicts, then one table of each
// section.

import type { Measured } from './measure.ts'
import { digits, milliseconds, percent, ratio } from './statistics.ts'

export interface Budget {
  readonly what: string
  readonly value: number
  readonly limit: number
  readonly format: (value: number) => string
}

export interface Row {
  readonly what: string
  /** Ours first; the others are what its ratios compare with. */
  readonly measured: readonly Measured[]
}

/** Numbers of one process: milliseconds, bytes. */
export interface Fact {
  readonly what: string
  readonly value: string
}

export interface Section {
  readonly title: string
  readonly rows: readonly Row[]
  readonly facts?: readonly Fact[]
  readonly budgets: readonly Budget[]
  /** How it was measured. */
  readonly note: string
}

export function budget(
  what: string,
  value: number,
  limit: number,
  format: Budget['format'] = ratio,
): Budget {
  return { what, value, limit, format }
}

/** How many times the other takes; NaN if one of them was not measured. */
export function times(row: Row, peer: string, unit: 'time' | 'processor' = 'time'): number {
  const [ours] = row.measured
  const theirs = row.measured.find(({ name }) => name === peer)
  return (ours?.[unit] ?? Number.NaN) / (theirs?.[unit] ?? Number.NaN)
}

export function renderPage(machine: string, command: string, sections: readonly Section[]): string {
  const parts = [
    '# Benchmarks',
    wrap(
      `Written by \`${command}\` on ${machine}. The compared programs took turns in one run. A ` +
        'ratio to something that waits for a disk holds for that disk alone; processor time ' +
        'carries over, and stands next to each.',
    ),
    '## Budgets',
    renderTable(
      ['', 'budget', 'measured', ''],
      sections.flatMap(({ budgets }) => budgets.map(budgetRow)),
    ),
    ...sections.flatMap(renderSection),
  ]
  return `${parts.join('\n\n')}\n`
}

function budgetRow({ what, value, limit, format }: Budget): readonly string[] {
  const verdict = Number.isNaN(value)
    ? 'not measured'
    : value <= limit
      ? 'met'
      : `missed by ${percent(value / limit - 1)}`
  return [what, `≤ ${format(limit)}`, Number.isNaN(value) ? '' : format(value), verdict]
}

function renderSection({ title, rows, facts = [], note }: Section): readonly string[] {
  const tables = [
    renderTable(['', '', '×', 'time', '× processor', 'processor', 'n'], rows.flatMap(cells)),
    renderTable(
      ['', ''],
      facts.map(({ what, value }) => [what, value]),
    ),
  ]
  const filled = [rows, facts].flatMap((list, index) =>
    list.length > 0 ? [tables[index] ?? ''] : [],
  )
  return [`## ${title}`, wrap(note), ...filled]
}

/** The ratios are of ours to each of the others. */
function cells({ what, measured }: Row): readonly (readonly string[])[] {
  const [ours] = measured
  return measured.map((one, index) => [
    index === 0 ? what : '',
    one.name,
    index === 0 || ours === undefined ? '' : ratio(ours.time / one.time),
    milliseconds(one.time),
    index === 0 || ours === undefined ? '' : ratio(ours.processor / one.processor),
    milliseconds(one.processor),
    digits(one.n),
  ])
}

const COLUMNS = 100

function wrap(text: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + word.length < COLUMNS) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines.join('\n')
}

export function renderTable(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const widths = columns.map((column, index) =>
    Math.max(3, column.length, ...rows.map((row) => row[index]?.length ?? 0)),
  )
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, index) => (row[index] ?? '').padEnd(width)).join(' | ')} |`
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [line(columns), rule, ...rows.map(line)].join('\n')
}
