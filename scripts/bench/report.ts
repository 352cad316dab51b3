// The results of a run as Markdown: what a user gains, the bounds with their verdicts, then the
// tables behind them, with their plots.

import { type Plot, renderPlot } from './plot.ts'
import { digits, percent } from './statistics.ts'

export interface Bound {
  readonly subject: string
  /** The bound as text: `≤ 2.5×`. */
  readonly wanted: string
  readonly measured: string
  /** How far beyond the bound, as a share of it; 0 or less if it is met. */
  readonly excess: number
}

/** How many times faster than an alternative; below 1 it is slower. */
export interface Gain {
  readonly peer: string
  readonly subject: string
  readonly times: number
}

export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** How it was measured: one paragraph each. */
  readonly notes: readonly string[]
  readonly plot?: Plot
}

export interface Section {
  readonly bounds: readonly Bound[]
  readonly tables: readonly Table[]
  readonly gains?: readonly Gain[]
  /** What the time is made of where a bound is missed, from parts measured in the same run. */
  readonly reasons?: readonly string[]
}

type Format = (value: number) => string

export function atMost(subject: string, value: number, limit: number, format: Format): Bound {
  const wanted = `≤ ${format(limit)}`
  return { subject, wanted, measured: format(value), excess: value / limit - 1 }
}

export function atLeast(subject: string, value: number, limit: number, format: Format): Bound {
  const wanted = `≥ ${format(limit)}`
  return { subject, wanted, measured: format(value), excess: 1 - value / limit }
}

/** The verdict on a bound whose other side could not be measured. */
export function unmeasured(subject: string, wanted: string, reason: string): Bound {
  return { subject, wanted, measured: reason, excess: Number.NaN }
}

/** What a user of each alternative has in gitlocket besides its speed. */
const alternatives: Readonly<Record<string, string>> = {
  'git add && git commit': 'encryption; signatures of devices; secrets can be erased',
  'age + git': 'signed; paths are hidden; a device can be removed; secrets can be erased',
  pass: 'paths are hidden; signatures of devices; an interface for agents',
  SQLCipher: 'a signed history that any git host can keep; sync and merge of clones',
  'SDK plain-file tool': 'encryption; a history with undo and redaction; crash safety',
  'isomorphic-git add + commit': 'encryption; signatures; synced to disk',
  'git filter-repo': 'signatures stay valid; a certificate; other clones follow',
  'git clone': 'every commit is verified',
}

export function renderReport(
  machine: string,
  command: string,
  sections: readonly Section[],
): string {
  const bounds = sections.flatMap((section) => section.bounds)
  const tables = sections.flatMap((section) => section.tables)
  const gains = sections.flatMap((section) => section.gains ?? [])
  const parts = [
    '# Benchmarks',
    `Written by \`${command}\` on ${machine}. Ratios compare what took turns in one run on one ` +
      'disk; they carry over to other machines better than the milliseconds do.',
    ...(gains.length === 0 ? [] : renderGains(gains)),
    '## Bounds',
    renderTable(['what', 'bound', 'measured', ''], bounds.map(boundRow)),
    ...sections.flatMap(({ reasons }) => reasons ?? []),
    ...tables.flatMap(renderSection),
  ]
  return `${parts.join('\n\n')}\n`
}

/** File names and contents of the plots, which stand in `bench/` beside the page. */
export function renderPlots(sections: readonly Section[]): ReadonlyMap<string, string> {
  const plots = sections.flatMap(({ tables }) => tables.flatMap(({ plot }) => plot ?? []))
  const files = new Map<string, string>()
  for (const plot of plots) {
    const text = renderPlot(plot)
    if (text !== undefined) files.set(`${plot.name}.svg`, text)
  }
  return files
}

/** One row for each alternative, one column for each thing that any of them was compared in. */
function renderGains(gains: readonly Gain[]): string[] {
  const subjects = [...new Set(gains.map(({ subject }) => subject))]
  const rows = Object.entries(alternatives).flatMap(([peer, more]) => {
    const own = gains.filter((gain) => gain.peer === peer)
    if (own.length === 0) return []
    const cells = subjects.map((subject) => gainText(own.find((gain) => gain.subject === subject)))
    return [[peer, ...cells, more]]
  })
  return [
    'What a user gains with gitlocket against each alternative, measured in this run; all bytes ' +
      'that it writes are encrypted, signed and on disk before it answers.',
    renderTable(['instead of', ...subjects, 'and has besides'], rows),
  ]
}

function gainText(gain: Gain | undefined): string {
  if (gain === undefined || !Number.isFinite(gain.times)) return ''
  if (gain.times >= 1.05) return `${digits(gain.times)}× faster`
  return gain.times > 0.95 ? 'as fast' : `${digits(1 / gain.times)}× slower`
}

function renderSection(table: Table): string[] {
  const { plot } = table
  const picture =
    plot === undefined || renderPlot(plot) === undefined
      ? []
      : [`![${plot.title}](bench/${plot.name}.svg)`]
  return [`## ${table.title}`, ...picture, renderTable(table.columns, table.rows), ...table.notes]
}

function boundRow({ subject, wanted, measured, excess }: Bound): readonly string[] {
  return [subject, wanted, measured, verdict(excess)]
}

function verdict(excess: number): string {
  if (Number.isNaN(excess)) return 'not measured'
  return excess <= 0 ? 'met' : `missed by ${percent(excess)}`
}

export function renderTable(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const widths = columns.map((column, index) =>
    Math.max(3, column.length, ...rows.map((row) => row[index]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, index) => (cells[index] ?? '').padEnd(width)).join(' | ')} |`
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [line(columns), rule, ...rows.map(line)].join('\n')
}
