// The holder of a grant when others change the history so that its clone cannot follow at once:
// redactions, new keys, merges with an older base. Its unsent changes are kept and readable.
// @module-tag slow

import { expect, test } from 'vitest'
import { StoreError } from '../../../../src/index.ts'
import { idOf, joinClone, put, sync, syncAll } from '../../../support/clones.ts'
import {
  create,
  expectOneHead,
  floored,
  givenGrant,
  giveMore,
  hold,
  holderPlace,
  readStartAt,
  showAt,
  shownAt,
  syncHolder,
  writeAs,
} from '../../../support/grant-holders.ts'
import { redact } from '../../../support/hostile-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'
import { copyDirectory, git, temporaryDirectory } from '../../../support/temporary.ts'

test('follows a redaction above its state and continues', async () => {
  const world = await givenGrant()
  const at = holderPlace()
  let held = await hold(world, at)
  const erased = await put(world.granter, '/secret.md', 'a secret')
  await put(world.granter, '/secret.md', 'clean')
  await sync(world.granter)
  await syncHolder(held)
  await writeAs(held, create('/unsent.md', 'unsent'))
  await redact(world.granter, erased)
  await sync(world.granter)
  await syncHolder(held)
  expect(await contentsOf(held)).toMatchObject({ '/unsent.md': 'unsent', '/secret.md': 'clean' })
  await held.close()
  // Its caches were erased with the redaction.
  held = await hold(world, at)
  await writeAs(held, create('/later.md'))
  await put(world.granter, '/theirs.md')
  await sync(world.granter)
  await expectOneHead(world, held)
  await held.close()
})

test('begins with a merge whose base is from before a redaction', async () => {
  const world = await givenGrant()
  const early = await hold(world)
  await writeAs(early, create('/early.md'))
  const erased = await put(world.granter, '/secret.md', 'a secret')
  await put(world.granter, '/secret.md', 'clean')
  await redact(world.granter, erased)
  await sync(world.granter)
  const { state } = readStartAt(world)
  await syncHolder(early)
  expect(readStartAt(world).state).toEqual(state)
  const late = await hold(world)
  expect(await contentsOf(late)).toMatchObject({ '/early.md': '/early.md', '/secret.md': 'clean' })
  await writeAs(late, create('/late.md'))
  await expectOneHead(world, early, late)
  // It began at the floor of the start, which is from before the redaction.
  await syncHolder(late)
  await late.history.fetchAll()
  await late.maintenance.verify()
  await early.close()
  await late.close()
})

test('keeps what it sent on top of the changes of a grant that ends', async () => {
  const world = await givenGrant()
  const { text, grantId } = await world.granter.store.as(author).grants.give()
  const [held, ending] = [await hold(world), await hold({ url: world.url, grant: text })]
  await writeAs(ending, create('/of-the-other.md'))
  await syncHolder(ending)
  await writeAs(held, create('/sent.md'))
  await syncHolder(held)
  await world.granter.store.as(author).grants.end([grantId])
  expect(await contentsOf(world.granter.store)).toHaveProperty(['/of-the-other.md'])
  await writeAs(held, create('/later.md'))
  await expectOneHead(world, held)
  expect(await contentsOf(held)).toMatchObject({ '/sent.md': '/sent.md', '/later.md': '/later.md' })
  await held.close()
  await ending.close()
})

test('keeps unsent changes while a redaction has left it no start', async () => {
  const world = await givenGrant()
  const erased = await put(world.granter, '/secret.md', 'a secret')
  await put(world.granter, '/secret.md', 'clean')
  await sync(world.granter)
  await giveMore(world.granter)
  const at = holderPlace()
  let held = await hold(world, at)
  await writeAs(held, create('/unsent.md', 'unsent'))
  await redact(world.granter, erased)
  await sync(world.granter)
  const start = shownAt(world, 'start')
  // Someone else has redacted, and the granter has not synced since.
  showAt(world, 'start', undefined)
  for (let round = 0; round < 2; round += 1) {
    await expect(syncHolder(held)).rejects.toMatchObject({ code: 'history_needed' })
    expect((await held.read('/unsent.md'))?.content).toBe('unsent')
    await held.close()
    held = await hold(world, at)
    await writeAs(held, create(`/more-${round}.md`, 'unsent'))
  }
  showAt(world, 'start', start)
  expect((await syncHolder(held)).begunAnew?.changes).toBe(3)
  const kept = { '/unsent.md': 'unsent', '/more-0.md': 'unsent', '/more-1.md': 'unsent' }
  expect(await contentsOf(held)).toMatchObject({ '/secret.md': 'clean', ...kept })
  await expectOneHead(world, held)
  await held.close()
  // A holder that begins now has a state without it.
  const next = await hold(world)
  expect(await contentsOf(next)).toMatchObject({ '/secret.md': 'clean' })
  await next.close()
})

test('keeps the keys of its branch while new ones cannot be adopted yet', async () => {
  const world = await givenGrant()
  const at = holderPlace()
  const held = await hold(world, at)
  await writeAs(held, create('/unsent.md', 'unsent'))
  await world.granter.store.as(author).keys.rotate()
  await put(world.granter, '/after.md')
  await sync(world.granter)
  // Its process dies once it has the wraps, and before the branch moves.
  git(['update-ref', 'refs/heads/kept', 'main'], world.url)
  git(
    [
      'update-ref',
      'refs/heads/main',
      git(['commit-tree', 'main^{tree}', '-p', 'main', '-m', 'x'], world.url).trim(),
    ],
    world.url,
  )
  await expect(syncHolder(held)).rejects.toThrow(StoreError)
  await held.close()
  const again = await hold(world, at)
  expect((await again.read('/unsent.md'))?.content).toBe('unsent')
  git(['update-ref', 'refs/heads/main', 'refs/heads/kept'], world.url)
  await expectOneHead(world, again)
  await again.close()
})

