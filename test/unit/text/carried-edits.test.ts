// Edits that are carried over to an earlier text: all that one author wrote, and nothing that
// another one had written before.

import { array, assert, nat, property, tuple } from 'fast-check'
import { expect, test } from 'vitest'
import { carryEdits } from '../../../src/text/carried-edits.ts'
import { linesOf } from '../../../src/text/text-merge.ts'
import { full, seed } from '../../support/seed.ts'

const kept = 'a\nb\nc\n'

test.each<[name: string, base: string, edited: string, result: string | undefined]>([
  ['an appended line', 'a\nb\nc\nevil\n', 'a\nb\nc\nevil\nmine\n', 'a\nb\nc\nmine\n'],
  ['a line between', 'a\nevil\nb\nc\n', 'a\nevil\nmine\nb\nc\n', 'a\nmine\nb\nc\n'],
  ['a line at the beginning', 'evil\na\nb\nc\n', 'mine\nevil\na\nb\nc\n', 'mine\na\nb\nc\n'],
  ['an edit of a line', 'a\nb\nevil\nc\n', 'a\nB\nevil\nc\n', 'a\nB\nc\n'],
  ['a removed line', 'a\nb\nc\nevil\n', 'a\nc\nevil\n', 'a\nc\n'],
  ['the removal of the other lines', 'a\nevil\nb\nc\n', 'a\nb\nc\n', kept],
  ['nothing', 'a\nevil\nb\nc\n', 'a\nevil\nb\nc\n', kept],
  ['a line after one that was taken away', 'a\nb\n', 'a\nb\nmine\n', 'a\nb\nc\nmine\n'],
  ['no final line feed', 'a\nb\nc\nevil\n', 'a\nb\nc\nevil\nmine', 'a\nb\nc\nmine'],
  ['a final line feed', 'a\nb\nc\nevil', 'a\nb\nc\nevil\nmine\n', 'a\nb\nc\nmine\n'],
  ['an edit of another line of theirs', 'a\nevil\nb\nc\n', 'a\nevil, and more\nb\nc\n', undefined],
  ['a line of theirs, moved', 'evil\na\nb\nc\n', 'a\nb\nc\nevil\n', undefined],
  ['a line of theirs, once more', 'evil\na\nb\nc\n', 'evil\na\nb\nevil\nc\n', undefined],
  ['all of another text', 'evil\n', 'mine\n', undefined],
])('%s', (_, base, edited, result) => {
  expect(carryEdits(base, edited, kept)).toBe(result)
})

const lineOf = (mark: string) => nat(3).map((n) => `${mark}${n}\n`)
const inserts = (mark: string) => array(tuple(nat(9), lineOf(mark)), { maxLength: 4 })
const drops = array(nat(9), { maxLength: 2 })

/** Lines without some, and with others between them. */
function changed(
  lines: readonly string[],
  [removed, added]: readonly [readonly number[], readonly (readonly [number, string])[]],
): readonly string[] {
  const result = lines.filter((_, index) => !removed.includes(index))
  for (const [at, line] of added) result.splice(Math.min(at, result.length), 0, line)
  return result
}

test('all lines of the edit arrive, and none that was not kept', () => {
  let whole = 0
  const carried = property(
    array(lineOf('kept'), { maxLength: 8 }),
    tuple(drops, inserts('evil')),
    tuple(drops, inserts('mine')),
    (known, theirs, ours) => {
      const base = changed(known, theirs)
      const edited = changed(base, ours)
      const result = carryEdits(base.join(''), edited.join(''), known.join(''))
      if (result === undefined) return
      whole += 1
      const lines = linesOf(result)
      const of = (all: readonly string[], mark: string) => all.filter((one) => one.startsWith(mark))
      expect(of(lines, 'evil')).toEqual([])
      expect(of(lines, 'mine')).toEqual(of(edited, 'mine'))
    },
  )
  assert(carried, { seed, numRuns: full ? 5000 : 300 })
  expect(whole).toBeGreaterThan(0)
})
