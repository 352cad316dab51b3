// Up to which commit trees contain an erased version: in a linear history and with branches.

import { expect, test } from 'vitest'
import { erasedSpans, type Graph } from '../../../src/store/redaction/erased-spans.ts'

/** Commits by the positions of their parents; the version is replaced at one of them. */
function graphOf(parents: readonly (readonly number[])[], replacedAt: number | undefined): Graph {
  const commits = parents.map((_, position) => ({ position }))
  const base = { base: 'version', secondBase: '' }
  return {
    commits,
    parentsOf: ({ position }) => (parents[position] ?? []).map((at) => ({ position: at })),
    ofMemory: () =>
      replacedAt === undefined ? [] : [{ ...base, commit: { position: replacedAt } }],
  }
}

const line = [[], [0], [1], [2]]
// 2 and 3 both follow 1, and 4 merges them.
const branch = [[], [0], [1], [1], [2, 3], [4]]
// The same with a third branch, which 6 merges.
const branches = [[], [0], [1], [1], [1], [2, 3], [4, 5], [6]]

test.each<[name: string, parents: typeof line, replacedAt: number | undefined, end: number]>([
  ['where it is replaced, in a line', line, 2, 2],
  ['where it is replaced, before there are branches', branch, 1, 1],
  ['past the newest commit, if nothing replaces it', line, undefined, Infinity],
  ['where the branch is merged that does not know of the replacement', branch, 2, 4],
  ['the same for a replacement in the later branch', branch, 3, 4],
  ['where it is replaced, once the branches are merged', branch, 4, 4],
  ['where the last of several branches is merged', branches, 2, 6],
  ['the same for a replacement between two merges', branches, 5, 6],
])('trees have an erased version until %s', (_, parents, replacedAt, end) => {
  const erased = { versionId: 'version', memoryId: 'm', position: 1, operation: 'created' } as const
  expect(erasedSpans(graphOf(parents, replacedAt), [], 1)(erased)).toBe(end)
})

test('the next commit of a linear history may replace it', () => {
  const tail = [{ oid: 'a'.repeat(40), bases: new Set(['other']) }]
  const next = { oid: 'b'.repeat(40), bases: new Set(['version']) }
  const erased = { versionId: 'version', memoryId: 'm', position: 1, operation: 'created' } as const
  expect(erasedSpans(graphOf(line, undefined), [...tail, next], 1)(erased)).toBe(line.length + 1)
})
