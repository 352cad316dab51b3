// The edits of the memory tool as functions of a text, compared with slow definitions.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  countLines,
  findOccurrences,
  insertAfterLine,
  linesAt,
  replaceAt,
  splitLines,
} from '../../../src/text/text-edit.ts'
import { full, seed } from '../../support/seed.ts'

const runs = { seed, numRuns: full ? 100_000 : 500 }
/** Few letters, so that texts have repetitions; with surrogate pairs and newlines. */
const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r', '\u{1f600}'), maxLength: 12 })

describe('lines', () => {
  test.each([
    ['', 0, ['']],
    ['\n', 1, ['']],
    ['a', 1, ['a']],
    ['a\n', 1, ['a']],
    ['a\nb', 2, ['a', 'b']],
    ['a\n\n', 2, ['a', '']],
    ['\n\n', 2, ['', '']],
    ['a\rb\u2028c', 1, ['a\rb\u2028c']],
  ])('%j has %i and shows %j', (content, count, lines) => {
    expect(countLines(content)).toBe(count)
    expect(splitLines(content)).toEqual(lines)
  })

  test('as many are shown as are counted, and one for an empty text', () => {
    const property = fc.property(text, (content) => {
      expect(splitLines(content)).toHaveLength(Math.max(1, countLines(content)))
    })
    fc.assert(property, runs)
  })

  test('the line of an offset is the number of newlines before it', () => {
    const property = fc.property(text, (content) => {
      const offsets = Array.from({ length: content.length + 1 }, (_, offset) => offset)
      const lines = offsets.map((offset) => content.slice(0, offset).split('\n').length)
      expect(linesAt(content, offsets)).toEqual(lines)
    })
    fc.assert(property, runs)
  })
})

describe('occurrences', () => {
  test('are all matches that split no surrogate pair', () => {
    const property = fc.property(text, (content) => {
      for (const part of ['a', 'aa', 'ab', '\n', 'a\n', '\u{1f600}', '\ud83d', '\ude00', '\r\n']) {
        const expected = offsetsOf(content).filter(
          (at) =>
            content.startsWith(part, at) &&
            content.slice(0, at).isWellFormed() &&
            content.slice(at + part.length).isWellFormed(),
        )
        expect(findOccurrences(content, part, Number.POSITIVE_INFINITY)).toEqual(expected)
      }
    })
    fc.assert(property, runs)
  })

  test('are at most as many as requested', () => {
    expect(findOccurrences('aaaa', 'a', 2)).toEqual([0, 1])
    expect(findOccurrences('aaaa', 'a', 0)).toEqual([])
  })

  test('that overlap a million times are found in time', { tags: 'slow' }, () => {
    const content = 'a'.repeat(2 ** 20)
    expect(findOccurrences(content, 'a'.repeat(2 ** 19), 1000)).toHaveLength(1000)
  })
})

describe('replaceAt', () => {
  test('replaces literally and names the lines of the new text', () => {
    const property = fc.property(text, text, text, text, (before, old, after, replacement) => {
      const edited = replaceAt(before + old + after, before.length, old.length, replacement)
      expect(edited.text).toBe(before + replacement + after)
      expect(edited.firstLine).toBe(before.split('\n').length)
      expect(edited.lastLine).toBe((before + replacement).split('\n').length)
    })
    fc.assert(property, runs)
  })
})

describe('insertAfterLine', () => {
  test('keeps the lines around it, the ending, and the inserted text', () => {
    const property = fc.property(text, text, fc.nat(), (content, inserted, anyLine) => {
      const line = anyLine % (countLines(content) + 1)
      const result = insertAfterLine(content, line, inserted)
      const lines = content === '' ? [] : splitLines(content)
      const before = lines.slice(0, line).map((each) => `${each}\n`)
      const after = lines.slice(line).map((each) => `\n${each}`)
      const ending = content.endsWith('\n') ? '\n' : ''
      const block = content === '' ? inserted : inserted.replace(/\n$/, '')
      expect(result).toBe(before.join('') + block + after.join('') + ending)
    })
    fc.assert(property, runs)
  })
})

function offsetsOf(content: string): number[] {
  return Array.from({ length: content.length }, (_, offset) => offset)
}
