// The grammar of memory paths.

import { describe, expect, test } from 'vitest'
import { checkNewPath, checkPath, parentPaths } from '../../../src/format/path.ts'

const segments = (count: number): string => '/a'.repeat(count)

test.each([
  '/a',
  '/a/b.md',
  '/.hidden',
  '/node_modules/x',
  '/a b/c',
  '/...',
  '/caf\u00e9',
  '/\u{1f600}',
  '/.anthropic-memory-store/x',
  '/~/:*?"<>|\\',
  segments(20),
  `/${'x'.repeat(1023)}`,
])('%j is a path', (path) => {
  expect(checkPath(path)).toBe(path)
  expect(checkNewPath(path)).toBe(path)
})

test.each([
  ['combining characters that compose', '/cafe\u0301'],
  ['a compatibility singleton', '/\u212b'],
  ['a character that is not assigned', '/\u0378'],
])('a path of %s is read, and not given', (_, path) => {
  expect(checkPath(path)).toBe(path)
  const refused = expect.objectContaining({ code: 'invalid_path', details: { path } })
  expect(() => checkNewPath(path)).toThrow(refused)
})

describe('refused with invalid_path:', () => {
  test.each([
    ['no string', 5],
    ['nothing', undefined],
    ['empty text', ''],
    ['the root', '/'],
    ['no slash at the start', 'a'],
    ['a slash at the end', '/a/'],
    ['two slashes', '/a//b'],
    ['a dot segment', '/a/./b'],
    ['a dot segment at the end', '/a/.'],
    ['a double dot segment', '/a/../b'],
    ['21 segments', segments(21)],
    ['1,025 bytes', `/${'x'.repeat(1024)}`],
    ['1,025 bytes in fewer characters', `/${'\u00e9'.repeat(512)}`],
    ['NUL', '/a\0b'],
    ['a line end', '/a\nb'],
    ['delete', '/a\u007fb'],
    ['a C1 control', '/a\u0085b'],
    ['a byte-order mark', '/\ufeffa'],
    ['a zero-width joiner', '/a\u200db'],
    ['a change of direction', '/a\u202eb'],
    ['a soft hyphen', '/a\u00adb'],
    ['a line separator', '/a\u2028b'],
    ['a paragraph separator', '/a\u2029b'],
    ['half a surrogate pair', '/a\ud83d'],
    ['the reserved name', '/.anthropic-memory-store'],
  ])('%s', (_, path) => {
    const refused = expect.objectContaining({ code: 'invalid_path' })
    expect(() => checkPath(path)).toThrow(refused)
    expect(() => checkNewPath(path)).toThrow(refused)
  })
})

test.each([
  ['/a', []],
  ['/a/b', ['/a']],
  ['/a/b/c', ['/a', '/a/b']],
])('the directories above %s are %j', (path, parents) => {
  expect(parentPaths(path)).toEqual(parents)
})
