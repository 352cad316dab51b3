// T33: a member dates its records ahead or back. Versions of other members remain visible by time,
// nothing is deleted or erased for its age, and every clone reports the same times as doubtful.

import { describe, expect, test } from 'vitest'
import { bareRemote, type Clone, firstClone, joinClone, put, sync } from '../support/clones.ts'
import { author, reopen } from '../support/stores.ts'

const DAY = 24 * 60 * 60 * 1000

async function liar(first: Clone, url: string, clock: () => number): Promise<Clone> {
  const { store, place } = await joinClone(first, url)
  await store.close()
  return { place, store: await reopen(place, { clock }) }
}

async function doubtsOf({ store }: Clone): Promise<readonly unknown[]> {
  const { data: versions } = await store.history.versions({})
  return versions.map(({ versionId, createdAt, placedAt }) => [versionId, createdAt, placedAt])
}

describe('T33: a member that lies about the time', () => {
  test.each([
    ['ahead', Date.UTC(2099, 0, 1)],
    ['back', 5000],
  ])('%s hides and deletes nothing', { tags: 'slow' }, async (_, lie) => {
    const url = bareRemote()
    const honest = await firstClone(url)
    await put(honest, '/kept', 'one')
    await sync(honest)
    const lying = await liar(honest, url, () => lie)
    await put(lying, '/kept', 'two')
    await put(lying, '/theirs')
    await sync(lying)
    await sync(honest)
    await put(honest, '/new')
    await sync(honest)
    await sync(lying)
    expect(await doubtsOf(lying)).toEqual(await doubtsOf(honest))
    const then = await honest.store.at({ time: Date.now() })
    for (const path of ['/kept', '/theirs', '/new']) expect(await then.read(path)).toBeDefined()
    expect((await honest.store.as(author).expire({ unchangedFor: DAY })).expired).toEqual([])
    const select = { before: Date.now() - DAY }
    const { versions } = await honest.store.history.planRedaction({ select, reason: 'retention' })
    expect(versions).toEqual([])
    await honest.store.maintenance.verify()
    await Promise.all([honest.store.close(), lying.store.close()])
  })
})
