// What a host offers: stores of workspaces, made, listed, changed and erased.

import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cachesOfProcess } from '../../../src/cache-budget.ts'
import { filesBelow } from '../../../src/disk/file-sweep.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import { Catalogue } from '../../../src/hosting/catalogue.ts'
import { DataDirectory } from '../../../src/hosting/data-directory.ts'
import { openHost } from '../../../src/hosting/host.ts'
import { openStore } from '../../../src/index.ts'
import {
  callerOf,
  hostKinds,
  type HostPlace,
  newHost,
  newHostPlace,
  newToken,
  settings,
} from '../../support/hosts.ts'
import { patience } from '../../support/patience.ts'
import { copyDirectory, temporaryDirectory } from '../../support/temporary.ts'

function openCatalogue(place: HostPlace): Promise<Catalogue> {
  return Catalogue.open(new DataDirectory(place), () => undefined, false)
}

test.each(hostKinds)(
  'a store is made, written, listed, changed, found again and erased (in $kind)',
  async ({ newPlace }) => {
    const { host, place, caller, token } = await newHost({}, newPlace())
    const made = await host.create(caller, settings)
    expect(made).toMatchObject({ ...settings, archivedAt: undefined })
    await host.use(caller, made.storeId, (_, me) => me.write('/a.md', 'one'))
    expect(await host.list(caller, { limit: 20 })).toEqual({ data: [made], nextPage: undefined })
    const changed = await host.updateSettings(caller, made.storeId, () => ({ name: 'other' }))
    expect(changed).toMatchObject({ ...settings, name: 'other' })
    expect(await host.get(caller, made.storeId)).toEqual(changed)
    await host.close()

    const again = await newHost({}, place)
    const same = await callerOf(again.host, token)
    expect((await again.host.list(same, { limit: 20 })).data).toEqual([changed])
    const read = await again.host.use(same, made.storeId, (store) => store.read('/a.md'))
    expect(read?.content).toBe('one')
    await again.host.delete(same, made.storeId)
    expect((await again.host.list(same, { limit: 20 })).data).toEqual([])
    await expect(again.host.delete(same, made.storeId)).rejects.toThrow(/no such/)
    expect(existsSync(`${place.dataDirectory}/stores/${made.storeId}`)).toBe(false)
    expect(readdirSync(place.stateDirectory)).toEqual(['servers'])
    expect(readdirSync(`${place.dataDirectory}/unfinished`)).toEqual([])
    await again.host.close()
  },
)

test.each(hostKinds)('refused settings change nothing (in $kind)', async ({ newPlace }) => {
  const { host, caller, place } = await newHost({}, newPlace())
  const refused = { code: 'invalid_input' }
  await expect(host.create(caller, { ...settings, name: '' })).rejects.toMatchObject(refused)
  const made = await host.create(caller, settings)
  const change = host.updateSettings(caller, made.storeId, () => ({ name: '\n' }))
  await expect(change).rejects.toMatchObject(refused)
  expect((await host.list(caller, { limit: 20 })).data).toEqual([made])
  expect(readdirSync(`${place.dataDirectory}/stores`)).toEqual([made.storeId])
  expect(readdirSync(`${place.dataDirectory}/unfinished`)).toEqual([])
  await host.close()
})

test('a second server is refused, and the directory is free after the first', async () => {
  const { host, place } = await newHost()
  const files = readdirSync(`${place.dataDirectory}/gitlocket`)
  await expect(newHost({}, place)).rejects.toMatchObject({ code: 'locked', message: /server/ })
  expect(readdirSync(`${place.dataDirectory}/gitlocket`), 'nothing of the second').toEqual(files)
  await host.close()
  const again = await newHost({}, place)
  await again.host.close()
})

