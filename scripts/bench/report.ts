// The results of a run as Markdown: the bounds with their verdicts, then the tables behind them.

import { percent } from './statistics.ts'

export interface Bound {
  readonly subject: string
  /** The bound as text: `≤ 2.5×`. */
  readonly wanted: string
  readonly measured: string
  /** How far beyond the bound, as a share of it; 0 or less if it is met. */
  readonly excess: number
}

export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** How it was measured: one paragraph each. */
  readonly notes: readonly string[]
}

export interface Section {
  readonly bounds: readonly Bound[]
  readonly tables: readonly Table[]
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

export function renderReport(
  machine: string,
  command: string,
  sections: readonly Section[],
): string {
  const bounds = sections.flatMap((section) => section.bounds)
  const tables = sections.flatMap((section) => section.tables)
  const parts = [
    '# Benchmarks',
    `Written by \`${command}\` on ${machine}. Ratios compare what took turns in one run on one ` +
      'disk; they carry over to other machines better than the milliseconds do. Ratios to an ' +
      'append measure the processor where the disk syncs in less time than a signature takes.',
    '## Bounds',
    renderTable(['what', 'bound', 'measured', ''], bounds.map(boundRow)),
    reasons,
    ...tables.flatMap(renderSection),
  ]
  return `${parts.join('\n\n')}\n`
}

/** A note on the numbers that were measured when the bounds were last reviewed. */
const reasons =
  'Why the bounds of a single command are missed: they were set where a synced append took ' +
  '0.6 to 1 ms. Where it takes 0.06 ms, a command is processor time: two Ed25519 signatures ' +
  'in WebAssembly (0.1 ms), three seals, the trees and the commit (0.25 ms), planning, the ' +
  'lock and the journal (0.15 ms), and beside them packing and garbage collection. ' +
  'SQLCipher signs nothing and keeps no trees. Next: one signature off the path of a reply, ' +
  'and node:crypto for both.'

function renderSection(table: Table): string[] {
  return [`## ${table.title}`, renderTable(table.columns, table.rows), ...table.notes]
}

function boundRow({ subject, wanted, measured, excess }: Bound): readonly string[] {
  return [subject, wanted, measured, verdict(excess)]
}

function verdict(excess: number): string {
  if (Number.isNaN(excess)) return 'not measured'
  return excess <= 0 ? 'met' : `missed by ${percent(excess)}`
}

function renderTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((column, index) =>
    Math.max(3, column.length, ...rows.map((row) => row[index]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, index) => (cells[index] ?? '').padEnd(width)).join(' | ')} |`
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [line(columns), rule, ...rows.map(line)].join('\n')
}
