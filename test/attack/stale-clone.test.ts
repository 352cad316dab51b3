// T29: erased versions do not come back from a machine, a backup or a remote that still has them: a
// device that knows of the redaction erases them again before it shows anything, and a history that
// was rewritten differently from its redactions is refused. FORMAT §8.1, §10.

import { describe, expect, test } from 'vitest'
import { type World, worldsOf } from '../support/clone-templates.ts'
import { type Clone, copyOf, joinClone, sync, syncAll } from '../support/clones.ts'
import type { Forge } from '../support/forge.ts'
import { writeForged } from '../support/forged-disk.ts'
import {
  create,
  edit,
  evidenceOf,
  expectInStep,
  expectRefused,
  leak,
  makePair,
  pairsOfClones,
  redact,
  repair,
} from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { memory, standardHistory, version } from '../support/standard-forge.ts'
import { author } from '../support/stores.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'

const pairOfClones = pairsOfClones()

/** Machines that know an older secret: `stale` has the old state, and no other machine does. */
const knowing = worldsOf(async (url) => {
  const { a, b } = await makePair(url)
  await leak(a)
  const stale = await joinClone(a, url)
  await syncAll([a, b, stale])
  return { a, b, stale }
})

/** A has redacted the secret; A and the remote are done. */
async function leaked(): Promise<World<'a' | 'b' | 'stale'> & { readonly versionId: string }> {
  const world = await knowing()
  const { a } = world
  const { data: versions } = await a.store.history.versions({ path: '/key.txt', order: 'oldest' })
  const versionId = versions[0]?.versionId ?? ''
  await redact(a, versionId)
  await sync(a)
  return { ...world, versionId }
}

async function expectErased(clones: readonly Clone[], versionId: string): Promise<void> {
  for (const { store } of clones) {
    const { content, redactedAt } = await store.history.version(versionId)
    expect(content).toBeUndefined()
    expect(redactedAt).toBeDefined()
    expect((await store.maintenance.findResidue()).found).toEqual([])
  }
}

