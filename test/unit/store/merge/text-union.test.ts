// Overlapping edits of one text: lines that one side added are kept, lines that either removed are
// removed, lines that both added appear once; and no text takes long.

import { describe, expect, test } from 'vitest'
import { uniteTexts } from '../../../../src/text/text-union.ts'

/** Lines from letters: `ab` are two lines. Upper-case `N` at the end: no final newline. */
function text(letters: string): string {
  const lines = [...letters.replace(/N$/, '')].map((letter) => `${letter}\n`).join('')
  return letters.endsWith('N') ? lines.slice(0, -1) : lines
}

describe('both sides of an overlap are kept', () => {
  test.each<[string, base: string, older: string, newer: string, united: string]>([
    ['one line edited twice', 'abc', 'axc', 'ayc', 'axyc'],
    ['edits of adjacent lines, each at its place', 'abcd', 'abyd', 'axcd', 'axyd'],
    ['an edited line and lines appended to it', 'ab', 'abn', 'ax', 'axn'],
    ['lines appended by both', 'ab', 'abx', 'aby', 'abxy'],
    ['lines prepended by both', 'ab', 'xab', 'yab', 'xyab'],
    ['an edit beats the deletion of its line', 'abc', 'ac', 'axc', 'axc'],
    ['lines that both deleted are gone', 'abcd', 'axd', 'ayd', 'axyd'],
    ['a rewritten whole', 'abc', 'uvw', 'xyz', 'uvwxyz'],
    ['a rewrite around an insertion', 'abc', 'uvw', 'abnc', 'uvwn'],
    ['all deleted, and an edit', 'abc', '', 'axc', 'x'],
    ['from nothing', '', 'abc', 'xyz', 'abcxyz'],
    ['from nothing, with lines in common', '', 'hab', 'hxbz', 'haxbz'],
    ['the same lines appended with others', 'a', 'apq', 'apr', 'apqr'],
    ['the same lines at different places of an overlap', 'ab', 'xn', 'anb', 'xn'],
    ['lines in another order', '', 'ab', 'ba', 'aba'],
    ['texts that are equal', 'a', 'xy', 'xy', 'xy'],
    ['a clean edit on each side', 'abcde', 'xbcde', 'abcdy', 'xbcdy'],
  ])('%s', (_, base, older, newer, united) => {
    expect(uniteTexts({ base: text(base), older: text(older), newer: text(newer) })).toBe(
      text(united),
    )
  })

  test.each<[string, base: string, older: string, newer: string, united: string]>([
    ['stays away', 'abN', 'axN', 'ayN', 'axyN'],
    ['goes if one side removed it', 'ab', 'abx', 'abyN', 'abxyN'],
    ['comes if one side added it', 'aN', 'ax', 'ayN', 'axy'],
    ['is no edit of the last line', 'aN', 'abN', 'xN', 'xbN'],
    ['is there for one of two new texts', '', 'xN', 'y', 'xy'],
    ['is away if two new texts have none', '', 'xN', 'yN', 'xyN'],
    ['follows the other side where one has emptied the text', 'abN', '', 'axN', 'xN'],
  ])('the final line feed %s', (_, base, older, newer, united) => {
    expect(uniteTexts({ base: text(base), older: text(older), newer: text(newer) })).toBe(
      text(united),
    )
  })
})

test('paragraphs and fences are not mixed because of their blank lines and brackets', () => {
  const base = '# Log\n'
  const older = `${base}\n## Monday\n\n- rain\n\`\`\`\n`
  const newer = `${base}\n## Tuesday\n\n- sun\n\`\`\`\n`
  expect(uniteTexts({ base, older, newer })).toBe(
    `${base}\n## Monday\n\n- rain\n\`\`\`\n\n## Tuesday\n\n- sun\n\`\`\`\n`,
  )
})

test('keeps line endings of every kind', () => {
  const texts = { base: 'a\r\nb\n', older: 'a\r\nx\r\n', newer: 'a\r\ny\rz' }
  expect(uniteTexts(texts)).toBe('a\r\nx\r\ny\rz')
})

test.each([
  ['everything differs', (side: string, index: number) => `${side} ${index}\n`],
  ['few different lines', (side: string, index: number) => `${(index * side.length) % 7}\n`],
  ['no words', () => '\n'],
])('a hundred thousand lines of which %s take seconds at most', { tags: 'slow' }, (_, lineOf) => {
  const large = (side: string): string => {
    return Array.from({ length: 100_000 }, (_line, index) => lineOf(side, index)).join('')
  }
  const before = performance.now()
  const texts = { base: large('b'), older: large('older'), newer: `${large('new')}x` }
  expect(uniteTexts(texts).length).toBeGreaterThan(0)
  expect(performance.now() - before).toBeLessThan(10_000)
})
