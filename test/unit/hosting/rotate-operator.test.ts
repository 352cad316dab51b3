// A new operator secret for all stores of a server: rotated stores, failed ones, and the cost of a
// second run.
// @module-tag slow

import { expect, test } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import { rotateOperator } from '../../../src/hosting/administration.ts'
import { StorePool } from '../../../src/hosting/store-pool.ts'
import { generateIdentity, generateOperatorSecret, openStore } from '../../../src/index.ts'
import { author, newStore, reopen, type TestPlace } from '../../support/stores.ts'

const { actor } = author

async function serverOf(count: number, operatorSecret: string) {
  const places = new Map<string, TestPlace>()
  for (let n = 0; n < count; n += 1) {
    const { store, place } = await newStore({ operatorSecret })
    places.set(store.id, place)
    await store.close()
  }
  const placeOf = (storeId: string): TestPlace => {
    const place = places.get(storeId)
    if (place === undefined) throw new StoreError('not_found', 'There is no such store')
    return place
  }
  const pool = new StorePool({ maxOpen: 2, open: async (storeId) => reopen(placeOf(storeId)) })
  const use: StorePool['use'] = (storeId, work) => pool.use(storeId, work)
  return { pool, use, placeOf, storeIds: [...places.keys()] }
}

async function recovers(place: TestPlace, operatorSecret: string): Promise<boolean> {
  const identity = await generateIdentity()
  const directory = { directory: place.directory, stateDirectory: `${place.stateDirectory}-2` }
  const opening = openStore({ ...directory, identity, operatorSecret })
  return opening.then(
    async (store) => {
      await store.close()
      return true
    },
    () => false,
  )
}

test('the new secret alone recovers every store, and a repetition changes none', async () => {
  const [old, operatorSecret] = [await generateOperatorSecret(), await generateOperatorSecret()]
  const { pool, use, placeOf, storeIds } = await serverOf(3, old)
  await use(storeIds[1] ?? '', (store) => store.as(author).settings.update({ archivedAt: 1 }))
  const steps: number[] = []
  const progress = (done: number): number => steps.push(done)
  const rotation = { storeIds, use, operatorSecret, actor, progress }
  // Interrupted after the first.
  await rotateOperator({ ...rotation, storeIds: storeIds.slice(0, 1) })
  expect(await rotateOperator(rotation)).toEqual({ rotated: 2, unchanged: 1, failed: [] })
  expect(steps.slice(-4)).toEqual([0, 1, 2, 3])
  const heads = () => Promise.all(storeIds.map((id) => use(id, (store) => store.status())))
  const before = await heads()
  expect(await rotateOperator(rotation)).toEqual({ rotated: 0, unchanged: 3, failed: [] })
  expect(await heads()).toEqual(before)
  await pool.close()
  for (const place of storeIds.map(placeOf)) {
    expect(await recovers(place, old)).toBe(false)
    expect(await recovers(place, operatorSecret)).toBe(true)
  }
})

test('a store that fails is named, one that was deleted is not, and the rest is done', async () => {
  const operatorSecret = await generateOperatorSecret()
  const { pool, use, storeIds } = await serverOf(2, await generateOperatorSecret())
  const broken: StorePool['use'] = async (storeId, work) => {
    if (storeId === storeIds[0]) throw new StoreError('rolled_back', 'The store is an old copy')
    return use(storeId, work)
  }
  const rotation = { storeIds: [...storeIds, 'memstore_gone'], operatorSecret, actor }
  const report = await rotateOperator({ ...rotation, use: broken })
  expect(report).toMatchObject({ rotated: 1, failed: [{ storeId: storeIds[0] }] })
  expect(report.failed).toHaveLength(1)
  const again = await rotateOperator({ ...rotation, use })
  expect(again).toEqual({ rotated: 1, unchanged: 1, failed: [] })
  await pool.close()
})

test('a rotation is cancelled between two stores', async () => {
  const operatorSecret = await generateOperatorSecret()
  const { pool, use, storeIds } = await serverOf(2, await generateOperatorSecret())
  const ending = new AbortController()
  const progress = (done: number): void => {
    if (done === 1) ending.abort()
  }
  const rotation = { storeIds, use, operatorSecret, actor, progress, signal: ending.signal }
  await expect(rotateOperator(rotation)).rejects.toMatchObject({ code: 'cancelled' })
  const isRotated = (id: string) => use(id, (store) => store.devices.isRecoveredBy(operatorSecret))
  expect(await Promise.all(storeIds.map(isRotated))).toEqual([true, false])
  await pool.close()
})
