// Names found by a few of their letters.

import { describe, expect, test } from 'vitest'
import { fuzzyScore } from '../../../src/console/client/parts/fuzzy.ts'

const paths = [
  '/people/anna.md',
  '/projects/billing/decisions.md',
  '/projects/billing/incidents.md',
  '/projects/search/old-billing-notes.md',
]

function best(query: string): string | undefined {
  const scored = paths.flatMap((path) => {
    const score = fuzzyScore(query, path)
    return score === undefined ? [] : [{ path, score }]
  })
  return scored.toSorted((a, b) => b.score - a.score)[0]?.path
}

describe('a fuzzy score', () => {
  test.each([
    ['anna', '/people/anna.md'],
    ['bildec', '/projects/billing/decisions.md'],
    ['BILL INC', '/projects/billing/incidents.md'],
    ['notes', '/projects/search/old-billing-notes.md'],
  ])('prefers for %s the name that fits best', (query, path) => {
    expect(best(query)).toBe(path)
  })

  test('is missing for a name that lacks a letter', () => {
    expect(fuzzyScore('annax', '/people/anna.md')).toBeUndefined()
    expect(fuzzyScore('aann', '/people/anna.md')).toBeUndefined()
  })

  test('takes any name for no letters', () => {
    expect(fuzzyScore('', '/people/anna.md')).toBeDefined()
  })
})
