// Late commits of a removed device that others had taken over before they knew: dropping them again
// is no rollback to any device, whatever happened in between (FORMAT §7.4, §9).

import { describe, expect, test } from 'vitest'
import { systemDisk } from '../../../../src/disk/system-disk.ts'
import { framesOf, surveyJournals } from '../../../../src/git/journal/journal-survey.ts'
import { generateIdentity, type MemoryStore } from '../../../../src/index.ts'
import { worldsOf } from '../../../support/clone-templates.ts'
import {
  alone,
  admit,
  type Clone,
  firstClone,
  idOf,
  joinClone,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { FaultyDisk, SimulatedDeath } from '../../../support/faulty-disk.ts'
import { branchOf, copyRemote, create, leak, redact } from '../../../support/hostile-remotes.ts'
import { inlinePacker } from '../../../support/inline-packer.ts'
import { sample } from '../../../support/seed.ts'
import { author, contentsOf, reopen, type TestPlace } from '../../../support/stores.ts'
import { git, temporaryDirectory } from '../../../support/temporary.ts'

/** Options of the second device that uses the clone. */
const identity = await generateIdentity()

const worlds = worldsOf(async (url) => {
  const owner = await firstClone(url)
  await leak(owner)
  await admit(owner, 'writer', identity)
  await sync(owner)
  const [clone, removed] = [await joinClone(owner, url), await joinClone(owner, url)]
  await syncAll([owner, clone, removed])
  return { owner, clone, removed }
})

type Removal = Awaited<ReturnType<typeof worlds>>

/** One of three machines was removed, and was faster at the remote with what it wrote then. */
async function removal({ isBehind }: { readonly isBehind: boolean }): Promise<Removal> {
  const world = await worlds()
  const { owner, clone, removed } = world
  await create(clone, '/kept.md')
  await syncAll(isBehind ? [clone, removed] : [clone, owner, removed])
  await owner.store.as(author).devices.remove([idOf(removed)], alone)
  // More commits than the owner has: a height alone does not show which head is newer.
  for (const path of ['/late.md', '/later.md', '/latest.md']) await create(removed, path)
  await sync(removed)
  return world
}

async function redactLeaked(owner: Clone): Promise<void> {
  const { data: versions } = await owner.store.history.versions({
    path: '/key.txt',
    order: 'oldest',
  })
  await redact(owner, versions[0]?.versionId ?? '')
}

/** A clone has taken over the late commit, and no other clone knows that it is late. */
async function takenOver({ isBehind = false } = {}): Promise<Removal> {
  const found = await removal({ isBehind })
  await sync(found.clone)
  expect(await contentsOf(found.clone.store)).toHaveProperty('/late.md')
  return found
}

/** The remote does not have the late commit any more. */
async function withLate(): Promise<Removal> {
  const found = await takenOver()
  await sync(found.owner)
  return found
}

/** The remote does not have the late commit any more, and has a redaction with the removal. */
async function withRedaction(): Promise<Removal> {
  const found = await takenOver()
  await redactLeaked(found.owner)
  await sync(found.owner)
  return found
}

const kept = { '/key.txt': 'revoked', '/kept.md': '/kept.md' }

/** A clone that has the late commit as its newest one. */
async function beside({ place }: Clone): Promise<MemoryStore> {
  const store = await reopen(place)
  expect((await store.read('/late.md'))?.content).toBe('/late.md')
  await store.history.versions()
  return store
}

test(
  'another process still works after a sync has dropped late commits',
  { tags: 'slow' },
  async () => {
    const { clone } = await withLate()
    const store = await beside(clone)
    await sync(clone)
    expect(await contentsOf(store)).toEqual(kept)
    await store.as(author).apply([{ type: 'create', path: '/new.md', content: 'new' }])
    expect(await contentsOf(clone.store)).toHaveProperty('/new.md')
    await store.maintenance.verify()
    await store.close()
    await clone.store.close()
    await (await reopen(clone.place)).close()
  },
)

test(
  'a process that dies while it drops late commits opens its store again',
  { tags: 'slow' },
  async () => {
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
      const surveys = surveyJournals(systemDisk, `${place.directory}/gitlocket`)
      if ([...surveys.values()].some(({ before }) => framesOf(before).length > 0))
        disk.die('nothing')
    }
    await expect(sync({ store: dying })).rejects.toBeInstanceOf(SimulatedDeath)
    const again = await reopen(place)
    expect(await contentsOf(again)).toEqual(kept)
    await sync({ store: again })
    await again.close()
  },
)

test(
  'a remote that had shown it may show what another remote has shown since',
  { tags: 'slow' },
  async () => {
    const { clone, remote } = await withLate()
    await clone.store.remotes.add('second', copyRemote(remote))
    await clone.store.as(author).sync({ remote: 'second' })
    expect(await contentsOf(clone.store)).toEqual(kept)
    const { head } = await clone.store.as(author).sync({ remote: 'origin' })
    expect(head).toBe(branchOf(remote))
  },
)

