// T87: the device that gave a grant lies in its start. Its holders believe it until one of them
// fetches the whole history: that names the device and changes nothing. A text is shown only if it
// opens as its row describes it. FORMAT §8.3, §13.
// @module-tag slow

import { beforeEach, describe, expect, test } from 'vitest'
import type { Start, StartMemory, StartState, StartVersion } from '../../src/format/start.ts'
import type { MemoryStore } from '../../src/index.ts'
import { put, sync } from '../support/clones.ts'
import {
  create,
  floored,
  forgeStart,
  givenGrant,
  giveMore,
  type GrantWorld,
  hold,
  holderPlace,
  readStartAt,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

type Lie = (start: Start) => Start

let world: GrantWorld
beforeEach(async () => {
  world = await givenGrant()
  await put(world.granter, '/notes/0.md', 'changed')
  await world.granter.store.as(author).settings.update({ description: 'of a store' })
  await giveMore(world.granter, 'reader')
  await sync(world.granter)
})

const inState =
  (change: (state: StartState) => Partial<StartState>): Lie =>
  (start) => ({ ...start, state: { ...start.state, ...change(start.state) } })

const inMemory = (path: string | undefined, change: (one: StartVersion) => StartVersion): Lie =>
  inState(({ memories }) => ({
    memories: memories.map((memory): StartMemory => {
      const { memoryId, value } = memory
      if (value?.live?.path !== path || value === undefined) return memory
      return { memoryId, value: change(value) }
    }),
  }))

const inLive = (change: (live: NonNullable<StartVersion['live']>) => StartVersion['live']): Lie =>
  inMemory('/notes/0.md', (one) => ({ ...one, live: one.live && change(one.live) }))

const other = 'ab'.repeat(16)

/** The fetch of the whole history names the device and the lie. */
async function expectNamed(held: MemoryStore, said: string): Promise<void> {
  const { deviceId } = await world.granter.store.status()
  await expect(held.history.fetchAll()).rejects.toMatchObject({
    code: 'baseline_false',
    message: expect.stringMatching(new RegExp(`${deviceId}.*${said}`, 's')),
  })
}

const lies: readonly (readonly [name: string, said: string, lie: Lie])[] = [
  [
    'another version',
    'its memories',
    inMemory('/notes/1.md', (one) => ({ ...one, versionId: other })),
  ],
  [
    'another operation',
    'its memories',
    inMemory('/notes/0.md', (one) => ({ ...one, operation: 'created' })),
  ],
  ['another creation', 'its memories', inMemory('/notes/0.md', (one) => ({ ...one, created: 1 }))],
  ['another time', 'its memories', inLive((live) => ({ ...live, updated: 1 }))],
  ['another path', 'its memories', inLive((live) => ({ ...live, path: '/elsewhere.md' }))],
  ['another size', 'its memories', inLive((live) => ({ ...live, size: live.size + 1 }))],
  ['another text', 'its memories', inLive((live) => ({ ...live, sha256: new Uint8Array(32) }))],
  [
    'no deletion',
    'its memories',
    inState(({ memories }) => ({
      memories: memories.filter(({ value }) => value?.live !== undefined),
    })),
  ],
  ['no devices', 'the last changes of its devices', inState(() => ({ devices: [] }))],
  [
    'a lower sequence number',
    'the last changes of its devices',
    inState(({ devices }) => ({
      devices: devices.map(({ deviceId, value }) => {
        return { deviceId, value: value && { ...value, sequence: 1 } }
      }),
    })),
  ],
  [
    'another last record',
    'the last changes of its devices',
    inState(({ devices }) => ({
      devices: devices.map(({ deviceId, value }) => {
        return { deviceId, value: value && { ...value, record: new Uint8Array(32).fill(7) } }
      }),
    })),
  ],
  [
    'grants that run for ever',
    'its grants',
    inState(({ grants }) => ({
      grants: grants.map(({ value, ...of }) => {
        return { ...of, value: value && { ...value, notAfter: 2 ** 50 } }
      }),
    })),
  ],
  [
    'a grant to write in place of one to read',
    'its grants',
    inState(({ grants }) => ({
      grants: grants.map(({ value, ...of }) => ({
        ...of,
        value: value && { ...value, role: 'writer' },
      })),
    })),
  ],
  ['an invented redaction', 'its redactions', (start) => ({ ...start, redacted: [other] })],
  [
    'another record of its settings',
    'its settings',
    inState(({ settings }) => ({ settings: { ...settings, record: new Uint8Array(32) } })),
  ],
  [
    'settings of another height',
    'its settings',
    inState(({ settings }) => ({ settings: { ...settings, height: 0 } })),
  ],
  [
    'settings of another time',
    'its settings',
    inState(({ settings }) => ({ settings: { ...settings, time: 1 } })),
  ],
  [
    'another beginning of the store',
    'its settings',
    (start) => ({ ...start, genesis: { ...start.genesis, time: 1 } }),
  ],
  [
    'another record of its keyring',
    'its members',
    inState(({ keyring }) => ({ keyring: { ...keyring, record: new Uint8Array(32) } })),
  ],
]

describe('a lie that a holder cannot see', () => {
  test.each(lies)('%s', async (_, said, lie) => {
    forgeStart(world, lie)
    const at = holderPlace()
    const held = await hold(world, at)
    await writeAs(held, create('/unsent.md', 'unsent'))
    const before = git(['rev-list', '--all'], at.directory)
    const { beginning } = await held.status()
    await expectNamed(held, said)
    expect((await held.status()).beginning).toEqual(beginning)
    expect(git(['rev-list', '--all'], at.directory)).toBe(before)
    expect((await held.read('/unsent.md'))?.content).toBe('unsent')
    await held.close()
  })

  test('an honest start passes', async () => {
    forgeStart(world, (start) => start)
    const held = await hold(world)
    await writeAs(held, create('/unsent.md', 'unsent'))
    await held.history.fetchAll()
    await held.maintenance.verify()
    await syncHolder(held)
    await sync(world.granter)
    expect(await contentsOf(world.granter.store)).toEqual(await contentsOf(held))
    await held.close()
  })
})

describe('a lie about a memory that its holder changes', () => {
  test('is named, though the newest state is the same without it', async () => {
    forgeStart(
      world,
      inLive((live) => ({ ...live, updated: 1 })),
    )
    const held = await hold(world)
    await writeAs(held, { type: 'edit', path: '/notes/0.md', edit: () => 'by the holder' })
    await syncHolder(held)
    await expectNamed(held, 'its memories')
    await held.close()
  })

  test('is named, and not the change that is based on it', async () => {
    forgeStart(
      world,
      inMemory('/notes/0.md', (one) => ({ ...one, versionId: other })),
    )
    const held = await hold(world)
    await writeAs(held, { type: 'delete', path: '/notes/0.md' }, create('/unsent.md', 'unsent'))
    await expectNamed(held, 'its memories')
    expect((await held.read('/unsent.md'))?.content).toBe('unsent')
    await held.close()
  })
})

test('a lie is named, though the clone begins at the honest floor by now', async () => {
  const deep = await floored()
  world = deep.world
  forgeStart(
    world,
    inMemory('/d.md', (one) => ({ ...one, created: 1 })),
  )
  const held = await hold(world)
  await writeAs(held, create('/held.md'))
  await put(deep.old, '/old.md')
  await sync(deep.old)
  await syncHolder(held)
  await expectNamed(held, 'its memories')
  await held.close()
})

describe('a lie that shows at once', () => {
  const shown: readonly (readonly [code: string, name: string, lie: Lie])[] = [
    [
      'tree_mismatch',
      'a memory is left out',
      inState(({ memories }) => ({
        memories: memories.filter(({ value }) => value?.live?.path !== '/notes/1.md'),
      })),
    ],
    [
      'tree_mismatch',
      'a memory is added',
      inMemory(undefined, (one) => ({
        ...one,
        operation: 'created',
        live: { updated: 1, size: 1, sha256: new Uint8Array(32), kid: '', path: '/forged.md' },
      })),
    ],
    ['tree_mismatch', 'another tree', inState(() => ({ tree: '0'.repeat(40) }))],
    ['tree_mismatch', 'another record', inState(() => ({ record: new Uint8Array(32) }))],
    [
      'settings_mismatch',
      'other settings',
      inState(({ settings, keyring }) => ({ settings: { ...settings, blob: keyring.blob } })),
    ],
    [
      'keyring_mismatch',
      'other members',
      inState(({ settings, keyring }) => ({ keyring: { ...keyring, blob: settings.blob } })),
    ],
    ['grant_expired', 'no grants', inState(() => ({ grants: [] }))],
    [
      'grant_expired',
      'a granter that is no member',
      inState(({ grants }) => ({
        grants: grants.map((grant) => ({ ...grant, granter: other })),
      })),
    ],
    [
      'grant_expired',
      'a granter that is forked',
      inState(({ devices }) => ({
        devices: devices.map(({ deviceId, value }) => {
          return { deviceId, value: value && { ...value, forked: true } }
        }),
      })),
    ],
  ]

  test.each(shown)('%s: %s', async (code, _, lie) => {
    const { kids } = readStartAt(world)
    const withKid: Lie = (start) => {
      const changed = lie(start)
      const memories = changed.state.memories.map((memory) => {
        const live = memory.value?.live
        if (live?.kid !== '' || memory.value === undefined) return memory
        return { ...memory, value: { ...memory.value, live: { ...live, kid: kids[0] ?? '' } } }
      })
      return { ...changed, state: { ...changed.state, memories } }
    }
    forgeStart(world, withKid)
    await expect(hold(world)).rejects.toMatchObject({ code })
  })

  test('a text is shown only if it opens as its row describes it', async () => {
    forgeStart(
      world,
      inLive((live) => ({ ...live, path: '/elsewhere.md' })),
    )
    const held = await hold(world)
    await expect(held.read('/elsewhere.md')).rejects.toMatchObject({ code: 'memory_mismatch' })
    expect((await held.read('/notes/1.md'))?.content).toBe('text 1\n')
    await held.close()
  })
})
