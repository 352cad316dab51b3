// Tables: every line fits on the terminal whatever is in the cells, and a pipe gets all of it.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Environment, Terminal } from '../../../src/cli/call/environment.ts'
import { plainInk } from '../../../src/cli/terminal/ink.ts'
import { type Column, idColumn, tableText, tableWriter } from '../../../src/cli/text/table.ts'
import { full, seed } from '../../support/seed.ts'

interface Row {
  readonly path: string
  readonly size: number
  readonly why?: string
}

const columns: readonly Column<Row>[] = [
  { head: 'PATH', cell: ({ path }) => path, cut: 'beginning' },
  {
    head: 'SIZE',
    cell: ({ size }) => `${size} B`,
    exact: ({ size }) => String(size),
    align: 'right',
  },
  { head: 'WHY', cell: ({ why = '' }) => why, cut: 'end' },
]

const rows: readonly Row[] = [
  { path: '/projects/billing/decisions.md', size: 12_345, why: 'what the customer said on Monday' },
  { path: '/日本語/メモ.md', size: 7 },
]

function place(width: number | undefined): { readonly environment: Pick<Environment, 'terminal'> } {
  const terminal: Terminal = {
    input: false,
    output: width !== undefined,
    errors: false,
    capable: false,
    columns: 80,
    width: width ?? 80,
  }
  return { environment: { terminal } }
}

function shown(width: number | undefined, some = rows): readonly string[] {
  return tableText(place(width), plainInk, some, columns).split('\n').slice(0, -1)
}

/** As a terminal counts columns: a character of Chinese, Japanese or Korean takes two. */
function widthOf(text: string): number {
  return Array.from(text).reduce((sum, one) => sum + (/[\u3000-\u9fff]/.test(one) ? 2 : 1), 0)
}

describe('a table', () => {
  test('has a head, and columns as wide as their cells', () => {
    expect(shown(100)).toEqual([
      'PATH                               SIZE  WHY',
      '/projects/billing/decisions.md  12345 B  what the customer said on Monday',
      '/日本語/メモ.md                     7 B',
    ])
  })

  test('cuts the widest cells at the end that matters less', () => {
    expect(shown(50)).toEqual([
      'PATH                    SIZE  WHY',
      '…lling/decisions.md  12345 B  what the customer s…',
      '/日本語/メモ.md          7 B',
    ])
  })

  test('loses columns from the right where it is too narrow, the ids last', () => {
    const wide: readonly Column<Row>[] = [...columns, idColumn(() => 'mem_0123456789')]
    const lines = tableText(place(30), plainInk, rows, wide).split('\n')
    expect(lines.slice(0, 2)).toEqual([
      'PATH            SIZE  ID',
      '…cisions.md  12345 B  01234567',
    ])
  })

  test('has no column without a cell', () => {
    const [, second] = rows
    expect(shown(80, second === undefined ? [] : [second])).toEqual([
      'PATH             SIZE',
      '/日本語/メモ.md   7 B',
    ])
  })

  test('is empty without rows', () => {
    expect(shown(80, [])).toEqual([])
  })

  test('is whole in a pipe, with tabs, exact cells, empty ones too, and no head', () => {
    expect(shown(undefined)).toEqual([
      '/projects/billing/decisions.md\t12345\twhat the customer said on Monday',
      '/日本語/メモ.md\t7\t',
    ])
    expect(shown(undefined, [{ path: 'a\tb\nc', size: 1, why: 'a\tb\nc' }])).toEqual([
      'a b c\t1\ta\tb c',
    ])
  })

  test('keeps its columns when more rows follow, and shows its head once', () => {
    const write = tableWriter(place(80), plainInk, columns)
    write(rows)
    expect(write([{ path: '/a.md', size: 1, why: 'b' }])).toBe(`/a.md${' '.repeat(27)}    1 B  b\n`)
  })

  test('fits on any terminal, whatever is in its cells', () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', ' ', '日', '\u001b', '\t', '/'),
      maxLength: 60,
    })
    const row = fc.record({ path: cell, size: fc.nat(), why: cell })
    const property = fc.property(
      fc.array(row, { maxLength: 5 }),
      fc.integer({ min: 30, max: 140 }),
      (some, width) => {
        for (const line of shown(width, some)) {
          expect(widthOf(line)).toBeLessThanOrEqual(width)
          expect(line.includes('\u001b') || line.includes('\t')).toBe(false)
        }
      },
    )
    fc.assert(property, { seed, numRuns: full ? 20_000 : 200 })
  })
})