test(
  'a clone that drops late commits may lose the answer to its push',
  { tags: 'slow' },
  async () => {
    const { owner, remote } = await removal({ isBehind: false })
    await owner.store.as(author).sync({ only: 'pull' })
    await owner.store.maintenance.checkpoint()
    git(['push', '--quiet', '--force', remote, 'main'], owner.place.directory)
    const { sent, head } = await owner.store.as(author).sync()
    expect(sent.commits).toBe(0)
    expect(branchOf(remote)).toBe(head)
  },
)

describe('a process that has a late commit as its newest', () => {
  const uses: readonly (readonly [name: string, use: (store: MemoryStore) => Promise<unknown>])[] =
    [
      ['only opened the store', async () => undefined],
      ['read the history', (store) => store.history.versions()],
    ]
  test.each(sample(uses, 2))(
    'and %s closes after another process has dropped it: the store opens',
    { tags: 'slow' },
    async (_, use) => {
      const { clone } = await withLate()
      const store = await reopen(clone.place)
      await use(store)
      await sync(clone)
      await clone.store.close()
      await store.close()
      const again = await reopen(clone.place)
      expect(await contentsOf(again)).toEqual(kept)
      await again.close()
    },
  )

  test(
    'still works after one sync has dropped late commits and brought a redaction',
    { tags: 'slow' },
    async () => {
      const { owner, clone } = await withRedaction()
      const store = await beside(clone)
      await sync(clone)
      await clone.store.maintenance.checkpoint()
      expect(await contentsOf(store)).toEqual(kept)
      await store.as(author).apply([{ type: 'create', path: '/new.md', content: 'new' }])
      await sync(clone)
      await sync(owner)
      expect(await contentsOf(owner.store)).toHaveProperty('/new.md')
      await store.close()
      await clone.store.close()
      await (await reopen(clone.place)).close()
    },
  )
})

describe('a second device that uses the clone', () => {
  /** It has verified the late commits. */
  async function behind(isBehind = false): Promise<Removal & { readonly place: TestPlace }> {
    const found = await takenOver({ isBehind })
    const stateDirectory = `${temporaryDirectory()}/state`
    const place = { ...found.clone.place, identity, stateDirectory }
    await (await reopen(place)).close()
    return { ...found, place }
  }

  test(
    'opens it after a sync of the first one has dropped late commits',
    { tags: 'slow' },
    async () => {
      const { owner, clone, place } = await behind()
      await syncAll([owner, clone])
      await clone.store.close()
      for (let opened = 0; opened < 2; opened += 1) {
        const store = await reopen(place)
        expect(await contentsOf(store)).toEqual(kept)
        await store.close()
      }
    },
  )

  test('gets an error if it lost a commit from before the removal', { tags: 'slow' }, async () => {
    const { owner, clone, place } = await behind(true)
    await Promise.all([owner.store.close(), clone.store.close()])
    git(['fetch', '--quiet', '--force', owner.place.directory, 'main:main'], place.directory)
    await expect(reopen(place)).rejects.toMatchObject({ code: 'rolled_back' })
  })
})

test('a remote that had shown it may show it redacted as well', { tags: 'slow' }, async () => {
  const { owner, clone, remote } = await takenOver()
  const second = copyRemote(remote)
  for (const { store } of [clone, owner]) await store.remotes.add('second', second)
  await clone.store.as(author).sync({ remote: 'second' })
  await redactLeaked(owner)
  for (const name of ['origin', 'second']) await owner.store.as(author).sync({ remote: name })
  await clone.store.as(author).sync({ remote: 'origin' })
  await clone.store.maintenance.checkpoint()
  const { head } = await clone.store.as(author).sync({ remote: 'second' })
  expect(head).toBe(branchOf(second))
  expect(await contentsOf(clone.store)).toEqual(kept)
})

test(
  'a remote that still shows it loses it and the redacted versions',
  { tags: 'slow' },
  async () => {
    const { owner, clone, remote } = await takenOver()
    const second = copyRemote(remote)
    await clone.store.remotes.add('second', second)
    await clone.store.as(author).sync({ remote: 'second' })
    await redactLeaked(owner)
    await sync(owner)
    await clone.store.as(author).sync({ remote: 'origin' })
    await clone.store.maintenance.checkpoint()
    const { late, head } = await clone.store.as(author).sync({ remote: 'second' })
    expect(late).toHaveLength(3)
    expect(head).toBe(branchOf(second))
    expect(await contentsOf(clone.store)).toEqual(kept)
    expect((await clone.store.maintenance.findResidue()).found).toEqual([])
  },
)

test('the cache brings back no memory that was dropped as late', { tags: 'slow' }, async () => {
  const { owner, clone, removed } = await worlds()
  // The cache holds what differs from an older one, and here no memory remains that could.
  await clone.store.as(author).delete('/key.txt')
  await syncAll([clone, owner, removed])
  await owner.store.as(author).devices.remove([idOf(removed)], alone)
  for (const path of ['/late.md', '/later.md']) await create(removed, path)
  await sync(removed)
  await sync(clone)
  await sync(owner)
  await clone.store.close()
  const store = await reopen(clone.place)
  expect(await contentsOf(store)).toHaveProperty('/late.md')
  await sync({ store })
  expect(await contentsOf(store)).toEqual({})
  await store.close()
  const opened = await reopen(clone.place)
  expect(await contentsOf(opened)).toEqual({})
  await opened.as(author).write('/new.md', 'new')
  await opened.close()
})
