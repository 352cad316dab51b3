// A redaction that dies or fails between its plan and its erasing: the sealed file of its object
// ids is kept as long as a certificate needs it, and removed by the next redaction if the branch
// never moved. Every operation after the first one on that file is struck.

import { mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { MemoryStore } from '../../src/index.ts'
import { everyDeath, type Death } from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import {
  oldLeak,
  open,
  type Place,
  placeIn,
  prepareSmall,
  redact,
} from '../support/redaction-places.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, sharedDirectory } from '../support/temporary.ts'

const root = sharedDirectory()
const template = mkdtempSync(join(root, 'template-'))
/** Made by the first test: simulated disks belong to one. */
let operations: Promise<readonly number[]> | undefined

/** The operations of a whole redaction, from the first one on the sealed file on. */
async function prepare(): Promise<readonly number[]> {
  await prepareSmall(placeIn(template))
  const disk = new FaultyDisk()
  const store = await open(copied(), disk)
  await redact(store, oldLeak)
  await store.close()
  disk.release()
  const first = disk.log.findIndex((step) => step.includes('.pending'))
  expect(first).toBeGreaterThan(0)
  return disk.log.map((_, index) => index + 1).filter((at) => at > first)
}

function copied(): Place {
  const copy = mkdtempSync(join(root, 'copy-'))
  copyDirectory(template, copy)
  return placeIn(copy)
}

function sealedFiles({ stateDirectory }: Place): readonly string[] {
  const names = readdirSync(stateDirectory, { recursive: true, encoding: 'utf8' })
  return names.flatMap((name) => /\.erasures\/(.*)$/.exec(name)?.[1] ?? []).toSorted()
}

/** Every redaction of this device has its object ids, whatever the name of the file. */
async function expectIds(store: MemoryStore): Promise<readonly string[]> {
  const found = await store.maintenance.redactions()
  for (const { redaction } of found) {
    expect((await store.maintenance.issueCertificate(redaction)).objectIds).toBe('known')
  }
  return found.map(({ redaction }) => redaction).toSorted()
}

async function expectSwept(place: Place): Promise<void> {
  const disk = new FaultyDisk()
  const store = await open(place, disk)
  await expectIds(store)
  // Does what the struck one may not have done, and then another one.
  await redact(store, oldLeak)
  await redact(store, { path: '/doomed.md' }, 'delete')
  expect(sealedFiles(place)).toEqual(await expectIds(store))
  await store.close()
  disk.release()
}

async function strike(fault: Fault): Promise<void> {
  const place = copied()
  const disk = new FaultyDisk(fault)
  const store = await open(place, disk)
  await redact(store, oldLeak).catch(() => undefined)
  await store.close().catch(() => undefined)
  disk.die('nothing')
  disk.release()
  await expectSwept(place)
}

/** Without FULL=1 each kind of fault strikes other operations. */
async function struckAt(kind: number, kinds: number): Promise<readonly number[]> {
  operations ??= prepare()
  const struck = await operations
  return full ? struck : struck.filter((at) => at % (4 * kinds) === 4 * kind)
}

describe('the sealed file of a redaction', { tags: 'slow' }, () => {
  test.each<[number, Death]>(everyDeath.map((death, index) => [index, death]))(
    'is kept or swept after death %d at an operation: %o',
    async (kind, death) => {
      for (const at of await struckAt(kind, everyDeath.length)) {
        await strike({ kind: 'death', at, ...death })
      }
    },
  )

  test('is kept or swept after an error of the disk', async () => {
    for (const at of await struckAt(0, 1)) {
      await strike({ kind: 'error', at, times: 1, code: 'storage_failed' })
    }
  })
})
