// T59: an attacker who has the disk of a server, but not its identity, brings nothing back with old
// files, has nothing erased, swaps no stores and makes no file that is believed. A fault in one
// store is reported, and the others are served.

import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openHostAdministration } from '../../src/hosting/administration.ts'
import { generateIdentity } from '../../src/index.ts'
import { callerOf, type HostPlace, newHost, newHostPlace, newToken } from '../support/hosts.ts'

const files = ['catalogue', 'credentials'] as const
const named = (name: string) => ({ name, description: '', metadata: {} })
const all = { limit: 100 } as const

const pathOf = ({ dataDirectory }: HostPlace, name: string): string => `${dataDirectory}/${name}`

function exchange(one: string, other: string): void {
  renameSync(one, `${one}.away`)
  renameSync(other, one)
  renameSync(`${one}.away`, other)
}

test('T59: a revoked key does not come back with the file in which it worked', async () => {
  const { host, place, caller, token } = await newHost()
  copyFileSync(pathOf(place, 'credentials'), pathOf(place, 'old'))
  const administration = await openHostAdministration(place)
  await administration.revokeKey(caller.keyId)
  await administration.close()
  expect(await host.authenticate(token)).toBeUndefined()
  copyFileSync(pathOf(place, 'old'), pathOf(place, 'credentials'))
  expect(await host.authenticate(token), 'while it runs').toBeUndefined()
  await host.close()
  await expect(newHost({}, place)).rejects.toMatchObject({ code: 'rolled_back' })
})

test('T59: an ended session does not come back either', async () => {
  const { host, place, caller } = await newHost()
  const { storeId } = await host.create(caller, named('notes'))
  const resource = { memory_store_id: storeId, access: 'read_write', instructions: null } as const
  const session = await host.createSession(caller, { resources: [resource], expiresIn: 3600 })
  copyFileSync(pathOf(place, 'credentials'), pathOf(place, 'old'))
  await host.endSession(caller, session.sessionId)
  copyFileSync(pathOf(place, 'old'), pathOf(place, 'credentials'))
  expect(await host.authenticate(session.token)).toBeUndefined()
  await host.close()
})

test('T59: a deleted store does not come back with the list that had it', async () => {
  const { host, place, caller, notices } = await newHost()
  const { storeId } = await host.create(caller, named('deleted'))
  copyFileSync(pathOf(place, 'catalogue'), pathOf(place, 'old'))
  await host.delete(caller, storeId)
  copyFileSync(pathOf(place, 'old'), pathOf(place, 'catalogue'))
  expect((await host.list(caller, all)).data).toEqual([])
  await expect(host.get(caller, storeId)).rejects.toThrow(/no such/)
  expect(notices).toMatchObject([{ about: 'catalogue', error: { code: 'rolled_back' } }])
  await host.close()
  await expect(newHost({}, place)).rejects.toMatchObject({ code: 'rolled_back' })
})

test('T59: a marker has no store erased that the catalogue has', async () => {
  const { host, place, caller, token } = await newHost()
  const { storeId } = await host.create(caller, named('kept'))
  await host.close()
  writeFileSync(pathOf(place, `unfinished/${storeId}`), '')
  const again = (await newHost({}, place)).host
  const same = await callerOf(again, token)
  expect(await again.use(same, storeId, (store) => store.info())).toMatchObject({ storeId })
  expect(existsSync(pathOf(place, `unfinished/${storeId}`))).toBe(false)
  await again.close()
})

test('T59: stores that are exchanged or missing are named, and the others are served', async () => {
  const { host, place, caller, token } = await newHost()
  const made = []
  for (const name of ['a', 'b', 'missing', 'sound'])
    made.push(await host.create(caller, named(name)))
  const [a, b, missing, sound] = made.map(({ storeId }) => storeId)
  await host.close()
  exchange(pathOf(place, `stores/${a}`), pathOf(place, `stores/${b}`))
  rmSync(pathOf(place, `stores/${missing}`), { recursive: true })
  const { host: again, notices } = await newHost({}, place)
  const same = await callerOf(again, token)
  const codeOf = async (storeId = ''): Promise<string> =>
    again
      .use(same, storeId, async (store) => {
        await store.memories()
        return 'served'
      })
      .catch((error: { code: string }) => error.code)
  expect((await again.list(same, all)).data).toHaveLength(4)
  expect([await codeOf(a), await codeOf(b), await codeOf(missing), await codeOf(sound)]).toEqual([
    'store_id_mismatch',
    'store_id_mismatch',
    'not_a_store',
    'served',
  ])
  expect(notices.map(({ about }) => about)).toEqual([a, b, missing])
  await again.close()
})

test.each(files)(
  'T59: a %s that another identity or a flipped bit has made is refused',
  async (file) => {
    const place = newHostPlace()
    await newToken(place)
    const other = { ...newHostPlace(), identity: await generateIdentity() }
    await newToken(other)
    const path = pathOf(place, file)
    const own = readFileSync(path)
    copyFileSync(pathOf(other, file), path)
    await expect(newHost({}, place)).rejects.toMatchObject({ code: 'wrong_key' })
    for (const at of [0, own.length >> 1, own.length - 1]) {
      const flipped = Uint8Array.from(own)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      writeFileSync(path, flipped)
      await expect(newHost({}, place)).rejects.toMatchObject({ code: 'wrong_key' })
    }
    writeFileSync(path, own)
    await (await newHost({}, place)).host.close()
  },
)

test('T59: neither file takes the place of the other', async () => {
  const place = newHostPlace()
  await newToken(place)
  const [catalogue, credentials] = files.map((file) => pathOf(place, file))
  exchange(catalogue ?? '', credentials ?? '')
  await expect(newHost({}, place)).rejects.toMatchObject({ code: 'wrong_key' })
})
