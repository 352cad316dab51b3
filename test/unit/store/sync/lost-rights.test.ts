// A device that lost the right to write, and has written before it knew (FORMAT §6.1, §7.2):
// verification would refuse its merge, so it makes none.

import { expect, test } from 'vitest'
import { formatId } from '../../../../src/format/id.ts'
import type { Role } from '../../../../src/index.ts'
import {
  alone,
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  joinClone,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import { branchOf, create, expectInStep } from '../../../support/hostile-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'

interface World {
  readonly owner: Clone
  readonly other: Clone
  readonly remote: string
  readonly change: (role: Role) => Promise<void>
}

/** Two machines in step. */
async function start(): Promise<World> {
  const remote = bareRemote()
  const owner = await firstClone(remote)
  await sync(owner)
  const other = await joinClone(owner, remote)
  await syncAll([owner, other])
  const id = formatId('device', other.place.identity.deviceId)
  const change = async (role: Role): Promise<void> => {
    await owner.store.as(author).devices.changeRole(id, role, alone)
    await sync(owner)
  }
  return { owner, other, remote, change }
}

test.each<[role: Role, says: string]>([
  ['reader', 'it is reader of the store'],
  ['auditor', 'is an auditor'],
])(
  'a device that became %s merges nothing, gets an error that says so, and blocks nobody',
  { tags: 'slow' },
  async (role, says) => {
    const { owner, other, remote, change } = await start()
    await create(other, '/unsent.md')
    await change(role)
    const [before, branch] = [await headOf(other), branchOf(remote)]
    const failure = await failureOf(sync(other))
    expect(failure).toMatchObject({ code: 'permission_denied' })
    expect(failure).toHaveProperty('message', expect.stringContaining(says))
    expect(await headOf(other)).toBe(before)
    expect(branchOf(remote)).toBe(branch)
    await other.store.maintenance.verify()
    await create(owner, '/goes-on.md')
    await sync(owner)
    await expectInStep(remote, [owner])
  },
)

test('its writes arrive once it may write again', { tags: 'slow' }, async () => {
  const { owner, other, remote, change } = await start()
  await create(other, '/unsent.md')
  await change('reader')
  await failureOf(sync(other))
  await change('writer')
  await syncAll([other, owner])
  expect(await contentsOf(owner.store)).toHaveProperty('/unsent.md')
  await expectInStep(remote, [owner, other])
})

test(
  'a reader without changes of its own receives the writes of others',
  { tags: 'slow' },
  async () => {
    const { owner, other, remote, change } = await start()
    await change('reader')
    await create(owner, '/news.md')
    await syncAll([owner, other])
    await expectInStep(remote, [owner, other])
  },
)
