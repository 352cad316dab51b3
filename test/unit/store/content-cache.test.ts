// The trees that the cache of contents keeps: a merge reads versions of two commits by turns, each
// of which may have megabytes.

import { expect, test, vi } from 'vitest'
import { ContentCache } from '../../../src/store/history/contents.ts'

type Find = (commit: string) => string | undefined

test('reads commits once each when they are read by turns, until forgotten', () => {
  const cache = new ContentCache()
  const find = vi.fn<Find>((commit) => (commit === 'empty' ? undefined : `tree of ${commit}`))
  for (let turn = 0; turn < 5; turn += 1) {
    for (const commit of ['ours', 'theirs', 'base', 'empty']) {
      expect(cache.memoriesOf(commit, find)).toBe(
        commit === 'empty' ? undefined : `tree of ${commit}`,
      )
    }
  }
  expect(find).toHaveBeenCalledTimes(4)
  cache.clear()
  cache.memoriesOf('ours', find)
  expect(find).toHaveBeenCalledTimes(5)
})

test('keeps the most recently used of many commits', () => {
  const cache = new ContentCache()
  const find = vi.fn<Find>((commit) => commit)
  for (let n = 0; n < 100; n += 1) {
    cache.memoriesOf('often', find)
    cache.memoriesOf(`${n}`, find)
  }
  expect(find).toHaveBeenCalledTimes(101)
  cache.memoriesOf('0', find)
  expect(find).toHaveBeenCalledTimes(102)
})
