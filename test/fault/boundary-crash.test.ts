// A process dies, or the power fails, at every operation of fetches that move the boundary of a
// store: down, up, and away. Afterwards the store opens, every commit has its parents or is on the
// boundary, stock git finds nothing wrong, and the same fetches succeed.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  createDiskObjectStore,
  type DiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { BoundaryChange } from '../../src/git/exchange.ts'
import { findLinks, type Oid } from '../../src/git/objects/object.ts'
import { killed, unplugged, unsynced } from '../support/deaths.ts'
import { FaultyDisk } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { partialPack } from '../support/partial-stores.ts'
import { inChunks } from '../support/raw-pack.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'
import { receivePack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

const transitions = new TestHistory(62).take(8)
const commits = transitions.map(({ next }) => next)
/** Every operation, or some that a prime apart spreads over all. */
const stride = full ? 1 : 7

interface Step extends BoundaryChange {
  readonly from: number
  readonly tip: number
}

/** A fetch of the commits from one to a later one. */
function step(from: number, tip: number, left: readonly number[], isEnd = true): Step {
  const ofCommits = (numbers: readonly number[]): readonly Oid[] => {
    return numbers.map((number) => commits[number] ?? '')
  }
  return { from, tip, shallow: ofCommits(isEnd ? [from] : []), unshallow: ofCommits(left) }
}

const first = step(4, 5, [])
const steps = [step(2, 7, [4]), step(6, 7, []), step(0, 7, [2, 6], false)]

async function packOf({ from, tip }: Step): Promise<Uint8Array> {
  return partialPack(transitions, from, tip)
}

function open(directory: string, disk = new FaultyDisk()): Promise<DiskObjectStore> {
  const packer = inlinePacker(disk, directory)
  return openDiskObjectStore({ directory, disk, packer, idleMs: Infinity, mayBeShallow: true })
}

type Arriving = readonly (readonly [Step, Uint8Array])[]

async function take(store: DiskObjectStore, [one, pack]: Arriving[number]): Promise<void> {
  const { shallow, unshallow } = one
  const boundary = {
    before: store.exchange.shallow(),
    haves: [store.head ?? ''],
    shallow,
    unshallow,
  }
  await receivePack(store.exchange, inChunks(pack, 1000), { tip: commits[one.tip], boundary })
  const [expected, next] = [store.head, commits[one.tip] ?? '']
  if (expected !== next)
    await store.exclusive(() => store.commit([{ objects: [], expected, next }]))
}

async function takeAll(directory: string, disk: FaultyDisk, arriving: Arriving): Promise<void> {
  const store = await open(directory, disk)
  for (const one of arriving) await take(store, one)
  await store.close()
}

async function prepare(): Promise<string> {
  const directory = join(temporaryDirectory(), 'store')
  await (await createDiskObjectStore({ directory })).close()
  await takeAll(directory, new FaultyDisk(), [[first, await packOf(first)]])
  return directory
}

/** Every commit has its tree, and its parents unless it is on the boundary; so has the head. */
async function expectClosed(directory: string): Promise<void> {
  const store = await open(directory)
  const ends = new Set(store.exchange.shallow())
  expect(store.has(store.head ?? '')).toBe(true)
  for (const oid of store.objectIds()) {
    const object = store.read(oid)
    if (object?.type !== 'commit') continue
    const links = findLinks(object.body)
    const needed = [links?.tree, ...(ends.has(oid) ? [] : (links?.parents ?? []))]
    expect(
      needed.every((one) => one !== undefined && store.has(one)),
      oid,
    ).toBe(true)
  }
  await store.close()
}

async function expectRecovered(directory: string, arriving: Arriving): Promise<void> {
  await expectClosed(directory)
  await takeAll(directory, new FaultyDisk(), arriving)
  // Whole again: any process may open it.
  const store = await openDiskObjectStore({ directory })
  expect(commits.every((oid) => store.has(oid))).toBe(true)
  await store.close()
}

test.each([killed, unsynced, unplugged])(
  'a death $moment an operation, which takes along $loss',
  { tags: 'slow' },
  async (death) => {
    const prepared = await prepare()
    const arriving = await Promise.all(steps.map(async (one) => [one, await packOf(one)] as const))
    const counting = new FaultyDisk()
    const whole = mkdtempSync(join(tmpdir(), 'gitlocket-test-'))
    copyDirectory(prepared, join(whole, 's'))
    await takeAll(join(whole, 's'), counting, arriving)
    rmSync(whole, { recursive: true })
    expect(counting.operations).toBeGreaterThan(50)
    for (let at = 1; at <= counting.operations; at += stride) {
      const scratch = mkdtempSync(join(tmpdir(), 'gitlocket-test-'))
      const directory = join(scratch, 's')
      copyDirectory(prepared, directory)
      const disk = new FaultyDisk({ kind: 'death', at, ...death })
      await expect(takeAll(directory, disk, arriving), `operation ${at}`).rejects.toThrow(
        /died|is dead|may or may not/,
      )
      disk.release()
      if (full || at % 3 === 1) expectSoundForGit(directory)
      await expectRecovered(directory, arriving)
      expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
      rmSync(scratch, { recursive: true })
    }
  },
)

/** As it was left: stock git has the branch without the journal. */
function expectSoundForGit(directory: string): void {
  expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
  const listed = git(['log', '--format=%H'], directory).trim().split('\n')
  expect(listed.length).toBeGreaterThan(0)
  expect(listed.every((oid) => commits.includes(oid))).toBe(true)
}
