// A process dies, or the power fails, at every file operation of a join. Afterwards the machine has
// joined or can join again, as one device, and nothing temporary is left.

import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { formatDeviceCard } from '../../src/index.ts'
import { alone } from '../support/clones.ts'
import {
  type Death,
  everyDeath,
  killed,
  struckBy,
  unplugged,
  wasBefore,
} from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import { full } from '../support/seed.ts'
import { author } from '../support/stores.ts'
import {
  expectSound,
  expectTidy,
  operationsOf,
  SyncSite,
  thoroughEvery,
  write,
} from '../support/sync-places.ts'
import { sharedDirectory } from '../support/temporary.ts'

const root = sharedDirectory()
let site: SyncSite
let begin: (() => void) | undefined

/** The machines in step, as every test begins. */
async function start(): Promise<void> {
  if (begin === undefined) {
    site = await SyncSite.start(root)
    begin = site.keep()
  }
  begin()
}

const joins: readonly (readonly [name: string, death: Death, prepare: () => Promise<string>])[] = [
  ['with the recovery key', killed, async () => site.recoveryKey],
  [
    'by a card that an owner has added',
    unplugged,
    async () => {
      const card = formatDeviceCard(site.identityOf('new'))
      await site.with('a', async (store) => {
        await store.as(author).devices.add(card, 'writer', alone)
        await store.as(author).sync()
      })
      return ''
    },
  ],
]

describe.each(joins)('joining %s', (_, usual, prepare) => {
  test.each(full ? everyDeath : [usual])(
    'survives a death $moment an operation, losing $loss',
    { tags: 'slow' },
    async (death) => {
      await start()
      const recoveryKey = await prepare()
      const reset = site.keep()
      const counting = new FaultyDisk()
      await joinAndDie(counting, recoveryKey)
      for (const at of struckBy(death, operationsOf(counting.operations, 1))) {
        reset()
        const fault: Fault = { kind: 'death', at, ...death }
        const disk = new FaultyDisk(fault)
        await joinAndDie(disk, recoveryKey)
        if (full && wasBefore(disk, fault)) continue
        await expectJoined(recoveryKey, at).catch((error: unknown) => {
          const steps = disk.log.slice(Math.max(0, at - 4), at).join(', ')
          throw new Error(`after a death at ${at}: ${steps}`, { cause: error })
        })
      }
    },
  )
})

async function joinAndDie(disk: FaultyDisk, recoveryKey: string): Promise<void> {
  try {
    const store = await site.join('new', disk, secretOf(recoveryKey))
    await store.close()
  } catch (error) {
    if (!disk.dead) throw error
  } finally {
    disk.die('nothing')
    disk.release()
  }
}

/** It is a device by now, or becomes one by joining again; and the others hear of one device. */
async function expectJoined(recoveryKey: string, at: number): Promise<void> {
  const disk = new FaultyDisk()
  try {
    const isThere = existsSync(site.directoryOf('new'))
    const store = isThere
      ? await site.open('new', disk)
      : await site.join('new', disk, secretOf(recoveryKey))
    await write(store, '/after.md', 'written\n')
    await store.maintenance.verify({ threads: 0 })
    await store.as(author).sync()
    const devices = await store.devices.list()
    expect(devices.filter(({ isThis }) => isThis)).toHaveLength(1)
    expect(devices).toHaveLength(4)
    await store.close()
  } finally {
    disk.release()
  }
  expectTidy(site, 'new')
  if (at % thoroughEvery === 0) await expectSound(site, 'new', true)
}

function secretOf(recoveryKey: string): { recoveryKey?: string } {
  return recoveryKey === '' ? {} : { recoveryKey }
}
