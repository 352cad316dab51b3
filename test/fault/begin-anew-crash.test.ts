// A process dies, or the power fails, at every file operation of a sync in which the clone of a
// grant's holder begins anew. Afterwards it opens as it was or as it will be, with all texts, and
// the next sync writes each unsent change once and erases the earlier line.

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { MemoryStore } from '../../src/index.ts'
import { put, sync } from '../support/clones.ts'
import { type Death, everyDeath, killed, struckBy, unplugged, unsynced } from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import {
  create,
  givenGrant,
  giveMore,
  type GrantWorld,
  hold,
  type HolderPlace,
  holderPlace,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full } from '../support/seed.ts'
import { author, contentsOf } from '../support/stores.ts'
import { operationsOf } from '../support/sync-places.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'

let world: GrantWorld
let at: HolderPlace
let texts: Awaited<ReturnType<typeof contentsOf>>
let oldHead: string
let reset: () => void

async function prepare(): Promise<void> {
  world = await givenGrant()
  const erased = await put(world.granter, '/secret.md', 'a secret\n')
  await put(world.granter, '/secret.md', 'clean\n')
  await sync(world.granter)
  await giveMore(world.granter)
  at = holderPlace()
  const { directory, stateDirectory } = at
  const held = await hold(world, at)
  await writeAs(held, create('/sent.md'))
  await syncHolder(held)
  await sync(world.granter)
  await writeAs(held, create('/unsent.md'), create('/other.md'))
  await writeAs(held, { type: 'edit', path: '/notes/0.md', edit: (text) => `${text}more\n` })
  texts = await contentsOf(held)
  await held.close()
  oldHead = git(['rev-parse', 'main'], directory).trim()
  const request = { select: { versionIds: [erased] }, reason: 'legal' } as const
  await world.granter.store.as(author).redact(request)
  await sync(world.granter)
  reset = keep([directory, stateDirectory, world.url])
}

/** Keeps copies of directories; returns the way back to them. */
function keep(directories: readonly string[]): () => void {
  const copies = directories.map((directory) => {
    const copy = join(temporaryDirectory(), 'kept')
    copyDirectory(directory, copy)
    return [directory, copy] as const
  })
  return () => {
    for (const [directory, copy] of copies) {
      rmSync(directory, { recursive: true, force: true })
      copyDirectory(copy, directory)
    }
  }
}

function open(disk: FaultyDisk): Promise<MemoryStore> {
  return hold(world, { ...at, disk, packer: inlinePacker(disk, at.directory) })
}

async function act(disk: FaultyDisk): Promise<void> {
  const store = await open(disk)
  await syncHolder(store)
  await store.close()
}

test.each(full ? everyDeath : [killed, unsynced, unplugged])(
  'survives a death $moment an operation, losing $loss',
  { tags: 'slow' },
  async (death: Death) => {
    await prepare()
    const dry = new FaultyDisk()
    await act(dry)
    const { operations } = dry
    dry.release()
    expect(operations).toBeGreaterThan(40)
    for (const operation of struckBy(death, operationsOf(operations, 12))) {
      reset()
      await survive({ kind: 'death', at: operation, ...death })
    }
  },
)

async function survive(fault: Fault): Promise<void> {
  const disk = new FaultyDisk(fault)
  try {
    await act(disk)
  } catch (error) {
    if (!disk.dead) throw error
  }
  try {
    disk.die('nothing')
    await expectRecovery()
  } catch (error) {
    const steps = disk.log.slice(Math.max(0, fault.at - 4), fault.at).join(', ')
    throw new Error(`after a death at ${fault.at}: ${steps}`, { cause: error })
  } finally {
    disk.release()
  }
}

async function expectRecovery(): Promise<void> {
  const disk = new FaultyDisk()
  const store = await open(disk)
  expect(await contentsOf(store)).toEqual(texts)
  const { begunAnew } = await syncHolder(store)
  expect([undefined, 2]).toContain(begunAnew?.changes)
  expect(await contentsOf(store)).toEqual(texts)
  expect((await syncHolder(store)).begunAnew).toBeUndefined()
  await store.close()
  expectClean()
  // The caches are not needed.
  rmSync(join(at.directory, 'gitlocket/cache'), { recursive: true, force: true })
  const again = await open(disk)
  expect(await contentsOf(again)).toEqual(texts)
  const { data } = await again.history.versions({ session: 'agent-2' })
  expect(data).toHaveLength(3)
  const paths = ['/notes/0.md', '/other.md', '/unsent.md']
  expect(new Set(data.map(({ path }) => path))).toEqual(new Set(paths))
  expect((await again.status()).remotes[0]?.unsent).toBe(0)
  await again.close()
  disk.release()
}

/** Nothing is left of the earlier line, and stock git finds nothing wrong. */
function expectClean(): void {
  const { directory } = at
  const stored = git(['cat-file', '--batch-all-objects', '--batch-check=%(objectname)'], directory)
  expect(stored).not.toContain(oldHead)
  const odd = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  expect(odd.filter((name) => /start-next|\.tmp$|tmp_|purge-|\.lock$/.test(name))).toEqual([])
  expect(existsSync(join(directory, 'gitlocket/start'))).toBe(true)
  const shallow = readFileSync(join(directory, 'shallow'), 'utf8').trim().split('\n')
  for (const oid of shallow) expect(stored).toContain(oid)
  expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
}
