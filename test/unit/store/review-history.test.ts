// Redaction with a second handle on the store, and reverts to redacted states: cases that a review
// found. Erased contents must not reappear, and nothing may look damaged or lost.

import { describe, expect, test } from 'vitest'
import type { Author, MemoryStore } from '../../../src/index.ts'
import { author, newStore, reopen } from '../../support/stores.ts'

const other: Author = { actor: { type: 'user', id: 'other' } }

async function create(store: MemoryStore, path: string, content: string): Promise<string> {
  const { versionIds } = await store.as(author).apply([{ type: 'create', path, content }])
  return versionIds[0] ?? ''
}

async function edits(store: MemoryStore, path: string, count: number): Promise<string[]> {
  const made: string[] = []
  for (let index = 0; index < count; index += 1) {
    const edit = (text: string): string => `${text}line ${index}\n`
    const { versionIds } = await store.as(author).apply([{ type: 'edit', path, edit }])
    made.push(versionIds[0] ?? '')
  }
  return made
}

describe('a second handle that follows a redaction', () => {
  test(
    'does not write the erased text into its caches when it closes',
    { tags: 'slow' },
    async () => {
      const { store, place } = await newStore()
      const victim = await create(store, '/secret-path', 'one\n')
      // Enough commits for a cached history.
      await edits(store, '/secret-path', 300)
      const second = await reopen(place)
      await second.history.versions({ limit: 1 })
      await store.as(author).redact({ select: { versionIds: [victim] }, reason: 'legal' })
      expect(await second.read('/secret-path')).toBeDefined()
      await second.close()
      expect((await store.maintenance.findResidue()).found).toEqual([])
      await store.close()
    },
  )

  test('accepts it if only commits that it has not seen were rewritten', async () => {
    const { store, place } = await newStore()
    await create(store, '/known', 'known\n')
    const second = await reopen(place)
    expect(await second.read('/known')).toBeDefined()
    const victim = await create(store, '/later', 'secret\n')
    await store
      .as(author)
      .redact({ select: { versionIds: [victim] }, reason: 'legal', current: 'delete' })
    expect(await second.read('/later')).toBeUndefined()
    expect((await second.history.version(victim)).path).toBeUndefined()
    await second.as(author).apply([{ type: 'create', path: '/third', content: 'x' }])
    await second.maintenance.verify()
    await second.close()
    await store.close()
  })

  test('completes blame, diff and verification that overlap it', { tags: 'slow' }, async () => {
    const { store, place } = await newStore()
    const victim = await create(store, '/a', 'one\n')
    const [first = ''] = await edits(store, '/a', 40)
    const second = await reopen(place)
    await second.history.versions({ limit: 1 })
    const asked = Promise.all([
      second.history.blame('/a'),
      second.history.diff({ versionId: first }),
      second.maintenance.verify(),
      second.history.planRedaction({ select: { matching: /line 3/ }, reason: 'legal' }),
    ])
    await store.as(author).redact({ select: { versionIds: [victim] }, reason: 'legal' })
    const [lines, difference, report, plan] = await asked
    expect(lines).toHaveLength(41)
    expect(difference.changes).toHaveLength(1)
    expect(report.commits).toBeGreaterThan(40)
    expect(plan.versions.length).toBeGreaterThan(30)
    await second.close()
    await store.close()
  })
})

test('a redaction that is done while the store closes is certified, not refused', async () => {
  const { store, place } = await newStore()
  const victim = await create(store, '/a', 'one\n')
  await edits(store, '/a', 20)
  let closing: Promise<void> | undefined
  // Once the rewrite is done the command is about to be written. A slow one reports before that.
  const progress = (done: number, total: number): void => {
    if (done === total) closing ??= store.close()
  }
  const redacting = store.as(author).redact(
    { select: { versionIds: [victim] }, reason: 'legal' },
    {
      progress,
    },
  )
  expect((await redacting).certificate?.versions).toMatchObject([{ memory_version_id: victim }])
  await closing
  const again = await reopen(place)
  expect((await again.maintenance.findResidue()).found).toEqual([])
  expect((await again.status()).storage.purgePending).toBe(0)
  await again.close()
})

test('a rollback of everything reports an erased memory', async () => {
  const { store } = await newStore()
  const victim = await create(store, '/a', 'one\n')
  const { memoryId } = await store.history.version(victim)
  await store.as(other).apply([{ type: 'delete', path: '/a' }])
  await store.as(author).redact({ select: { versionIds: [victim] }, reason: 'legal' })
  const { steps, left } = await store.as(author).rollback({ to: { versionId: victim } })
  expect(steps).toEqual([])
  expect(left).toEqual([{ memoryId, path: undefined, reason: 'redacted' }])
  await store.close()
})

test('overwriting is refused with a reason if only the reason of a change matches', async () => {
  const { store } = await newStore()
  const change = { type: 'create', path: '/a', content: 'plain\n' } as const
  await store.as({ ...author, reason: 'key sk-4242' }).apply([change])
  const request = { select: { matching: /sk-4242/ }, reason: 'leaked_secret' } as const
  const refused = store.as(author).redact({ ...request, current: 'overwrite' })
  await expect(refused).rejects.toMatchObject({
    code: 'version_current',
    message: expect.stringContaining('only the reason'),
  })
  expect((await store.read('/a'))?.content).toBe('plain\n')
  await store.close()
})

test.each([
  ['a time that is no number', { before: Number.NaN }],
  ['a pattern that is a text', JSON.parse('{ "matching": "sk-" }')],
])('a redaction refuses %s', async (_, select) => {
  const { store } = await newStore()
  await create(store, '/a', 'one\n')
  const planned = store.history.planRedaction({ select, reason: 'legal' })
  await expect(planned).rejects.toMatchObject({ code: 'invalid_input' })
  await store.close()
})
