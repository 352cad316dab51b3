// A pass of a mirror dies, or the power fails, at every file operation of its own, those of the
// store included. Afterwards no text that either side had is lost, nothing that was deleted comes
// back, and both sides end equal.

import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { Folder } from '../../src/cli/mirror/folder.ts'
import { emptyState, type Mirror, MirrorFiles } from '../../src/cli/mirror/mirror-state.ts'
import { MirrorPasses } from '../../src/cli/mirror/pass.ts'
import { MirrorRunner } from '../../src/cli/mirror/runner.ts'
import { ruleOf } from '../../src/cli/mirror/survey.ts'
import { systemRandom } from '../../src/crypto/random.ts'
import {
  createStore,
  generateIdentity,
  type Identity,
  type MemoryStore,
  openStore,
} from '../../src/index.ts'
import { everyDeath, killed, unplugged } from '../support/deaths.ts'
import { FaultyDisk, SimulatedDeath } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { filesBelow, plainMirror } from '../support/mirror-world.ts'
import { full } from '../support/seed.ts'
import { contentsOf } from '../support/stores.ts'
import { sharedDirectory } from '../support/temporary.ts'

const root = sharedDirectory()
const deaths = full ? everyDeath : [killed, unplugged]
const stride = full ? 1 : 5
const clock = (): number => Date.now()

let identity: Identity
let storeId: string

interface Place {
  readonly directory: string
  readonly stateDirectory: string
  readonly notes: string
}

/** One name for all runs: the list of mirrors has it. */
const place: Place = {
  directory: `${root}/run/store`,
  stateDirectory: `${root}/run/state`,
  notes: `${root}/run/notes`,
}
const mirror: Mirror = {
  ...plainMirror,
  id: '0123456789abcdef',
  directory: place.notes,
}

function open(disk?: FaultyDisk): Promise<MemoryStore> {
  const { directory, stateDirectory } = place
  const faulty = disk && { disk, packer: inlinePacker(disk, directory) }
  return openStore({ directory, stateDirectory, identity, ...faulty })
}

async function settle(store: MemoryStore): Promise<void> {
  const { stateDirectory } = place
  const files = new MirrorFiles(storeId, { ...place, identity })
  const runner = new MirrorRunner({ store, identity, mirror, files, clock, stateDirectory })
  await runner.settle({ settleMs: 1 })
  await runner.close()
}

function write(name: string, text: string): void {
  mkdirSync(dirname(join(place.notes, name)), { recursive: true })
  writeFileSync(join(place.notes, name), text)
}

async function memoriesOf(store: MemoryStore): Promise<Record<string, string>> {
  const all = Object.entries(await contentsOf(store))
  return Object.fromEntries(all.map(([path, text]) => [path.slice('/notes'.length), text]))
}

const names = ['both', 'overlap', 'edited', 'changed', 'dropped', 'moved', 'left', 'removed']
const lines = (name: string): string => `${name}\n${'middle\n'.repeat(5)}end\n`

beforeAll(async () => {
  identity = await generateIdentity()
  const { store } = await createStore({ ...place, identity, refuseSecrets: false })
  storeId = store.id
  mkdirSync(place.notes)
  for (const name of names) write(`${name}.md`, lines(name))
  await settle(store)
  const me = store.as({ actor: { type: 'user', id: 'alice' } })
  await me.write('/notes/both.md', lines('both').replace('end', 'end of the store'))
  await me.write('/notes/overlap.md', lines('overlap').replace('end', 'store wins'))
  await me.write('/notes/changed.md', lines('changed in the store'))
  await me.delete('/notes/dropped.md')
  await me.move('/notes/moved.md', '/notes/deep/moved.md')
  await me.write('/notes/arrived.md', lines('arrived'))
  await store.close()
  write('both.md', lines('both of the file'))
  write('overlap.md', lines('overlap').replace('end', 'file wins'))
  write('edited.md', lines('edited in the file'))
  write('sub/new.md', lines('new'))
  rmSync(join(place.notes, 'left.md'))
  rmSync(join(place.notes, 'removed.md'))
  cpSync(`${root}/run`, `${root}/base`, { recursive: true })
})

function fresh(): void {
  rmSync(`${root}/run`, { recursive: true })
  cpSync(`${root}/base`, `${root}/run`, { recursive: true })
}

/** Three passes, as a process that dies would have made them. */
async function passOn(disk: FaultyDisk): Promise<void> {
  try {
    const store = await open(disk)
    const files = new MirrorFiles(storeId, { ...place, identity, disk })
    const rule = ruleOf(mirror)
    const parts = { directory: place.notes, id: mirror.id, rule, disk, random: systemRandom }
    const folder = new Folder({ ...parts, isByPath: true })
    const passes = new MirrorPasses({ store, identity, folder, mirror, files, clock })
    const state = files.findState(mirror.id) ?? emptyState()
    for (let pass = 0; pass < 3; pass += 1) await passes.run(state, { settleMs: 0 })
    await store.close()
  } catch (error) {
    if (!disk.dead && !(error instanceof SimulatedDeath)) throw error
  } finally {
    disk.release()
  }
}

async function expectWhole(what: string): Promise<void> {
  const store = await open()
  await settle(store)
  const memories = await memoriesOf(store)
  expect(filesBelow(place.notes), what).toEqual(memories)
  expect(Object.keys(memories).toSorted(), what).toEqual([
    '/arrived.md',
    '/both.md',
    '/changed.md',
    '/deep/moved.md',
    '/edited.md',
    '/overlap.md',
    '/sub/new.md',
  ])
  const all = Object.values(memories).join('')
  for (const text of [
    'end of the store\n',
    'both of the file\n',
    'store wins\n',
    'file wins\n',
    'changed in the store\n',
    'edited in the file\n',
    'arrived\n',
    'new\n',
  ]) {
    expect(all.split(text).length, `${what}: ${text}`).toBe(2)
  }
  expect(readdirSync(join(place.notes, '.gitlocket-mirror')), what).toEqual(['marker'])
  await store.maintenance.verify()
  await store.close()
}

describe('a pass of a mirror', () => {
  test('does all of this without a fault', async () => {
    fresh()
    await expectWhole('no fault')
  })

  test.each(deaths)(
    'dies $moment each operation, losing $loss',
    { tags: 'slow' },
    async (death) => {
      fresh()
      const counting = new FaultyDisk()
      await passOn(counting)
      expect(counting.operations).toBeGreaterThan(60)
      for (let at = 1; at <= counting.operations; at += stride) {
        fresh()
        await passOn(new FaultyDisk({ kind: 'death', at, ...death }))
        await expectWhole(`operation ${at}: ${counting.log[at - 1]}`)
      }
    },
  )
})
