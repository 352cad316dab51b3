// A store that was restored to a state before what its state directory knows of a remote (FORMAT
// §9): what the remote has shown since is taken over again, and not removed from it.

import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Clone, sync, syncAll } from '../../../support/clones.ts'
import {
  branchOf,
  create,
  edit,
  expectInStep,
  pairsOfClones,
  redact,
} from '../../../support/hostile-remotes.ts'
import { contentsOf, reopen } from '../../../support/stores.ts'
import { copyDirectory, git, temporaryDirectory } from '../../../support/temporary.ts'

const pairOfClones = pairsOfClones()
/** A store does its idle work two seconds after it wrote. */
const SETTLED_MS = 2600

/** Copies the store as it is. */
async function backUp(clone: Clone): Promise<string> {
  await clone.store.close()
  const backup = `${temporaryDirectory()}/store`
  copyDirectory(clone.place.directory, backup)
  return backup
}

function expectStillThere(remote: string, head: string): void {
  expect(git(['rev-list', 'main'], remote).split('\n')).toContain(head)
}

describe('newer commits of the remote are adopted by', () => {
  test('a backup that a user accepts', { tags: 'slow' }, async () => {
    const { a, b, remote } = await pairOfClones()
    const backup = await backUp(a)
    const later = { ...a, store: await reopen(a.place) }
    await create(later, '/since.md')
    await sync(later)
    await later.store.close()
    const head = branchOf(remote)
    rmSync(a.place.directory, { recursive: true })
    copyDirectory(backup, a.place.directory)
    const restored = { ...a, store: await reopen(a.place, { acceptRolledBack: true }) }
    expect(await sync(restored)).toMatchObject({ received: { commits: 1 }, sent: { commits: 0 } })
    expectStillThere(remote, head)
    expect(await contentsOf(restored.store)).toHaveProperty('/since.md')
    await syncAll([restored, b])
    await expectInStep(remote, [restored, b])
  })

  test(
    'a backup from before a sync right after which the machine died',
    { tags: 'slow' },
    async () => {
      const { a, remote } = await pairOfClones()
      const directory = await backUp(a)
      const dying = { ...a, store: await reopen(a.place) }
      await create(dying, '/since.md')
      await sync(dying)
      // The anchor follows when there is time; what the remote has shown is noted at once.
      const stateDirectory = `${temporaryDirectory()}/state`
      copyDirectory(a.place.stateDirectory, stateDirectory)
      await dying.store.close()
      const head = branchOf(remote)
      const place = { ...a.place, directory, stateDirectory }
      const restored = { place, store: await reopen(place) }
      await sync(restored)
      expectStillThere(remote, head)
      await expectInStep(remote, [restored])
    },
  )

  test('a second directory of the same device, open and behind', { tags: 'slow' }, async () => {
    const { a, remote } = await pairOfClones()
    const place = { ...a.place, directory: await backUp(a) }
    const behind = { place, store: await reopen(place) }
    const first = { ...a, store: await reopen(a.place) }
    await create(first, '/since.md')
    await sync(first)
    const head = branchOf(remote)
    await sync(behind)
    expectStillThere(remote, head)
    await expectInStep(remote, [first, behind])
  })
})

test('objects that another process has erased are not requested', { tags: 'slow' }, async () => {
  const { a, remote } = await pairOfClones()
  await create(a, '/key.md', 'secret')
  await edit(a, '/key.md', 'clean')
  await sync(a)
  const other = { ...a, store: await reopen(a.place) }
  await create(a, '/more.md')
  const { data: versions } = await other.store.history.versions({
    path: '/key.md',
    order: 'oldest',
  })
  await redact(other, versions[0]?.versionId ?? '')
  await other.store.close()
  // To settle looks at the disk again, and moves no snapshot.
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
  expect((await sync(a)).sent.commits).toBeGreaterThan(0)
  await expectInStep(remote, [a])
})
