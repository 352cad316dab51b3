// Several servers over one backend: each sees the changes of the others at its next request, and
// what a dead one left is cleared by another.

import { existsSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import {
  administrationOf,
  callerOf,
  newHost,
  newSharedPlace,
  type OpenedHost,
  settings,
} from '../../support/hosts.ts'
import { patience } from '../../support/patience.ts'

/** Two servers, and a key that both know. */
async function twoServers(): Promise<readonly [OpenedHost, OpenedHost]> {
  const one = await newHost({}, newSharedPlace())
  return [one, await newHost({}, one.place)]
}

async function close(...opened: readonly OpenedHost[]): Promise<void> {
  for (const { host } of opened) await host.close()
}

const refused = { code: 'not_found' }

test('a store of one server is read, changed and erased by another', async () => {
  const [one, other] = await twoServers()
  const { caller } = one
  const made = await one.host.create(caller, settings)
  expect(await other.host.get(caller, made.storeId)).toEqual(made)
  await one.host.use(caller, made.storeId, (_, me) => me.write('/a.md', 'by one'))
  const read = await other.host.use(caller, made.storeId, (store) => store.read('/a.md'))
  expect(read?.content).toBe('by one')
  const changed = await other.host.updateSettings(caller, made.storeId, () => ({ name: 'newer' }))
  expect((await one.host.list(caller, { limit: 20 })).data).toEqual([changed])
  const erasing = [one, other].map(({ host }) => host.delete(caller, made.storeId))
  const results = await Promise.allSettled(erasing)
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: refused })
  await expect(one.host.get(caller, made.storeId)).rejects.toMatchObject(refused)
  await close(one, other)
})

test('a revoked key and an ended session are refused by every server', async () => {
  const [one, other] = await twoServers()
  const { caller, token } = one
  const { storeId } = await one.host.create(caller, settings)
  const resource = { memory_store_id: storeId, access: 'read_only', instructions: null } as const
  const request = { resources: [resource], expiresIn: 3600 }
  const [kept, ended] = [
    await one.host.createSession(caller, request),
    await one.host.createSession(caller, request),
  ]
  expect((await callerOf(other.host, kept.token)).actor.id).toBe(kept.sessionId)
  await other.host.endSession(caller, ended.sessionId)
  expect(await one.host.authenticate(ended.token)).toBeUndefined()
  const administration = await administrationOf(one.place)
  await administration.revokeKey(caller.keyId)
  await administration.close()
  for (const { host } of [one, other]) {
    expect(await host.authenticate(token)).toBeUndefined()
    expect(await host.authenticate(kept.token)).toBeUndefined()
    await expect(host.createSession(caller, request)).rejects.toMatchObject(refused)
  }
  await close(one, other)
})

test('stores that servers make at once are all listed, page by page', async () => {
  const [one, other] = await twoServers()
  const { caller } = one
  const names = Array.from({ length: 12 }, (_, at) => `store ${at}`)
  const made = await Promise.all(
    names.map((name, at) => (at % 2 ? one : other).host.create(caller, { ...settings, name })),
  )
  const listed: string[] = []
  let page: string | undefined
  do {
    const { data, nextPage } = await one.host.list(caller, { limit: 5, page })
    listed.push(...data.map(({ storeId }) => storeId))
    page = nextPage
  } while (page !== undefined)
  expect(listed.toSorted()).toEqual(made.map(({ storeId }) => storeId).toSorted())
  await close(one, other)
})

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
