// The identity file while another process makes a store in the same place.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import { findIdentity, withIdentityFile } from '../../../src/home/identity-file.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

function newPlace() {
  return { identityFile: join(temporaryDirectory(), 'identity'), identityIsNamed: false }
}

const taken = new StoreError('store_exists', 'Another process was faster')

test('an identity that another process has made a store with comes back', async () => {
  const place = newPlace()
  let fails: (() => void) | undefined
  const first = withIdentityFile(place, async () => {
    await new Promise<void>((resolve) => (fails = resolve))
    throw taken
  })
  await expect.poll(() => fails).toBeDefined()
  const used = await withIdentityFile(place, async (identity) => {
    fails?.()
    await expect(first).rejects.toBe(taken)
    expect(existsSync(place.identityFile)).toBe(false)
    return identity
  })
  expect(findIdentity(place)?.deviceId).toBe(used.deviceId)
})

test('of two that find no identity both work with one', async () => {
  const place = newPlace()
  const both = [place, place].map((one) => withIdentityFile(one, async ({ deviceId }) => deviceId))
  const ids = await Promise.all(both)
  expect(new Set(ids).size).toBe(1)
  expect(findIdentity(place)?.deviceId).toBe(ids[0])
})
