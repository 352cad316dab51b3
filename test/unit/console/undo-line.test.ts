// The text of a version without the lines that a user undoes.

import { describe, expect, test } from 'vitest'
import { withoutLines } from '../../../src/console/client/views/origins/undo-line.ts'

const before = 'one\ntwo\nthree\n'

describe('without lines', () => {
  test('brings back the lines in whose place they were written', () => {
    const after = 'one\nTWO\nthree\nfour\n'
    expect(withoutLines(before, after, ['TWO'])).toBe('one\ntwo\nthree\nfour\n')
    expect(withoutLines(before, after, ['four'])).toBe('one\nTWO\nthree\n')
    expect(withoutLines(before, after, ['TWO', 'four'])).toBe(before)
  })

  test('leaves the other changes of the version', () => {
    expect(withoutLines(before, 'ONE\ntwo\nTHREE\n', ['THREE'])).toBe('ONE\ntwo\nthree\n')
  })

  test('removes lines of a version that created the memory', () => {
    expect(withoutLines('', 'one\ntwo\n', ['one'])).toBe('')
  })

  test('does not take a blank line for another one, unless all are blank', () => {
    const after = 'one\n\ntwo\nthree\nX\n'
    expect(withoutLines(before, after, ['X', ''])).toBe('one\n\ntwo\nthree\n')
    expect(withoutLines(before, 'one\n\ntwo\nthree\n', [''])).toBe(before)
  })

  test('finds nothing that the version did not write', () => {
    expect(withoutLines(before, 'one\nTWO\nthree\n', ['one'])).toBeUndefined()
  })
})