test('reports keys that it cannot open, not another store, below an older merge', async () => {
  const world = await givenGrant()
  const granter = await joinClone(world.granter, world.url)
  await sync(granter)
  const held = await hold({ ...world, ...(await giveMore(granter)) })
  await writeAs(held, create('/held.md'))
  await put(world.granter, '/based-on-an-older-version.md')
  await sync(world.granter)
  await world.granter.store.as(author).devices.remove([idOf(granter)])
  await expect(syncHolder(held)).rejects.toMatchObject({ code: 'wrong_key' })
  expect((await held.read('/held.md'))?.content).toBe('/held.md')
  await held.close()
})

test('two machines from one copy write at once, and both arrive', async () => {
  const world = await givenGrant()
  const at = holderPlace()
  const first = await hold(world, at)
  await writeAs(first, create('/before.md'))
  await first.close()
  const root = temporaryDirectory()
  const copy = { directory: `${root}/store`, stateDirectory: `${root}/state` }
  copyDirectory(at.directory, copy.directory)
  copyDirectory(at.stateDirectory ?? '', copy.stateDirectory)
  const [one, other] = [await hold(world, at), await hold(world, copy)]
  await writeAs(one, create('/one.md'))
  await writeAs(other, create('/other.md'))
  await writeAs(one, { type: 'edit', path: '/notes/0.md', edit: (text) => `${text}one\n` })
  await writeAs(other, { type: 'edit', path: '/notes/0.md', edit: (text) => `${text}other\n` })
  await syncHolder(one)
  await syncHolder(other)
  await expectOneHead(world, one, other)
  expect(await contentsOf(one)).toMatchObject({ '/one.md': '/one.md', '/other.md': '/other.md' })
  expect((await world.granter.store.devices.list()).length).toBeGreaterThan(0)
  await world.granter.store.maintenance.verify()
  await one.close()
  await other.close()
})

test('fetches down to the floor for a merge with a base above it', async () => {
  const { world, old } = await floored()
  const { state, floor } = readStartAt(world)
  expect(floor?.height).toBeGreaterThan(25)
  expect(state.height - (floor?.height ?? 0)).toBeGreaterThan(50)
  const at = holderPlace()
  let held = await hold(world, at)
  await writeAs(held, create('/held.md'))
  await put(old, '/old.md')
  await sync(old)
  await syncHolder(held)
  expect(await contentsOf(held)).toMatchObject({ '/old.md': '/old.md', '/held.md': '/held.md' })
  await held.close()
  // It begins at the floor from now on.
  held = await hold(world, at)
  await writeAs(held, create('/again.md'))
  expect((await held.history.versions({ path: '/c.md' })).data.length).toBeLessThan(2)
  await expectOneHead(world, held)
  await held.close()
  const fresh = await hold(world)
  expect(await contentsOf(fresh)).toEqual(await contentsOf(world.granter.store))
  await fresh.close()
})

test('follows another process of its clone below the state that it began with', async () => {
  const world = await givenGrant()
  const others = [
    await joinClone(world.granter, world.url),
    await joinClone(world.granter, world.url),
  ]
  await syncAll([world.granter, ...others])
  await put(world.granter, '/newer.md')
  await sync(world.granter)
  await giveMore(world.granter)
  const at = holderPlace()
  const [one, two] = [await hold(world, at), await hold(world, at)]
  await writeAs(one, create('/one.md'))
  await one.history.versions({ path: '/one.md' })
  for (const [n, other] of others.entries()) {
    await put(other, `/based-below-${n}.md`)
    await sync(other)
    await syncHolder(two)
    // With the history of both, which begins lower than before.
    await one.history.versions({ path: '/one.md' })
    await writeAs(one, create(`/more-${n}.md`))
  }
  await writeAs(one, create('/last.md'))
  await expectOneHead(world, one, two)
  await one.close()
  await two.close()
})

test('keeps its grant once another process of its clone has followed a redaction', async () => {
  const world = await givenGrant()
  const erased = await put(world.granter, '/secret.md', 'a secret')
  await put(world.granter, '/secret.md', 'clean')
  await sync(world.granter)
  await giveMore(world.granter)
  const at = holderPlace()
  const [one, two] = [await hold(world, at), await hold(world, at)]
  await one.history.versions({ path: '/notes/0.md' })
  // This brings the rest of so short a history.
  await put(world.granter, '/newer.md')
  await sync(world.granter)
  await syncHolder(two)
  await one.history.versions({ path: '/newer.md' })
  await redact(world.granter, erased)
  await sync(world.granter)
  await syncHolder(two)
  await one.history.versions({ path: '/newer.md' })
  await writeAs(one, create('/one.md'))
  await put(world.granter, '/newest.md')
  await sync(world.granter)
  await syncHolder(two)
  expect((await one.read('/newest.md'))?.content).toBe('/newest.md')
  await writeAs(one, create('/last.md'))
  await expectOneHead(world, one, two)
  await one.close()
  await two.close()
})
