// The grammar of memory paths.

import { describe, expect, test } from 'vitest'
import { checkNewPath, checkPath, parentPaths } from '../../../src/format/path.ts'

test.each([
  ['combining characters that compose', '/cafe\u0301'],
  ['a compatibility singleton', '/\u212b'],
  ['a character that is not assigned', '/\u0378'],
])('a path of %s is read, and not given', (_, path) => {
  expect(checkPath(path)).toBe(path)
  const refused = expect.objectContaining({ code: 'invalid_path', details: { path } })
  expect(() => checkNewPath(path)).toThrow(refused)
})

test.each([
  ['a selector', '/\u2764\ufe0f.md', /^A path must have no .* characters: remove U\+FE0F$/],
  ['three', '/\u{1f468}\u200d\u2764\ufe0f\u200d\ufe0f\t', /: remove U\+200D, U\+FE0F, U\+0009$/],
  ['many', '/\ufe00\ufe01\ufe02\ufe03', /: remove U\+FE00, U\+FE01, U\+FE02$/],
  ['half a pair', '/\ufe0f\ud800', /^A path must be well-formed Unicode$/],
])('a refusal says which characters to remove: %s', (_, path, message) => {
  expect(() => checkPath(path)).toThrow(message)
})

describe('refused with invalid_path:', () => {
  test.each([
    ['no string', 5],
    ['nothing', undefined],
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
