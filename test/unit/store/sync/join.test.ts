// Joining a store on a remote: with a secret or a device card, concurrently with other machines,
// and never partially.

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  formatDeviceCard,
  generateIdentity,
  type JoinOptions,
  joinStore,
  openStore,
} from '../../../../src/index.ts'
import {
  alone,
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  joinClone,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { author, contentsOf } from '../../../support/stores.ts'
import { git, temporaryDirectory } from '../../../support/temporary.ts'

async function hosted(): Promise<{ first: Clone; remote: string }> {
  const remote = bareRemote()
  const first = await firstClone(remote)
  await first.store.as(author).apply([{ type: 'create', path: '/a.md', content: 'a' }])
  await sync(first)
  return { first, remote }
}

describe('joining', () => {
  test('with the recovery key makes an owner, and pushes it', { tags: 'slow' }, async () => {
    const { first, remote } = await hosted()
    const second = await joinClone(first, remote)
    expect(await contentsOf(second.store)).toEqual({ '/a.md': 'a' })
    expect(await second.store.status()).toMatchObject({ role: 'owner' })
    await sync(first)
    expect(await first.store.devices.list()).toHaveLength(2)
  })

  test('reads the history once', { tags: 'slow' }, async () => {
    const { first, remote } = await hosted()
    for (let index = 0; index < 400; index += 1) {
      await first.store.as(author).write('/a.md', String(index))
    }
    await sync(first)
    const { commits } = await first.store.status()
    const steps: number[] = []
    await joinClone(first, remote, { progress: (done) => steps.push(done) })
    expect(steps.at(-1)).toBeGreaterThanOrEqual(commits)
    expect(steps).toEqual(steps.toSorted((a, b) => a - b))
  })

  test(
    'works for a device that an owner has added by its card, without any secret',
    { tags: 'slow' },
    async () => {
      const { first, remote } = await hosted()
      const identity = await generateIdentity()
      await first.store.as(author).devices.add(formatDeviceCard(identity), 'reader', alone)
      await sync(first)
      const second = await joinClone(first, remote, { identity })
      expect(await second.store.status()).toMatchObject({ role: 'reader' })
      expect((await second.store.read('/a.md'))?.content).toBe('a')
      const write = second.store.as(author).apply([{ type: 'delete', path: '/a.md' }])
      await expect(write).rejects.toMatchObject({ code: 'permission_denied' })
    },
  )

  test(
    'by several machines concurrently makes devices of all of them',
    { tags: 'slow' },
    async () => {
      const { first, remote } = await hosted()
      const joined = await Promise.all([1, 2, 3].map(() => joinClone(first, remote)))
      await syncAll([first, ...joined])
      expect(await first.store.devices.list()).toHaveLength(4)
      for (const one of joined) expect(await headOf(one)).toBe(await headOf(first))
    },
  )

  test('continues the sequence of a machine that lost its store', { tags: 'slow' }, async () => {
    const { first, remote } = await hosted()
    const { recoveryKey: _, ...place } = first.place
    const { id: storeId } = first.store
    await first.store.close()
    const directory = `${dirname(place.directory)}/again`
    const again = await joinStore({ ...place, directory, storeId, url: remote, author })
    await again.as(author).apply([{ type: 'create', path: '/b.md', content: 'b' }])
    await again.maintenance.verify()
    expect(await contentsOf(again)).toEqual({ '/a.md': 'a', '/b.md': 'b' })
  })
})

describe('joining again on a machine that has verified more than the remote shows', () => {
  async function lostStore(): Promise<{ first: Clone; options: JoinOptions }> {
    const { first, remote } = await hosted()
    const second = await joinClone(first, remote)
    await syncAll([first, second])
    await second.store.as(author).apply([{ type: 'create', path: '/unsent.md', content: '' }])
    await second.store.close()
    await first.store.as(author).apply([{ type: 'create', path: '/more.md', content: '' }])
    await sync(first)
    rmSync(second.place.directory, { recursive: true })
    const { recoveryKey: _, ...place } = second.place
    return { first, options: { ...place, url: remote, storeId: first.store.id, author } }
  }

  test('is refused with advice and leaves nothing behind', { tags: 'slow' }, async () => {
    const { options } = await lostStore()
    const head = git(['rev-parse', 'main'], options.url)
    await expect(joinStore(options)).rejects.toMatchObject({
      code: 'rolled_back',
      message: expect.stringMatching(/Sync the clone that has them.* accept the rollback once$/),
    })
    expect(readdirSync(dirname(options.directory))).toEqual(['state'])
    expect(git(['rev-parse', 'main'], options.url)).toBe(head)
  })

  test('continues without unsent changes once that is accepted', { tags: 'slow' }, async () => {
    const { first, options } = await lostStore()
    const store = await joinStore({ ...options, acceptRolledBack: true })
    await store.as(author).apply([{ type: 'create', path: '/again.md', content: '' }])
    await store.as(author).sync()
    await sync(first)
    expect(await contentsOf(store)).toEqual({ '/a.md': 'a', '/more.md': '', '/again.md': '' })
    expect((await store.status()).head).toBe(await headOf(first))
    await store.close()
    const { url: _, author: __, ...place } = options
    await (await openStore(place)).close()
  })
})

describe('joining leaves nothing behind', () => {
  const refused = [
    ['a wrong passphrase', { passphrase: 'not this one' }, 'wrong_key'],
    ['another store than expected', { url: '#memstore_00000000000000000000000000' }, undefined],
    ['an address where nothing is', { url: '/missing' }, 'remote_not_found'],
  ] as const

  test.each(refused)('with %s', { tags: 'slow' }, async (_, given, code) => {
    const { first, remote } = await hosted()
    const head = git(['rev-parse', 'main'], remote)
    const root = temporaryDirectory()
    const at = { directory: `${root}/store`, stateDirectory: `${root}/state` }
    const suffix = 'url' in given ? given.url : `#${first.store.id}`
    const elsewhere = `${root}${suffix}#${first.store.id}`
    const url = suffix.startsWith('/') ? elsewhere : `${remote}${suffix}`
    const options = { ...at, identity: await generateIdentity(), author, ...given, url }
    await expect(joinStore(options)).rejects.toMatchObject({ code: code ?? 'store_id_mismatch' })
    expect(existsSync(at.directory)).toBe(false)
    expect(readdirSync(root)).toEqual([])
    expect(git(['rev-parse', 'main'], remote)).toBe(head)
  })

  test('with an empty remote, with advice', async () => {
    const remote = bareRemote()
    const root = temporaryDirectory()
    const at = { directory: `${root}/store`, stateDirectory: `${root}/state` }
    const url = `${remote}#memstore_00000000000000000000000000`
    const joining = joinStore({ ...at, identity: await generateIdentity(), author, url })
    await expect(joining).rejects.toMatchObject({ code: 'not_found' })
    expect(readdirSync(root)).toEqual([])
  })

  test('in the place of an existing store', async () => {
    const { first, remote } = await hosted()
    const { directory, stateDirectory, identity } = first.place
    const { id: storeId } = first.store
    const places = { directory, stateDirectory, storeId }
    const joining = joinStore({ ...places, identity, author, url: remote })
    await expect(joining).rejects.toMatchObject({ code: 'store_exists' })
    expect(await contentsOf(first.store)).toEqual({ '/a.md': 'a' })
  })
})
