// Reverts and redactions run in time slices: with a clock on which every step is long, each step
// gives way to other work.

import { expect, test, vi } from 'vitest'
import type { Author, MemoryStore } from '../../../src/index.ts'
import { TimeSlice } from '../../../src/time-slice.ts'
import { author, newStore } from '../../support/stores.ts'
import { inSlices } from '../../support/turns.ts'

const session = 'sess_bad'
const bad: Author = { actor: { type: 'session', id: session }, session }
const versions = 30

/** A memory with many versions; the tests undo its first edit. */
async function longMemory(): Promise<{ store: MemoryStore; versionIds: readonly string[] }> {
  const { store } = await newStore()
  const lines = Array.from({ length: versions }, (_, n) => `line ${n}\n`)
  const text = (count: number): string => lines.map((l, n) => (n < count ? `${l}!` : l)).join('\n')
  const versionIds: string[] = []
  for (let n = 0; n < versions; n += 1) {
    const by = n === 1 ? bad : author
    const made = await store.as(by).write('/a.md', text(n))
    versionIds.push(...made.versionIds)
  }
  return { store, versionIds }
}

/** How often `work` gave way. */
async function pausesDuring(work: () => Promise<unknown>): Promise<number> {
  const next = vi.spyOn(TimeSlice.prototype, 'next')
  try {
    await inSlices(work)
    return next.mock.calls.length
  } finally {
    next.mockRestore()
  }
}

test('an undo: each version that is looked at, and each that is replayed', async () => {
  const { store } = await longMemory()
  // The history is in RAM.
  await store.history.versions({ limit: 1 })
  const pauses = await pausesDuring(() => store.as(author).undo({ session }))
  expect(pauses).toBeGreaterThanOrEqual(2 * versions)
  await store.close()
})

test('a rollback: each text that is read', async () => {
  const { store } = await newStore()
  const { commit } = await store.as(author).write('/first.md', 'x')
  const paths = Array.from({ length: versions }, (_, n) => `/${n}.md`)
  for (const path of paths) await store.as(author).write(path, path)
  const reports: number[] = []
  const progress = (done: number): number => reports.push(done)
  await store.history.versions({ limit: 1 })
  await inSlices(() => store.as(author).rollback({ to: { commit: commit ?? '' } }, { progress }))
  expect(reports.filter((done) => done > 0)).toHaveLength(versions)
  await store.close()
})

test('a redaction: each version that may have the same text', async () => {
  const { store, versionIds } = await longMemory()
  await store.history.versions({ limit: 1 })
  const select = { versionIds: versionIds.slice(3, 4) }
  const request = { select, reason: 'leaked_secret' } as const
  const pauses = await pausesDuring(() => store.history.planRedaction(request))
  // And each that may be written on it.
  expect(pauses).toBeGreaterThanOrEqual(2 * versions)
  await store.close()
})
