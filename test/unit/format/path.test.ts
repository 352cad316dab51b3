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
