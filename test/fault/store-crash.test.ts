// A process dies, or the power fails, at every single file operation of a command, a checkpoint, an
// open, an enrolment and an init. Afterwards the store holds what it held before or after the
// change that was under way, never less than all acknowledged changes, verifies as a whole, and can
// be written.

import { existsSync, rmSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Author,
  type Change,
  createStore,
  generateIdentity,
  type Identity,
  type MemoryStore,
  openStore,
} from '../../src/index.ts'
import { everyDeath, killed, unplugged } from '../support/deaths.ts'
import { type Fault, FaultyDisk, type Loss, SimulatedDeath } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, git, sharedDirectory } from '../support/temporary.ts'

const author: Author = { actor: { type: 'session', id: 'agent-1' }, reason: 'crash test' }
const fsckEvery = full ? 10 : 61
/** Every n-th operation is struck: by one kind of death, and by all others. */
const stride = full ? { first: 1, others: 1 } : { first: 31, others: 61 }

const deaths = full ? everyDeath : [killed, unplugged]

function strideOf(loss: Loss): number {
  return loss === 'nothing' ? stride.first : stride.others
}

const text = (name: string): string => `${name}\n`.repeat(40)

/** Each is acknowledged by itself; together they have the effect of the last one. */
const commands: readonly (readonly Change[])[] = [
  [{ type: 'create', path: '/notes/a.md', content: text('a') }],
  [{ type: 'edit', path: '/kept.md', edit: (content) => `${content}more\n` }],
  [{ type: 'rename', path: '/notes', to: '/archive' }],
  [
    { type: 'create', path: '/b.md', content: text('b') },
    { type: 'delete', path: '/kept.md' },
  ],
]

interface Place {
  readonly directory: string
  readonly stateDirectory: string
}

let identity: Identity
let root: string
root = sharedDirectory()

function place(name: string): Place {
  return { directory: `${root}/${name}/store`, stateDirectory: `${root}/${name}/state` }
}

async function open(at: Place, disk?: FaultyDisk): Promise<MemoryStore> {
  if (disk === undefined) return openStore({ ...at, identity })
  return openStore({ ...at, identity, disk, packer: inlinePacker(disk, at.directory) })
}

async function contentsOf(store: MemoryStore): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const pending = [await store.list('/')]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'file') found[node.path] = (await store.read(node.path))?.content ?? ''
    pending.push(...node.children)
  }
  return found
}

/** What the commands leave after each of them, from a run in which nothing fails. */
const states: Record<string, string>[] = []

beforeAll(async () => {
  identity = await generateIdentity()
  const { store } = await createStore({ ...place('base'), identity })
  await store.as(author).apply([{ type: 'create', path: '/kept.md', content: text('kept') }])
  await store.close()
  copyDirectory(`${root}/base`, `${root}/dry`)
  const dry = await open(place('dry'))
  states.push(await contentsOf(dry))
  for (const command of commands) {
    await dry.as(author).apply(command)
    states.push(await contentsOf(dry))
  }
  await dry.close()
})

interface Outcome {
  readonly acknowledged: number
  readonly died: boolean
}

type Scenario = (at: Place, disk: FaultyDisk, acknowledge: () => void) => Promise<void>

const scenarios: Record<string, Scenario> = {
  'commands one by one, then a close': async (at, disk, acknowledge) => {
    const store = await open(at, disk)
    for (const command of commands) {
      await store.as(author).apply(command)
      acknowledge()
    }
    await store.close()
  },
  'commands with a checkpoint after each': async (at, disk, acknowledge) => {
    const store = await open(at, disk)
    for (const command of commands) {
      await store.as(author).apply(command)
      acknowledge()
      await store.maintenance.checkpoint()
    }
    await store.close()
  },
  'commands that share a write': async (at, disk, acknowledge) => {
    const store = await open(at, disk)
    await Promise.all(commands.map((command) => store.as(author).apply(command).then(acknowledge)))
    await store.close()
  },
}

async function run(scenario: Scenario, at: Place, fault?: Fault): Promise<Outcome> {
  const disk = new FaultyDisk(fault)
  let acknowledged = 0
  try {
    await scenario(at, disk, () => {
      acknowledged += 1
    })
    return { acknowledged, died: false }
  } catch (error) {
    if (!disk.dead && !(error instanceof SimulatedDeath)) throw error
    return { acknowledged, died: true }
  } finally {
    disk.release()
  }
}

