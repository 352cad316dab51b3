// The store as a whole: opening, other handles, lost caches, passphrases, recovery,
// restored backups, and stock git on the repository.

import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  type Change,
  createStore,
  generateIdentity,
  openStore,
  type VersionFilter,
} from '../../../src/index.ts'
import { author, contentsOf, newStore, reopen } from '../../support/stores.ts'
import { copyDirectory, git, temporaryDirectory } from '../../support/temporary.ts'
import { requires } from '../../support/tools.ts'

const create = (path: string, content = `${path}\n`): Change => ({ type: 'create', path, content })
const passphrase = 'correct horse battery staple'

describe('opening', () => {
  test('finds all memories with and without caches', { tags: 'slow' }, async () => {
    const { store, place } = await newStore()
    for (let index = 0; index < 40; index += 1)
      await store.as(author).apply([create(`/n/${index}`)])
    const contents = await contentsOf(store)
    const versions = await store.history.versions()
    await store.close()
    const warm = await reopen(place)
    expect(await contentsOf(warm)).toEqual(contents)
    expect(await warm.history.versions()).toEqual(versions)
    await warm.close()
    rmSync(`${place.directory}/gitlocket`, { recursive: true })
    const cold = await reopen(place)
    expect(await contentsOf(cold)).toEqual(contents)
    expect(await cold.history.versions()).toEqual(versions)
    await cold.close()
  })

  test('keeps the history that a query has read from git', { tags: 'slow' }, async () => {
    const { store, place } = await newStore()
    const many = Array.from({ length: 300 }, (_, index) => create(`/n/${index}`))
    await Promise.all(many.map((change) => store.as(author).apply([change])))
    await store.close()
    const caches = `${place.directory}/gitlocket/cache`
    const segments = (): string[] => {
      const names = readdirSync(caches, { recursive: true }).map(String)
      return names.filter((name) => name.includes('versions-'))
    }
    expect(segments()).toEqual([])
    const reader = await reopen(place)
    const asked = await reader.history.versions({ limit: 1000 })
    await reader.close()
    expect(segments()).toHaveLength(1)
    const again = await reopen(place)
    expect(await again.history.versions({ limit: 1000 })).toEqual(asked)
    await again.close()
  })

  test('refuses an identity that is not a device, with a hint', async () => {
    const { store, place } = await newStore()
    await store.close()
    const stranger = await generateIdentity()
    await expect(reopen(place, { identity: stranger })).rejects.toMatchObject({
      code: 'wrong_key',
      message: expect.stringContaining('enrol'),
    })
  })

  test('refuses a repository that is not a store', async () => {
    const directory = temporaryDirectory()
    const identity = await generateIdentity()
    const options = { directory, stateDirectory: `${directory}/state`, identity }
    await expect(openStore(options)).rejects.toMatchObject({ code: 'not_a_store' })
    await expect(openStore({ ...options, directory: `${directory}/none` })).rejects.toMatchObject({
      code: 'not_a_store',
    })
    git(['init', '--bare', '--quiet', `${directory}/plain`], directory)
    const plain = { ...options, directory: `${directory}/plain` }
    await expect(openStore(plain)).rejects.toHaveProperty('name', 'StoreError')
  })

  test('refuses to create over a store', async () => {
    const { store, place } = await newStore()
    await store.close()
    await expect(createStore(place)).rejects.toMatchObject({ code: 'store_exists' })
    await (await reopen(place)).close()
  })

  test('a reader leaves nothing of a store that is deleted while it is open', async () => {
    const { store, place } = await newStore()
    const reader = await reopen(place)
    await store.as(author).apply([create('/a')])
    await store.close()
    expect((await reader.read('/a'))?.path).toBe('/a')
    rmSync(place.directory, { recursive: true })
    await reader.close()
    expect(existsSync(place.directory)).toBe(false)
  })

  test('a closed store refuses, and closing twice is harmless', async () => {
    const { store } = await newStore()
    await store.close()
    await store.close()
    await expect(store.read('/a')).rejects.toMatchObject({ code: 'store_closed' })
    await expect(store.as(author).apply([create('/a')])).rejects.toMatchObject({
      code: 'store_closed',
    })
  })
})

test('two handles on one store see each other and keep every write', async () => {
  const { store, place } = await newStore()
  const other = await reopen(place)
  await store.as(author).apply([create('/a')])
  expect((await other.read('/a'))?.content).toBe('/a\n')
  const writes = Array.from({ length: 20 }, (_, index) =>
    (index % 2 === 0 ? store : other).as(author).apply([create(`/n/${index}`)]),
  )
  await Promise.all(writes)
  expect((await store.list('/n'))?.children).toHaveLength(20)
  expect(await contentsOf(other)).toEqual(await contentsOf(store))
  await other.maintenance.verify()
  await store.close()
  await other.close()
})

