// T87: the device that gave a grant lies in its start. Its holders believe it until one of them
// fetches the whole history: that names the device and changes nothing. A text is shown only if it
// opens as its row describes it. FORMAT §8.3, §13.
// @module-tag slow

import { rmSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ChangeRecord } from '../../src/format/change-record.ts'
import type { Start, StartMemory, StartVersion } from '../../src/format/start.ts'
import type { MemoryStore } from '../../src/index.ts'
import { type Clone, idOf, joinClone, put, sync, syncAll } from '../support/clones.ts'
import {
  create,
  floored,
  forgeStart,
  givenGrant,
  giveMore,
  type GrantWorld,
  hold,
  holderPlace,
  mainAt,
  moveMain,
  readStartAt,
  showAt,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import {
  inState,
  otherText,
  remake,
  replaceRecord,
  treeWith,
  withoutDetail,
} from '../support/lying-granters.ts'
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

/** A floor that does not fit to a state is refused at once. */
const withoutFloor =
  (lie: Lie): Lie =>
  (start) => ({ ...lie(start), floor: undefined })

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
    withoutFloor(
      inState(({ memories }) => ({
        memories: memories.filter(({ value }) => value?.live !== undefined),
      })),
    ),
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
    withoutFloor((start) => {
      const record = new Uint8Array(32)
      const keyring = { ...start.state.keyring, record }
      const keyrings = [{ record, commit: start.state.commit }]
      return { ...start, keyrings, state: { ...start.state, keyring } }
    }),
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

describe('a lie in a history that verification refuses', () => {
  const evil = 'Deploy at once, to evil.example.'
  let writer: Clone
  beforeEach(async () => {
    writer = await joinClone(world.granter, world.url)
    await put(writer, '/plan.md', 'Wait.')
    await put(writer, '/plan.md', 'Deploy on Monday.')
    // The granter describes that state once more.
    showAt(world, 'start', undefined)
    await syncAll([writer, world.granter])
  })

  const treeOf = (oid: string): string => git(['rev-parse', `${oid}^{tree}`], world.url).trim()
  const parentOf = (oid: string): string => git(['rev-parse', `${oid}^`], world.url).trim()

  /** Has the host show a commit, and the granter describe it. */
  function show(commit: string, lie: Lie = (start) => start): void {
    moveMain(world, commit)
    const tree = treeOf(commit)
    forgeStart(world, (start) => inState(() => ({ commit, tree }))(lie(start)))
  }

  const own = (): ReturnType<typeof otherText> => otherText(world, '/plan.md', evil)

  /** A second commit of the writer's own record. */
  function showOwnText(): void {
    const { before, after, change } = own()
    const tree = treeWith(world, treeOf(mainAt(world)), before, after)
    show(remake(world, mainAt(world), { tree }), change)
  }

  const refused: readonly (readonly [name: string, code: string, lie: () => void])[] = [
    ["a text of its own under the writer's version", 'envelope_salt', showOwnText],
    [
      'another tree below the state',
      'tree_mismatch',
      () => {
        const tree = treeOf(parentOf(parentOf(mainAt(world))))
        const below = remake(world, parentOf(mainAt(world)), { tree })
        show(remake(world, mainAt(world), { parents: [below] }))
      },
    ],
    [
      'an earlier version that is missing without a redaction',
      'detail_missing',
      () => {
        const below = withoutDetail(world, parentOf(mainAt(world)))
        show(remake(world, mainAt(world), { parents: [below] }))
      },
    ],
    [
      "a record in the writer's name that the granter has signed",
      'device_signature_invalid',
      () => {
        const { deviceId } = writer.place.identity
        const { signing } = world.granter.place.identity
        const by = { deviceId, signing }
        const { commit, record } = replaceRecord(world, mainAt(world), (body) => body, by)
        show(
          commit,
          inState(() => ({ record })),
        )
      },
    ],
    [
      'a record of its own that continues the chain of another device',
      'record_sequence',
      () => {
        const { identity: by } = world.granter.place
        const first = { deviceId: by.deviceId, sequence: 1 }
        const change = (body: ChangeRecord): ChangeRecord => ({ ...body, ...first })
        const { commit, record } = replaceRecord(world, mainAt(world), change, by)
        show(
          commit,
          inState(() => ({ record })),
        )
      },
    ],
  ]

  test.each(refused)('%s', async (_, code, lie) => {
    lie()
    const held = await hold(world)
    await writeAs(held, create('/unsent.md', 'unsent'))
    const { beginning } = await held.status()
    const error = await held.history.fetchAll().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'baseline_false', cause: { code } })
    expect(String(error)).toContain(idOf(world.granter))
    expect(String(error)).toContain(`(${code})`)
    expect(String(error)).not.toContain(idOf(writer))
    expect((await held.status()).beginning).toEqual(beginning)
    expect((await held.read('/unsent.md'))?.content).toBe('unsent')
    await held.close()
  })

  test('is read as the version of the writer until then', async () => {
    const honest = await writer.store.read('/plan.md')
    showOwnText()
    const held = await hold(world)
    const shown = await held.read('/plan.md')
    expect(shown?.content).toBe(evil)
    expect(shown?.versionId).toBe(honest?.versionId)
    expect(shown?.updatedAt).toBe(honest?.updatedAt)
    await writeAs(held, { type: 'edit', path: '/plan.md', edit: (text) => `${text} Now.` })
    expect((await syncHolder(held)).sent.commits).toBe(1)
    await expectNamed(held, 'envelope_salt')
    await held.close()
  })

  test('is not what a refusal above the state is', async () => {
    const held = await hold(world)
    const state = mainAt(world)
    const { before, after } = own()
    await writeAs(held, create('/sent.md'))
    await syncHolder(held)
    const tree = treeWith(world, treeOf(mainAt(world)), before, after)
    const above = remake(world, mainAt(world), { tree })
    expect(parentOf(above)).toBe(state)
    moveMain(world, above)
    await expect(syncHolder(held)).rejects.toMatchObject({
      code: expect.not.stringMatching(/^baseline/),
    })
    await held.close()
  })

  test('is not what a remote without the history is', async () => {
    const held = await hold(world)
    const missing = git(['rev-list', '--max-parents=0', 'main'], world.url).trim()
    rmSync(`${world.url}/objects/${missing.slice(0, 2)}/${missing.slice(2)}`)
    await expect(held.history.fetchAll()).rejects.toMatchObject({
      code: expect.not.stringMatching(/^baseline/),
    })
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

test('an honest floor below a redaction is no lie', async () => {
  const { world: honest, old } = await floored()
  const { data } = await honest.granter.store.history.versions({ path: '/b.md' })
  const versionIds = [data.at(-1)?.versionId ?? '']
  await honest.granter.store.as(author).redact({ select: { versionIds }, reason: 'legal' })
  await sync(honest.granter)
  const held = await hold(honest)
  await put(old, '/old.md')
  await sync(old)
  // In either case, it begins at the floor from then on.
  await syncHolder(held).catch(() => undefined)
  expect(await held.history.fetchAll()).toBeGreaterThan(90)
  await held.maintenance.verify()
  await held.close()
})

describe('a lie that shows at once', () => {
  const shown: readonly (readonly [code: string, name: string, lie: Lie])[] = [
    [
      'tree_mismatch',
      'a memory is left out',
      withoutFloor(
        inState(({ memories }) => ({
          memories: memories.filter(({ value }) => value?.live?.path !== '/notes/1.md'),
        })),
      ),
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
    ['grant_expired', 'no grants', withoutFloor(inState(() => ({ grants: [] })))],
    [
      'grant_expired',
      'a granter that is no member',
      withoutFloor(
        inState(({ grants }) => ({
          grants: grants.map((grant) => ({ ...grant, granter: other })),
        })),
      ),
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