test('no name is readable on the disk, and an erased store leaves none', async () => {
  const { host, caller, place } = await newHost()
  const secret = {
    name: 'canary-name',
    description: 'canary-text',
    metadata: { canary: 'c-value' },
  }
  const { storeId } = await host.create(caller, secret)
  const resource = { memory_store_id: storeId, access: 'read_only', instructions: null } as const
  await host.createSession(caller, { resources: [resource], expiresIn: 60 })
  const isOnDisk = (text: string): boolean =>
    [place.dataDirectory, place.stateDirectory]
      .flatMap((directory) => filesBelow(systemDisk, directory))
      .filter((path) => !path.endsWith('.sock'))
      .some((path) => path.includes(text) || readFileSync(path).includes(text))
  expect(isOnDisk('canary')).toBe(false)
  expect(isOnDisk(storeId)).toBe(true)
  await host.delete(caller, storeId)
  expect(isOnDisk(storeId)).toBe(false)
  const { lists } = await (await openCatalogue(place)).snapshot()
  expect(JSON.stringify(lists)).not.toContain('canary')
  await host.close()
})

test('a state directory inside the data directory is reported', async () => {
  const place = newHostPlace()
  const stateDirectory = `${place.dataDirectory}/state`
  const { host, notices } = await newHost({}, { ...place, stateDirectory })
  expect(notices).toMatchObject([{ about: 'state', error: { code: 'invalid_input' } }])
  await host.close()
})

test('a server without a recovery secret makes no stores', async () => {
  const { operatorSecret, ...place } = newHostPlace()
  const host = await openHost({ ...place })
  const caller = await callerOf(host, await newToken({ ...place, operatorSecret }))
  await expect(host.create(caller, settings)).rejects.toMatchObject({ code: 'permission_denied' })
  expect((await host.list(caller, { limit: 20 })).data).toEqual([])
  expect(readdirSync(`${place.dataDirectory}/stores`)).toEqual([])
  await host.close()
})

test.each(hostKinds)(
  'a store that is missing or swapped is named once, and the rest is served (in $kind)',
  async ({ newPlace }) => {
    const { host, caller, token, place } = await newHost({}, newPlace())
    const [lost, swapped, kept] = [
      await host.create(caller, settings),
      await host.create(caller, settings),
      await host.create(caller, settings),
    ].map(({ storeId }) => storeId)
    await host.close()
    const stores = `${place.dataDirectory}/stores`
    rmSync(`${stores}/${lost}`, { recursive: true })
    rmSync(`${stores}/${swapped}`, { recursive: true })
    copyDirectory(`${stores}/${kept}`, `${stores}/${swapped}`)
    const { host: again, notices } = await newHost({}, place)
    const same = await callerOf(again, token)
    const read = async (storeId = ''): Promise<unknown> =>
      again.use(same, storeId, (store) => store.read('/a.md')).catch((error: unknown) => error)
    for (let times = 0; times < 2; times += 1) {
      expect(await read(lost)).toMatchObject({ code: 'not_a_store' })
      expect(await read(swapped)).toMatchObject({ code: 'store_id_mismatch' })
      expect(await read(kept)).toBeUndefined()
    }
    expect(notices).toMatchObject([
      { about: lost, error: { code: 'not_a_store' } },
      { about: swapped, error: { code: 'store_id_mismatch' } },
    ])
    await again.delete(same, lost ?? '')
    expect((await again.list(same, { limit: 20 })).data).toHaveLength(2)
    await again.close()
  },
)

test.each(hostKinds)(
  'the list follows settings that others changed when the store opens again (in $kind)',
  async ({ newPlace }) => {
    const { host, caller, token, place } = await newHost({}, newPlace())
    const { storeId } = await host.create(caller, settings)
    await host.close()
    const directory = `${place.dataDirectory}/stores/${storeId}`
    const { identity, stateDirectory } = place
    const store = await openStore({ directory, stateDirectory, identity })
    await store.as({ actor: { type: 'user', id: 'me' } }).settings.update({ name: 'by hand' })
    await store.close()
    const again = (await newHost({}, place)).host
    const same = await callerOf(again, token)
    expect((await again.get(same, storeId)).name).toBe('notes')
    await again.use(same, storeId, async () => {})
    expect((await again.get(same, storeId)).name).toBe('by hand')
    await again.close()
  },
)

