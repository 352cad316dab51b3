// T99: a commit that does not verify, on top of honest ones, does not have them taken off the
// branch by the repair that replaces it, nor costs work without bound. FORMAT §8, §9.3.

import { beforeEach, expect, test } from 'vitest'
import { type Clone, joinClone } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import type { Forge } from '../support/forge.ts'
import { fresh, ofB } from '../support/forged-clones.ts'
import { writeForged } from '../support/forged-disk.ts'
import { begins, byHolder, holder } from '../support/forged-grants.ts'
import { branchOf, moveBranch, rewritten } from '../support/hostile-remotes.ts'
import { memory, nextRow, standardHistory, version } from '../support/standard-forge.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'

let forge: Forge
let clone: Clone
let remote: string

/** A device that has seen the remote, and a grant for reading, whose holder writes all the same. */
beforeEach(async () => {
  const standard = await standardHistory('with a bad head')
  ;({ forge } = standard)
  forge.grants([begins(holder, { role: 'reader' })])
  remote = `${temporaryDirectory()}/remote.git`
  await writeForged(forge, remote)
  const identity = standard.writer
  const unused = { directory: '', stateDirectory: '', recoveryKey: '', identity }
  clone = await joinClone({ place: unused }, remote, { identity })
})

function sync(repair = false) {
  return clone.store.as(author).sync({ repair })
}

async function expectRepaired(): Promise<void> {
  expect((await clone.store.status()).head).toBe(branchOf(remote))
  expect(await clone.store.maintenance.verify()).toMatchObject({ head: branchOf(remote) })
  git(['fsck', '--strict', '--no-dangling'], remote)
  expect((await sync()).received.commits).toBe(0)
}

test('an honest commit below it is kept on the branch', async () => {
  const honest = forge.change([fresh])
  const bad = forge.change([nextRow], byHolder)
  await writeForged(forge, remote)
  expect(await failureOf(sync())).toMatchObject({ code: 'record_role' })
  const { replaced, received, late } = await sync(true)
  expect(replaced).toEqual({
    commit: bad,
    code: 'record_role',
    kept: 1,
    dropped: 1,
    refused: [{ commit: bad, code: 'record_role' }],
  })
  expect(received.commits).toBe(1)
  expect(late).toEqual([])
  expect(branchOf(remote)).toBe(honest)
  expect(await contentsOf(clone.store)).toMatchObject({
    '/other.md': fresh.content,
    '/a.md': 'alpha, again\n',
  })
  // Nothing of the bad commit is in the store.
  await clone.store.maintenance.checkpoint()
  git(['cat-file', '-e', honest], clone.place.directory)
  expect(() => git(['cat-file', '-e', bad], clone.place.directory)).toThrow(/cat-file/)
  await expectRepaired()
})

test('what this device wrote in the meantime is merged with it', async () => {
  forge.change([fresh])
  forge.change([nextRow], byHolder)
  await writeForged(forge, remote)
  await clone.store.as(author).apply([{ type: 'create', path: '/mine.md', content: 'mine\n' }])
  const { replaced, merge } = await sync(true)
  expect(replaced).toMatchObject({ kept: 1, dropped: 1 })
  expect(merge).toBe(branchOf(remote))
  expect(Object.keys(await contentsOf(clone.store))).toContain('/other.md')
  expect(Object.keys(await contentsOf(clone.store))).toContain('/mine.md')
  await expectRepaired()
})

test('a bad commit below a long chain and a merge takes along no others', async () => {
  const other = forge.fork()
  other.change([ofB])
  forge.change([fresh])
  const bad = forge.change([nextRow], byHolder)
  for (let n = 0; n < 40; n += 1) {
    forge.change([{ ...nextRow, content: `alpha ${n}\n` }])
  }
  forge.merge(other)
  forge.change([{ ...nextRow, content: 'the last\n' }])
  await writeForged(forge, remote)
  const { replaced } = await sync(true)
  expect(replaced).toMatchObject({
    kept: 2,
    dropped: 43,
    refused: [{ commit: bad, code: 'record_role' }],
  })
  expect(await contentsOf(clone.store)).toMatchObject({
    '/other.md': fresh.content,
    '/dir/b.md': ofB.content,
    '/a.md': 'alpha, again\n',
  })
  await expectRepaired()
})

test('a chain of commits of anybody without a key costs no attempt for each', async () => {
  const honest = forge.change([fresh])
  await writeForged(forge, remote)
  for (let n = 0; n < 50; n += 1) {
    const tree = git(['rev-parse', 'main^{tree}'], remote).trim()
    const args = ['commit-tree', tree, '-p', 'main', '-m', `junk ${n}`]
    moveBranch(remote, git(args, remote).trim())
  }
  moveBranch(
    remote,
    rewritten(remote, 'main', (text) => text.replace(/junk/, 'more')),
  )
  const { replaced } = await sync(true)
  expect(replaced).toMatchObject({ kept: 1, dropped: 50 })
  expect(branchOf(remote)).toBe(honest)
  await expectRepaired()
})

test('more bad commits than there are attempts end in a repair all the same', async () => {
  const base = forge.fork()
  for (let n = 0; n < 20; n += 1) {
    const side = base.fork()
    side.change([{ ...fresh, content: `text ${n}\n` }], byHolder)
    forge.merge(side)
  }
  await writeForged(forge, remote)
  const before = (await clone.store.status()).head
  const { replaced } = await sync(true)
  expect(replaced?.kept).toBe(0)
  expect(replaced?.refused.length).toBeLessThanOrEqual(16)
  expect(branchOf(remote)).toBe(before)
  await expectRepaired()
})

test('a redaction below it is applied here, and its text does not come back', async () => {
  forge.change([fresh])
  forge.redact([[memory.a, version.a1]])
  forge.rewrite(new Set([version.a1]))
  forge.change([nextRow], byHolder)
  await writeForged(forge, remote)
  const { replaced, erased } = await sync(true)
  expect(replaced).toMatchObject({ dropped: 1, code: 'record_role' })
  expect(erased).toBe(1)
  expect((await clone.store.read('/other.md'))?.content).toBe(fresh.content)
  expect((await clone.store.maintenance.findResidue()).found).toEqual([])
  await expectRepaired()
})
