// Merges of two clones with memories that cannot coexist: at one path, or as a file and a directory
// of one name. One case for each rule, with either side as ours.

import { describe, expect, test } from 'vitest'
import { pathBytesMax } from '../../../../src/limits.ts'
import {
  base,
  type Case,
  digits,
  idOfA,
  idOfB,
  type Result,
  resultOf,
  swapped,
} from './merge-cases.ts'

describe('memories at one path', () => {
  test.each<[string, Case, Result]>([
    [
      'are joined into the older memory, lines by the age of the versions',
      {
        changed: {
          a: { at: 3, path: '/x', content: 'head\na\n' },
          b: { at: 2, path: '/x', content: 'head\nb\n' },
        },
      },
      {
        rows: { a: ['/x', 'head\nb\na\n'], b: ['/x', undefined] },
        outcomes: [['a', 'joined', '/x']],
      },
    ],
    [
      'are joined in the order of their version ids, if one commit made both',
      {
        changed: {
          a: { at: 2, path: '/x', content: 'a\n' },
          b: { at: 2, path: '/x', content: 'b\n' },
        },
      },
      {
        rows: { a: ['/x', 'b\na\n'], b: ['/x', undefined] },
        outcomes: [['a', 'joined', '/x']],
      },
    ],
    [
      'with equal texts leave the older as it is',
      {
        changed: {
          a: { at: 2, path: '/x', content: 'same\n' },
          b: { at: 3, path: '/x', content: 'same\n' },
        },
      },
      { rows: { b: ['/x', undefined] }, outcomes: [['a', 'joined', '/x']] },
    ],
    [
      'of JSON become the newer text',
      {
        changed: {
          a: { at: 3, path: '/x', content: '{"a": 1}' },
          b: { at: 2, path: '/x', content: '{"b": 1}' },
        },
      },
      {
        rows: { b: ['/x', undefined] },
        outcomes: [
          ['a', 'joined', '/x'],
          ['a', 'newer_kept', '/x'],
        ],
      },
    ],
    [
      'of which one was deleted and created again, and edited elsewhere, are joined',
      {
        open: {
          a: {
            base,
            ours: { at: 3, path: '/x' },
            theirs: { at: 2, path: '/x', content: 'edit\n' },
          },
        },
        changed: { b: { at: 4, path: '/x', content: 'anew\n' } },
      },
      {
        rows: { a: ['/x', 'edit\nanew\n'], b: ['/x', undefined] },
        outcomes: [
          ['a', 'edit_kept', '/x'],
          ['a', 'joined', '/x'],
        ],
      },
    ],
    [
      'of which the younger is open keep both bases of its deletion',
      {
        open: {
          b: {
            base: { at: 1, path: '/b', content: 'b\n' },
            ours: { at: 3, path: '/x', content: 'b\n' },
            theirs: { at: 4, path: '/b', content: 'b\nmore\n' },
          },
        },
        changed: { a: { at: 2, path: '/x', content: 'a\n' } },
      },
      {
        rows: { a: ['/x', 'a\nb\nmore\n'], b: ['/x', undefined] },
        outcomes: [['a', 'joined', '/x']],
      },
    ],
  ])('%s', (_, given, result) => {
    expect(resultOf(given)).toEqual(result)
    expect(resultOf(swapped(given))).toEqual(result)
  })
})

