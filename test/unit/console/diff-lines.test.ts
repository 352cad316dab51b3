// The rows of a difference of two texts.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  countRows,
  type DiffLine,
  diffRows,
  foldRows,
  inlineRows,
} from '../../../src/console/client/parts/diff-lines.ts'
import { seed } from '../../support/seed.ts'

function textOf(lines: readonly (DiffLine | undefined)[]): readonly string[] {
  return lines.flatMap((line) =>
    line === undefined ? [] : line.parts.map(({ text }) => text).join(''),
  )
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

const line = fc.constantFrom('', 'a', 'b', 'a b', 'a c', '<b>', '  ')
const text = fc.array(line, { maxLength: 30 }).map((lines) => lines.join('\n'))

describe('rows of a difference', () => {
  test('have all lines of both texts, in order, numbered', () => {
    fc.assert(
      fc.property(text, text, fc.boolean(), (before, after, withWords) => {
        const rows = diffRows(before, after, withWords)
        const [left, right] = [rows.map((row) => row.left), rows.map((row) => row.right)]
        expect(textOf(left)).toEqual(linesOf(before))
        expect(textOf(right)).toEqual(linesOf(after))
        for (const side of [left, right]) {
          const numbers = side.flatMap((one) => one?.number ?? [])
          expect(numbers).toEqual(numbers.map((_, index) => index + 1))
        }
        for (const row of rows.filter(({ isEqual }) => isEqual)) {
          expect(textOf([row.left])).toEqual(textOf([row.right]))
        }
      }),
      { seed },
    )
  })

  test('of equal texts are equal, and marked nowhere', () => {
    fc.assert(
      fc.property(text, (same) => {
        const rows = diffRows(same, same, true)
        expect(rows.every(({ isEqual }) => isEqual)).toBe(true)
        expect(countRows(rows)).toEqual({ added: 0, removed: 0 })
      }),
      { seed },
    )
  })

  test('mark the words that differ', () => {
    const [row] = diffRows('three times', 'five times', true)
    const marked = (one: DiffLine | undefined) =>
      one?.parts.filter(({ isMarked }) => isMarked).map((part) => part.text)
    expect([marked(row?.left), marked(row?.right)]).toEqual([['three'], ['five']])
    const [plain] = diffRows('three times', 'five times', false)
    expect([marked(plain?.left), marked(plain?.right)]).toEqual([[], []])
  })

  test('fold long runs of equal ones, and each unfolds by itself', () => {
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n}`)
    const rows = diffRows(lines.join('\n'), lines.with(20, 'changed').join('\n'), true)
    const folded = foldRows(rows, new Set())
    const folds = folded.filter((row) => 'fold' in row)
    expect(folds).toEqual([
      { fold: 0, lines: 17 },
      { fold: 24, lines: 16 },
    ])
    expect(folded).toHaveLength(7 + 2)
    expect(foldRows(rows, new Set([0]))).toHaveLength(17 + 7 + 1)
    expect(foldRows(rows, new Set([0, 24]))).toEqual(rows)
  })

  test('inline have removed lines before added ones', () => {
    const rows = inlineRows(diffRows('a\nb\nc', 'x\ny\nc', false))
    const shown = rows.map((row) => ('fold' in row ? '' : [row.left?.number, row.right?.number]))
    expect(shown).toEqual([
      [1, undefined],
      [2, undefined],
      [undefined, 1],
      [undefined, 2],
      [3, 3],
    ])
  })
})
