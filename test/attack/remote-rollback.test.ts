// T22: a remote that has less than it has shown before is refused by devices that have seen more,
// loses nothing that any machine has, and is repaired from there. FORMAT §9.

import { describe, expect, test } from 'vitest'
import { formatId } from '../../src/format/id.ts'
import { alone, copyOf, headOf, joinClone, sync, syncAll } from '../support/clones.ts'
import {
  branchOf,
  create,
  edit,
  evidenceOf,
  expectInStep,
  expectRefused,
  moveBranch,
  type Pair,
  pairsOfClones,
  repair,
  showClone,
} from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { author, contentsOf, reopen } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

const pairOfClones = pairsOfClones()

type Attack = (pair: Pair) => Promise<unknown>

const older: readonly (readonly [name: string, attack: Attack])[] = [
  ['an older head', async ({ remote }) => moveBranch(remote, `${branchOf(remote)}~1`)],
  ['the first commit', async ({ remote }) => moveBranch(remote, firstCommit(remote))],
]
const gone: readonly [name: string, attack: Attack] = [
  'no branch',
  async ({ remote }) => git(['update-ref', '-d', 'refs/heads/main'], remote),
]

function firstCommit(remote: string): string {
  return git(['rev-list', '--max-parents=0', 'main'], remote).trim()
}

describe('T22: a remote that was rolled back', () => {
  test.each([...sample(older, 2), gone])(
    'to %s is refused, and healed by a repair',
    { tags: 'slow' },
    async (_, attack) => {
      const { a, b, remote } = await pairOfClones()
      await create(a, '/newest.md')
      await syncAll([a, b])
      await attack({ a, b, remote })
      await expectRefused(b, 'rolled_back')
      await expectRefused(b, 'rolled_back')
      await repair(b)
      expect(await contentsOf(b.store)).toHaveProperty('/newest.md')
      expect(await evidenceOf(b)).toBeUndefined()
      await syncAll([a, b])
      await expectInStep(remote, [a, b])
    },
  )

  test('is reported with the ref that keeps its head as evidence', { tags: 'slow' }, async () => {
    const { a, b, remote } = await pairOfClones()
    await create(a, '/newest.md')
    await syncAll([a, b])
    moveBranch(remote, `${branchOf(remote)}~1`)
    // Written by a member that never saw the newest commit.
    const late = await joinClone(a, remote)
    await create(late, '/other.md')
    await sync(late)
    await expectRefused(b, 'rolled_back')
    expect(await evidenceOf(b)).toBe(branchOf(remote))
    await repair(b)
    expect(await contentsOf(b.store)).toMatchObject({ '/newest.md': '/newest.md' })
    expect(await contentsOf(b.store)).toMatchObject({ '/other.md': '/other.md' })
    expect(await evidenceOf(b)).toBeUndefined()
    await syncAll([a, b, late])
    await expectInStep(remote, [a, b, late])
  })

  test.each([
    ['from before its writer joined', false],
    ['by removing who wrote the newest change, and not what stands below it', true],
  ])('to a fork %s is refused', { tags: 'slow' }, async (_, isRemoved) => {
    const { a, b, remote } = await pairOfClones()
    const early = await copyOf(a)
    const late = await joinClone(a, remote)
    await syncAll([a, b])
    const stale = isRemoved ? await copyOf(a) : early
    await create(b, '/honest.md')
    await syncAll([b, late])
    await create(late, '/newest.md')
    await syncAll([late, b])
    const lateId = formatId('device', late.place.identity.deviceId)
    if (isRemoved) await stale.store.as(author).devices.remove([lateId], alone)
    else await create(stale, '/fork.md')
    await showClone(remote, stale)
    await expectRefused(b, 'rolled_back')
    expect(await contentsOf(b.store)).toHaveProperty('/honest.md')
  })

  test(
    'is healed without asking anyone if a machine has more to send',
    { tags: 'slow' },
    async () => {
      const { a, b, remote } = await pairOfClones()
      const known = branchOf(remote)
      // Only A has seen the newest commit there: to B it never was.
      await create(a, '/newest.md')
      await sync(a)
      moveBranch(remote, known)
      await edit(b, '/notes.md', 'changed\n')
      await sync(b)
      await expectRefused(a, 'rolled_back')
      await repair(a)
      await syncAll([a, b])
      await expectInStep(remote, [a, b])
    },
  )

  test(
    'cannot be passed on to a machine that has seen more elsewhere',
    { tags: 'slow' },
    async () => {
      const { a, b, remote } = await pairOfClones()
      await create(a, '/newest.md')
      await syncAll([a, b])
      const head = await headOf(b)
      moveBranch(remote, `${branchOf(remote)}~1`)
      await b.store.remotes.remove('origin')
      await b.store.remotes.add('mirror', remote)
      // Never seen under this name: B contains the older head, and continues from there.
      await sync(b)
      expect(await headOf(b)).toBe(head)
      expect(branchOf(remote)).toBe(head)
    },
  )
})

describe('T22: a remote that was not rolled back is accepted', () => {
  test.each(sample([1, 2, 3, 4], 2))(
    'a machine that dies after a merge opens again, whichever parent is the first: %i',
    { tags: 'slow' },
    async () => {
      const { a, b, remote } = await pairOfClones()
      await create(a, '/a.md')
      await create(a, '/a2.md')
      await sync(a)
      await create(b, '/b.md')
      await b.store.close()
      const again = { ...b, store: await reopen(b.place) }
      const { merge } = await sync(again)
      expect(merge).toBeDefined()
      // The anchor still names the newest record before the merge.
      const survivor = await copyOf(again)
      expect(await headOf(survivor)).toBe(branchOf(remote))
      await survivor.store.maintenance.verify()
    },
  )

  test(
    'a machine that joins with an identity remembers the head it was shown',
    { tags: 'slow' },
    async () => {
      const { a, b, remote } = await pairOfClones()
      await create(a, '/newest.md')
      await syncAll([a, b])
      await b.store.close()
      const { identity } = b.place
      const again = await joinClone(a, remote, { identity })
      const forked = branchOf(remote)
      moveBranch(remote, `${forked}~1`)
      const other = await joinClone(a, remote)
      await create(other, '/other.md')
      await sync(other)
      await expectRefused(again, 'rolled_back')
    },
  )
})