describe('a file and a directory of one name', () => {
  test.each<[string, Case, Result]>([
    [
      'the younger file moves aside',
      {
        changed: {
          a: { at: 3, path: '/x.md/y', content: 'a' },
          b: { at: 2, path: '/x.md', content: 'b' },
        },
      },
      {
        rows: { b: [`/x.aside-${digits.b}.md`, 'b'] },
        outcomes: [['b', 'moved_aside', `/x.aside-${digits.b}.md`]],
      },
    ],
    [
      'the younger files of the directory move aside together',
      {
        changed: {
          a: { at: 3, path: '/d/x.md', content: 'a' },
          b: { at: 2, path: '/d/x.md/y', content: 'b' },
          c: { at: 2, path: '/d/x.md/y2/z', content: 'c' },
        },
      },
      {
        rows: {
          b: [`/d/x.md.files-${digits.a}/y`, 'b'],
          c: [`/d/x.md.files-${digits.a}/y2/z`, 'c'],
        },
        outcomes: [
          ['b', 'moved_aside', `/d/x.md.files-${digits.a}/y`],
          ['c', 'moved_aside', `/d/x.md.files-${digits.a}/y2/z`],
        ],
      },
    ],
    [
      'one older file keeps the directory, and younger ones stay in it',
      {
        changed: {
          a: { at: 3, path: '/x/y', content: 'a' },
          b: { at: 2, path: '/x', content: 'b' },
          c: { at: 3, path: '/x/z', content: 'c' },
        },
      },
      {
        rows: { b: [`/x.aside-${digits.b}`, 'b'] },
        outcomes: [['b', 'moved_aside', `/x.aside-${digits.b}`]],
      },
    ],
    [
      'a name that is taken gives way to the whole id',
      {
        changed: {
          a: { at: 3, path: '/.x/y', content: 'a' },
          b: { at: 2, path: '/.x', content: 'b' },
        },
        unchanged: [`/.x.aside-${digits.b}/deep`],
      },
      {
        rows: { b: [`/.x.aside-${idOfB}`, 'b'] },
        outcomes: [['b', 'moved_aside', `/.x.aside-${idOfB}`]],
      },
    ],
    [
      'two that move aside do not meet there',
      {
        changed: {
          a: { at: 3, path: '/x', content: 'a' },
          b: { at: 2, path: '/x/y', content: 'b' },
          c: { at: 2, path: '/x/y/z', content: 'c' },
        },
      },
      {
        rows: { b: [`/x.files-${digits.a}/y`, 'b'], c: [`/x.files-${idOfA}/y/z`, 'c'] },
        outcomes: [
          ['b', 'moved_aside', `/x.files-${digits.a}/y`],
          ['c', 'moved_aside', `/x.files-${idOfA}/y/z`],
        ],
      },
    ],
    [
      'an open memory that came back into a directory is the older',
      {
        open: {
          a: {
            base: { at: 1, path: '/x/y', content: 'a' },
            ours: { at: 2, path: '/x/y' },
            theirs: { at: 2, path: '/x/y', content: 'edit' },
          },
        },
        changed: { b: { at: 3, path: '/x', content: 'b' } },
      },
      {
        rows: { a: ['/x/y', 'edit'], b: [`/x.aside-${digits.b}`, 'b'] },
        outcomes: [
          ['b', 'moved_aside', `/x.aside-${digits.b}`],
          ['a', 'edit_kept', '/x/y'],
        ],
      },
    ],
  ])('%s', (_, given, result) => {
    expect(resultOf(given)).toEqual(result)
    expect(resultOf(swapped(given))).toEqual(result)
  })

  test('a path that cannot grow moves to the root, to the first name that is free', () => {
    const long = `/${'x'.repeat(pathBytesMax - 3)}`
    const changed = {
      a: { at: 3, path: `${long}/y`, content: 'a' },
      b: { at: 2, path: long, content: 'b' },
    }
    expect(resultOf({ changed }).rows).toEqual({ b: [`/aside-${idOfB}`, 'b'] })
    const unchanged = [`/aside-${idOfB}`, `/aside-${idOfB}-2/deep`]
    expect(resultOf({ changed, unchanged }).rows).toEqual({ b: [`/aside-${idOfB}-3`, 'b'] })
  })
})

describe('memories that only ours changed, where these are too many for one commit,', () => {
  test.each<[string, Case, Result]>([
    [
      'stay where they are, and an older one at their path moves aside',
      {
        changed: {
          a: { at: 2, path: '/x', content: 'a\n' },
          b: { at: 3, path: '/x', content: 'b\n' },
        },
        fixed: 'b',
      },
      {
        rows: { a: [`/x.aside-${digits.a}`, 'a\n'] },
        outcomes: [['a', 'moved_aside', `/x.aside-${digits.a}`]],
      },
    ],
    [
      'stay as they are, and an older one with no other lines ends',
      {
        changed: {
          a: { at: 2, path: '/x', content: 'same\n' },
          b: { at: 3, path: '/x', content: 'same\n' },
        },
        fixed: 'b',
      },
      { rows: { a: ['/x', undefined] }, outcomes: [['b', 'joined', '/x']] },
    ],
    [
      'stay in their directory, and an older file moves aside',
      {
        changed: {
          a: { at: 2, path: '/x', content: 'a\n' },
          b: { at: 3, path: '/x/b', content: 'b\n' },
          c: { at: 3, path: '/x/c', content: 'c\n' },
        },
        fixed: 'bc',
      },
      {
        rows: { a: [`/x.aside-${digits.a}`, 'a\n'] },
        outcomes: [['a', 'moved_aside', `/x.aside-${digits.a}`]],
      },
    ],
    [
      'stay, and an open memory that is renamed to their path moves aside',
      {
        open: {
          a: {
            base,
            ours: { at: 3, path: '/x', content: `${base.content}ours\n` },
            theirs: { at: 4, path: '/y', content: base.content },
          },
        },
        changed: { b: { at: 3, path: '/y', content: 'b\n' } },
        fixed: 'b',
      },
      {
        rows: { a: [`/y.aside-${digits.a}`, `${base.content}ours\n`] },
        outcomes: [
          ['a', 'merged', `/y.aside-${digits.a}`],
          ['a', 'moved_aside', `/y.aside-${digits.a}`],
        ],
      },
    ],
  ])('%s', (_, given, result) => {
    expect(resultOf(given)).toEqual(result)
  })
})
