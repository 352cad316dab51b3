// The lines of the console's view of a merge.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isEqualLine,
  type MergeLine,
  mergeLines,
} from '../../../src/console/client/views/merges/merge-rows.ts'

function drawn(lines: readonly MergeLine[]): readonly string[] {
  return lines.map(({ result, inputs }) =>
    [...inputs, result].map((line) => line && `${line.number} ${line.text}`).join(' | '),
  )
}

describe('lines of a merge', () => {
  it('are placed next to those of the inputs that they came from', () => {
    expect(drawn(mergeLines('a\nb\nc', ['a\nb', 'a\nc']))).toEqual([
      '1 a | 1 a | 1 a',
      '2 b |  | 2 b',
      ' | 2 c | 3 c',
    ])
  })

  it('keep their place if the result lacks them', () => {
    expect(drawn(mergeLines('a\nz', ['a\nx\ny\nz', 'a\nw\nz']))).toEqual([
      '1 a | 1 a | 1 a',
      '2 x | 2 w | ',
      '3 y |  | ',
      '4 z | 3 z | 2 z',
    ])
  })

  it('are equal only if all texts have them', () => {
    const lines = mergeLines('a\nb', ['a', 'a\nb'])
    expect(lines.map(isEqualLine)).toEqual([true, false])
  })

  it('hold every line of every text once, in its order', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1 })
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 3 }), (result, inputs) => {
        const joined = inputs.map((lines) => lines.join('\n'))
        const lines = mergeLines(result.join('\n'), joined)
        const columns = [
          lines.map((line) => line.result),
          ...inputs.map((_, at) => lines.map((line) => line.inputs[at])),
        ]
        const texts = columns.map((column) => column.filter((line) => line !== undefined))
        expect(texts).toEqual(
          [result, ...inputs].map((all) => all.map((one, at) => ({ number: at + 1, text: one }))),
        )
      }),
    )
  })
})
