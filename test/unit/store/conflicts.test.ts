// Conflicts on histories of plain entries: the work that they cost, and erasures during the
// question. Those of real clones are in sync/conflicts.test.ts.

import { expect, test, vi } from 'vitest'
import { findConflicts } from '../../../src/store/history/conflicts.ts'
import type { History } from '../../../src/store/history/history.ts'
import { findVersions } from '../../../src/store/history/versions.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { type MadeRow, makeHistory, versionAt } from '../../support/histories.ts'

/** Two sides change the same memories, and a merge combines them; the last one is joined. */
function mergedHistory(count: number): { history: History; names: readonly string[] } {
  const names = Array.from({ length: count }, (_, n) => `m${n}`)
  const same = names.map((memory) => ({ memory }))
  const apart = names.map((memory) => ({ memory, bases: [versionAt(1, memory)] }))
  const bases = (memory: string) => [versionAt(2, memory), versionAt(3, memory)]
  const merged = names.map((memory) => ({ memory, bases: bases(memory) }))
  const twin = { memory: 'twin', path: '/m0', bases: [versionAt(3, 'twin')] }
  const history = makeHistory([
    {},
    { rows: same },
    { rows: same },
    { rows: [...apart, { memory: 'twin', path: '/m0' }], parents: [1] },
    { rows: [...merged, { ...twin, operation: 'deleted' }], parents: [2, 3] },
  ])
  return { history, names }
}

test('a merge of many rows is read once, not once for each row', () => {
  const count = 600
  const { history } = mergedHistory(count)
  const reads = vi.spyOn(history, 'rowsAt')
  const conflicts = atOnce(findConflicts(history, { limit: Infinity }))
  expect(conflicts).toHaveLength(count)
  expect(conflicts.find(({ path }) => path === '/m0')?.inputs).toHaveLength(3)
  expect(reads.mock.calls.length).toBeLessThan(5)
  expect(findVersions(history, { limit: 1000 }).data).toHaveLength(1000)
  expect(reads.mock.calls.length).toBeLessThan(10)
})

test('an erased path joins nothing any more', () => {
  const { history } = mergedHistory(2)
  const inputsOf = (): number => {
    const found = findVersions(history, { limit: 1000 }).data
    return found.find(({ versionId }) => versionId === merged)?.mergedFrom.length ?? -1
  }
  const merged = findVersions(history, { path: '/m0' }).data.find(
    ({ mergedFrom }) => mergedFrom.length === 3,
  )?.versionId
  expect(inputsOf()).toBe(3)
  history.applyRedaction(new Map(), new Set([versionAt(4, 'twin')]))
  expect(inputsOf()).toBe(2)
})

test.each<[what: string, theirs: Partial<MadeRow>, merged: Partial<MadeRow>, listed: number]>([
  ['takes the only change', { text: 'b' }, { text: 'b' }, 0],
  ['takes the only deletion', { operation: 'deleted' }, { operation: 'deleted' }, 0],
  ['invents a text', { text: 'b' }, { text: 'c' }, 1],
  ['drops the only change', { text: 'b' }, { text: 'a' }, 1],
  ['deletes what one side changed', { text: 'b' }, { operation: 'deleted' }, 1],
])('of a memory that one side left as it was: a merge that %s', (_, theirs, merged, listed) => {
  const history = makeHistory([
    {},
    { rows: [{ memory: 'm', text: 'a' }] },
    { rows: [{ memory: 'm', text: 'a' }] },
    { rows: [{ memory: 'm', bases: [versionAt(1, 'm')], ...theirs }], parents: [1] },
    {
      rows: [{ memory: 'm', bases: [versionAt(2, 'm'), versionAt(3, 'm')], ...merged }],
      parents: [2, 3],
    },
  ])
  expect(atOnce(findConflicts(history, {}))).toHaveLength(listed)
})
