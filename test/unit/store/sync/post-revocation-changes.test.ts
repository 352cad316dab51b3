// The report of changes that a removed device wrote too late: which they are and by which device,
// in every clone that drops them.

import { expect, test } from 'vitest'
import { worldsOf } from '../../../support/clone-templates.ts'
import { alone, firstClone, idOf, joinClone, put, sync, syncAll } from '../../../support/clones.ts'
import { author, contentsOf } from '../../../support/stores.ts'

/** The first removes the second, which does not know yet. The third is another machine. */
const removed = worldsOf(async (url) => {
  const first = await firstClone(url)
  await put(first, '/before.md')
  await sync(first)
  const second = await joinClone(first, url)
  const third = await joinClone(first, url)
  await syncAll([first, second, third])
  await first.store.as(author).devices.remove([idOf(second)], alone)
  return { first, second, third }
})

test(
  'the owner that removed the device gets a report of the changes it drops',
  { tags: 'slow' },
  async () => {
    const { first, second } = await removed()
    const versionIds = [await put(second, '/late.md'), await put(second, '/later.md')]
    const deviceId = idOf(second)
    await sync(second)
    const { late } = await sync(first)
    expect(late.map((change) => change.deviceId)).toEqual([deviceId, deviceId])
    expect(late.flatMap(({ versions }) => versions)).toMatchObject([
      { versionId: versionIds[0], operation: 'created', path: '/late.md' },
      { versionId: versionIds[1], operation: 'created', path: '/later.md' },
    ])
    expect(await contentsOf(first.store)).not.toHaveProperty('/late.md')
    expect((await sync(first)).late).toEqual([])
  },
)

test(
  'a third machine that had adopted it gets a report that it was dropped',
  { tags: 'slow' },
  async () => {
    const { first, second, third } = await removed()
    const versionId = await put(second, '/late.md')
    await sync(second)
    expect((await sync(third)).late).toEqual([])
    expect(await contentsOf(third.store)).toHaveProperty('/late.md')
    await sync(first)
    const { late } = await sync(third)
    expect(late).toMatchObject([{ versions: [{ versionId, path: '/late.md' }] }])
    expect(await contentsOf(third.store)).not.toHaveProperty('/late.md')
  },
)

test('commits of others below it are adopted, and not reported', { tags: 'slow' }, async () => {
  const { first, second, third } = await removed()
  await put(third, '/innocent.md')
  await syncAll([third, second])
  const versionId = await put(second, '/late.md')
  await sync(second)
  const { late } = await sync(first)
  expect(late.flatMap(({ versions }) => versions)).toMatchObject([{ versionId }])
  expect(await contentsOf(first.store)).toHaveProperty('/innocent.md')
})

test('a sync without late commits reports none', { tags: 'slow' }, async () => {
  const { first, third } = await removed()
  await sync(first)
  await put(third, '/fine.md')
  expect((await sync(third)).late).toEqual([])
  expect((await sync(first)).late).toEqual([])
})
