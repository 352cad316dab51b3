// A backup is made next to the running server, and a server starts on the restored data.

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { backupHost, restoreHost } from '../../../src/hosting/backup.ts'
import { generateIdentity } from '../../../src/index.ts'
import { callerOf, newHost, newToken, settings } from '../../support/hosts.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

test(
  'a backup made under writes has a state of each store that was',
  { tags: 'slow' },
  async () => {
    const { host, caller, token, place } = await newHost()
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) {
      ids.push((await host.create(caller, { ...settings, name })).storeId)
    }
    const ending = new AbortController()
    const { signal } = ending
    const acknowledged = ids.map(() => 0)
    const writers = ids.map(async (storeId, index) => {
      for (let count = 1; !signal.aborted; count += 1) {
        await host.use(caller, storeId, async (store, me) => {
          await me.write(`/${count}.md`, String(count).repeat(2000))
          if (count % 7 === 0) await store.maintenance.checkpoint()
        })
        acknowledged[index] = count
      }
    })
    const churn = (async () => {
      while (!signal.aborted) {
        const { storeId } = await host.create(caller, settings)
        await host.delete(caller, storeId)
      }
    })()
    while (acknowledged.some((count) => count < 10))
      await new Promise((done) => setTimeout(done, 5))
    const before = [...acknowledged]
    const target = `${temporaryDirectory()}/backup`
    const report = await backupHost(place, target)
    const after = [...acknowledged]
    ending.abort()
    await Promise.all([...writers, churn])
    await host.close()
    expect(report.failed).toEqual([])
    expect(readdirSync(target)).toEqual(['catalogue', 'credentials', 'stores'])

    rmSync(place.dataDirectory, { recursive: true })
    expect(await restoreHost(target, place)).toEqual(report)
    const { host: again, notices } = await newHost({}, place)
    const same = await callerOf(again, token)
    expect((await again.list(same, { limit: 100 })).data).toHaveLength(report.stores)
    for (const [index, storeId] of ids.entries()) {
      const listing = await again.use(same, storeId, async (store, me) => {
        await me.write('/after.md', 'written after')
        await store.maintenance.verify()
        return store.list('/')
      })
      const counts = (listing?.children ?? []).length - 1
      expect(counts).toBeGreaterThanOrEqual(before[index] ?? Infinity)
      expect(counts).toBeLessThanOrEqual((after[index] ?? 0) + 1)
    }
    expect(notices).toEqual([])
    await again.close()
  },
)

test('it can be restored if the state directory is lost, or is newer', async () => {
  const { host, caller, token, place } = await newHost()
  const { storeId } = await host.create(caller, settings)
  await host.use(caller, storeId, (_, me) => me.write('/a.md', 'old'))
  const target = `${temporaryDirectory()}/backup`
  await backupHost(place, target)
  await host.use(caller, storeId, (_, me) => me.write('/a.md', 'new'))
  await host.delete(caller, (await host.create(caller, settings)).storeId)
  await newToken(place)
  await host.close()
  for (const isLost of [false, true]) {
    rmSync(place.dataDirectory, { recursive: true })
    if (isLost) rmSync(place.stateDirectory, { recursive: true })
    expect(await restoreHost(target, place)).toEqual({ stores: 1, failed: [] })
    const again = (await newHost({}, place)).host
    const same = await callerOf(again, token)
    const read = await again.use(same, storeId, (store) => store.read('/a.md'))
    expect(read?.content).toBe('old')
    await again.use(same, storeId, (_, me) => me.write('/a.md', 'newest'))
    await again.close()
  }
})

test('invalid sources and places are refused, and a lost store is named', async () => {
  const { host, caller, place } = await newHost()
  const [kept, lost] = [await host.create(caller, settings), await host.create(caller, settings)]
  rmSync(`${place.dataDirectory}/stores/${lost.storeId}`, { recursive: true })
  const target = `${temporaryDirectory()}/backup`
  const notices: unknown[] = []
  const options = { ...place, notice: (one: unknown) => notices.push(one) }
  expect(await backupHost(options, target)).toEqual({ stores: 1, failed: [lost.storeId] })
  expect(notices).toMatchObject([{ about: lost.storeId, error: { code: 'not_a_store' } }])
  expect(readdirSync(`${target}/stores`)).toEqual([kept.storeId])
  const invalid = { code: 'invalid_input' }
  await expect(backupHost(place, target)).rejects.toMatchObject(invalid)
  await expect(restoreHost(target, place)).rejects.toMatchObject(invalid)
  const fresh = { ...place, dataDirectory: `${temporaryDirectory()}/data` }
  const missing = { code: 'not_found' }
  await expect(restoreHost(place.stateDirectory + '/no', fresh)).rejects.toMatchObject(missing)
  await expect(backupHost(fresh, `${target}-2`)).rejects.toMatchObject(missing)
  expect(existsSync(fresh.dataDirectory)).toBe(false)
  const stranger = {
    ...fresh,
    stateDirectory: temporaryDirectory(),
    identity: await generateIdentity(),
  }
  await expect(restoreHost(target, stranger)).rejects.toMatchObject({ code: 'wrong_key' })
  const found = { ...stranger, identity: place.identity }
  expect(await restoreHost(target, found)).toEqual({ stores: 1, failed: [lost.storeId] })
  await host.close()
})

test('a store that is made while others are copied is in the backup', async () => {
  const { host, caller, place } = await newHost()
  const ids = [(await host.create(caller, settings)).storeId]
  const target = `${temporaryDirectory()}/backup`
  const syncDirectory = async (path: string): Promise<void> => {
    if (ids.length === 1 && path.startsWith(`${target}/stores/`)) {
      ids.push('being made')
      ids[1] = (await host.create(caller, settings)).storeId
    }
    await systemDisk.syncDirectory(path)
  }
  const report = await backupHost({ ...place, disk: { ...systemDisk, syncDirectory } }, target)
  await host.close()
  expect(report).toEqual({ stores: 2, failed: [] })
  expect(readdirSync(`${target}/stores`).toSorted()).toEqual(ids.toSorted())
})