describe('versions', () => {
  test('are found by memory, path, actor, session, operation and time', async () => {
    let now = 1000
    const { store } = await newStore({ clock: () => now })
    const other = { actor: { type: 'user', id: 'ann' } } as const
    await store.as(author).apply([create('/d/a')])
    now = 2000
    await store.as({ ...other, reason: 'because' }).apply([create('/d/b')])
    now = 3000
    await store.as(other).apply([{ type: 'delete', path: '/d/a' }])
    const ids = async (filter: VersionFilter): Promise<string[]> =>
      (await store.history.versions(filter)).data.map(
        ({ operation, path }) => `${operation} ${path}`,
      )
    const memoryId = (await store.read('/d/b'))?.memoryId
    expect(await ids({ memoryId })).toEqual(['created /d/b'])
    expect(await ids({ path: '/d/a' })).toEqual(['deleted /d/a', 'created /d/a'])
    expect(await ids({ path: '/d' })).toHaveLength(3)
    expect(await ids({ actorId: 'ann' })).toEqual(['deleted /d/a', 'created /d/b'])
    expect(await ids({ session: 'agent-1' })).toEqual(['created /d/a'])
    expect(await ids({ operation: 'deleted' })).toEqual(['deleted /d/a'])
    expect(await ids({ since: 2000, until: 2000 })).toEqual(['created /d/b'])
    expect(await ids({ actorId: 'nobody' })).toEqual([])
    const [newest] = (await store.history.versions({ actorId: 'ann', operation: 'created' })).data
    expect(newest).toMatchObject({ reason: 'because', createdAt: 2000, createdBy: other.actor })
    await store.close()
  })

  test('come in pages that neither repeat nor skip', async () => {
    const { store } = await newStore()
    await store.as(author).apply(Array.from({ length: 25 }, (_, index) => create(`/n/${index}`)))
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await store.history.versions({ limit: 10, page: after })
      seen.push(...page.data.map((version) => version.versionId))
      after = page.nextPage
    } while (after !== undefined)
    expect(new Set(seen).size).toBe(25)
    expect(seen).toHaveLength(25)
    await expect(store.history.versions({ limit: 0 })).rejects.toMatchObject({
      code: 'invalid_input',
    })
    await store.close()
  })

  test('have their contents after edits, renames and deletion', async () => {
    const { store } = await newStore()
    const first = await store.as(author).apply([create('/a', 'one')])
    const second = await store.as(author).apply([{ type: 'edit', path: '/a', edit: () => 'two' }])
    const third = await store.as(author).apply([{ type: 'delete', path: '/a' }])
    const contentOf = async (ids: readonly string[]): Promise<string | undefined> =>
      (await store.history.version(ids[0] ?? '')).content
    expect(await contentOf(first.versionIds)).toBe('one')
    expect(await contentOf(second.versionIds)).toBe('two')
    expect(await contentOf(third.versionIds)).toBeUndefined()
    await expect(store.history.version('memver_00000000000000000000000000')).rejects.toMatchObject({
      code: 'not_found',
    })
    await store.close()
  })
})

