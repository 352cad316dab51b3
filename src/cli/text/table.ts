// Lists as tables, as `gh` prints them. On a terminal there is a head, columns are as wide as their
// cells, and cells are cut with `…` until each row fits on one line. In a pipe nothing is cut and
// nothing is padded: there is no head, a tab is between cells, and ids, times and sizes are exact,
// so that `cut -f` and `sort` can work with them.

import truncatedWidth from 'fast-string-truncated-width'
import { visibleLine } from '../../text/visible.ts'
import type { Environment } from '../call/environment.ts'
import { type Colour, type Ink, plainInk } from '../terminal/ink.ts'
import { numberText, shortId } from './words.ts'

export interface Column<Row> {
  readonly head: string
  /** One line, for people. On a terminal, a column without any text is left out. */
  readonly cell: (row: Row) => string
  /** The cell in a pipe, if it is another one. */
  readonly exact?: ((row: Row) => string) | undefined
  /** A colour, or a function that colours the shown part of a cell. */
  readonly paint?: Colour | ((shown: string, row: Row) => string) | undefined
  /** Numbers are aligned at their right edge. */
  readonly align?: 'right' | undefined
  /**
   * The end that a narrow terminal cuts: that of a sentence, the beginning of a path. A function
   * returns at most `width` columns. A column without it is never cut.
   */
  readonly cut?: 'end' | 'beginning' | ((cell: string, width: number) => string) | undefined
  /** A column with weight 2 remains twice as wide as another one that is cut. Default: 1. */
  readonly weight?: number | undefined
}

/** The column of ids, which is the last one of a list. */
export function idColumn<Row>(of: (row: Row) => string): Column<Row> {
  return { head: 'ID', cell: (row) => shortId(of(row)), exact: of, paint: 'dim' }
}

/** A column while it is fitted. */
interface Fitted<Row> extends Column<Row> {
  readonly texts: readonly string[]
  width: number
}

export interface TablePlace {
  readonly environment: Pick<Environment, 'terminal'>
}

const GAP = '  '
const ELLIPSIS = '…'
/** A narrower cell tells nothing. */
const CUT_MIN = 6

/** The whole table, with a newline after each line; empty without rows. */
export function tableText<Row>(
  context: TablePlace,
  ink: Ink,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): string {
  return tableWriter(context, ink, columns)(rows)
}

/** The table within a report. */
export function indentedTable<Row>(
  { environment: { terminal } }: TablePlace,
  ink: Ink,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  indent: string,
): string {
  const narrower = { terminal: { ...terminal, width: terminal.width - indent.length } }
  const table = tableText({ environment: narrower }, ink, rows, columns)
  return table.replaceAll(/^(?=.)/gm, indent)
}

/** A list is read before a question, so that a longer one is cut. */
const ASKED_MAX = 20

/** A list with a question about it, which is on standard error. */
export function askedTable<Row>(
  { environment: { terminal } }: TablePlace,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): string {
  const place = {
    environment: { terminal: { ...terminal, output: true, width: terminal.columns } },
  }
  const more = rows.length - ASKED_MAX
  const rest = more > 0 ? `and ${numberText(more)} more\n` : ''
  return tableText(place, plainInk, rows.slice(0, ASKED_MAX), columns) + rest
}

/** For a list that is read piece by piece: returns the text of the next rows. */
export function tableWriter<Row>(
  { environment }: TablePlace,
  ink: Ink,
  columns: readonly Column<Row>[],
): (rows: readonly Row[]) => string {
  const { output, width } = environment.terminal
  if (!output) return (rows) => rows.map((row) => exactLine(ink, columns, row)).join('')
  let widths: readonly number[] = columns.map(({ head }) => widthOf(head))
  let heads = ''
  return (rows) => {
    const all = columns.map((column, index): Fitted<Row> => {
      const texts = rows.map((row) => visibleLine(column.cell(row)))
      return { ...column, texts, width: widestOf(texts, widths[index] ?? 0) }
    })
    // Later rows are aligned with earlier ones where they can be.
    widths = all.map((column) => column.width)
    const shown = all.filter(({ texts }) => texts.some((text) => text !== ''))
    fit(shown, width)
    const titles = shown.map((one) => padded(one, one.head, (text) => ink.paint('bold', text)))
    const lines = rows.map((row, index) => {
      return shown.map((one) => {
        return padded(one, one.texts[index] ?? '', (text) => painted(ink, one, text, row))
      })
    })
    // Again only if rows have another column than those before.
    const isNew = heads !== shown.map(({ head }) => head).join('\n')
    heads = shown.map(({ head }) => head).join('\n')
    const printed = isNew && rows.length > 0 ? [titles, ...lines] : lines
    return printed.map((cells) => `${cells.join(GAP).trimEnd()}\n`).join('')
  }
}

