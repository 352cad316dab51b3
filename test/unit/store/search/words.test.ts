// The words of a text: the words around it do not change a word, and a scan for some words finds
// all of these.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { termsBeginning, wordsOf } from '../../../../src/store/search/words.ts'
import { seed } from '../../../support/seed.ts'

const long = 'x'.repeat(70)
const parts =
  `deadlock Dead LOCK42 0 naïve NAI\u0308VE Straße ΟΔΟΣ ёлка ﬁn ½ don’t a—b — 東京都 かが か\u3099 ` +
  `ไทย 한국 한 Łódź ĐÀ Þórr ǅ İı z\u0338 \u0301 so\u00adft \u200d © 😀 ٣ ${long} É${long}`
const part = fc.constantFrom(...parts.split(' '))
const between = fc.constantFrom(' ', '\n', '-', '/', '.', '_', '', ', ')

const termsOf = (text: string): readonly string[] => wordsOf(text).map(({ term }) => term)

test('a word is the same next to any other', () => {
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
  expect(termsOf(`Foo_bar-9 (Z) — it’s ${long}`)).toEqual([
    'foo',
    'bar',
    '9',
    'z',
    'it',
    's',
    long.slice(0, 64),
  ])
})

test('a term consists of letters and digits, and ends at the end of a word', () => {
  for (let code = 0x80; code < 0x530; code += 1) {
    const text = String.fromCodePoint(code)
    const [first = ''] = termsOf(`x${text}`)
    expect(first, text).toMatch(/^x[\p{L}\p{N}\p{M}]*$/u)
    if (!/[\p{L}\p{N}\p{M}\u00ad]/u.test(text)) expect(first, text).toBe('x')
  }
})

test('a search for beginnings finds the same words as a full scan', () => {
  const texts = fc.array(fc.tuple(part, between), { maxLength: 6 })
  const starts = fc.array(fc.tuple(part, fc.nat(3)), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(texts, starts, (some, wanted) => {
      const text = some.flat().join('')
      const all = termsOf(text)
      const cuts = wanted.flatMap(([query, length]) =>
        termsOf(query).map((term) => (length === 0 ? term : term.slice(0, length))),
      )
      const expected = all.filter((term) => cuts.some((start) => term.startsWith(start)))
      expect(termsBeginning(text, cuts).toSorted()).toEqual(expected.toSorted())
    }),
    { seed, numRuns: 1000 },
  )
  const both = termsBeginning('Dead undead deadlock', ['dead', 'deadlock'])
  expect(both).toEqual(['dead', 'deadlock'])
})

test.each<[text: string, query: string]>([
  ['Café', 'cafe'],
  ['Łódź ŁÓDŹ', 'lodz'],
  ['Søren SØREN', 'soren'],
  ['Đà ĐÀ', 'da'],
  ['œuvre ŒUVRE', 'oeuvre'],
  ['Ærø ÆRØ', 'aero'],
  ['Ǣ ǽ', 'ae'],
  ['Ħamrun', 'hamrun'],
  ['Ŧ ŧ', 't'],
  ['Þórr', 'thorr'],
  ['Straße', 'strasse'],
  ['ISTANBUL İstanbul ıstanbul', 'istanbul'],
  ['Ðuro Đuro', 'duro'],
  ['Ŋ', 'n'],
])('each word of %s is that of %s', (text, query) => {
  const wanted = termsOf(query)
  for (const word of text.split(' ')) expect(termsOf(word), word).toEqual(wanted)
  for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD']) {
    expect(new Set(termsOf(text.normalize(form))), form).toEqual(new Set(wanted))
  }
})
