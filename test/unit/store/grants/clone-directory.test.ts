// The directory of the clone of a grant: who makes it, and what follows when it was deleted or
// belongs to another grant.

import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { put, sync } from '../../../support/clones.ts'
import {
  create,
  givenGrant,
  giveMore,
  type GrantWorld,
  hold,
  holderPlace,
  type HolderPlace,
  mainAt,
  moveMain,
  syncHolder,
  writeAs,
} from '../../../support/grant-holders.ts'
import { contentsOf } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

test('a clone that fetched the history knows later, too, when devices wrote', async () => {
  const world = await givenGrant()
  const at = holderPlace()
  await (await hold(world, at)).close()
  const store = await hold(world, at)
  await store.history.fetchAll()
  await store.close()
  const again = await hold(world, at)
  const [granter] = await again.devices.list()
  expect(granter?.lastRecord).toBeGreaterThan(0)
  await again.close()
})

describe('the clone of a grant', () => {
  test('is made once by processes that begin at once', async () => {
    const world = await givenGrant()
    const at = holderPlace()
    const stores = await Promise.all([1, 2, 3, 4].map(() => hold(world, at)))
    for (const [n, store] of stores.entries()) {
      await writeAs(store, create(`/at-once/${n}.md`, 'mine'))
    }
    for (const store of stores) await store.close()
    expect(readdirSync(dirname(at.directory)).toSorted()).toEqual(['state', 'store'])
    const again = await hold(world, at)
    await syncHolder(again)
    expect(
      Object.keys(await contentsOf(again))
        .filter((path) => path.includes('once'))
        .toSorted(),
    ).toEqual([0, 1, 2, 3].map((n) => `/at-once/${n}.md`))
    await again.close()
  })

  test('opens while another process keeps new wraps, or has died at that', async () => {
    const world = await givenGrant()
    const at = holderPlace()
    await (await hold(world, at)).close()
    const kept = join(at.directory, 'gitlocket')
    const wraps = readdirSync(kept).find((name) => name.startsWith('wraps-')) ?? ''
    expect(wraps).not.toBe('')
    writeFileSync(join(kept, `${wraps}.0123456789abcdef.tmp`), '')
    const again = await hold(world, at)
    await writeAs(again, create('/again.md', 'again'))
    await again.close()
  })

  test('is made again after it was deleted, with changes that were not sent', async () => {
    const world = await givenGrant()
    const at = holderPlace()
    const store = await hold(world, at)
    await writeAs(store, create('/unsent.md', 'unsent'))
    await store.close()
    rmSync(at.directory, { recursive: true })
    const again = await hold(world, at)
    expect(await again.read('/unsent.md')).toBeUndefined()
    await writeAs(again, create('/later.md', 'later'))
    await syncHolder(again)
    await again.close()
    const later = await hold(world, at)
    expect((await later.read('/later.md'))?.content).toBe('later')
    await later.close()
  })

  test.each([false, true])('is made again above all that it had, full: %s', async (full) => {
    const world = await givenGrant()
    const at = holderPlace()
    await (await hold(world, at)).close()
    rmSync(at.directory, { recursive: true })
    for (let n = 0; n < 20; n += 1) await put(world.granter, `/more/${n}.md`)
    await sync(world.granter)
    // Makes a new start.
    await giveMore(world.granter, 'reader')
    const again = await hold(world, { ...at, full })
    expect(await contentsOf(again)).toEqual(await contentsOf(world.granter.store))
    await again.close()
  })

  test.each([false, true])(
    'is not made again from a remote that was rolled back, full: %s',
    async (full) => {
      const world = await givenGrant()
      const at = holderPlace()
      const before = git(['rev-parse', 'main'], world.url).trim()
      const store = await hold(world, at)
      await writeAs(store, create('/sent.md', 'sent'))
      await syncHolder(store)
      await store.close()
      rmSync(at.directory, { recursive: true })
      git(['update-ref', 'refs/heads/main', before], world.url)
      await expect(hold(world, { ...at, full })).rejects.toMatchObject({ code: 'rolled_back' })
      expect(readdirSync(dirname(at.directory))).toEqual(['state'])
    },
  )

  test('is opened by no other grant', async () => {
    const world = await givenGrant()
    const at = holderPlace()
    await (await hold(world, at)).close()
    const other = await giveMore(world.granter)
    const elsewhere = await givenGrant()
    for (const grant of [other.grant, elsewhere.grant]) {
      await expect(hold({ ...world, grant }, at)).rejects.toMatchObject({
        code: 'wrong_key',
        message: expect.stringContaining('the clone of another grant'),
      })
    }
    await (await hold(world, at)).close()
  })
})

describe('two clones of a grant on one machine', () => {
  async function twoClones() {
    const world = await givenGrant()
    const one = holderPlace()
    const two = { ...one, directory: `${one.directory}-two` }
    for (const at of [one, two]) await (await hold(world, at)).close()
    return { world, one, two }
  }

  async function send(world: GrantWorld, at: HolderPlace, path: string): Promise<void> {
    const store = await hold(world, at)
    await writeAs(store, create(path))
    await syncHolder(store)
    await store.close()
  }

  test('write and sync by turns, one behind the other', async () => {
    const { world, one, two } = await twoClones()
    for (const round of [1, 2]) {
      for (const n of [1, 2, 3]) await send(world, one, `/one/${round}-${n}.md`)
      await send(world, two, `/two/${round}.md`)
    }
    rmSync(one.directory, { recursive: true })
    await send(world, one, '/one/again.md')
    await send(world, two, '/two/last.md')
    const store = await hold(world, two)
    expect(Object.keys(await contentsOf(store))).toHaveLength(13)
    await store.close()
  })

  test('each notice when they are put back', async () => {
    const { world, one, two } = await twoClones()
    const backup = `${two.directory}-backup`
    cpSync(two.directory, backup, { recursive: true })
    await send(world, two, '/two.md')
    await send(world, one, '/one.md')
    rmSync(two.directory, { recursive: true })
    cpSync(backup, two.directory, { recursive: true })
    await expect(hold(world, two)).rejects.toMatchObject({ code: 'rolled_back' })
    await (await hold(world, one)).close()
  })

  test.each([false, true])('make no third one from an older remote, full: %s', async (full) => {
    const { world, one, two } = await twoClones()
    const before = mainAt(world)
    await send(world, one, '/one.md')
    moveMain(world, before)
    await (await hold(world, two)).close()
    const third = { ...one, directory: `${one.directory}-three`, full }
    await expect(hold(world, third)).rejects.toMatchObject({ code: 'rolled_back' })
  })
})
