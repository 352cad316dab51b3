// API keys and sessions: who a token is of, until it is revoked or expires, and what a session
// reaches.

import { copyFileSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openHostAdministration } from '../../../src/hosting/administration.ts'
import type { Host, SessionRequest } from '../../../src/hosting/host.ts'
import {
  administrationOf,
  callerOf,
  hostKinds,
  newHost,
  newToken,
  settings,
} from '../../support/hosts.ts'

function request(...ids: readonly string[]): SessionRequest {
  const resources = ids.map((id) => ({
    memory_store_id: id,
    access: 'read_write' as const,
    instructions: null,
  }))
  return { resources, expiresIn: 3600 }
}

async function namesOf(host: Host, token: string): Promise<readonly string[]> {
  return (await host.list(await callerOf(host, token), { limit: 100 })).data.map(({ name }) => name)
}

test('a token is that of its key, and no other text is', async () => {
  const { host, token, caller, place } = await newHost()
  expect(token).toMatch(/^glk_[0-9a-z]{26}_[\w-]{43}$/)
  expect(caller).toMatchObject({ actor: { type: 'api', id: caller.keyId }, attached: undefined })
  expect(caller.keyId).toMatch(/^apikey_[0-9a-z]{26}$/)
  const other = await newToken(place)
  const swapped = token.slice(0, 31) + other.slice(31)
  const kind = token.replace('glk', 'gls')
  for (const text of ['', token.slice(0, -1), `${token}A`, token.toUpperCase(), swapped, kind]) {
    expect(await host.authenticate(text), text).toBeUndefined()
  }
  expect(readFileSync(`${place.dataDirectory}/credentials`, 'latin1')).not.toContain(token)
  await host.close()
})

test.each(hostKinds)(
  'the command line revokes a key and its sessions, at their next request (in $kind)',
  async ({ newPlace }) => {
    const { host, token, caller, place } = await newHost({}, newPlace())
    const { storeId } = await host.create(caller, settings)
    const session = await host.createSession(caller, request(storeId))
    expect((await host.authenticate(session.token))?.keyId).toBe(caller.keyId)
    const administration = await administrationOf(place)
    const revoked = await administration.revokeKey(caller.keyId)
    expect([await host.authenticate(token), await host.authenticate(session.token)]).toEqual([
      undefined,
      undefined,
    ])
    await expect(host.createSession(caller, request(storeId))).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(await administration.keys()).toEqual([revoked])
    expect(revoked.revokedAt).toBeTypeOf('number')
    expect(await administration.revokeKey(caller.keyId), 'again').toEqual(revoked)
    await expect(administration.revokeKey('apikey_no')).rejects.toMatchObject({ code: 'not_found' })
    await administration.close()
    await host.close()
  },
)

test('old credentials bring no revoked key back, while it runs and when it starts', async () => {
  const { host, token, caller, place, notices } = await newHost()
  const file = `${place.dataDirectory}/credentials`
  copyFileSync(file, `${file}.old`)
  const administration = await openHostAdministration(place)
  await administration.revokeKey(caller.keyId)
  await administration.close()
  expect(await host.authenticate(token)).toBeUndefined()
  copyFileSync(`${file}.old`, file)
  expect(await host.authenticate(token)).toBeUndefined()
  expect(notices).toMatchObject([{ about: 'credentials', error: { code: 'rolled_back' } }])
  await host.close()
  await expect(newHost({}, place)).rejects.toMatchObject({ code: 'rolled_back' })
})

test.each(hostKinds)(
  'the command line makes workspaces, which see nothing of each other (in $kind)',
  async ({ newPlace }) => {
    const { host, token, caller, place } = await newHost({}, newPlace())
    const administration = await administrationOf(place)
    const { workspaceId } = await administration.createWorkspace('second')
    expect((await administration.workspaces()).map(({ name }) => name)).toEqual([
      'default',
      'second',
    ])
    await expect(administration.createWorkspace('\n')).rejects.toMatchObject({
      code: 'invalid_input',
    })
    await expect(administration.createKey('a', 'wrkspc_no')).rejects.toMatchObject({
      code: 'not_found',
    })
    const foreign = await newToken(place, workspaceId)
    await administration.close()
    const { storeId } = await host.create(caller, settings)
    const stranger = await callerOf(host, foreign)
    const refused = { code: 'not_found' }
    expect(await namesOf(host, token)).toEqual(['notes'])
    expect(await namesOf(host, foreign)).toEqual([])
    await expect(host.get(stranger, storeId)).rejects.toThrow(expect.objectContaining(refused))
    await expect(host.delete(stranger, storeId)).rejects.toMatchObject(refused)
    await expect(host.use(stranger, storeId, async () => {})).rejects.toMatchObject(refused)
    await expect(host.createSession(stranger, request(storeId))).rejects.toMatchObject(refused)
    const { sessionId } = await host.createSession(caller, request(storeId))
    await expect(host.endSession(stranger, sessionId)).rejects.toMatchObject(refused)
    await host.close()
  },
)

