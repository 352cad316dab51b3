// Several servers over one backend: the unfinished work of a dead one is cleared by another.

import { existsSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { newHost, newSharedPlace, settings } from '../../support/hosts.ts'
import { patience } from '../../support/patience.ts'

test('the next server erases a store that a dead one left half made, and no other', async () => {
  const { host, caller, place } = await newHost({}, newSharedPlace())
  const { shared, dataDirectory } = place
  const [kept, half] = [await host.create(caller, settings), await host.create(caller, settings)]
  const dead = await newHost({}, place)
  const [by] = [...(shared?.living ?? [])].slice(-1)
  if (shared === undefined || by === undefined) throw new Error('the second server lives')
  for (const { storeId } of [kept, half]) await by.mark(storeId, 'making')
  const next = await newHost({}, place)
  expect(shared.marks.size, 'a living server may still make them').toBe(2)
  await dead.host.close()
  const catalogue = shared.database.of('catalogue').tables.get('stores')
  catalogue?.delete(half.storeId)
  const again = await newHost({}, place)
  expect(shared.marks.size).toBe(0)
  expect(existsSync(`${dataDirectory}/stores/${kept.storeId}`)).toBe(true)
  expect(existsSync(`${dataDirectory}/stores/${half.storeId}`)).toBe(false)
  for (const one of [next.host, again.host, host]) await one.close()
})

test('a store of a dead server whose settings were being changed is followed', async () => {
  const { host, caller, place } = await newHost({}, newSharedPlace())
  const { storeId } = await host.create(caller, settings)
  const [by] = place.shared?.living ?? []
  await host.use(caller, storeId, (_, me) => me.settings.update({ name: 'written last' }))
  await by?.mark(storeId, 'changed')
  await host.close()
  const again = await newHost({}, place)
  expect((await again.host.get(again.caller, storeId)).name).toBe('written last')
  expect(place.shared?.marks.size).toBe(0)
  await again.host.close()
})

test('a server that runs clears what a dead one left, now and then', async () => {
  const place = newSharedPlace()
  const { shared } = place
  if (shared === undefined) throw new Error('the place is shared')
  shared.sweepEveryMs = 5
  const one = await newHost({}, place)
  const other = await newHost({}, place)
  const [, dead] = shared.living
  await dead?.mark(`memstore_${'0'.repeat(26)}`, 'making')
  await other.host.close()
  await vi.waitFor(() => expect(shared.marks.size).toBe(0), patience)
  await one.host.close()
})
