// Merges of a memory that both clones changed: one case for each rule, with either side as ours.

import { describe, expect, test } from 'vitest'
import { base, type Case, type Result, resultOf, swapped } from './merge-cases.ts'

describe('an open memory', () => {
  test.each<[string, Case, Result]>([
    [
      'gets the edits of both sides',
      {
        open: {
          a: {
            base,
            ours: { at: 2, path: '/x', content: '1\ntwo\nthree\n' },
            theirs: { at: 3, path: '/x', content: 'one\ntwo\n3\n' },
          },
        },
      },
      { rows: { a: ['/x', '1\ntwo\n3\n'] }, outcomes: [['a', 'merged', '/x']] },
    ],
    [
      'gets a new path from one side and a text from the other',
      {
        open: {
          a: {
            base,
            ours: { at: 2, path: '/y', content: base.content },
            theirs: { at: 3, path: '/x', content: 'new\n' },
          },
        },
      },
      { rows: { a: ['/y', 'new\n'] }, outcomes: [['a', 'merged', '/y']] },
    ],
    [
      'gets a new path from the newer side and a text from the older one',
      {
        open: {
          a: {
            base,
            ours: { at: 3, path: '/y', content: base.content },
            theirs: { at: 2, path: '/x', content: 'new\n' },
          },
        },
      },
      { rows: { a: ['/y', 'new\n'] }, outcomes: [['a', 'merged', '/y']] },
    ],
    [
      'keeps the lines of both where edits overlap, the older side first',
      {
        open: {
          a: {
            base,
            ours: { at: 3, path: '/x', content: 'one\nnew\nthree\n' },
            theirs: { at: 2, path: '/x', content: 'one\nold\nthree\n' },
          },
        },
      },
      { rows: { a: ['/x', 'one\nold\nnew\nthree\n'] }, outcomes: [['a', 'both_kept', '/x']] },
    ],
    [
      'gets the newer path where both moved it',
      {
        open: {
          a: {
            base,
            ours: { at: 2, path: '/y', content: 'new\n' },
            theirs: { at: 3, path: '/z', content: base.content },
          },
        },
      },
      {
        rows: { a: ['/z', 'new\n'] },
        outcomes: [
          ['a', 'merged', '/z'],
          ['a', 'newer_path_kept', '/z'],
        ],
      },
    ],
    [
      'needs no decision where both made the same of it, as two merges of the same do',
      {
        open: {
          a: {
            base,
            ours: { at: 2, path: '/y', content: 'new\n' },
            theirs: { at: 3, path: '/y', content: 'new\n' },
          },
        },
      },
      { rows: { a: ['/y', 'new\n'] }, outcomes: [] },
    ],
    [
      'stays if one side edited and the other deleted it',
      {
        open: {
          a: { base, ours: { at: 2, path: '/x', content: 'new\n' }, theirs: { at: 3, path: '/x' } },
        },
      },
      { rows: { a: ['/x', 'new\n'] }, outcomes: [['a', 'edit_kept', '/x']] },
    ],
    [
      'stays if one side renamed and the other deleted it',
      {
        open: {
          a: {
            base,
            ours: { at: 2, path: '/y', content: base.content },
            theirs: { at: 3, path: '/x' },
          },
        },
      },
      { rows: { a: ['/y', base.content] }, outcomes: [['a', 'edit_kept', '/y']] },
    ],
    [
      'gets the edit of one side without a decision if the other only sealed it again',
      {
        open: {
          a: {
            base,
            ours: { at: 3, path: '/x', content: base.content },
            theirs: { at: 2, path: '/y', content: 'new\n' },
          },
        },
      },
      { rows: { a: ['/y', 'new\n'] }, outcomes: [] },
    ],
    [
      'needs no decision if both sides only sealed it again',
      {
        open: {
          a: {
            base,
            ours: { at: 3, path: '/x', content: base.content },
            theirs: { at: 2, path: '/x', content: base.content },
          },
        },
      },
      { rows: { a: ['/x', base.content] }, outcomes: [] },
    ],
    [
      'is deleted if one side deleted it and the other only sealed it again',
      {
        open: {
          a: {
            base,
            ours: { at: 3, path: '/x', content: base.content },
            theirs: { at: 2, path: '/x' },
          },
        },
      },
      { rows: { a: ['/x', undefined] }, outcomes: [] },
    ],
    [
      'stays if one side deleted it and it is unknown whether the other only sealed it again',
      {
        open: {
          a: {
            base: { at: 1 },
            ours: { at: 3, path: '/x', content: base.content },
            theirs: { at: 2, path: '/x' },
          },
        },
      },
      { rows: { a: ['/x', base.content] }, outcomes: [['a', 'edit_kept', '/x']] },
    ],
    [
      'stays deleted if both deleted it, at the newer path',
      { open: { a: { base, ours: { at: 2, path: '/x' }, theirs: { at: 3, path: '/y' } } } },
      { rows: { a: ['/y', undefined] }, outcomes: [] },
    ],
    [
      'is what the other side made of it where one side is redacted',
      { open: { a: { base, ours: { at: 3 }, theirs: { at: 2, path: '/x', content: 'new\n' } } } },
      { rows: { a: ['/x', 'new\n'] }, outcomes: [] },
    ],
    [
      'is deleted where one side deleted it and the other is redacted',
      { open: { a: { base, ours: { at: 3 }, theirs: { at: 2, path: '/y' } } } },
      { rows: { a: ['/y', undefined] }, outcomes: [] },
    ],
    [
      'is deleted where both sides are redacted',
      { open: { a: { base, ours: { at: 3 }, theirs: { at: 2 } } } },
      { rows: { a: ['/x', undefined] }, outcomes: [] },
    ],
    [
      'is deleted at some path if nothing at all is left of it',
      { open: { a: { ours: { at: 3 }, theirs: { at: 2 } } } },
      { rows: { a: ['/deleted', undefined] }, outcomes: [] },
    ],
    [
      'is merged from nothing where the base is redacted',
      {
        open: {
          a: {
            base: { at: 1 },
            ours: { at: 2, path: '/x', content: 'head\nold\n' },
            theirs: { at: 3, path: '/x', content: 'head\nnew\n' },
          },
        },
      },
      { rows: { a: ['/x', 'head\nold\nnew\n'] }, outcomes: [['a', 'both_kept', '/x']] },
    ],
    [
      'gets the newer path where the base is unknown',
      {
        open: {
          a: {
            ours: { at: 2, path: '/x', content: 'same\n' },
            theirs: { at: 3, path: '/y', content: 'same\n' },
          },
        },
      },
      { rows: { a: ['/y', 'same\n'] }, outcomes: [['a', 'newer_path_kept', '/y']] },
    ],
    [
      'gets the newer text if both together are too large',
      {
        open: {
          a: {
            base,
            ours: { at: 2, path: '/x', content: 'older\n' },
            theirs: { at: 3, path: '/x', content: 'newer\n' },
          },
        },
        limit: 11,
      },
      { rows: { a: ['/x', 'newer\n'] }, outcomes: [['a', 'newer_kept', '/x']] },
    ],
  ])('%s', (_, given, result) => {
    expect(resultOf(given)).toEqual(result)
    expect(resultOf(swapped(given))).toEqual(result)
  })
})