test(
  'keeps the instructions of a session sealed, a million characters for each key',
  { tags: 'slow' },
  async () => {
    const { host, caller, place } = await newHost()
    const ids = await Promise.all(
      Array.from({ length: 8 }, async () => (await host.create(caller, settings)).storeId),
    )
    const resources = ids.map((id) => {
      return { memory_store_id: id, access: 'read_only' as const, instructions: 'x'.repeat(4096) }
    })
    const made = await host.createSession(caller, { resources, expiresIn: 60 })
    expect((await callerOf(host, made.token)).instructions.get(ids[7] ?? '')).toBe('x'.repeat(4096))
    expect(readFileSync(`${place.dataDirectory}/credentials`, 'latin1')).not.toContain('xxxx')
    for (let count = 2; count <= 30; count += 1) {
      await host.createSession(caller, { resources, expiresIn: 60 })
    }
    const tooMuch = host.createSession(caller, { resources, expiresIn: 60 })
    await expect(tooMuch).rejects.toMatchObject({ code: 'rate_limited' })
    await host.endSession(caller, made.sessionId)
    await host.createSession(caller, { resources, expiresIn: 60 })
    await host.close()
  },
)

test.each(hostKinds)(
  'a session reaches its stores until it ends or expires, also after a restart (in $kind)',
  async ({ newPlace }) => {
    let time = Date.UTC(2100, 0, 1)
    const clock = (): number => time
    const { host, caller, place } = await newHost({ clock }, newPlace())
    const [one, two] = [await host.create(caller, settings), await host.create(caller, settings)]
    const made = await host.createSession(caller, request(one.storeId))
    expect(made).toMatchObject({ expiresAt: time + 3_600_000 })
    const ended = await host.createSession(caller, request(one.storeId))
    await host.close()

    const again = (await newHost({ clock }, place)).host
    const session = await callerOf(again, made.token)
    expect(session.actor).toEqual({ type: 'session', id: made.sessionId })
    expect([...(session.attached ?? [])]).toEqual([[one.storeId, 'read_write']])
    expect((await again.list(session, { limit: 20 })).data).toEqual([one])
    await expect(again.get(session, two.storeId)).rejects.toThrow(/no such/)
    await again.use(session, one.storeId, (_, me) => me.write('/a.md', 'by a session'))
    await again.endSession(caller, ended.sessionId)
    expect(await again.authenticate(ended.token)).toBeUndefined()
    await expect(again.endSession(caller, ended.sessionId)).rejects.toThrow(/no such session/)
    time += 3_600_000
    expect(await again.authenticate(made.token)).toBeUndefined()
    await again.close()
  },
)

test.each(hostKinds)(
  'resources that a session cannot have are refused (in $kind)',
  async ({ newPlace }) => {
    const { host, caller } = await newHost({}, newPlace())
    const { storeId } = await host.create(caller, settings)
    const archived = await host.create(caller, settings)
    await host.updateSettings(caller, archived.storeId, () => ({ archivedAt: 1 }))
    const missing = `memstore_${'0'.repeat(26)}`
    const code = async (wanted: SessionRequest): Promise<unknown> =>
      host.createSession(caller, wanted).catch((error: { code: string }) => error.code)
    expect(await code(request())).toBe('invalid_input')
    expect(await code(request(storeId, storeId))).toBe('invalid_input')
    expect(await code(request(...Array.from({ length: 9 }, String)))).toBe('invalid_input')
    expect(await code({ ...request(storeId), expiresIn: 59 })).toBe('invalid_input')
    expect(await code({ ...request(storeId), expiresIn: 86_401 })).toBe('invalid_input')
    expect(await code(request(missing))).toBe('not_found')
    expect(await code(request(archived.storeId))).toBe('store_archived')
    await host.close()
  },
)

test.each(hostKinds)(
  'each store of a session has a mount path of its own (in $kind)',
  async ({ newPlace }) => {
    const { host, caller } = await newHost({}, newPlace())
    const names = ['My Notes!', 'my notes', '日本', 'a--b', 'mÿ']
    const stores: { storeId: string }[] = []
    for (const name of names) stores.push(await host.create(caller, { ...settings, name }))
    const ids = stores.map(({ storeId }) => storeId)
    const end = ids.map((id) => id.slice(-24))
    const { resources } = await host.createSession(caller, request(...ids))
    expect(resources.map((one) => one.mount_path.replace('/mnt/memory/', ''))).toEqual([
      `my-notes-${end[0]}`,
      `my-notes-${end[1]}`,
      end[2],
      'a-b',
      'm',
    ])
    expect(resources[0]).toMatchObject({ type: 'memory_store', name: 'My Notes!' })
    await host.close()
  },
)
