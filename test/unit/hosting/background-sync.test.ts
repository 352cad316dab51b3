// A server syncs the stores that have a remote, again and again, beside the requests.

import { renameSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { newHost, settings } from '../../support/hosts.ts'
import { git, temporaryDirectory } from '../../support/temporary.ts'

test('a store with a remote is synced, and a failure is told', { tags: 'slow' }, async () => {
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
  await vi.waitFor(() => git(['rev-parse', '--verify', 'main'], url), { timeout: 10_000 })
  renameSync(url, `${url}.away`)
  await vi.waitFor(() => expect(notices).not.toEqual([]), { timeout: 10_000 })
  expect(notices[0]).toMatchObject({ about: storeId, error: { code: 'remote_not_found' } })
  renameSync(`${url}.away`, url)
  await host.use(caller, storeId, (_, me) => me.settings.update({ name: 'newer' }))
  const before = git(['rev-parse', 'main'], url)
  await vi.waitFor(() => expect(git(['rev-parse', 'main'], url)).not.toBe(before), {
    timeout: 10_000,
  })
  await vi.waitFor(() => expect(host.get(caller, storeId).name).toBe('newer'))
  await host.close()
})
