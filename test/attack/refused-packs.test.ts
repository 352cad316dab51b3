// T36: what a remote sends and a sync refuses does not pile up: one head for each remote is kept
// for investigation, with its pack, and nothing that the store needs goes with the others.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkWithGit, type Clone, sync } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import {
  branchOf,
  create,
  dropObject,
  evidenceOf,
  expectInStep,
  moveBranch,
  pairsOfClones,
} from '../support/hostile-remotes.ts'
import { git } from '../support/temporary.ts'

const pairOfClones = pairsOfClones()

function packsOf({ place }: Clone, extension = '.pack'): readonly string[] {
  return readdirSync(join(place.directory, 'objects/pack')).filter((name) => {
    return name.endsWith(extension)
  })
}

/** A commit of nobody on top of the branch, with something in it that no other has. */
function junkOn(remote: string, text: string): string {
  const blob = git(['hash-object', '-w', '--stdin'], remote, text.repeat(1000)).trim()
  const entries = git(['ls-tree', 'main'], remote)
  const tree = git(['mktree'], remote, `${entries}100644 blob ${blob}\tzz\n`).trim()
  return git(['commit-tree', tree, '-p', branchOf(remote), '-m', text], remote).trim()
}

test('of many heads that are refused, the last one is kept', { tags: 'slow' }, async () => {
  const { a, b, remote } = await pairOfClones()
  await b.store.maintenance.checkpoint()
  const before = packsOf(b).length
  const good = branchOf(remote)
  for (const text of ['one', 'two', 'three']) {
    const junk = junkOn(remote, text)
    moveBranch(remote, junk)
    expect(await failureOf(sync(b))).toMatchObject({ code: 'commit_malformed' })
    expect(packsOf(b)).toHaveLength(before + 1)
    expect(await evidenceOf(b)).toBe(junk)
    checkWithGit(b.place.directory)
    moveBranch(remote, good)
  }
  await create(b, '/more.md')
  await b.store.maintenance.compact()
  expect(packsOf(b, '.keep')).toHaveLength(1)
  await sync(b)
  expect(await evidenceOf(b)).toBeUndefined()
  expect(packsOf(b, '.keep')).toEqual([])
  expect(packsOf(b).length).toBeLessThanOrEqual(before + 1)
  await sync(a)
  await expectInStep(remote, [a, b])
})

test('of a head that is refused and incomplete, nothing is kept', { tags: 'slow' }, async () => {
  const { b, remote } = await pairOfClones()
  await b.store.maintenance.checkpoint()
  const before = packsOf(b)
  const junk = junkOn(remote, 'junk')
  const lost = git(['commit-tree', `${junk}^{tree}`, '-p', junk, '-m', 'lost'], remote).trim()
  moveBranch(remote, lost)
  git(['repack', '-adq'], remote)
  dropObject(remote, junk)
  await failureOf(sync(b))
  expect(packsOf(b)).toEqual(before)
  expect(packsOf(b, '.keep')).toEqual([])
})

test(
  'what a valid head needs stays, though a refused one brought it',
  { tags: 'slow' },
  async () => {
    const { a, b, remote } = await pairOfClones()
    await create(a, '/theirs.md')
    await sync(a)
    const good = branchOf(remote)
    moveBranch(remote, junkOn(remote, 'junk'))
    expect(await failureOf(sync(b))).toMatchObject({ code: 'commit_malformed' })
    moveBranch(remote, good)
    // As a host does that sends nothing, because the objects are there.
    await sync(b)
    expect(packsOf(b, '.keep')).toEqual([])
    await b.store.maintenance.checkpoint()
    checkWithGit(b.place.directory)
    await expectInStep(remote, [a, b])
  },
)

test('what a process received that died goes with a checkpoint', { tags: 'slow' }, async () => {
  const { b, remote } = await pairOfClones()
  await b.store.maintenance.checkpoint()
  const before = packsOf(b)
  moveBranch(remote, junkOn(remote, 'junk'))
  await failureOf(sync(b))
  const [keep = ''] = packsOf(b, '.keep')
  const path = join(b.place.directory, 'objects/pack', keep)
  const dead = readFileSync(path, 'utf8').replace(/[0-9a-f]{32}/, '0'.repeat(32))
  writeFileSync(path, dead)
  await b.store.maintenance.checkpoint()
  expect(packsOf(b)).toHaveLength(before.length + 1)
  git(['update-ref', '-d', 'refs/remotes/origin-refused/main'], b.place.directory)
  await b.store.maintenance.checkpoint()
  expect(packsOf(b)).toEqual(before)
})

test('a pack that git keeps for its user stays', { tags: 'slow' }, async () => {
  const { b, remote } = await pairOfClones()
  await b.store.maintenance.checkpoint()
  const [pack = ''] = packsOf(b)
  const path = join(b.place.directory, 'objects/pack', pack.replace(/pack$/, 'keep'))
  writeFileSync(path, 'mine\n')
  moveBranch(remote, junkOn(remote, 'junk'))
  await failureOf(sync(b))
  await b.store.maintenance.checkpoint()
  expect(readFileSync(path, 'utf8')).toBe('mine\n')
  expect(packsOf(b)).toContain(pack)
})
