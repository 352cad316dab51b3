// What a removed device wrote too late, and others had taken over before they knew: that it is left
// again is no rollback, to nobody here, whatever came in between (FORMAT §7.4, §9).

import { expect, test } from 'vitest'
import { formatId } from '../../../../src/format/id.ts'
import type { MemoryStore } from '../../../../src/index.ts'
import { bareRemote, firstClone, joinClone, sync, syncAll } from '../../../support/clones.ts'
import type { Clone } from '../../../support/clones.ts'
import { FaultyDisk, SimulatedDeath } from '../../../support/faulty-disk.ts'
import { branchOf, copyRemote, create } from '../../../support/hostile-remotes.ts'
import { inlinePacker } from '../../../support/inline-packer.ts'
import { author, contentsOf, reopen } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

interface Removal {
  readonly remote: string
  readonly owner: Clone
  readonly clone: Clone
}

/** One of three machines was removed, and was faster at the remote with what it wrote then. */
async function removal(): Promise<Removal> {
  const remote = bareRemote()
  const owner = await firstClone(remote)
  await sync(owner)
  const [clone, removed] = [await joinClone(owner, remote), await joinClone(owner, remote)]
  await syncAll([owner, clone, removed])
  await create(clone, '/kept.md')
  await syncAll([clone, owner, removed])
  const id = formatId('device', removed.place.identity.deviceId)
  await owner.store.removeDevices([id], author)
  await create(removed, '/late.md')
  await sync(removed)
  return { remote, owner, clone }
}

/** A clone that has taken it over, and the remote, which is rid of it by now. */
async function withLate(): Promise<Pick<Removal, 'clone' | 'remote'>> {
  const { remote, owner, clone } = await removal()
  await sync(clone)
  expect(await contentsOf(clone.store)).toHaveProperty('/late.md')
  await sync(owner)
  return { clone, remote }
}

/** Has the late commit as its newest one. */
async function beside({ place }: Clone): Promise<MemoryStore> {
  const store = await reopen(place)
  expect((await store.read('/late.md'))?.content).toBe('/late.md')
  await store.versions()
  return store
}

test('another process goes on where a sync left what was late', async () => {
  const { clone } = await withLate()
  const store = await beside(clone)
  await sync(clone)
  expect(await contentsOf(store)).toEqual({ '/kept.md': '/kept.md' })
  await store.apply([{ type: 'create', path: '/new.md', content: 'new' }], author)
  expect(await contentsOf(clone.store)).toHaveProperty('/new.md')
  await store.verify()
  await store.close()
  await clone.store.close()
  await (await reopen(clone.place)).close()
})

test('a process that dies as it leaves it finds its store again', async () => {
  const { clone } = await withLate()
  const { store, place } = clone
  await store.close()
  const disk = new FaultyDisk()
  const packer = inlinePacker(disk, place.directory)
  const dying = await reopen(place, { disk, packer })
  const syncFile = disk.sync.bind(disk)
  disk.sync = async (fd) => {
    await syncFile(fd)
    // The branch has moved, and nothing else is known to have.
    if (disk.log.at(-1)?.startsWith('sync journal') === true) disk.die('nothing')
  }
  await expect(sync({ store: dying })).rejects.toBeInstanceOf(SimulatedDeath)
  const again = await reopen(place)
  expect(await contentsOf(again)).toEqual({ '/kept.md': '/kept.md' })
  await sync({ store: again })
  await again.close()
})

test('a remote that had shown it may show what another remote has shown since', async () => {
  const { clone, remote } = await withLate()
  await clone.store.addRemote('second', copyRemote(remote))
  await clone.store.sync(author, { remote: 'second' })
  expect(await contentsOf(clone.store)).toEqual({ '/kept.md': '/kept.md' })
  const { head } = await clone.store.sync(author, { remote: 'origin' })
  expect(head).toBe(branchOf(remote))
})

test('who takes it back may lose the answer to the push that does so', async () => {
  const { owner, remote } = await removal()
  await owner.store.sync(author, { only: 'pull' })
  await owner.store.checkpoint()
  git(['push', '--quiet', '--force', remote, 'main'], owner.place.directory)
  const { sent, head } = await owner.store.sync(author)
  expect(sent.commits).toBe(0)
  expect(branchOf(remote)).toBe(head)
})
