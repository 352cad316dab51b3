// Which commits are in the past of which, in histories that diverge and merge.

import { describe, expect, test } from 'vitest'
import { Ancestry } from '../../../src/store/commits/ancestry.ts'

/** Each commit's parents, by position. */
function made(parents: readonly (readonly number[])[]): Ancestry {
  const ancestry = new Ancestry()
  for (const each of parents) ancestry.append(each)
  return ancestry
}

const line = [[], [0], [1], [2]]
const fork = [[], [0], [1], [1], [2], [3], [4, 5], [6]]
const crisscross = [[], [0], [0], [1, 2], [1, 2], [3, 4], [5]]
const twins = [[], [0], [0], [1], [3, 2]]

test.each([
  { name: 'a line', parents: line, cuts: [0, 1, 2, 3] },
  { name: 'a fork that is merged', parents: fork, cuts: [0, 1, 2, 6, 7] },
  { name: 'a criss-cross', parents: crisscross, cuts: [0, 1, 3, 5, 6] },
  { name: 'a merge with an old branch', parents: twins, cuts: [0, 1, 4] },
])('the cuts of $name are those that have all before them in their past', ({ parents, cuts }) => {
  const ancestry = made(parents)
  const positions = parents.map((_, position) => position)
  expect(positions.filter((position) => ancestry.isCut(position))).toEqual(cuts)
  expect(positions.map((position) => ancestry.parentsOf(position))).toEqual(parents)
})

test.each([
  { parents: line, tips: [2], past: [0, 1, 2] },
  { parents: fork, tips: [4], past: [0, 1, 2, 4] },
  { parents: fork, tips: [4, 3], past: [0, 1, 2, 3, 4] },
  { parents: fork, tips: [6], past: [0, 1, 2, 3, 4, 5, 6] },
  // A cut, but not in the past of the commit after it.
  { parents: fork, tips: [3], past: [0, 1, 3] },
  { parents: crisscross, tips: [4], past: [0, 1, 2, 4] },
  { parents: twins, tips: [2], past: [0, 2] },
  { parents: line, tips: [], past: [] },
])('the past of $tips is $past', ({ parents, tips, past }) => {
  const has = made(parents).pastOf(tips)
  expect([...parents.keys()].filter((position) => has(position))).toEqual(past)
})

describe('the newest commits', () => {
  test.each([
    { length: 0, tips: [] },
    { length: 1, tips: [0] },
    { length: 4, tips: [2, 3] },
    { length: 5, tips: [3, 4] },
    { length: 6, tips: [4, 5] },
    { length: 7, tips: [6] },
  ])('below $length are $tips', ({ length, tips }) => {
    expect(made(fork).tipsBefore(length)).toEqual(tips)
  })

  test.each([
    { of: [0, 1], newest: [1] },
    { of: [2, 3], newest: [2, 3] },
    { of: [2, 5], newest: [2, 5] },
    { of: [1, 2, 4], newest: [4] },
    { of: [1, 2, 6], newest: [6] },
    { of: [], newest: [] },
  ])('of $of are $newest', ({ of, newest }) => {
    expect(made(fork).newest((position) => of.includes(position))).toEqual(newest)
  })
})

test.each(fork.map((_, length) => length))(
  'a prefix of %i commits can be extended like the whole',
  (length) => {
    const ancestry = made(fork).prefix(length)
    expect(ancestry.tipsBefore(length)).toEqual(made(fork).tipsBefore(length))
    const cuts = fork.slice(length).map((parents) => ancestry.append(parents))
    expect(cuts).toEqual(fork.map((_, position) => made(fork).isCut(position)).slice(length))
  },
)
