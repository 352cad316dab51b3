// The characters that readers refuse (FORMAT §1.5, §1.6): exactly those that the document lists.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  findWriteProblem,
  forbiddenNames,
  hasControls,
  hasForbidden,
  hasSpaceAtEnd,
} from '../../../src/format/characters.ts'

const document = readFileSync(new URL('../../../docs/FORMAT.md', import.meta.url), 'utf8')
const format = document.replaceAll(/\s+/g, ' ')

/** The code points that a part of the document lists, as ranges of hexadecimal numbers. */
function listed(begin: string, end: string): Set<number> {
  const from = format.indexOf(begin)
  const text = format.slice(from, format.indexOf(end, from))
  const ranges = text.matchAll(/(?<![\w.])(?:U\+)?([0-9A-F]{4,5})(?:–([0-9A-F]{4,5}))?(?!\w)/g)
  const points = new Set<number>()
  for (const [, first = '', last = first] of ranges) {
    for (let at = Number.parseInt(first, 16); at <= Number.parseInt(last, 16); at += 1) {
      points.add(at)
    }
  }
  return points
}

/** The code points that are judged so, of all. Blocks of them first, since there are a million. */
function judged(judge: (text: string) => boolean): Set<number> {
  const points = new Set<number>()
  for (let block = 0; block <= 0x10ff; block += 1) {
    if (block >= 0xd8 && block <= 0xdf) continue
    const all = Array.from({ length: 256 }, (_, at) => block * 256 + at)
    if (!judge(String.fromCodePoint(...all))) continue
    for (const point of all) if (judge(String.fromCodePoint(point))) points.add(point)
  }
  return points
}

const forbidden = listed('**Forbidden characters**', 'The list is fixed')
const controls = listed('without U+0000', 'description:')
const spaces = listed('none of U+0020', 'at either end')

/** Whether it begins with one, wherever in the text it is. */
const hasSpace = (text: string): boolean => Array.from(text).some(hasSpaceAtEnd)

test.each([
  ['forbidden', forbidden, 4274, hasForbidden],
  ['controls', controls, 65, hasControls],
  ['spaces', spaces, 17, hasSpace],
])('of all code points these are %s: those of the document', { tags: 'slow' }, (_, ...expected) => {
  const [points, count, judge] = expected
  expect(points.size).toBe(count)
  expect([...judged(judge)]).toEqual([...points].toSorted((a, b) => a - b))
})

test('all that Unicode lets a font not draw is forbidden, and the blank of Braille', () => {
  const ignorable = judged((text) => /\p{Default_Ignorable_Code_Point}/u.test(text))
  expect(ignorable.size).toBeGreaterThan(4000)
  expect([...ignorable, 0x2800].filter((point) => !forbidden.has(point))).toEqual([])
})

test('nothing that draws something of its own is forbidden', () => {
  const known = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u
  expect([...forbidden].filter((point) => !known.test(String.fromCodePoint(point)))).toEqual([])
})

test('the names of the forbidden characters of a text are given once each', () => {
  expect(forbiddenNames('a\tb\ufe0f\t\u{e0041}')).toEqual(['U+0009', 'U+FE0F', 'U+E0041'])
  expect(forbiddenNames('\u2764 \ud800')).toEqual([])
})

test('refuses a space at both ends, and accepts one within', () => {
  for (const point of spaces) {
    const one = String.fromCodePoint(point)
    const texts = [`${one}a`, `a${one}`, `a${one}a`]
    expect(texts.map(hasSpaceAtEnd)).toEqual([true, true, false])
  }
})

test('a writer accepts nothing that a reader refuses, in any version of Unicode', () => {
  for (const point of forbidden) {
    expect(findWriteProblem(`a${String.fromCodePoint(point)}a`)).toBeDefined()
  }
})

test.each(['\ud800', 'a\udc00b', '\udc00\ud800'])('%j is not well-formed', (text) => {
  expect(hasForbidden(text)).toBe(true)
})

test.each([
  ['decomposed', 'e\u0301', /form C/],
  ['a compatibility singleton', '\u212b', /form C/],
  ['a character that is not assigned', '\u0378', /unassigned/],
  ['a noncharacter', '\uffff', /unassigned/],
])('%s is read, and not written', (_, text, problem) => {
  expect(hasForbidden(text)).toBe(false)
  expect(findWriteProblem(text)).toMatch(problem)
})

test.each(['', 'e', '\u00e9', 'x\u0301', '🦉', '\ue000'])('%j is written', (text) => {
  expect(findWriteProblem(text)).toBeUndefined()
})
