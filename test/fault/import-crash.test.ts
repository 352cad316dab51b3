// An import dies, or the power fails, at every file operation, or is interrupted after any window
// of its writes. Afterwards the store holds whole memories of the source, and repeating the import
// completes it, with one commit for each file.

import { rmSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { utf8 } from '../../src/bytes.ts'
import { planImport, writeJobs } from '../../src/cli/import/plan.ts'
import type { TextCandidate } from '../../src/cli/import/source.ts'
import {
  type Author,
  createStore,
  generateIdentity,
  type Identity,
  type MemoryStore,
  openStore,
} from '../../src/index.ts'
import { everyDeath, killed, unplugged } from '../support/deaths.ts'
import { FaultyDisk, SimulatedDeath } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, sharedDirectory } from '../support/temporary.ts'

const author: Author = { actor: { type: 'user', id: 'alice' }, session: 'import-1' }
const root = sharedDirectory()
const deaths = full ? everyDeath : [killed, unplugged]
/** The first and the second window, of 64 each, and a part of a third. */
const COUNT = 130
const stride = full ? 1 : 9

function textOf(index: number): string {
  return `${index}\n`.repeat(20)
}

const candidates: readonly TextCandidate[] = Array.from({ length: COUNT }, (_, index) => ({
  path: `/in/${index}.md`,
  origin: `${index}.md`,
  read: () => utf8(textOf(index)),
}))

let identity: Identity

function place(name: string): { readonly directory: string; readonly stateDirectory: string } {
  return { directory: `${root}/${name}/store`, stateDirectory: `${root}/${name}/state` }
}

async function open(name: string, disk?: FaultyDisk): Promise<MemoryStore> {
  const at = place(name)
  if (disk === undefined) return openStore({ ...at, identity })
  return openStore({ ...at, identity, disk, packer: inlinePacker(disk, at.directory) })
}

async function importAll(
  store: MemoryStore,
  options: { readonly signal?: AbortSignal; readonly progress?: (done: number) => void } = {},
): Promise<number> {
  const found = { candidates, leftOut: [], unsuitable: [] }
  const plan = await planImport(store, found, { onConflict: 'fail' })
  expect(plan.conflicts).toEqual([])
  return writeJobs(store, plan.jobs, author, options)
}

/** Returns how many memories there are, each of which is whole. */
async function expectWhole(store: MemoryStore): Promise<number> {
  const { data } = await store.memories({ limit: 1000 })
  for (const { path } of data) {
    const index = Number(/^\/in\/(\d+)\.md$/.exec(path)?.[1])
    expect((await store.read(path))?.content).toBe(textOf(index))
  }
  return data.length
}

async function expectCompletion(name: string, what: string): Promise<number> {
  const store = await open(name)
  const before = await expectWhole(store)
  expect(await importAll(store), what).toBe(COUNT - before)
  expect(await expectWhole(store)).toBe(COUNT)
  expect(await importAll(store)).toBe(0)
  const { commits } = await store.maintenance.verify()
  expect(commits, what).toBe(1 + COUNT)
  await store.close()
  return before
}

beforeAll(async () => {
  identity = await generateIdentity()
  const { store } = await createStore({ ...place('base'), identity })
  await store.close()
})

async function importOn(name: string, disk: FaultyDisk): Promise<void> {
  try {
    const store = await open(name, disk)
    await importAll(store)
    await store.close()
  } catch (error) {
    if (!disk.dead && !(error instanceof SimulatedDeath)) throw error
  } finally {
    disk.release()
  }
}

describe('an import', () => {
  test.each(deaths)(
    'dies $moment each operation, losing $loss, and continues',
    { tags: 'slow' },
    async (death) => {
      const counting = new FaultyDisk()
      copyDirectory(`${root}/base`, `${root}/count`)
      await importOn('count', counting)
      rmSync(`${root}/count`, { recursive: true })
      const left = new Set<number>()
      for (let at = 1; at <= counting.operations; at += stride) {
        copyDirectory(`${root}/base`, `${root}/run`)
        await importOn('run', new FaultyDisk({ kind: 'death', at, ...death }))
        left.add(await expectCompletion('run', `operation ${at}: ${counting.log[at - 1]}`))
        rmSync(`${root}/run`, { recursive: true })
      }
      // It did die in the middle.
      expect([...left].some((count) => count > 0 && count < COUNT)).toBe(true)
    },
  )

  test.each([0, 64, 128])('is interrupted after %d memories', { tags: 'slow' }, async (done) => {
    copyDirectory(`${root}/base`, `${root}/stopped`)
    const store = await open('stopped')
    const stop = new AbortController()
    if (done === 0) stop.abort()
    const progress = (count: number): void => void (count >= done && stop.abort())
    await expect(importAll(store, { signal: stop.signal, progress })).rejects.toMatchObject({
      code: 'cancelled',
      message: `Cancelled; ${done} memories were imported before`,
      hint: 'Run it again: it continues where it stopped',
    })
    await store.close()
    expect(await expectCompletion('stopped', 'the interrupt')).toBe(done)
    rmSync(`${root}/stopped`, { recursive: true })
  })

  test('leaves the rest whole if a file changes or a path is taken in between', async () => {
    copyDirectory(`${root}/base`, `${root}/changed`)
    const store = await open('changed')
    const plan = await planImport(
      store,
      { candidates, leftOut: [], unsuitable: [] },
      {
        onConflict: 'fail',
      },
    )
    await store.as(author).write('/in/3.md', 'somebody else')
    const jobs = plan.jobs.map((job, index) => {
      return index === 5 ? { ...job, candidate: { ...job.candidate, read: () => utf8('\0') } } : job
    })
    await expect(writeJobs(store, jobs, author, {})).rejects.toMatchObject({
      code: 'path_conflict',
      message: expect.stringContaining('62 memories were imported before'),
    })
    expect((await store.read('/in/3.md'))?.content).toBe('somebody else')
    expect(await store.read('/in/5.md')).toBeUndefined()
    await store.close()
    rmSync(`${root}/changed`, { recursive: true })
  })

  test('overwrites no memory that has changed since it was planned', async () => {
    copyDirectory(`${root}/base`, `${root}/planned`)
    const store = await open('planned')
    await store.as(author).write('/in/0.md', 'planned')
    const found = { candidates: candidates.slice(0, 1), leftOut: [], unsuitable: [] }
    const plan = await planImport(store, found, { onConflict: 'overwrite' })
    await store.as(author).write('/in/0.md', 'written since')
    await expect(writeJobs(store, plan.jobs, author, {})).rejects.toMatchObject({
      code: 'precondition_failed',
    })
    expect((await store.read('/in/0.md'))?.content).toBe('written since')
    await store.close()
    rmSync(`${root}/planned`, { recursive: true })
  })

  test('overwrites no memory that has left the path since it was planned', async () => {
    copyDirectory(`${root}/base`, `${root}/moved`)
    const store = await open('moved')
    await store.as(author).write('/in/0.md', 'planned')
    const found = { candidates: candidates.slice(0, 1), leftOut: [], unsuitable: [] }
    const plan = await planImport(store, found, { onConflict: 'overwrite' })
    await store.as(author).move('/in/0.md', '/kept.md')
    await expect(writeJobs(store, plan.jobs, author, {})).rejects.toMatchObject({
      code: 'not_found',
    })
    expect((await store.read('/kept.md'))?.content).toBe('planned')
    await store.close()
    rmSync(`${root}/moved`, { recursive: true })
  })
})
