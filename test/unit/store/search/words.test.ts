// The words of a text: what stands beside a word changes nothing about it, and no text is passed
// over that has a word in question.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { mayHaveWord, wordsOf } from '../../../../src/store/search/words.ts'
import { seed } from '../../../support/seed.ts'

const long = 'x'.repeat(70)
const parts =
  `deadlock Dead LOCK42 0 naïve NAI\u0308VE Straße ΟΔΟΣ ёлка ﬁn ½ don’t a—b — 東京都 かが か\u3099 ` +
  `ไทย 한국 한 ǅ İı z\u0338 \u0301 so\u00adft \u200d © 😀 ٣ ${long} É${long}`
const part = fc.constantFrom(...parts.split(' '))
const between = fc.constantFrom(' ', '\n', '-', '/', '.', '_', '', ', ')

test('a word is the same beside any other', () => {
  const texts = fc.array(part, { maxLength: 6 })
  fc.assert(
    fc.property(texts, (some) => {
      let at = 0
      const expected = some.flatMap((one) => {
        const start = at
        at += one.length + 1
        return wordsOf(one).map((word) => ({ ...word, at: start + word.at }))
      })
      expect(wordsOf(some.join(' '))).toEqual(expected)
    }),
    { seed, numRuns: 500 },
  )
})

test('words of ASCII are the runs of letters and digits, up to 64', () => {
  const terms = (text: string): readonly string[] => wordsOf(text).map(({ term }) => term)
  expect(terms(`Foo_bar-9 (Z) — it’s ${long}`)).toEqual([
    'foo',
    'bar',
    '9',
    'z',
    'it',
    's',
    long.slice(0, 64),
  ])
})

test('a text that is passed over has no word that begins with the term', () => {
  const texts = fc.array(fc.tuple(part, between), { maxLength: 6 })
  fc.assert(
    fc.property(texts, part, (some, query) => {
      const text = some.flat().join('')
      for (const { term } of [...wordsOf(text), ...wordsOf(query)]) {
        const isThere = wordsOf(text).some((word) => word.term.startsWith(term))
        if (isThere) expect(mayHaveWord(text, ['no', term]), term).toBe(true)
      }
    }),
    { seed, numRuns: 500 },
  )
  expect(mayHaveWord('A dead lock', ['deadlock'])).toBe(false)
})
