// The three-way merge of texts: what merges and what conflicts, byte for byte; equal to git's where
// the alignment of lines is unambiguous; and bounded in time.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mergeEdits } from '../../../src/store/merge/content-merge.ts'
import { mergeParts, mergeText } from '../../../src/text/text-merge.ts'
import { full, seed } from '../../support/seed.ts'
import { cleanEnvironment, temporaryDirectory } from '../../support/temporary.ts'

/** Lines from letters: `ab` are two lines. Upper-case `N` at the end: no final newline. */
function text(letters: string): string {
  const lines = [...letters.replace(/N$/, '')].map((letter) => `${letter}\n`).join('')
  return letters.endsWith('N') ? lines.slice(0, -1) : lines
}

describe('merges', () => {
  test.each<[string, base: string, ours: string, theirs: string, merged: string]>([
    ['nothing with nothing', '', '', '', ''],
    ['only our edit', 'abc', 'axc', 'abc', 'axc'],
    ['only their edit', 'abc', 'abc', 'axc', 'axc'],
    ['the same edit', 'abc', 'axc', 'axc', 'axc'],
    ['the same edit among others', 'abcdefg', 'xbcdyfg', 'abcdyfz', 'xbcdyfz'],
    ['the same edit among repeated lines', 'aapaaqaa', 'aaxaaqaa', 'aaxaayaa', 'aaxaayaa'],
    ['edits with a line between', 'abc', 'xbc', 'aby', 'xby'],
    ['insertions at both ends', 'abc', 'xabc', 'abcy', 'xabcy'],
    ['a deletion and an edit apart', 'abcd', 'bcd', 'abcx', 'bcx'],
    ['an insertion into an unchanged part', 'abcd', 'abcx', 'aybcd', 'aybcx'],
    ['the same lines deleted', 'abcd', 'ad', 'ad', 'ad'],
    ['a lost final newline', 'abcd', 'xbcd', 'abcdN', 'xbcdN'],
    ['a gained final newline', 'abcdN', 'xbcdN', 'abcd', 'xbcd'],
    ['repeated lines', 'aabaa', 'xaabaa', 'aabaay', 'xaabaay'],
    ['a block that moved', 'abcdefgh', 'efabcdgh', 'abcdefgx', 'efabcdgx'],
  ])('%s', (_, base, ours, theirs, merged) => {
    const result = { clean: true, text: text(merged) }
    expect(mergeText(text(base), text(ours), text(theirs))).toEqual(result)
    expect(mergeText(text(base), text(theirs), text(ours))).toEqual(result)
  })

  test('keeps line endings of every kind, line by line', () => {
    const base = 'a\r\nb\nc\rstill c\r\nd\n\ufeffe'
    expect(mergeText(base, `x\r\n${base}`, base.replace('d\n', 'd\r\n'))).toEqual({
      clean: true,
      text: 'x\r\na\r\nb\nc\rstill c\r\nd\r\n\ufeffe',
    })
  })

  test('treats lines as plain text, even names of properties and numbers', () => {
    const base = '__proto__\nconstructor\n1\n0\ntoString\n'
    const merged = mergeText(base, `${base}valueOf\n`, base.replace('1\n', '2\n'))
    const expected = '__proto__\nconstructor\n2\n0\ntoString\nvalueOf\n'
    expect(merged).toEqual({ clean: true, text: expected })
  })
})

describe('conflicts', () => {
  test.each<[string, base: string, ours: string, theirs: string]>([
    ['different edits of a line', 'abc', 'axc', 'ayc'],
    ['edits of adjacent lines', 'abcd', 'axcd', 'abyd'],
    ['an edit and a deletion', 'abc', 'ac', 'axc'],
    ['different insertions at one place', 'ab', 'axb', 'ayb'],
    ['an insertion next to an edit', 'abc', 'axbc', 'ayc'],
    ['everything new on both sides', 'ab', 'cd', 'ef'],
    ['different texts from nothing', '', 'a', 'b'],
    ['a final newline and the last line', 'abc', 'abcN', 'abx'],
    ['a conflict among clean edits', 'abcdefg', 'xbcydfg', 'abczdfx'],
  ])('%s', (_, base, ours, theirs) => {
    expect(mergeText(text(base), text(ours), text(theirs))).toEqual({ clean: false })
    expect(mergeText(text(base), text(theirs), text(ours))).toEqual({ clean: false })
  })
})

test('the parts of a merge are its settled texts, and both sides of each conflict', () => {
  const parts = mergeParts(text('abcdefg'), text('axcdefgh'), text('aycdzfg'))
  expect(parts).toEqual([
    { text: text('a') },
    { ours: text('x'), theirs: text('y') },
    { text: text('cdzfgh') },
  ])
  expect(mergeParts(text('abc'), text('xbc'), text('aby'))).toEqual([{ text: text('xby') }])
})

test('an edit of JSON is merged as a whole if the lines of both would not be JSON', () => {
  const base = '[\n1\n\n\n\n]\n'
  const ours = base.replace('1\n', '')
  const theirs = base.replace(']', ',2\n]')
  expect(mergeText(base, ours, theirs).clean).toBe(true)
  expect(mergeEdits(base, ours, theirs)).toEqual([{ ours, theirs }])
})

/** An edit of a line: kept, deleted, replaced, or with new lines before it. */
const editList = fc.array(
  fc.constantFrom('keep', 'keep', 'keep', 'keep', 'drop', 'replace', 'add'),
  {
    maxLength: 14,
  },
)
const side = fc.record({ edits: editList, tail: fc.boolean(), name: fc.constantFrom('x', 'y') })