describe('T29: erased versions that come back', () => {
  test('from a stale clone that syncs: it erases them itself', { tags: 'slow' }, async () => {
    const { a, b, remote, stale, versionId } = await leaked()
    await create(stale, '/unpushed.md')
    expect(await sync(stale)).toMatchObject({ erased: 1 })
    await syncAll([a, b, stale])
    await expectErased([a, b, stale], versionId)
    await expectInStep(remote, [a, b, stale])
  })

  test.each(sample(['with changes of its own', 'as it was'], 2))(
    'from a stale clone pushed over the remote by stock git, %s',
    { tags: 'slow' },
    async (how) => {
      const { a, b, remote, stale, versionId } = await leaked()
      await sync(b)
      if (how !== 'as it was') await create(stale, '/unpushed.md')
      await stale.store.close()
      git(['push', '--quiet', '--force', remote, 'main'], stale.place.directory)
      for (const one of [a, b]) {
        await expectRefused(one, 'rolled_back')
        expect((await one.store.history.version(versionId)).content).toBeUndefined()
        expect(await evidenceOf(one)).toBeUndefined()
      }
      await repair(a)
      await syncAll([a, b])
      await expectErased([a, b], versionId)
      await expectInStep(remote, [a, b])
      const held = how === 'as it was' ? undefined : '/unpushed.md'
      expect((await a.store.read('/unpushed.md'))?.path).toBe(held)
      const fresh = await joinClone(a, remote)
      await expectErased([fresh], versionId)
    },
  )

  test(
    'from a stale clone that is named as a remote: none is shown',
    { tags: 'slow' },
    async () => {
      const { a, b, remote, stale, versionId } = await leaked()
      await create(stale, '/unpushed.md')
      await stale.store.close()
      await a.store.remotes.add('stale', stale.place.directory)
      await a.store.as(author).sync({ remote: 'stale', only: 'pull' })
      await a.store.remotes.remove('stale')
      await a.store.maintenance.checkpoint()
      await expectErased([a], versionId)
      await syncAll([a, b])
      await expectErased([a, b], versionId)
      expect((await b.store.read('/unpushed.md'))?.content).toBe('/unpushed.md')
      await expectInStep(remote, [a, b])
    },
  )

  test(
    'from a backup that was put back, with its caches and its state',
    { tags: 'slow' },
    async () => {
      const { a, b, remote, versionId } = await leaked()
      const backup = await copyOf(b)
      await sync(b)
      await b.store.close()
      expect(await sync(backup)).toMatchObject({ erased: 1 })
      await expectErased([a, backup], versionId)
      await expectInStep(remote, [a, backup])
    },
  )

  test('while a redaction of something else is on its way', { tags: 'slow' }, async () => {
    const { a, b, remote, stale, versionId } = await leaked()
    const { data: versions } = await stale.store.history.versions({
      path: '/notes.md',
      order: 'oldest',
    })
    const other = versions[0]?.versionId ?? ''
    await edit(stale, '/notes.md', 'clean\n')
    await redact(stale, other)
    await syncAll([stale, b, a])
    for (const id of [versionId, other]) await expectErased([a, b, stale], id)
    await expectInStep(remote, [a, b, stale])
  })

  test(
    'are not reachable by the evidence of before: a redaction drops it',
    { tags: 'slow' },
    async () => {
      const { a, b, remote } = await pairOfClones()
      await create(a, '/key.txt', 'sk-leaked')
      await syncAll([a, b])
      await create(b, '/on-top.md')
      await sync(b)
      // A refused head, whose history holds the versions that will be erased.
      const tree = git(['rev-parse', 'main~1^{tree}'], remote).trim()
      const junk = git(['commit-tree', tree, '-p', 'main', '-m', 'junk'], remote).trim()
      git(['update-ref', 'refs/heads/main', junk], remote)
      await expectRefused(a, ['commit_malformed', 'not_a_store'])
      expect(await evidenceOf(a)).toBe(junk)
      await edit(a, '/key.txt', 'revoked')
      const { data: versions } = await a.store.history.versions({
        path: '/key.txt',
        order: 'oldest',
      })
      await redact(a, versions[0]?.versionId ?? '')
      expect(await evidenceOf(a)).toBeUndefined()
      git(['fsck', '--strict', '--no-dangling'], a.place.directory)
      for (const clone of [a, b]) await repair(clone)
      await syncAll([a, b])
      await expectErased([a, b], versions[0]?.versionId ?? '')
      await expectInStep(remote, [a, b])
    },
  )
})

describe('T29: a history that was not rewritten according to its redactions', () => {
  const forgings: readonly (readonly [string, name: string, (forge: Forge) => void])[] = [
    [
      'redaction_undone',
      'a detail was kept',
      (forge) => {
        forge.redact([[memory.a, version.a1]])
        forge.rewrite(new Set([version.a1]), { detail: version.a1 })
      },
    ],
    [
      'redaction_undone',
      'a blob was kept',
      (forge) => {
        forge.redact([[memory.a, version.a1]])
        forge.rewrite(new Set([version.a1]), { blob: version.a1 })
      },
    ],
    [
      'detail_missing',
      'more was left out than was redacted',
      (forge) => {
        forge.redact([[memory.a, version.a1]])
        forge.rewrite(new Set([version.a1, version.b1]))
      },
    ],
    [
      'detail_missing',
      'without any redaction',
      (forge) => {
        forge.rewrite(new Set([version.a1]))
      },
    ],
    [
      'redact_target',
      'the current version',
      (forge) => {
        forge.redact([[memory.b, version.b1]])
        forge.rewrite(new Set([version.b1]))
      },
    ],
  ]
  test.each(sample(forgings, 2))('%s: %s', { tags: 'slow' }, async (code, _, forging) => {
    const { forge } = await standardHistory('rewritten')
    const remote = `${temporaryDirectory()}/remote.git`
    await writeForged(forge, remote)
    const identity = forge.founder
    const unused = { directory: '', stateDirectory: '', recoveryKey: '', identity }
    const clone = await joinClone({ place: unused }, remote, { identity })
    forging(forge)
    await writeForged(forge, remote)
    await expectRefused(clone, code)
    await repair(clone)
    await expectInStep(remote, [clone])
  })
})