describe('passphrase and recovery key', () => {
  test(
    'enrol a new device with their grade; a new passphrase begins an epoch',
    { tags: 'slow' },
    async () => {
      const { store, place } = await newStore({ passphrase })
      await store.as(author).apply([create('/a')])
      await store.close()
      const second = {
        ...place,
        stateDirectory: temporaryDirectory(),
        identity: await generateIdentity(),
      }
      const writer = await reopen(second, { passphrase })
      expect(await writer.status()).toMatchObject({ role: 'writer', memories: 1, epochs: 1 })
      await writer.as(author).apply([create('/b')])
      await expect(
        writer.as(author).keys.changePassphrase('another long one'),
      ).rejects.toMatchObject({
        code: 'permission_denied',
      })
      await writer.close()
      const owner = await reopen(place)
      await owner.as(author).keys.changePassphrase('another long one')
      await owner.as(author).apply([create('/c')])
      expect((await owner.status()).epochs).toBe(2)
      await owner.close()
      const third = {
        ...place,
        stateDirectory: temporaryDirectory(),
        identity: await generateIdentity(),
      }
      await expect(reopen(third, { passphrase })).rejects.toMatchObject({ code: 'wrong_key' })
      const recovered = await reopen(third, { recoveryKey: place.recoveryKey })
      expect((await recovered.status()).role).toBe('owner')
      expect(Object.keys(await contentsOf(recovered)).toSorted()).toEqual(['/a', '/b', '/c'])
      await recovered.maintenance.verify()
      await recovered.close()
      // The second device was added before the new epoch and remains a member.
      const still = await reopen(second)
      expect(Object.keys(await contentsOf(still))).toHaveLength(3)
      await still.close()
    },
  )

  test('a short passphrase is refused before anything is created', async () => {
    await expect(newStore({ passphrase: 'short' })).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

describe('a store that was rolled back', () => {
  test(
    'is refused, accepted once on demand, and never repeats a sequence number',
    { tags: 'slow' },
    async () => {
      const { store, place } = await newStore()
      await store.as(author).apply([create('/a')])
      await store.close()
      copyDirectory(place.directory, `${place.directory}.backup`)
      const later = await reopen(place)
      await later.as(author).apply([create('/b')])
      await later.as(author).apply([create('/c')])
      await later.close()
      rmSync(place.directory, { recursive: true })
      copyDirectory(`${place.directory}.backup`, place.directory)
      await expect(reopen(place)).rejects.toMatchObject({ code: 'rolled_back' })
      const restored = await reopen(place, { acceptRolledBack: true })
      await restored.as(author).apply([create('/d')])
      await restored.maintenance.verify()
      expect(Object.keys(await contentsOf(restored)).toSorted()).toEqual(['/a', '/d'])
      await restored.close()
      await (await reopen(place)).close()
    },
  )

  test('or replaced by another one is refused', { tags: 'slow' }, async () => {
    const { store, place } = await newStore()
    await store.as(author).apply([create('/a')])
    await store.close()
    copyDirectory(place.directory, `${place.directory}.fork`)
    const ours = await reopen(place)
    await ours.as(author).apply([create('/ours')])
    await ours.close()
    const fork = await reopen(
      { ...place, directory: `${place.directory}.fork` },
      {
        stateDirectory: temporaryDirectory(),
      },
    )
    await fork.as(author).apply([create('/x')])
    await fork.as(author).apply([create('/y')])
    await fork.close()
    await expect(reopen({ ...place, directory: `${place.directory}.fork` })).rejects.toMatchObject({
      code: 'rolled_back',
    })
  })
})

const sshKeygen = requires('ssh-keygen')

describe('stock git', () => {
  test.skipIf(sshKeygen.missing)(
    `verifies every commit of every epoch${sshKeygen.note}`,
    async () => {
      const { store, place } = await newStore()
      await store.as(author).apply([create('/a')])
      await store.as(author).keys.rotate()
      await store.as(author).apply([create('/b')])
      const signers = `${temporaryDirectory()}/signers`
      writeFileSync(signers, await store.maintenance.allowedSigners())
      await store.close()
      const commits = git(['rev-list', 'main'], place.directory).trim().split('\n')
      expect(commits).toHaveLength(4)
      const setting = `gpg.ssh.allowedSignersFile=${signers}`
      git(['-c', setting, 'verify-commit', ...commits], place.directory)
    },
  )

  test(
    'checks, clones and collects; the store reads everything afterwards',
    { tags: 'slow' },
    async () => {
      const { store, place } = await newStore()
      for (let index = 0; index < 60; index += 1)
        await store.as(author).apply([create(`/n/${index}`)])
      await store.as(author).apply([{ type: 'rename', path: '/n', to: '/m' }])
      const contents = await contentsOf(store)
      await store.close()
      git(['fsck', '--strict'], place.directory)
      git(['gc', '--prune=now', '--quiet'], place.directory)
      git(['fsck', '--strict'], place.directory)
      const collected = await reopen(place)
      expect(await contentsOf(collected)).toEqual(contents)
      await collected.maintenance.verify()
      await collected.as(author).apply([create('/after')])
      await collected.close()
      const clone = `${place.directory}.clone`
      git(['clone', '--bare', '--quiet', place.directory, clone], place.directory)
      git(['fsck', '--strict'], clone)
      const cloned = await reopen({ ...place, directory: clone })
      expect(Object.keys(await contentsOf(cloned))).toHaveLength(61)
      await cloned.as(author).apply([create('/in-the-clone')])
      await cloned.close()
      git(['fsck', '--strict'], clone)
    },
  )
})

test.skipIf(process.getuid?.() === 0)('a directory without write access can be read', async () => {
  const { store, place } = await newStore()
  await store.as(author).apply([create('/a')])
  await store.close()
  chmodSync(`${place.directory}/gitlocket`, 0o500)
  const reader = await reopen(place)
  expect(await reader.read('/a')).toBeDefined()
  await expect(reader.as(author).apply([create('/b')])).rejects.toMatchObject({
    code: 'storage_denied',
  })
  await reader.close()
  chmodSync(`${place.directory}/gitlocket`, 0o700)
})