/** Fields with a tab between them. Only the last one may have a tab in it. */
function exactLine<Row>(ink: Ink, columns: readonly Column<Row>[], row: Row): string {
  const cells = columns.map((column, index) => {
    const text = (column.exact ?? column.cell)(row)
    const isLast = index === columns.length - 1
    const cell = text.replaceAll(isLast ? /[\n\r]+/g : /[\t\n\r]+/g, ' ')
    return painted(ink, column, cell, row)
  })
  return `${cells.join('\t')}\n`
}

/** Takes width from the columns that can be cut, always from the widest by its weight. */
function fit<Row>(columns: Fitted<Row>[], width: number): void {
  const whole = columns.map((column) => column.width)
  let over = columns.reduce((sum, column) => sum + column.width + GAP.length, -GAP.length) - width
  const share = ({ width: now, weight = 1 }: Fitted<Row>): number => now / weight
  for (; over > 0; over -= 1) {
    const candidates = columns.filter(({ cut, width: now }) => cut !== undefined && now > CUT_MIN)
    const [widest] = candidates.toSorted((a, b) => share(b) - share(a))
    if (widest === undefined) break
    widest.width -= 1
  }
  if (over <= 0 || columns.length < 2) return
  // A very narrow terminal loses columns from the right, rather than wrap its lines; the ids, with
  // which one goes on, come last.
  for (const [index, column] of columns.entries()) column.width = whole[index] ?? 0
  columns.splice(columns.length > 2 && columns.at(-1)?.head === 'ID' ? -2 : -1, 1)
  fit(columns, width)
}

function painted<Row>(ink: Ink, { paint }: Column<Row>, shown: string, row: Row): string {
  if (typeof paint === 'function') return paint(shown, row)
  return paint === undefined ? ink.plain(shown) : ink.paint(paint, shown)
}

/** Cut to the width of its column or padded. */
function padded(
  { align, cut, width }: Fitted<never>,
  text: string,
  paint: (shown: string) => string,
): string {
  const shown = widthOf(text) <= width ? text : cutTo(text, width, cut)
  const space = ' '.repeat(Math.max(0, width - widthOf(shown)))
  return align === 'right' ? space + paint(shown) : paint(shown) + space
}

function cutTo(text: string, width: number, cut: Column<never>['cut']): string {
  if (typeof cut === 'function') return cut(text, width)
  return cut === 'beginning' ? cutBeginning(text, width) : cutEnd(text, width)
}

/** The beginning of the text, at most `width` columns of a terminal wide. */
function cutEnd(text: string, width: number): string {
  return `${fitting(charactersOf(text), width).join('').trimEnd()}${ELLIPSIS}`
}

/** The end of the text. */
function cutBeginning(text: string, width: number): string {
  const kept = fitting(charactersOf(text).toReversed(), width).toReversed()
  return `${ELLIPSIS}${kept.join('').trimStart()}`
}

/** A part of the text with the place `at` in it. */
export function cutAround(text: string, width: number, at: number): string {
  const start = charactersOf(text.slice(0, at))
  const before = fitting(start.toReversed(), Math.floor(width / 3)).length
  const from = start.slice(0, start.length - before).join('').length
  // Begins with a whole word where that keeps the place.
  const gap = text.slice(from, at).search(/\s\S/) + 1
  const shown = before === start.length ? text : ELLIPSIS + text.slice(from + gap).trimStart()
  return widthOf(shown) <= width ? shown : cutEnd(shown, width)
}

/** As many of the characters as fit with an ellipsis. */
function fitting(characters: readonly string[], width: number): readonly string[] {
  let left = width - ELLIPSIS.length
  const end = characters.findIndex((character) => {
    left -= widthOf(character)
    return left < 0
  })
  return end === -1 ? characters : characters.slice(0, end)
}

/** As people count them: an accent or a joined emoji is never cut off. */
function charactersOf(text: string): readonly string[] {
  // Most texts are ASCII, and the tables of Intl take ten milliseconds to load.
  if (/^[ -~]*$/.test(text)) return text.split('')
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
}

function widestOf(texts: readonly string[], least: number): number {
  return texts.reduce((most, text) => Math.max(most, widthOf(text)), least)
}

export function widthOf(text: string): number {
  return truncatedWidth(text).width
}
