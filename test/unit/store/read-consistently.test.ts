// Long questions about the past run in time slices, and each answer is of one state.

import { expect, test, vi } from 'vitest'
import type { History } from '../../../src/store/history/history.ts'
import { openPast } from '../../../src/store/history/past.ts'
import { readConsistently } from '../../../src/store/history/read-consistently.ts'
import { readVersions } from '../../../src/store/history/versions.ts'
import { TimeSlice } from '../../../src/time-slice.ts'
import { appendMade, historyOf, makeHistory, oidAt } from '../../support/histories.ts'
import { author, newStore } from '../../support/stores.ts'
import { inSlices } from '../../support/turns.ts'

const commits = Array.from({ length: 10 }, (_, n) => ({ rows: [{ memory: `m${n}` }] }))

/** Counts the rows, and lets `change` happen when half of them are counted for the first time. */
async function countWhile(change: (history: History) => void): Promise<readonly number[]> {
  const { read, close } = await sourceOf(makeHistory(commits))
  const seen: number[] = []
  const count = function* (history: History): Generator<undefined, number> {
    seen.push(history.commits.length)
    let rows = 0
    for (const _ of history.versions.range(0, history.versions.length)) {
      rows += 1
      if (seen.length === 1 && rows === 5) change(history)
      yield
    }
    return rows
  }
  const counted = await inSlices(() => readConsistently(read, count))
  await close()
  return [...seen, counted]
}

async function sourceOf(history: History) {
  const { store, place } = await newStore()
  const read = await historyOf(store, place)
  return {
    read: { contents: read.contents, loadHistory: async () => history },
    close: async (): Promise<void> => {
      await read.close()
      await store.close()
    },
  }
}

test('a question runs again if the history was rewritten between two slices', async () => {
  const rewrite = (history: History): void => {
    history.become(makeHistory(commits.map((one, n) => ({ ...one, oid: oidAt(n, 'second') }))))
  }
  expect(await countWhile(rewrite)).toEqual([10, 10, 10])
})

test('a question continues if others only add commits', async () => {
  const add = (history: History): void => appendMade(history, { rows: [{ memory: 'new' }] })
  expect(await countWhile(add)).toEqual([10, 10])
})

test('a page of versions and a past state pause after each row or memory', async () => {
  const { store, place } = await newStore()
  for (let n = 0; n < 20; n += 1) {
    await store.as(author).apply([{ type: 'create', path: `/${n}.md`, content: '' }])
  }
  const read = await historyOf(store, place)
  const next = vi.spyOn(TimeSlice.prototype, 'next')
  const page = await inSlices(() => {
    return readConsistently(read, (history) => {
      return readVersions(history, read.contents, { actorId: 'nobody' })
    })
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
