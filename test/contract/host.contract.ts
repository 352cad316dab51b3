// What a host offers its callers, on each kind of backend: stores, keys and sessions, made, listed,
// changed and ended, by one server or by several.

import { describe, expect, test } from 'vitest'
import { rotateOperator } from '../../src/hosting/administration.ts'
import type { Host, SessionRequest } from '../../src/hosting/host.ts'
import { generateOperatorSecret, type MemoryStore } from '../../src/index.ts'
import {
  administrationOf,
  callerOf,
  type HostPlace,
  newHost,
  newToken,
  type OpenedHost,
  settings,
} from '../support/hosts.ts'

const refused = { code: 'not_found' }

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

async function close(...opened: readonly OpenedHost[]): Promise<void> {
  for (const { host } of opened) await host.close()
}

/** Runs the contract against places that `newPlace` makes. */
export function describeHost(kind: string, newPlace: () => Promise<HostPlace>): void {
  describe(`a host on ${kind}`, () => {
    test('of changes of settings at once, all are made, and the list has the last', async () => {
      const { host, caller } = await newHost({}, await newPlace())
      const { storeId } = await host.create(caller, { ...settings, metadata: {} })
      const keys = Array.from({ length: 10 }, (_, index) => `key ${index}`)
      const changes = keys.map((key) =>
        host.updateSettings(caller, storeId, ({ metadata }) => ({
          metadata: { ...metadata, [key]: '' },
        })),
      )
      await Promise.all(changes)
      expect(Object.keys((await host.get(caller, storeId)).metadata).toSorted()).toEqual(keys)
      await host.close()
    })

    test('stores are listed newest first, in pages that a restart does not end', async () => {
      let time = Date.UTC(2100, 0, 1)
      const clock = (): number => time
      const { host, caller, token, place } = await newHost({ clock }, await newPlace())
      const made: string[] = []
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        made.push((await host.create(caller, { ...settings, name })).storeId)
        // Two of one time.
        if (name !== 'b') time += 1000
      }
      await host.updateSettings(caller, made[3] ?? '', () => ({ archivedAt: time }))
      const textOf = (page: { data: readonly { name: string }[] }): string =>
        page.data.map(({ name }) => name).join('')
      const all = textOf(await host.list(caller, { limit: 20, includeArchived: true }))
      expect(['edcba', 'edbca']).toContain(all)
      const live = all.replace('d', '')
      const first = await host.list(caller, { limit: 2 })
      await host.close()
      const again = (await newHost({ clock }, place)).host
      const same = await callerOf(again, token)
      const second = await again.list(same, { limit: 2, page: first.nextPage })
      expect([textOf(first), textOf(second)]).toEqual([live.slice(0, 2), live.slice(2, 4)])
      expect(second.nextPage).toBeUndefined()
      const since = time - 3000
      expect(textOf(await again.list(same, { limit: 9, since, until: time - 1000 }))).toBe(
        live.slice(0, -1),
      )
      await again.close()
    })

    test('after its end a host takes nothing on', async () => {
      const { host, caller } = await newHost({}, await newPlace())
      await Promise.all([host.create(caller, settings), host.close()])
      await expect(host.create(caller, settings)).rejects.toMatchObject({ code: 'store_closed' })
    })

    test('the operator secret is rotated while the server runs', async () => {
      const { host, caller, place } = await newHost({}, await newPlace())
      const { storeId } = await host.create(caller, settings)
      const administration = await administrationOf(place)
      const operatorSecret = await generateOperatorSecret()
      const rotation = {
        storeIds: (await administration.stores()).map((store) => store.storeId),
        use: (id: string, work: (store: MemoryStore) => Promise<boolean>) =>
          administration.use(id, work),
        operatorSecret,
        actor: { type: 'user', id: 'operator' } as const,
      }
      expect(await rotateOperator(rotation)).toEqual({ rotated: 1, unchanged: 0, failed: [] })
      await expect(administration.use('memstore_no', async () => {})).rejects.toMatchObject({
        code: 'not_found',
      })
      await administration.close()
      await host.use(caller, storeId, (_, me) => me.write('/a.md', 'after'))
      await host.close()
    })

    test('the command line revokes a key and its sessions, at their next request', async () => {
      const { host, token, caller, place } = await newHost({}, await newPlace())
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
      await expect(administration.revokeKey('apikey_no')).rejects.toMatchObject({
        code: 'not_found',
      })
      await administration.close()
      await host.close()
    })

    test('the command line makes workspaces, which see nothing of each other', async () => {
      const { host, token, caller, place } = await newHost({}, await newPlace())
      const administration = await administrationOf(place)
      const { workspaceId } = await administration.createWorkspace('second')
      // Two that are made in one millisecond come in any order.
      const names = (await administration.workspaces()).map(({ name }) => name)
      expect(names.toSorted()).toEqual(['default', 'second'])
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
      expect(await namesOf(host, token)).toEqual(['notes'])
      expect(await namesOf(host, foreign)).toEqual([])
      await expect(host.get(stranger, storeId)).rejects.toThrow(expect.objectContaining(refused))
      await expect(host.delete(stranger, storeId)).rejects.toMatchObject(refused)
      await expect(host.use(stranger, storeId, async () => {})).rejects.toMatchObject(refused)
      await expect(host.createSession(stranger, request(storeId))).rejects.toMatchObject(refused)
      const { sessionId } = await host.createSession(caller, request(storeId))
      await expect(host.endSession(stranger, sessionId)).rejects.toMatchObject(refused)
      await host.close()
    })

    test('a session reaches its stores until it ends or expires, across a restart', async () => {
      let time = Date.UTC(2100, 0, 1)
      const clock = (): number => time
      const { host, caller, place } = await newHost({ clock }, await newPlace())
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
    })

    test('resources that a session cannot have are refused', async () => {
      const { host, caller } = await newHost({}, await newPlace())
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
    })

    test('each store of a session has a mount path of its own', async () => {
      const { host, caller } = await newHost({}, await newPlace())
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
    })
  })
}

/** For places that several servers may have open. */
export function describeServers(kind: string, newPlace: () => Promise<HostPlace>): void {
  /** Two servers, and a key that both know. */
  async function twoServers(): Promise<readonly [OpenedHost, OpenedHost]> {
    const one = await newHost({}, await newPlace())
    return [one, await newHost({}, one.place)]
  }

  describe(`servers that share ${kind}`, () => {
    test('a store of one server is read, changed and erased by another', async () => {
      const [one, other] = await twoServers()
      const { caller } = one
      const made = await one.host.create(caller, settings)
      expect(await other.host.get(caller, made.storeId)).toEqual(made)
      await one.host.use(caller, made.storeId, (_, me) => me.write('/a.md', 'by one'))
      const read = await other.host.use(caller, made.storeId, (store) => store.read('/a.md'))
      expect(read?.content).toBe('by one')
      const changed = await other.host.updateSettings(caller, made.storeId, () => ({
        name: 'newer',
      }))
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
      const [kept, ended] = [
        await one.host.createSession(caller, request(storeId)),
        await one.host.createSession(caller, request(storeId)),
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
        await expect(host.createSession(caller, request(storeId))).rejects.toMatchObject(refused)
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
  })
}