describe.each(Object.entries(scenarios))('%s', (name, scenario) => {
  test.each(deaths)(
    'survive a death $moment each operation, losing $loss',
    { tags: 'slow' },
    async (death) => {
      const counting = new FaultyDisk()
      copyDirectory(`${root}/base`, `${root}/count`)
      await scenario(place('count'), counting, () => {})
      rmSync(`${root}/count`, { recursive: true })
      expect(counting.operations, name).toBeGreaterThan(10)
      for (let at = 1; at <= counting.operations; at += strideOf(death.loss)) {
        copyDirectory(`${root}/base`, `${root}/run`)
        const outcome = await run(scenario, place('run'), { kind: 'death', at, ...death })
        await expectSurvival(
          outcome,
          `operation ${at}: ${counting.log[at - 1]}`,
          at % fsckEvery === 0,
        )
        rmSync(`${root}/run`, { recursive: true })
      }
    },
  )
})

async function expectSurvival(outcome: Outcome, what: string, fsck: boolean): Promise<void> {
  const store = await open(place('run'))
  const contents = await contentsOf(store)
  const allowed = states.slice(outcome.acknowledged)
  expect(allowed, what).toContainEqual(contents)
  await store.maintenance.verify()
  await store.as(author).apply([{ type: 'create', path: '/after.md', content: 'still writable' }])
  await store.close()
  if (fsck) git(['fsck', '--strict', '--no-dangling'], place('run').directory)
}

describe('init', () => {
  test.each(deaths)('dies $moment each operation, losing $loss, and works again', async (death) => {
    const counting = new FaultyDisk()
    await init('count', counting)
    rmSync(`${root}/count`, { recursive: true })
    for (let at = 1; at <= counting.operations; at += strideOf(death.loss)) {
      const disk = new FaultyDisk({ kind: 'death', at, ...death })
      await init('run', disk).catch((error: unknown) => {
        if (!disk.dead) throw error
      })
      disk.release()
      await expectStoreOrNone(`operation ${at}: ${counting.log[at - 1]}`)
      rmSync(`${root}/run`, { recursive: true, force: true })
    }
  })
})

async function init(name: string, disk: FaultyDisk): Promise<void> {
  const at = place(name)
  const packer = inlinePacker(disk, at.directory)
  const { store } = await createStore({ ...at, identity, disk, packer })
  await store.close()
}

/** Either the store is there, or making it again works. */
async function expectStoreOrNone(what: string): Promise<void> {
  const store = await open(place('run')).catch((error: unknown) => {
    expect(error, what).toMatchObject({ code: 'not_a_store' })
    return undefined
  })
  const usable = store ?? (await createStore({ ...place('run'), identity })).store
  await usable.as(author).apply([{ type: 'create', path: '/a', content: 'works' }])
  await usable.maintenance.verify()
  await usable.close()
}

describe('a disk that refuses', () => {
  test.each(['storage_full', 'storage_failed'] as const)(
    'with %s at any operation, loses nothing and says so',
    { tags: 'slow' },
    async (code) => {
      const counting = new FaultyDisk()
      copyDirectory(`${root}/base`, `${root}/count`)
      const whole = scenarios['commands with a checkpoint after each']
      if (whole === undefined) throw new Error('The scenario is missing')
      await whole(place('count'), counting, () => {})
      rmSync(`${root}/count`, { recursive: true })
      for (let at = 1; at <= counting.operations; at += stride.others) {
        copyDirectory(`${root}/base`, `${root}/run`)
        const acknowledged = await runRefused(whole, { kind: 'error', at, times: 1, code })
        const what = `operation ${at}: ${counting.log[at - 1]}`
        await expectSurvival({ acknowledged, died: false }, what, false)
        rmSync(`${root}/run`, { recursive: true })
      }
      expect(existsSync(`${root}/run`)).toBe(false)
    },
  )
})

async function runRefused(scenario: Scenario, fault: Fault): Promise<number> {
  const disk = new FaultyDisk(fault)
  let acknowledged = 0
  await scenario(place('run'), disk, () => {
    acknowledged += 1
  }).catch((error: unknown) => {
    expect(error).toHaveProperty('code')
  })
  // The process would live on; here it ends so that its locks do not outlast it.
  disk.die('nothing')
  disk.release()
  return acknowledged
}
