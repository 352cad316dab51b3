// What the command line does to the stores of a server that runs or starts.

import { expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import {
  type HostAdministration,
  openHostAdministration,
} from '../../../src/hosting/administration.ts'
import type { HostedStore } from '../../../src/hosting/catalogue.ts'
import { openHost } from '../../../src/hosting/host.ts'
import { callerOf, type HostPlace, newHostPlace, newToken } from '../../support/hosts.ts'

interface Event {
  readonly happened: Promise<void>
  readonly happen: () => void
}

function newEvent(): Event {
  let happen = (): void => undefined
  const happened = new Promise<void>((resolve) => {
    happen = resolve
  })
  return { happened, happen: () => happen() }
}

const actor = { type: 'user', id: 'me' } as const

/** Resolves `reached` at the first sync of such a directory, which then waits for `go`. */
function pausingDisk(at: (path: string) => boolean): {
  readonly disk: Disk
  readonly reached: Promise<void>
  readonly go: () => void
} {
  const reached = newEvent()
  const gate = newEvent()
  const syncDirectory = async (path: string): Promise<void> => {
    if (at(path)) {
      reached.happen()
      await gate.happened
    }
    await systemDisk.syncDirectory(path)
  }
  return { disk: { ...systemDisk, syncDirectory }, reached: reached.happened, go: gate.happen }
}

/** Resolves `asked` when the lock was asked for and another process had it. */
function watchingDisk(): { readonly disk: Disk; readonly asked: Promise<void> } {
  const asked = newEvent()
  const link = (from: string, to: string): boolean => {
    const made = systemDisk.link(from, to)
    if (!made && to.endsWith('/stores.lock')) asked.happen()
    return made
  }
  return { disk: { ...systemDisk, link }, asked: asked.happened }
}

function make(administration: HostAdministration, place: HostPlace): Promise<HostedStore> {
  const { operatorSecret } = place
  return administration.createStore({ name: 'notes', actor, operatorSecret })
}

test('a server that starts does not erase the store that another process is making', async () => {
  const place = newHostPlace()
  const token = await newToken(place)
  // Its branch is there by then: nothing that is erased from now on is made again.
  const { disk, reached, go } = pausingDisk((path) => /memstore_\w+\/refs\/heads$/.test(path))
  const administration = await openHostAdministration({ ...place, disk })
  const making = make(administration, place)
  await reached
  const watched = watchingDisk()
  const opening = openHost({ ...place, disk: watched.disk })
  await Promise.race([watched.asked, opening])
  go()
  const { storeId } = await making
  const host = await opening
  const caller = await callerOf(host, token)
  expect(await host.use(caller, storeId, (store) => store.info())).toMatchObject({ storeId })
  await administration.close()
  await host.close()
})

test('a store that is deleted while another process ends its making keeps its marker', async () => {
  const place = newHostPlace()
  const token = await newToken(place)
  const removeTree = (path: string): void => {
    if (path.includes('memstore_')) throw new StoreError('storage_failed', 'The disk has failed')
    systemDisk.removeTree(path)
  }
  const host = await openHost({ ...place, disk: { ...systemDisk, removeTree } })
  const caller = await callerOf(host, token)
  const { disk, reached, go } = pausingDisk((path) => path === place.dataDirectory)
  const administration = await openHostAdministration({ ...place, disk })
  const making = make(administration, place)
  await reached
  const [listed] = (await host.list(caller, { limit: 1 })).data
  const deleting = host.delete(caller, String(listed?.storeId))
  go()
  const { storeId } = await making
  expect(storeId).toBe(listed?.storeId)
  await expect(deleting).rejects.toMatchObject({ code: 'storage_failed' })
  // The next start erases it.
  expect(systemDisk.list(`${place.dataDirectory}/unfinished`)).toEqual([storeId])
  await administration.close()
  await host.close()
})

test('a store is made with the guard, or without it if that is asked for', async () => {
  const place = newHostPlace()
  const administration = await openHostAdministration(place)
  const { operatorSecret } = place
  const guardOf = async (refuseSecrets?: boolean): Promise<unknown> => {
    const choice = refuseSecrets === undefined ? {} : { refuseSecrets }
    const made = { name: 'notes', actor, operatorSecret, ...choice }
    const { storeId } = await administration.createStore(made)
    return administration.use(storeId, async (store) => {
      const write = store.as({ actor }).write('/a.md', `ghp_${'A1b2'.repeat(9)}`)
      return write.then(
        () => 'written',
        (error: unknown) => (error instanceof StoreError ? error.code : error),
      )
    })
  }
  expect(await guardOf()).toBe('sensitive_content')
  expect(await guardOf(false)).toBe('written')
  await administration.close()
})
