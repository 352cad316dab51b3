// What a host offers: stores of workspaces, made, listed, changed and erased.

import { existsSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { callerOf, newHost, settings } from '../../support/hosts.ts'

test('a store is made, written, listed, changed, found again and erased', async () => {
  const { host, place, caller, token } = await newHost()
  const made = await host.create(caller, settings)
  expect(made).toMatchObject({ ...settings, archivedAt: undefined })
  await host.use(caller, made.storeId, (_, me) => me.write('/a.md', 'one'))
  expect(host.list(caller, { limit: 20 })).toEqual({ data: [made], nextPage: undefined })
  const changed = await host.updateSettings(caller, made.storeId, () => ({ name: 'other' }))
  expect(changed).toMatchObject({ ...settings, name: 'other' })
  expect(host.get(caller, made.storeId)).toEqual(changed)
  await host.close()

  const again = await newHost({}, place)
  const same = callerOf(again.host, token)
  expect(again.host.list(same, { limit: 20 }).data).toEqual([changed])
  const read = await again.host.use(same, made.storeId, (store) => store.read('/a.md'))
  expect(read?.content).toBe('one')
  await again.host.delete(same, made.storeId)
  expect(again.host.list(same, { limit: 20 }).data).toEqual([])
  await expect(again.host.delete(same, made.storeId)).rejects.toThrow(/no such/)
  expect(existsSync(`${place.dataDirectory}/stores/${made.storeId}`)).toBe(false)
  expect(readdirSync(`${place.stateDirectory}/stores`)).toEqual([])
  expect(readdirSync(`${place.dataDirectory}/unfinished`)).toEqual([])
  await again.host.close()
})
