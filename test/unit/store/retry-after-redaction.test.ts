// Long queries of the history: they run in time slices, and their result is of one state.

import { expect, test, vi } from 'vitest'
import { openPast } from '../../../src/store/history/past.ts'
import { askInSlices } from '../../../src/store/history/retry-after-redaction.ts'
import { readVersions } from '../../../src/store/history/versions.ts'
import { TimeSlice } from '../../../src/time-slice.ts'
import { appendMade, historyOf, makeHistory } from '../../support/histories.ts'
import { author, newStore } from '../../support/stores.ts'
import { inSlices } from '../../support/turns.ts'

const commits = Array.from({ length: 10 }, (_, n) => ({ rows: [{ memory: `m${n}` }] }))

test('a query runs again if the history changed between two slices', async () => {
  const history = makeHistory(commits)
  let asked = 0
  const countRows = function* (): Generator<undefined, number> {
    asked += 1
    let rows = 0
    for (const _ of history.versions) {
      rows += 1
      // After the query has passed what it changes: continued, its result would be of both states.
      if (asked === 1 && rows === 5) appendMade(history, { rows: [{ memory: 'new' }] })
      yield
    }
    return rows + history.commits.length
  }
  expect(await inSlices(() => askInSlices(history, countRows))).toBe(22)
  expect(asked).toBe(2)
})

test('a query of a constantly changing history finally runs in one piece', async () => {
  const history = makeHistory(commits)
  const seen: number[] = []
  const ask = function* (): Generator<undefined, number> {
    const before = history.commits.length
    seen.push(before)
    if (seen.length < 4) appendMade(history, {})
    yield
    return before
  }
  expect(await inSlices(() => askInSlices(history, ask))).toBe(13)
  expect(seen).toEqual([10, 11, 12, 13])
})

test('a page of versions, the store as it was: each row, each memory', async () => {
  const { store, place } = await newStore()
  for (let n = 0; n < 20; n += 1) {
    await store.as(author).apply([{ type: 'create', path: `/${n}.md`, content: '' }])
  }
  const read = await historyOf(store, place)
  const next = vi.spyOn(TimeSlice.prototype, 'next')
  const page = await inSlices(() => {
    return readVersions(read.history, read.contents, { actorId: 'nobody' })
  })
  expect(page.data).toEqual([])
  expect(next.mock.calls.length).toBeGreaterThanOrEqual(20)
  next.mockClear()
  const past = await inSlices(() => openPast(read, { time: Number.MAX_SAFE_INTEGER }, {}))
  expect(next.mock.calls.length).toBeGreaterThanOrEqual(20)
  next.mockRestore()
  expect((await past.list('/'))?.children).toHaveLength(20)
  await read.close()
  await store.close()
})
