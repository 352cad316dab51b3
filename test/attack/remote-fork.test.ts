// T23: a remote that shows different histories to different devices is detected: a device that sees
// both sides merges them or refuses, and users who compare head fingerprints notice earlier. FORMAT
// §8, §9.

import { describe, expect, test } from 'vitest'
import { type Clone, joinClone, sync, syncAll } from '../support/clones.ts'
import {
  branchOf,
  copyRemote,
  create,
  evidenceOf,
  expectInStep,
  expectRefused,
  moveBranch,
  pairsOfClones,
  repair,
  swapRemotes,
} from '../support/hostile-remotes.ts'
import { contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

const pairOfClones = pairsOfClones()

async function wordsOf(clone: Clone): Promise<string> {
  return (await sync(clone)).headFingerprint.join(' ')
}

interface Fork {
  readonly a: Clone
  readonly b: Clone
  /** The path of the remote for both devices, whose content is swapped. */
  readonly shown: string
  readonly hidden: string
}

/** The remote tells each of two devices of its own changes alone. */
async function fork(): Promise<Fork> {
  const { a, b, remote } = await pairOfClones()
  const hidden = copyRemote(remote)
  swapRemotes(remote, hidden)
  await create(b, '/b.md')
  await sync(b)
  swapRemotes(remote, hidden)
  await create(a, '/a.md')
  await sync(a)
  return { a, b, shown: remote, hidden }
}

describe('T23: a remote that shows each device another history', () => {
  test(
    'shows them other head words, and the same ones once they are in step',
    { tags: 'slow' },
    async () => {
      const { a, b, shown, hidden } = await fork()
      const ours = await wordsOf(a)
      swapRemotes(shown, hidden)
      const theirs = await wordsOf(b)
      expect(ours.split(' ')).toHaveLength(12)
      expect(theirs).not.toBe(ours)
      swapRemotes(shown, hidden)
      await repair(b)
      await syncAll([a, b])
      expect(await wordsOf(a)).toBe(await wordsOf(b))
      await expectInStep(shown, [a, b])
    },
  )

  test(
    'is refused by a device that is shown the other side without commits that it has seen',
    { tags: 'slow' },
    async () => {
      const { a, b, shown } = await fork()
      await expectRefused(b, 'rolled_back')
      expect(await evidenceOf(b)).toBe(branchOf(shown))
      await repair(b)
      expect(await contentsOf(b.store)).toMatchObject({ '/a.md': '/a.md', '/b.md': '/b.md' })
      await syncAll([a, b])
      await expectInStep(shown, [a, b])
    },
  )

  test(
    'has to show both sides to a third device, which merges them',
    { tags: 'slow' },
    async () => {
      const { a, b, shown, hidden } = await fork()
      const c = await joinClone(a, shown)
      await c.store.remotes.add('other', hidden)
      for (const remote of ['other', 'origin']) await c.store.as(anybody).sync({ remote })
      expect(await contentsOf(c.store)).toMatchObject({ '/a.md': '/a.md', '/b.md': '/b.md' })
      // Both sides go on from the merge, without a repair.
      await syncAll([a, b])
      expect(await contentsOf(a.store)).toMatchObject({ '/b.md': '/b.md' })
      expect(await contentsOf(b.store)).toMatchObject({ '/a.md': '/a.md' })
      await expectInStep(shown, [a, b, c])
    },
  )

  test(
    'cannot mix the sides: a commit of one on the head of the other',
    { tags: 'slow' },
    async () => {
      const { a, shown, hidden } = await fork()
      git(['fetch', '--quiet', hidden, 'main:from-b'], shown)
      const tree = git(['rev-parse', 'from-b^{tree}'], shown).trim()
      const message = git(['log', '-1', '--format=%B', 'from-b'], shown)
      const mixed = git(['commit-tree', tree, '-p', 'main'], shown, message).trim()
      moveBranch(shown, mixed)
      await expectRefused(a, ['commit_malformed', 'commit_not_canonical', 'not_a_store'])
      expect(await evidenceOf(a)).toBe(mixed)
      await repair(a)
      await expectInStep(shown, [a])
    },
  )
})

const anybody = { actor: { type: 'user', id: 'somebody' } } as const
