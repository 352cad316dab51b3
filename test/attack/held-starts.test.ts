// T86: neither the host of a remote nor a member without the granter's key can make the holder of a
// grant begin with a state that the granter did not describe, or continue from a history that does
// not follow from it. A refused one leaves no files. FORMAT §8.3, §12, §13.
// @module-tag slow

import { existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Start } from '../../src/format/start.ts'
import { type GrantedOptions, StoreError } from '../../src/index.ts'
import { bareRemote, joinClone, put, sync } from '../support/clones.ts'
import { flipBit } from '../support/forge-seal.ts'
import {
  create,
  forgeStart,
  givenGrant,
  giveMore,
  type GrantWorld,
  hold,
  holderPlace,
  mainAt,
  moveMain,
  readStartAt,
  shownAt,
  showAt,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

let world: GrantWorld
beforeEach(async () => {
  world = await givenGrant()
})

/** Opens nothing, and leaves nothing. */
async function expectRefused(
  codes: readonly string[],
  what = '',
  at: Partial<GrantedOptions> = {},
): Promise<void> {
  const place = holderPlace()
  let code = 'none'
  try {
    const store = await hold(world, { ...place, ...at })
    await store.close()
  } catch (error) {
    code = error instanceof StoreError ? error.code : String(error)
  }
  expect(codes, `${what} ${code}`).toContain(code)
  expect(existsSync(place.directory), what).toBe(false)
  expect(readdirSync(dirname(place.directory)), what).toEqual([])
}

async function expectOpens(): Promise<void> {
  const store = await hold(world)
  expect(await contentsOf(store)).toEqual(await contentsOf(world.granter.store))
  await store.close()
}

describe('other bytes at the refs of a grant', () => {
  const anyRefusal = [
    'baseline_malformed',
    'wraps_malformed',
    'upgrade_required',
    'device_signature_invalid',
    'grant_expired',
    'envelope_commitment',
    'envelope_malformed',
    'envelope_tag',
    'envelope_epoch',
    'keyring_mismatch',
  ]

  test.each(['start', 'wraps'] as const)('no changed or cut %s is believed', async (kind) => {
    const honest = shownAt(world, kind)
    const step = Math.ceil(honest.length / 12)
    for (let at = 0; at < honest.length; at += at < 8 ? 4 : step) {
      showAt(world, kind, flipBit(8 * at)(Uint8Array.from(honest)))
      await expectRefused(anyRefusal, `bit of ${at}`)
      showAt(world, kind, honest.subarray(0, at))
      await expectRefused([...anyRefusal, 'not_found'], `cut at ${at}`)
    }
    showAt(world, kind, Buffer.concat([honest, Buffer.alloc(1)]))
    await expectRefused(anyRefusal, 'longer')
    showAt(world, kind, honest)
    await expectOpens()
  })

  test('without a start or wraps nothing is opened', async () => {
    const [start, wraps] = [shownAt(world, 'start'), shownAt(world, 'wraps')]
    showAt(world, 'start', undefined)
    await expectRefused(['not_found'])
    showAt(world, 'wraps', undefined)
    await expectRefused(['not_found'])
    showAt(world, 'start', start)
    await expectRefused(['not_found'])
    // Not even with the whole history: without wraps there are no keys.
    await expectRefused(['not_found'], '', { full: true })
    showAt(world, 'wraps', wraps)
    await expectOpens()
  })

  test('refuses one kind of blob in place of another', async () => {
    const [start, wraps] = [shownAt(world, 'start'), shownAt(world, 'wraps')]
    showAt(world, 'start', wraps)
    await expectRefused(['baseline_malformed'])
    showAt(world, 'start', start)
    showAt(world, 'wraps', start)
    await expectRefused(['wraps_malformed'])
    // A commit, or a tree, has another type.
    showAt(world, 'wraps', wraps)
    const ref = git(
      ['for-each-ref', '--format=%(refname)', 'refs/gitlocket/baseline'],
      world.url,
    ).trim()
    for (const other of ['main', 'main^{tree}', 'main:keyring']) {
      git(['update-ref', ref, git(['rev-parse', other], world.url).trim()], world.url)
      await expectRefused(['baseline_malformed', 'remote_protocol'], other)
    }
  })

  test('those of another store are not believed', async () => {
    const other = await givenGrant()
    const own = shownAt(world, 'start')
    showAt(world, 'start', shownAt(other, 'start'))
    await expectRefused(['envelope_epoch'])
    showAt(world, 'start', own)
    showAt(world, 'wraps', shownAt(other, 'wraps'))
    await expectRefused(['device_signature_invalid'])
  })

  test('those of another granter or of a member without its key are not believed', async () => {
    const owner = await joinClone(world.granter, world.url)
    const foreign = { ...world, ...(await giveMore(owner)), granter: owner }
    const [start, wraps] = [shownAt(world, 'start'), shownAt(world, 'wraps')]
    showAt(world, 'start', shownAt(foreign, 'start'))
    await expectRefused(['baseline_malformed', 'device_signature_invalid'])
    showAt(world, 'wraps', shownAt(foreign, 'wraps'))
    await expectRefused(['device_signature_invalid'])
    showAt(world, 'wraps', wraps)
    showAt(world, 'start', start)
    // It has the keys, and so can seal a start; it cannot sign it.
    forgeStart(world, (said) => said, owner)
    await expectRefused(['baseline_malformed', 'device_signature_invalid'])
    showAt(world, 'start', start)
    await expectOpens()
  })
})

describe('a start and a branch that do not belong together', () => {
  const broken = ['history_needed', 'object_missing', 'rolled_back']

  test('a start is accepted with branches that follow from it alone', async () => {
    const before = mainAt(world)
    const start = shownAt(world, 'start')
    for (let n = 0; n < 3; n += 1) await put(world.granter, `/more/${n}.md`)
    await sync(world.granter)
    showAt(world, 'start', start)
    await expectOpens()
    // A newer start, and the branch rolled back below it.
    await giveMore(world.granter)
    expect(shownAt(world, 'start')).not.toEqual(Buffer.from(start))
    moveMain(world, before)
    await expectRefused(broken)
  })

  test("a stranger's commit on top is refused", async () => {
    const tree = git(['rev-parse', 'main^{tree}'], world.url).trim()
    const commit = git(['commit-tree', tree, '-p', 'main', '-m', 'mine'], world.url).trim()
    moveMain(world, commit)
    await expectRefused([
      'commit_malformed',
      'not_a_store',
      'keyring_malformed',
      'baseline_malformed',
    ])
  })

  test('another line of the store, of members, is refused', async () => {
    // Both have a grant and begin at one commit.
    const owner = await joinClone(world.granter, world.url)
    await sync(world.granter)
    for (let n = 0; n < 8; n += 1) await put(owner, `/other/${n}.md`)
    await put(world.granter, '/own.md')
    const { grant } = await giveMore(world.granter)
    const there = { ...world, grant }
    // The host hides what the granter has described, and shows the line of the other one.
    const elsewhere = bareRemote()
    await owner.store.remotes.add('elsewhere', elsewhere)
    await owner.store.as(author).sync({ remote: 'elsewhere' })
    git(['fetch', '-q', elsewhere, 'main'], world.url)
    moveMain(world, git(['rev-parse', 'main'], elsewhere).trim())
    expect(readStartAt(there).floor).toBeDefined()
    await expectRefused(broken)
  })

  test('a branch that is shown otherwise between two questions is refused', async () => {
    const held = await hold(world)
    const before = mainAt(world)
    await put(world.granter, '/more.md')
    await sync(world.granter)
    await syncHolder(held)
    // It has shown more before.
    moveMain(world, before)
    await expect(syncHolder(held)).rejects.toMatchObject({ code: 'rolled_back' })
    expect(await held.read('/more.md')).toBeDefined()
    await held.close()
  })
})

test('a host that shows wraps from before a grant does not end it', async () => {
  const before = shownAt(world, 'wraps')
  const later = { ...world, ...(await giveMore(world.granter)) }
  const place = holderPlace()
  const store = await hold(later, place)
  await put(world.granter, '/moved.md')
  await sync(world.granter)
  showAt(world, 'wraps', before)
  await writeAs(store, create('/by-holder.md'))
  await syncHolder(store)
  await writeAs(store, create('/after.md'))
  await store.close()
  const again = await hold(later, place)
  await writeAs(again, create('/again.md'))
  await syncHolder(again)
  await again.close()
  await sync(world.granter)
  expect(Object.keys(await contentsOf(world.granter.store))).toEqual(
    expect.arrayContaining(['/moved.md', '/by-holder.md', '/after.md', '/again.md']),
  )
})

test('a grant whose time is over leaves no files', async () => {
  const clock = (): number => Date.now() + 9 * 3_600_000
  await expectRefused(['grant_expired'], '', { clock })
  await expectRefused(['grant_expired'], '', { clock, full: true })
})

describe('numbers that would cost work', () => {
  const stateAt = (height: number) => (start: Start) => ({
    ...start,
    state: { ...start.state, height },
  })

  test.each([0, 2 ** 53 - 1])('a state at a height of %d is refused', async (height) => {
    await put(world.granter, '/more.md')
    const before = shownAt(world, 'start')
    await sync(world.granter)
    showAt(world, 'start', before)
    forgeStart(world, stateAt(height))
    await expectRefused(['baseline_malformed', 'tree_mismatch', 'history_needed'])
  })

  test('a floor above its state is refused', async () => {
    forgeStart(world, (start) => ({
      ...start,
      floor: start.floor && { ...start.floor, height: 2 ** 53 - 1 },
    }))
    await expectRefused(['baseline_malformed'])
  })
})
