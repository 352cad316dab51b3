import { describe, expect, test } from 'vitest'
import { judge, quickTable } from '../../../scripts/bench/quick-table.ts'
import { seededChoice } from '../../../scripts/bench/workload.ts'

const rounds = 10
/** Milliseconds around a middle, with noise of a fifth in both directions. */
function samples(seed: string, middle: number): readonly number[] {
  const choose = seededChoice(seed)
  return Array.from({ length: rounds }, () => middle * (0.8 + choose(400) / 1000))
}

describe('two builds by turns', () => {
  test('are the same if noise alone makes the difference', () => {
    const verdicts = Array.from({ length: 100 }, (_, index) =>
      judge({ name: 'a', old: samples(`old ${index}`, 1), new: samples(`new ${index}`, 1) }),
    )
    expect(verdicts.filter(({ verdict }) => verdict !== '').length).toBeLessThan(5)
  })

  test('differ if one is slower in nearly every round, whatever the others say', () => {
    const pairs = { name: 'a', old: samples('o', 1), new: samples('n', 1.8) }
    expect(judge(pairs).verdict).toBe('worse')
    expect(judge({ ...pairs, old: pairs.new, new: pairs.old }).verdict).toBe('better')
    // One round during another program's work.
    expect(judge({ ...pairs, old: [9, ...pairs.old.slice(1)] }).verdict).toBe('worse')
    const slightly = pairs.old.map((value) => 1.02 * value)
    expect(judge({ ...pairs, new: slightly }).verdict).toBe('')
  })

  test('are shown by their medians', () => {
    const [, , row] = quickTable([{ name: 'a', old: [1, 2, 3], new: [2, 4, 6] }]).split('\n')
    expect(row).toMatch(/^\| a +\| 2 ms \| 4 ms \| 2× +\| 2× – 2× +\| worse \|$/)
  })
})
