// T42: a secret in what no redaction can erase: names, descriptions and metadata of a store,
// actors, sessions; and in the reason of a merge. The error never repeats it. FORMAT §5.1, §6.1.

import { describe, expect, test } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import {
  type Author,
  formatDeviceCard,
  generateIdentity,
  type MemoryStore,
  secretGuard,
  type Settings,
} from '../../src/index.ts'
import { createStore } from '../../src/store/create.ts'
import { put, sync } from '../support/clones.ts'
import { pairsOfClones } from '../support/hostile-remotes.ts'
import { author, leastStretch, newStore } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'

/** Put together here, so that no scanner takes it for a leak. */
const token = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`
const awsSecret = 'aB3dE5gH7jK9+/cD'.repeat(3).slice(0, 40)
const pairs = pairsOfClones()
const guarded = { metadata: { gitlocket_guard: 'secrets' } }

const authors: readonly [string, Author][] = [
  ['actor', { actor: { type: 'user', id: token } }],
  ['session', { actor: { type: 'user', id: 'ada' }, session: token }],
  ['actor', { actor: { type: 'session', id: token } }],
]

/** Which parameter is refused; fails if the error repeats the secret. */
async function refused(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const { code, message, details } = error
    expect(code).toBe('sensitive_content')
    expect(JSON.stringify([message, details])).not.toContain(token.slice(4))
    expect(JSON.stringify([message, details])).not.toContain(awsSecret)
    return details.parameter
  }
}

async function guardedStore(): Promise<MemoryStore> {
  const { store } = await newStore()
  await store.as(author).settings.update(guarded)
  return store
}

describe('T42: an author', () => {
  test.each(authors)('with a secret as %s is refused any write', async (parameter, by) => {
    const store = await guardedStore()
    const first = await put({ store }, '/a.md', 'one')
    await put({ store }, '/a.md', 'two')
    const { head } = await store.status()
    const me = store.as(by)
    const select = { versionIds: [first] }
    for (const work of [
      () => me.write('/b.md', 'text'),
      () => me.delete('/a.md'),
      () => me.restore({ memory: '/a.md', to: { versionId: first } }),
      () => me.redact({ select, reason: 'legal' }),
      () => me.redact({ select: { path: '/a.md' }, reason: 'legal', current: 'delete' }),
      () => me.expire({ unchangedFor: 1 }),
      () => me.settings.update({ description: 'another' }),
      () => me.keys.makeRecoveryKey(),
    ]) {
      expect(await refused(work)).toBe(parameter)
    }
    expect((await store.status()).head).toBe(head)
  })

  test('with a secret as its reason is refused when it merges', { tags: 'slow' }, async () => {
    const { a, b } = await pairs()
    await a.store.as(author).settings.update(guarded)
    await sync(a)
    await put(b, '/b.md', 'text')
    const before = await b.store.status()
    const by = { ...author, reason: `because of ${token}` }
    expect(await refused(() => b.store.as(by).sync())).toBeUndefined()
    await put(a, '/a.md', 'text')
    await sync(a)
    await put(b, '/c.md', 'text')
    expect(await refused(() => b.store.as(by).sync())).toBe('reason')
    for (const [parameter, one] of authors) {
      expect(await refused(() => b.store.as(one).sync())).toBe(parameter)
    }
    expect((await b.store.status()).commits).toBeGreaterThan(before.commits)
  })

  test.each(authors)('of a new store with a secret as %s is refused', async (_, { actor }) => {
    const id = actor.id === token ? 'actor' : undefined
    expect(await refused(() => newStore({ actor, guard: secretGuard }))).toBe(id)
  })
})

describe('T42: the name of a device', () => {
  test('with a secret is refused when it is added, renamed or makes a store', async () => {
    const store = await guardedStore()
    const card = formatDeviceCard(await generateIdentity())
    const { devices } = store.as(author)
    expect(await refused(() => devices.add(card, 'writer', { name: token }))).toBe('name')
    const { deviceId } = await devices.add(card, 'writer', { name: 'laptop' })
    expect(await refused(() => devices.rename(deviceId, token))).toBe('name')
    const made = { deviceName: token, guard: secretGuard }
    expect(await refused(() => newStore(made))).toBe('name')
  })
})

describe('T42: settings', () => {
  test.each<[parameter: string, change: Partial<Settings>]>([
    ['name', { name: `store of ${token}` }],
    ['description', { description: `use ${token}` }],
    ['metadata', { metadata: { ...guarded.metadata, key: token } }],
    ['metadata', { metadata: { ...guarded.metadata, [token]: 'key' } }],
    ['metadata', { metadata: { ...guarded.metadata, aws_secret_access_key: awsSecret } }],
  ])('with a secret in the %s are refused', async (parameter, change) => {
    const store = await guardedStore()
    expect(await refused(() => store.as(author).settings.update(change))).toBe(parameter)
    // Also in the change that ends the guard, and in the one that begins it.
    const ending = { ...change, metadata: withoutGuard(change) }
    expect(await refused(() => store.as(author).settings.update(ending))).toBe(parameter)
    const { store: other } = await newStore()
    const begins = { ...change, metadata: { ...withoutGuard(change), ...guarded.metadata } }
    expect(await refused(() => other.as(author).settings.update(begins))).toBe(parameter)
  })

  function withoutGuard({ metadata = {} }: Partial<Settings>): Readonly<Record<string, string>> {
    return { ...metadata, gitlocket_guard: 'off' }
  }

  test('that hold a secret already can be changed otherwise', async () => {
    const { store } = await newStore()
    const metadata = { key: token }
    await store.as(author).settings.update({ name: token, metadata })
    const on = { metadata: { ...metadata, ...guarded.metadata }, description: 'what it is' }
    expect(await refused(() => store.as(author).settings.update(on))).toBeUndefined()
    expect(await refused(() => store.as(author).settings.update({ name: `${token}2` }))).toBe(
      'name',
    )
    expect(
      await refused(() => store.as(author).settings.update({ name: 'a name' })),
    ).toBeUndefined()
  })

  test('of a new store are checked by the guard that it is made with', async () => {
    const make = async (name: string): Promise<void> => {
      const root = temporaryDirectory()
      const identity = await generateIdentity()
      const at = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
      const { store } = await createStore({
        ...at,
        stretch: leastStretch,
        name,
        guard: secretGuard,
      })
      await store.close()
    }
    expect(await refused(() => make(token))).toBe('name')
    expect(await refused(() => make('agent memory'))).toBeUndefined()
  })
})
