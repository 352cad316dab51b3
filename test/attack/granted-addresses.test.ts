// T77, for the holder of a grant: a removed reader, or a removed granter, and a host that puts the
// branch, baselines and wraps of before the removal back. A holder with the address of the newest
// state reads and writes nothing there. FORMAT §1.8, §8.3, §13.
// @module-tag slow

import { existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { formatStateOf } from '../../src/format/address.ts'
import { parseId } from '../../src/format/id.ts'
import type { LineRecord } from '../../src/format/start.ts'
import { formatDeviceCard, generateIdentity, type GrantedOptions } from '../../src/index.ts'
import {
  addressOf,
  alone,
  bareRemote,
  firstClone,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { startGitServer } from '../support/git-server.ts'
import {
  create,
  forgeStart,
  givenGrant,
  giveMore,
  type GrantWorld,
  hold,
  holderPlace,
  mainAt,
  readStartAt,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { redact } from '../support/hostile-remotes.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'
import { openWeb } from '../support/web-stores.ts'

const codeOf = async (work: Promise<unknown>): Promise<string> => (await failureOf(work)).code

/** All refs as they are: the host puts them back. */
function kept(url: string): () => void {
  const refs = git(['for-each-ref', '--format=%(refname) %(objectname)'], url)
  return () => {
    git(['update-ref', '--stdin'], url, refs.replaceAll(/^/gm, 'update ').replace(/update $/, ''))
  }
}

interface Removed extends GrantWorld {
  /** Names the state of after the removal. */
  readonly address: string
  readonly before: string
  readonly putBack: () => void
}

/** A member is removed, and the host then shows what there was before. */
async function removed(): Promise<Removed> {
  const world = await givenGrant()
  const { granter, url } = world
  const reader = await joinClone(granter, url)
  await syncAll([granter, reader])
  const before = await addressOf(granter, url)
  const { grant } = await giveMore(granter)
  const putBack = kept(url)
  await granter.store.as(author).devices.remove([idOf(reader)])
  await put(granter, '/after.md')
  await sync(granter)
  return { ...world, grant, before, putBack, address: await addressOf(granter, url) }
}

async function expectNothing(world: Removed, at: Partial<GrantedOptions>): Promise<void> {
  const place = holderPlace()
  const head = mainAt(world)
  const opening = hold({ ...world, url: world.address }, { ...place, ...at })
  expect(await codeOf(opening)).toBe('rolled_back')
  expect(existsSync(place.directory)).toBe(false)
  expect(readdirSync(dirname(place.directory))).toEqual([])
  expect(mainAt(world)).toBe(head)
}

let world: Removed
beforeEach(async () => {
  world = await removed()
})

describe('T77: a host that puts the state of before a removal back', () => {
  test.each([
    ['a baseline', {}],
    ['the whole history', { full: true }],
  ])('begins no clone from %s', async (_, at) => {
    const honest = await hold({ ...world, url: world.address }, at)
    expect(await contentsOf(honest)).toEqual(await contentsOf(world.granter.store))
    await honest.close()
    world.putBack()
    await expectNothing(world, at)
    // Only the address tells it.
    const misled = await hold(world, at)
    expect(await misled.read('/after.md')).toBeUndefined()
    await misled.close()
  })

  test.each([false, true])('begins no store in RAM, full: %s', async (full) => {
    const server = await startGitServer({ repository: world.url })
    const url = world.address.replace(world.url, server.url)
    const honest = await openWeb({ ...world, server }, { url, full })
    expect(await contentsOf(honest)).toEqual(await contentsOf(world.granter.store))
    await honest.close()
    world.putBack()
    expect(await codeOf(openWeb({ ...world, server }, { url, full }))).toBe('rolled_back')
  })

  test('a clone of before opens, and neither takes nor sends anything there', async () => {
    const place = holderPlace()
    world.putBack()
    await (await hold(world, place)).close()
    const held = await hold({ ...world, url: world.address }, place)
    await writeAs(held, create('/unsent.md'))
    const head = mainAt(world)
    for (let n = 0; n < 2; n += 1) expect(await codeOf(syncHolder(held))).toBe('rolled_back')
    await held.close()
    // An address without a state does not release it.
    const again = await hold(world, place)
    expect(await codeOf(syncHolder(again))).toBe('rolled_back')
    expect(mainAt(world)).toBe(head)
    expect(await again.read('/unsent.md')).toBeDefined()
    await again.close()
  })

  test('the same clone takes the named state from an honest host, and sends', async () => {
    const place = holderPlace()
    const after = kept(world.url)
    world.putBack()
    await (await hold(world, place)).close()
    after()
    const held = await hold({ ...world, url: world.address }, place)
    await writeAs(held, create('/unsent.md'))
    await syncHolder(held)
    await sync(world.granter)
    expect(await contentsOf(held)).toEqual(await contentsOf(world.granter.store))
    expect(await held.read('/unsent.md')).toBeDefined()
    await held.close()
  })

  test('a removed granter that continues there gets nothing from a new sandbox', async () => {
    const { granter, url } = world
    const other = await joinClone(granter, url)
    await syncAll([granter, other])
    const { grant } = await giveMore(other)
    const putBack = kept(url)
    await granter.store.as(author).devices.remove([idOf(other)])
    const address = await addressOf(granter, url)
    putBack()
    await put(other, '/bait.md')
    await sync(other)
    await expectNothing({ ...world, grant, address }, {})
    const misled = await hold({ url, grant })
    expect(await misled.read('/bait.md')).toBeDefined()
    await misled.close()
  })
})

describe('an address', () => {
  test.each([false, true])('of a change of keys before the head fits, full: %s', async (full) => {
    const held = await hold({ ...world, url: world.before }, { full })
    expect(await held.read('/after.md')).toBeDefined()
    await held.close()
  })

  test('of a change of keys after the state of the baseline fits', async () => {
    const { granter, url } = world
    // The granter makes no baseline of it.
    const later = await joinClone(granter, url)
    const address = await addressOf(later, url)
    expect(readStartAt(world).keyrings).toHaveLength(2)
    expect(address).not.toBe(world.address)
    await (await hold({ ...world, url: address })).close()
  })

  test.each([false, true])('of another store or of no state is refused, full: %s', async (full) => {
    const another = await firstClone(bareRemote())
    const theirs = await addressOf(another, world.url)
    expect(await codeOf(hold({ ...world, url: theirs }, { full }))).toBe('store_id_mismatch')
    const id = parseId('store', world.granter.store.id)
    const madeUp = `${world.url}#${formatStateOf(id, new Uint8Array(32).fill(7))}`
    expect(await codeOf(hold({ ...world, url: madeUp }, { full }))).toBe('rolled_back')
  })
})

describe('a granter that names a keyring record which the history does not have', () => {
  /** Its line has a record with the hash that the address begins with. */
  function pretended(): LineRecord {
    return { record: new Uint8Array(32).fill(7), commit: '07'.repeat(20) }
  }
  const madeUp = (): string => {
    const id = parseId('store', world.granter.store.id)
    return `${world.url}#${formatStateOf(id, pretended().record)}`
  }

  test('is found out by fetch --all', async () => {
    forgeStart(world, (start) => ({ ...start, keyrings: [pretended(), ...start.keyrings] }))
    const held = await hold({ ...world, url: madeUp() })
    expect(await codeOf(held.history.fetchAll())).toBe('baseline_false')
    expect(held.history.beginning).toBeDefined()
    await held.close()
  })

  test('fetch --all does not complete a clone that lacks the named state', async () => {
    const place = holderPlace()
    await (await hold(world, place)).close()
    const held = await hold({ ...world, url: madeUp() }, place)
    expect(await codeOf(held.history.fetchAll())).toBe('rolled_back')
    expect(held.history.beginning).toBeDefined()
    await held.close()
  })
})

describe('a clone that begins anew', () => {
  test('does so only from a baseline that has the named state', async () => {
    const { granter, url } = world
    const erased = await put(granter, '/secret.md', 'a secret\n')
    await put(granter, '/secret.md', 'clean\n')
    // More than a sync fetches again: with the whole history, a clone follows a redaction.
    for (let n = 0; n < 40; n += 1) await put(granter, '/later.md', `${n}`)
    const { grant } = await giveMore(granter)
    const held = await hold({ ...world, grant, url: world.address })
    const { head } = await held.status()
    // The named state is no longer the newest one.
    const card = formatDeviceCard(await generateIdentity())
    await granter.store.as(author).devices.add(card, 'reader', alone)
    await redact(granter, erased)
    await sync(granter)
    const honest = kept(url)
    forgeStart({ ...world, grant }, (start) => ({
      ...start,
      keyrings: start.keyrings.filter((_, at) => at !== start.keyrings.length - 2),
    }))
    expect(await codeOf(syncHolder(held))).toBe('rolled_back')
    expect((await held.status()).head).toBe(head)
    honest()
    expect((await syncHolder(held)).begunAnew).toBeDefined()
    await held.close()
  })
})