interface Side {
  readonly edits: readonly string[]
  readonly tail: boolean
  readonly name: string
}

/** All lines of the base differ, and so do new ones, so that there is one way to align them. */
function edited(count: number, { edits, tail, name }: Side): string {
  const lines: string[] = []
  for (let index = 0; index < count; index += 1) {
    const edit = edits[index] ?? 'keep'
    if (edit === 'add') lines.push(`new ${name} ${index}`)
    if (edit === 'replace') lines.push(`edited ${name} ${index}`)
    if (edit === 'keep' || edit === 'add') lines.push(`line ${index}`)
  }
  if (tail) lines.push(`tail ${name}`)
  return lines.map((line) => `${line}\n`).join('')
}

test('the results equal those of git merge-file', { tags: 'slow' }, () => {
  const directory = temporaryDirectory()
  const mergeWithGit = (base: string, ours: string, theirs: string): string | undefined => {
    const names = { ours, base, theirs }
    for (const [name, content] of Object.entries(names)) {
      writeFileSync(`${directory}/${name}`, content)
    }
    const args = ['merge-file', '-p', '-q', 'ours', 'base', 'theirs']
    const run = spawnSync('git', args, {
      cwd: directory,
      env: cleanEnvironment(),
      encoding: 'utf8',
    })
    return run.status === 0 ? run.stdout : undefined
  }
  const property = fc.property(fc.nat(14), side, side, (count, ours, theirs) => {
    const none = { edits: [], tail: false, name: '' }
    const texts = [none, ours, theirs].map((each) => edited(count, each))
    const [base = '', our = '', their = ''] = texts
    const merged = mergeText(base, our, their)
    expect(merged.clean ? merged.text : undefined).toBe(mergeWithGit(base, our, their))
  })
  fc.assert(property, { seed, numRuns: full ? 3000 : 75 })
})

const linesOf = (content: string): readonly string[] => content.match(/[^\n]*\n|[^\n]+/g) ?? []

// Few different lines, so that alignments are ambiguous.
const anyText = fc
  .array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n', 'a\r\n'), { maxLength: 12 })
  .chain((lines) => fc.constantFrom(lines.join(''), `${lines.join('')}a`))

test(
  'a merge has whole lines of the three texts, and conflicts both ways or not at all',
  { tags: 'slow' },
  () => {
    const property = fc.property(anyText, anyText, anyText, (base, ours, theirs) => {
      const merged = mergeText(base, ours, theirs)
      expect(mergeText(base, theirs, ours).clean).toBe(merged.clean)
      if (!merged.clean) return
      const sides = [base, ours, theirs].map(linesOf)
      const known = new Set(sides.flat())
      for (const line of linesOf(merged.text)) expect(known).toContain(line)
      // Only the last line can have no line ending, and then also in one of the texts.
      expect(
        linesOf(merged.text)
          .slice(0, -1)
          .every((line) => line.endsWith('\n')),
      ).toBe(true)
      if (theirs === base) expect(merged.text).toBe(ours)
    })
    fc.assert(property, { seed, numRuns: full ? 100_000 : 1500 })
  },
)

describe('large texts', () => {
  const count = 100_000
  const lines = (write: (index: number) => string): string => {
    return Array.from({ length: count }, (_, index) => `${write(index)}\n`).join('')
  }
  const base = lines((index) => `line ${index}`)

  test('merge when the edits are far apart or many', { tags: 'slow' }, () => {
    const ours = lines((index) => (index % 4 === 0 ? `ours ${index}` : `line ${index}`))
    const theirs = lines((index) => (index % 4 === 2 ? `theirs ${index}` : `line ${index}`))
    const merged = mergeText(base, ours, theirs)
    expect(merged).toEqual({
      clean: true,
      text: lines((index) => {
        const who = ['ours', 'line', 'theirs', 'line'][index % 4] ?? ''
        return `${who} ${index}`
      }),
    })
  })

  test('merge if both sides made the same large edit', () => {
    const [before, after] = ['before\n'.repeat(1600), 'after\n'.repeat(1600)]
    const merged = mergeText(`${before}line\nend\n`, `${after}line\nours\n`, `${after}line\nend\n`)
    expect(merged).toEqual({ clean: true, text: `${after}line\nours\n` })
  })

  test('conflict if more lines must be compared than a second allows', () => {
    const same = 'a\nb\n'
    const [few, many] = [same.repeat(10), same.repeat(750)]
    expect(mergeText(few, `x\n${few.slice(2)}`, `${few}y\n`).clean).toBe(true)
    expect(mergeText(many, `x\n${many.slice(2)}`, `${many}y\n`).clean).toBe(false)
  })

  test.each<[string, base: string, ours: string, theirs: string]>([
    ['nothing in common', base, base.replaceAll('line', 'a'), base.replaceAll('line', 'b')],
    [
      'two kinds of lines without order',
      lines((index) => String((index * index) % 7 < 3)),
      lines((index) => String((index * index) % 11 < 5)),
      lines((index) => String((index * index) % 13 < 6)),
    ],
    [
      'equal lines, fewer and more',
      '\n'.repeat(count),
      `a\n${'\n'.repeat(count / 2)}b\n`,
      '\n'.repeat(count + 9),
    ],
  ])('end in a conflict: %s', { tags: 'slow' }, (_, from, ours, theirs) => {
    expect(mergeText(from, ours, theirs)).toEqual({ clean: false })
  })
})
