// The contents of one memory on two sides: when they become one text, and when the newer one is
// kept.

import { describe, expect, test } from 'vitest'
import { mergeContents, type MergedContent } from '../../../../src/store/merge/content-merge.ts'

type Row = [
  string,
  texts: [base: string, older: string, newer: string],
  how: MergedContent['how'],
  content: string,
]

describe('contents become one', () => {
  test.each<Row>([
    ['equal ones stay', ['a\n', 'b\n', 'b\n'], 'same', 'b\n'],
    ['edits that stand apart', ['a\nb\nc\n', 'x\nb\nc\n', 'a\nb\ny\n'], 'merged', 'x\nb\ny\n'],
    ['only the older side edited', ['a\n', 'x\n', 'a\n'], 'merged', 'x\n'],
    ['overlapping edits', ['a\n', 'x\n', 'y\n'], 'both_kept', 'x\ny\n'],
    ['new texts', ['', 'x', 'y'], 'both_kept', 'x\ny'],
    ['an empty text and an edit', ['a\n', '', 'y\n'], 'both_kept', 'y\n'],
  ])('%s', (_, [base, older, newer], how, content) => {
    expect(mergeContents({ base, older, newer }, 100)).toEqual({ how, content })
  })
})

describe('JSON is still JSON after a merge', () => {
  test.each<Row>([
    ['overlapping values', ['{"a": 1}', '{"a": 2}', '{"a": 3}'], 'newer_kept', '{"a": 3}'],
    ['two new documents', ['', '{"a": 1}\n', '[1]\n'], 'newer_kept', '[1]\n'],
    [
      'edits apart that lack a comma',
      ['[\n\n]', '[\n1\n\n]', '[\n\n2\n]'],
      'newer_kept',
      '[\n\n2\n]',
    ],
    [
      'edits apart that are JSON together',
      [
        '{\n"a": 1,\n"b": 1,\n"c": 1\n}',
        '{\n"a": 2,\n"b": 1,\n"c": 1\n}',
        '{\n"a": 1,\n"b": 1,\n"c": 2\n}',
      ],
      'merged',
      '{\n"a": 2,\n"b": 1,\n"c": 2\n}',
    ],
    [
      'overlapping edits that are JSON together',
      ['[\n1,\n9\n]', '[\n2,\n1,\n9\n]', '[\n3,\n1,\n9\n]'],
      'both_kept',
      '[\n2,\n3,\n1,\n9\n]',
    ],
    [
      'a side that is no JSON binds nobody',
      ['{"a": 1}', '{"a": 2}', 'notes'],
      'both_kept',
      '{"a": 2}\nnotes',
    ],
    [
      'lines of JSON',
      ['{}\n', '{}\n{"a": 1}\n', '{}\n{"b": 1}\n'],
      'both_kept',
      '{}\n{"a": 1}\n{"b": 1}\n',
    ],
    ['a number is a line as any other', ['1\n', '2\n', '3\n'], 'both_kept', '2\n3\n'],
    ['a quoted word too', ['', '"yes"\n', '"no"\n'], 'both_kept', '"yes"\n"no"\n'],
  ])('%s', (_, [base, older, newer], how, content) => {
    expect(mergeContents({ base, older, newer }, 100)).toEqual({ how, content })
  })
})

describe('the limit', () => {
  test.each<[...Row, limit: number]>([
    ['holds for bytes', ['', 'ö\n', 'ä\n'], 'newer_kept', 'ä\n', 5],
    ['can be reached', ['', 'ö\n', 'ä\n'], 'both_kept', 'ö\nä\n', 6],
    ['does not cut a side that is larger', ['a', 'a', 'larger'], 'merged', 'larger', 5],
  ])('%s', (_, [base, older, newer], how, content, limit) => {
    expect(mergeContents({ base, older, newer }, limit)).toEqual({ how, content })
  })
})