test('an old list of stores is refused, and if it is accepted, nothing is erased', async () => {
  const { host, caller, token, place } = await newHost()
  const first = await host.create(caller, settings)
  const file = `${place.dataDirectory}/catalogue`
  copyFileSync(file, `${file}.old`)
  const second = await host.create(caller, settings)
  copyFileSync(`${file}.old`, file)
  expect((await host.list(caller, { limit: 20 })).data, 'the newest stays in force').toHaveLength(2)
  await host.close()
  await expect(newHost({}, place)).rejects.toMatchObject({ code: 'rolled_back' })
  writeFileSync(`${place.dataDirectory}/unfinished/${second.storeId}`, '')
  const accepted = (await newHost({ acceptRolledBack: true }, place)).host
  expect((await accepted.list(await callerOf(accepted, token), { limit: 20 })).data).toEqual([
    first,
  ])
  expect(existsSync(`${place.dataDirectory}/stores/${second.storeId}`)).toBe(true)
  await accepted.close()
  rmSync(file)
  rmSync(`${place.stateDirectory}/servers`, { recursive: true })
  await expect(newHost({}, place), 'stores without a list').rejects.toMatchObject({
    code: 'rolled_back',
  })
})

test('a sweep leaves other files and the targets of links alone', async () => {
  const { host, place } = await newHost()
  await host.close()
  const elsewhere = temporaryDirectory()
  writeFileSync(`${elsewhere}/kept`, '')
  const storeId = `memstore_${'0'.repeat(26)}`
  symlinkSync(elsewhere, `${place.dataDirectory}/stores/${storeId}`)
  writeFileSync(`${place.dataDirectory}/unfinished/${storeId}`, '')
  writeFileSync(`${place.dataDirectory}/unfinished/other`, '')
  const again = await newHost({}, place)
  expect(readdirSync(elsewhere)).toEqual(['kept'])
  expect(readdirSync(`${place.dataDirectory}/stores`)).toEqual([])
  expect(readdirSync(`${place.dataDirectory}/unfinished`)).toEqual(['other'])
  await again.host.close()
})

test('its stores have a share of its memory for their caches, and not that of others', async () => {
  const { host, caller } = await newHost()
  const { storeId } = await host.create(caller, settings)
  const before = cachesOfProcess.bytes
  await host.use(caller, storeId, async (store, me) => {
    const { versionIds } = await me.write('/a.md', 'a content')
    for (const id of versionIds) await store.history.version(id)
    expect(cachesOfProcess.bytes).toBe(before)
  })
  await host.close()
})

test('a store whose files could not be erased is erased later', async () => {
  let failing = true
  const removeTree = (path: string): void => {
    if (failing && path.includes('memstore_')) {
      throw new StoreError('storage_failed', 'The disk has failed')
    }
    systemDisk.removeTree(path)
  }
  const { host, caller, place } = await newHost({ disk: { ...systemDisk, removeTree } })
  const { storeId } = await host.create(caller, settings)
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  await expect(host.delete(caller, storeId)).rejects.toMatchObject({ code: 'storage_failed' })
  await expect(host.get(caller, storeId)).rejects.toThrow(/no such/)
  vi.advanceTimersByTime(60_000)
  await new Promise(setImmediate)
  expect(existsSync(`${place.dataDirectory}/stores/${storeId}`)).toBe(true)
  failing = false
  vi.advanceTimersByTime(60_000)
  await vi.waitFor(
    () => expect(readdirSync(`${place.dataDirectory}/unfinished`)).toEqual([]),
    patience,
  )
  expect(existsSync(`${place.dataDirectory}/stores/${storeId}`)).toBe(false)
  await host.close()
})

test('a store that could not be listed leaves nothing behind', async () => {
  let failing = false
  const rename = (from: string, to: string): void => {
    if (failing && to.endsWith('/catalogue')) {
      failing = false
      throw new StoreError('storage_full', 'The disk is full')
    }
    systemDisk.rename(from, to)
  }
  const { host, caller, place } = await newHost({ disk: { ...systemDisk, rename } })
  failing = true
  await expect(host.create(caller, settings)).rejects.toMatchObject({ code: 'storage_full' })
  expect(readdirSync(`${place.dataDirectory}/stores`)).toEqual([])
  expect(readdirSync(`${place.dataDirectory}/unfinished`)).toEqual([])
  const { storeId } = await host.create(caller, settings)
  expect(readdirSync(`${place.dataDirectory}/stores`)).toEqual([storeId])
  await host.close()
})
