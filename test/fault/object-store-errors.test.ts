// Every operation that changes the disk fails once, or for good, as on a full or dying disk. The
// caller gets a StoreError, nothing half-done shows, and acknowledged commits are kept.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ErrorCode, StoreError } from '../../src/errors.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { expectAllReadable } from '../contract/object-store.contract.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'
import { TestHistory } from '../support/transitions.ts'

/** Every n-th operation is enough to notice what breaks; all of them with FULL=1. */
const stride = full ? 1 : 13

const cases: readonly [code: ErrorCode, times: number][] = [
  ['storage_full', 1],
  ['storage_full', 3],
  ['storage_failed', Infinity],
]

test.each(cases)('%s, %d times, at each operation', { tags: 'slow' }, async (code, times) => {
  const template = temporaryDirectory()
  await (await open(template, new FaultyDisk(), true)).close()
  let at = 1
  while (await withFault(template, { kind: 'error', at, times, code })) at += stride
  expect(at).toBeGreaterThan(50)
})

/** False if the scenario ended before the fault's turn came. */
async function withFault(template: string, fault: Fault): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'gitlocket-error-'))
  copyDirectory(template, directory)
  const disk = new FaultyDisk(fault)
  try {
    await act(directory, disk)
    return disk.operations >= fault.at
  } finally {
    disk.release()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Commits, checkpoints and closes; each step may fail, and only as a StoreError. */
async function act(directory: string, disk: FaultyDisk): Promise<void> {
  const history = new TestHistory(1)
  const store = await open(directory, disk)
  let acknowledged = 0
  for (let step = 0; step < 3; step += 1) {
    // A commit that failed is submitted again: the head shows the state of the store.
    if (step !== acknowledged) break
    const transitions = history.take(1)
    if (await succeeds(store.exclusive(() => store.commit(transitions)))) acknowledged += 1
    const expected = history.transitions[acknowledged - 1]?.next
    expect(store.head).toBe(expected)
    expectAllReadable(store, history.transitions.slice(0, acknowledged))
    if (step === 1) await succeeds(store.checkpoint())
  }
  await succeeds(store.close())
  disk.die('nothing')
  await expectKept(directory, history, acknowledged)
}

async function expectKept(directory: string, history: TestHistory, count: number): Promise<void> {
  const disk = new FaultyDisk()
  try {
    const store = await open(directory, disk)
    const reached = history.transitions.findIndex(({ next }) => next === store.head) + 1
    // What failed and could not be taken back may be there after all.
    expect([count, count + 1]).toContain(reached)
    expectAllReadable(store, history.transitions.slice(0, reached))
    const more = new TestHistory(2, store.head)
    await store.exclusive(() => store.commit([more.next()]))
    await store.close()
    expect(git(['rev-parse', 'main'], directory).trim()).toBe(more.head)
  } finally {
    disk.release()
  }
}

async function succeeds(step: Promise<void>): Promise<boolean> {
  try {
    await step
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(StoreError)
    return false
  }
}

function open(directory: string, disk: FaultyDisk, create: boolean = false): Promise<ObjectStore> {
  const packer = inlinePacker(disk, directory)
  const options = { directory, disk, packer, idleMs: Infinity, lockWaitMs: 50 }
  return create ? createDiskObjectStore(options) : openDiskObjectStore(options)
}
