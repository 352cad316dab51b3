// A server syncs the stores that have a remote, again and again, while it answers requests.

import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { createServer } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import { BackgroundSync } from '../../../src/hosting/background-sync.ts'
import { DataDirectory } from '../../../src/hosting/data-directory.ts'
import type { HostNotice } from '../../../src/hosting/host-backend.ts'
import { newHost, newHostPlace, settings } from '../../support/hosts.ts'
import { patience } from '../../support/patience.ts'
import { git, temporaryDirectory } from '../../support/temporary.ts'

test('a store with a remote is synced, and a failure is reported', { tags: 'slow' }, async () => {
  const root = temporaryDirectory()
  const url = `${root}/remote.git`
  git(['init', '--quiet', '--bare', '--initial-branch=main', url], root)
  const { host, caller, notices } = await newHost({ syncEveryMs: 5 })
  await host.create(caller, settings)
  const { storeId } = await host.create(caller, settings)
  await host.use(caller, storeId, async (store, me) => {
    await store.remotes.add('origin', url)
    await me.write('/a.md', 'sent')
  })
  await vi.waitFor(() => git(['rev-parse', '--verify', 'main'], url), patience)
  renameSync(url, `${url}.away`)
  await vi.waitFor(() => expect(notices).not.toEqual([]), patience)
  expect(notices[0]).toMatchObject({ about: storeId, error: { code: 'remote_not_found' } })
  renameSync(`${url}.away`, url)
  await host.use(caller, storeId, (_, me) => me.settings.update({ name: 'newer' }))
  const before = git(['rev-parse', 'main'], url)
  await vi.waitFor(() => expect(git(['rev-parse', 'main'], url)).not.toBe(before), patience)
  await vi.waitFor(
    async () => expect((await host.get(caller, storeId)).name).toBe('newer'),
    patience,
  )
  await host.close()
})

/** The address of a remote that never answers, and how often it was asked. */
async function silentRemote() {
  const asked = { times: 0 }
  const server = createServer(() => (asked.times += 1)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  return { asked, url: `http://127.0.0.1:${port}/store.git` }
}

test('a deletion waits for no remote, even if a sync has begun', async () => {
  const { asked, url } = await silentRemote()
  const { host, caller, place } = await newHost({ syncEveryMs: 5 })
  const { storeId } = await host.create(caller, settings)
  await host.use(caller, storeId, (store) => store.remotes.add('origin', url))
  let deleted: Promise<void> | undefined
  const beside = new DataDirectory(place)
  await beside.file('catalogue').lock.hold(1000, async () => {
    deleted = host.delete(caller, storeId)
    await vi.waitFor(() => expect(asked.times).toBeGreaterThan(0), patience)
  })
  await deleted
  await beside.close()
  await host.close()
})

test('a list of stores that cannot be read is reported, and the next round follows', async () => {
  const notices: HostNotice[] = []
  const error = new StoreError('storage_failed', 'the disk')
  const sync = new BackgroundSync({
    backend: new DataDirectory(newHostPlace()),
    everyMs: 1,
    storeIds: () => {
      throw error
    },
    use: async () => undefined,
    notice: (notice) => notices.push(notice),
  })
  await vi.waitFor(() => expect(notices.length).toBeGreaterThan(1), patience)
  expect(notices[0]).toEqual({ about: 'catalogue', error })
  await sync.stop()
})

test('a remote that fails keeps no other from being synced', { tags: 'slow' }, async () => {
  const root = temporaryDirectory()
  const url = `${root}/remote.git`
  git(['init', '--quiet', '--bare', '--initial-branch=main', url], root)
  const { host, caller, notices } = await newHost({ syncEveryMs: 5 })
  const { storeId } = await host.create(caller, settings)
  await host.use(caller, storeId, async (store) => {
    await store.remotes.add('away', `${root}/away.git`)
    await store.remotes.add('origin', url)
  })
  await vi.waitFor(() => git(['rev-parse', '--verify', 'main'], url), patience)
  expect(notices[0]).toMatchObject({ about: storeId, error: { code: 'remote_not_found' } })
  await host.close()
})
