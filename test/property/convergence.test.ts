// Clones that write, redact, let devices in and out, and sync in any order end with the same
// commits, and no acknowledged change is missing from their history. Transport fails now and then,
// processes die, and machines join in between. Auditors follow, and list every record.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Device } from '../../src/index.ts'
import { checkWithGit } from '../support/clones.ts'
import { full, seed } from '../support/seed.ts'
import { contentsOf } from '../support/stores.ts'
import { step } from './convergence-steps.ts'
import { type Member, versionIds, World } from './convergence-world.ts'

const timeout = full ? 30 * 60_000 : 120_000

test(
  'clones end with the same commits, and with every acknowledged change',
  { tags: 'slow', timeout },
  async () => {
    const history = fc.array(step, { minLength: 4, maxLength: 40, size: 'max' })
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const world = await World.start()
        for (const taken of steps) await world.take(taken)
        await world.settle()
        const devices = await world.first.store.devices.list()
        for (const member of world.members) await expectKept(world, member, devices)
        await expectAudited(world, devices)
        checkWithGit(world.remote)
        await world.close()
        for (const { place } of world.members) checkWithGit(place.directory)
      }),
      // Shrinking a world takes hours, and no one would learn in that time that it failed.
      { seed, numRuns: full ? 120 : 3, endOnFailure: true },
    )
  },
)

/** Checks the state of a machine, and the versions that it wrote. */
async function expectKept(
  { first }: World,
  member: Member,
  devices: readonly Device[],
): Promise<void> {
  const device = devices.find(({ deviceId }) => deviceId === member.deviceId)
  expect(device).toBeDefined()
  const known = await versionIds(first.store)
  if (device?.removed !== undefined) {
    expect(member.refused).toBe('wrong_key')
    for (const id of inTime(member)) expect(known).toContain(id)
    return
  }
  for (const id of member.sent) expect(known).toContain(id)
  for (const id of member.sentRedactions) {
    expect(await first.store.history.version(id)).toMatchObject({
      content: undefined,
      path: undefined,
    })
  }
  if (member.refused !== undefined) return expectStuck(member, device)
  for (const id of member.acknowledged) expect(known).toContain(id)
  await expectEqual(first, member)
}

/**
 * Versions that its removers had before the removal; a remover who was removed in turn proves
 * nothing.
 */
function inTime({ acknowledged, removals }: Member): readonly string[] {
  const had = [...removals].filter(([remover]) => remover.refused !== 'wrong_key')
  const sets = had.map(([, known]) => known)
  return [...acknowledged].filter((id) => sets.length > 0 && sets.every((known) => known.has(id)))
}

/**
 * Unsent changes of a device that lost the right to write, or to change the keyring, are not
 * merged.
 */
function expectStuck({ refused }: Member, device: Device | undefined): void {
  const without = {
    permission_denied: ['reader', 'auditor'],
    keyring_conflict: ['writer', 'reader', 'auditor'],
  }
  expect(Object.entries(without)).toContainEqual([refused, expect.arrayContaining([device?.role])])
}

async function expectEqual(first: Member, { store }: Member): Promise<void> {
  expect((await store.status()).head).toBe((await first.store.status()).head)
  expect(await contentsOf(store)).toEqual(await contentsOf(first.store))
  expect(await versionIds(store)).toEqual(await versionIds(first.store))
  await store.maintenance.verify()
  expect((await store.maintenance.findResidue()).found).toEqual([])
}

/** Each auditor, in the clone that it has kept or that it makes now. */
async function expectAudited(
  { first, auditors }: World,
  devices: readonly Device[],
): Promise<void> {
  const { head } = await first.store.status()
  const versions = await versionIds(first.store)
  for (const auditor of auditors) {
    const device = devices.find(({ deviceId }) => deviceId === auditor.deviceId)
    await auditor.expectCurrent(device, head, versions)
  }
}
