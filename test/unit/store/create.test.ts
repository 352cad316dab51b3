// New stores: those that no key on paper recovers, with the cards of owners or an operator secret;
// those that a host makes; and two that are made in one place.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import {
  createStore,
  formatDeviceCard,
  formatIdentity,
  generateIdentity,
  generateOperatorSecret,
  type Identity,
  openStore,
  secretGuard,
} from '../../../src/index.ts'
import { createStoreAt } from '../../../src/store/create.ts'
import { FaultyDisk } from '../../support/faulty-disk.ts'
import { readStore } from '../../support/reference/store.ts'
import { author, leastStretch } from '../../support/stores.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

async function places() {
  const root = temporaryDirectory()
  const at = { directory: `${root}/store`, stateDirectory: `${root}/state` }
  return { ...at, identity: await generateIdentity(), stretch: leastStretch }
}

const token = `ghp_${'A1b2'.repeat(9)}`

async function cardOf(options: { readonly name?: string }): Promise<string> {
  return formatDeviceCard(await generateIdentity(), options)
}

describe('a store that is made with owners', () => {
  test('is opened by each of them, and by no recovery key', async () => {
    const place = await places()
    const others = [await generateIdentity(), await generateIdentity()]
    const owners = others.map((identity) => formatDeviceCard(identity, { name: 'laptop' }))
    const { actor } = author
    const { store, recoveryKey } = await createStore({ ...place, owners, actor })
    expect(recoveryKey).toBeUndefined()
    expect((await store.status()).secrets).toEqual({ passphrases: 0, recoveryKeys: 0 })
    const devices = await store.devices.list()
    expect(devices.map(({ role, name }) => `${role} ${name}`)).toEqual([
      'owner ',
      'owner laptop',
      'owner laptop',
    ])
    await store.close()
    for (const identity of others) {
      const opened = await openStore({ ...place, identity })
      await opened.as(author).write('/a', 'a')
      await opened.maintenance.verify()
      await opened.close()
    }
    const secret = { identity: formatIdentity(place.identity) }
    expect(readStore(place.directory, secret).memories.size).toBe(1)
  })

  test('has the recovery key of an operator secret as well, if one is given', async () => {
    const place = await places()
    const operatorSecret = await generateOperatorSecret()
    const owners = [formatDeviceCard(await generateIdentity())]
    const { actor } = author
    const made = await createStore({ ...place, owners, operatorSecret, actor })
    await made.store.close()
    const identity = await generateIdentity()
    const opened = await openStore({ ...place, identity, operatorSecret })
    expect(await opened.devices.list()).toHaveLength(3)
    await opened.close()
  })

  test.each<[string, Partial<Parameters<typeof createStore>[0]>]>([
    ['no card', { owners: [], actor: author.actor }],
    ['a text', { owners: JSON.parse('"x"'), actor: author.actor }],
    ['numbers', { owners: JSON.parse('[5]'), actor: author.actor }],
    ['what is no card', { owners: ['GITLOCKET-DEVICE-1-x'], actor: author.actor }],
  ])('is not made of %s, nor is anything written', async (_, options) => {
    const place = await places()
    await expect(createStore({ ...place, ...options })).rejects.toMatchObject({
      code: 'invalid_input',
    })
    expect(existsSync(place.directory)).toBe(false)
  })

  type Cards = (place: { readonly identity: Identity }) => Promise<readonly string[]>

  test.each<[string, string, Cards]>([
    ['a card twice', 'invalid_input', async () => Array(2).fill(await cardOf({}))],
    ['that of this device', 'invalid_input', async (place) => [formatDeviceCard(place.identity)]],
    ['too many', 'invalid_input', () => Promise.all(Array.from({ length: 250 }, () => cardOf({})))],
    ['a refused name', 'sensitive_content', async () => [await cardOf({ name: token })]],
  ])('is not made of what could not be added: %s', async (_, code, cards) => {
    const place = await places()
    const owners = await cards(place)
    const { actor } = author
    const made = createStore({ ...place, owners, actor, guard: secretGuard })
    await expect(made).rejects.toMatchObject({ code })
    expect(existsSync(place.directory)).toBe(false)
  })

  test('is not made without a founder', async () => {
    const place = await places()
    const owners = [formatDeviceCard(await generateIdentity())]
    await expect(createStore({ ...place, owners })).rejects.toThrow(/actor/)
  })
})

describe('a store that is made for a host', () => {
  test('tells its id before it writes any file, and is made where the host wants it', async () => {
    const { directory, ...rest } = await places()
    const root = `${directory}s`
    let told = ''
    const { store } = await createStoreAt(rest, async (storeId) => {
      expect([existsSync(root), existsSync(rest.stateDirectory)]).toEqual([false, false])
      mkdirSync(root)
      told = storeId
      return `${root}/${storeId}`
    })
    expect(store.id).toBe(told)
    await store.close()
    await (await openStore({ ...rest, directory: `${root}/${told}`, storeId: told })).close()
  })

  test('leaves nothing if the host finds no place for it', async () => {
    const { directory: _, ...rest } = await places()
    const failing = createStoreAt(rest, async () => Promise.reject(new Error('no place')))
    await expect(failing).rejects.toThrow('no place')
    expect(existsSync(rest.stateDirectory)).toBe(false)
  })
})

describe('two that make a store in one place', () => {
  test('find one store, at whatever operation the other dies', { tags: 'slow' }, async () => {
    const outcomes = new Set<string>()
    for (let at = 1; ; at += 1) {
      const place = await places()
      // Another process gets so far, and no further, before this one begins.
      const disk = new FaultyDisk({ kind: 'death', at, moment: 'after', loss: 'nothing' })
      const first = createStore({ ...place, disk }).then(({ store }) => store.close())
      await first.catch(() => undefined)
      if (!disk.dead) break
      const { identity } = await places()
      const outcome = await createStore({ ...place, identity }).then(
        async ({ store }) => {
          await store.close()
          return 'made'
        },
        (error: unknown) => (error instanceof StoreError ? error.code : String(error)),
      )
      outcomes.add(outcome)
      const owner = outcome === 'made' ? identity : place.identity
      const store = await openStore({ ...place, identity: owner })
      expect((await store.maintenance.verify()).commits, `${at}: ${outcome}`).toBe(1)
      await store.close()
    }
    expect([...outcomes].toSorted()).toEqual(['made', 'store_exists'])
  })

  test('find one, if the second begins while the first gives it a HEAD', async () => {
    const place = await places()
    let isMade = false
    const disk: Disk = {
      ...systemDisk,
      list: (directory) => {
        if (directory === place.directory && !isMade) {
          isMade = true
          execFileSync('git', ['init', '-q', '--bare', '-b', 'main', directory])
          for (const name of ['hooks', 'info', 'description', 'branches']) {
            rmSync(`${directory}/${name}`, { recursive: true, force: true })
          }
        }
        return systemDisk.list(directory)
      },
    }
    const { store } = await createStore({ ...place, disk })
    expect(isMade).toBe(true)
    await store.close()
  })

  test('is refused if a branch has lost its commits', async () => {
    const place = await places()
    const { store } = await createStore(place)
    await store.close()
    rmSync(`${place.directory}/refs/heads/main`)
    rmSync(`${place.directory}/gitlocket`, { recursive: true })
    await expect(createStore(place)).rejects.toMatchObject({ code: 'ref_corrupt' })
  })
})
