// A device that one side has made an owner, and that has added a device before the other side knew
// (FORMAT §7.2): the keyrings are joined, and the added device stays.

import { expect, test } from 'vitest'
import {
  admit,
  bareRemote,
  firstClone,
  idOf,
  joinClone,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { create, expectInStep } from '../../../support/hostile-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'

test(
  'a device that a new owner has added stays when an owner joins the keyrings',
  { tags: 'slow' },
  async () => {
    const remote = bareRemote()
    const away = await firstClone(remote)
    await sync(away)
    const owner = await joinClone(away, remote)
    const identity = await admit(owner, 'writer')
    await sync(owner)
    const raised = await joinClone(owner, remote, { identity })
    await syncAll([away, owner, raised])

    await away.store.as(author).keys.makeRecoveryKey()
    await owner.store.as(author).devices.changeRole(idOf(raised), 'owner')
    await syncAll([owner, raised])
    const admitted = await admit(raised, 'writer')
    await sync(raised)
    const newcomer = await joinClone(owner, remote, { identity: admitted })
    await create(newcomer, '/hello.md')
    await sync(newcomer)

    const report = await sync(away)
    expect(report.keyrings).toMatchObject({ removed: [], lowered: [] })
    await syncAll([away, owner, raised, newcomer])
    await expectInStep(remote, [away, owner, raised, newcomer])
    expect(await contentsOf(away.store)).toHaveProperty('/hello.md')
  },
)
