// The start that the clone of a grant's holder keeps is damaged, as by its disk: only one that
// verifies is believed, and the next sync or open fetches it again.
// @module-tag slow

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { MemoryStore } from '../../../../src/index.ts'
import { joinClone, put, sync } from '../../../support/clones.ts'
import {
  create,
  givenGrant,
  giveMore,
  type GrantWorld,
  hold,
  type HolderPlace,
  holderPlace,
  mainAt,
  showAt,
  shownAt,
  syncHolder,
  writeAs,
} from '../../../support/grant-holders.ts'
import { contentsOf } from '../../../support/stores.ts'

let world: GrantWorld
let at: HolderPlace
let good: Buffer
beforeEach(async () => {
  world = await givenGrant()
  at = holderPlace()
  await (await hold(world, at)).close()
  good = readFileSync(startFile())
})

function startFile(): string {
  return join(at.directory, 'gitlocket/start')
}

function flipped(position: number): Buffer {
  const bytes = Buffer.from(good)
  bytes.writeUInt8(bytes.readUInt8(position) ^ 1, position)
  return bytes
}

/** A start that another device has signed, for the same store. */
async function foreign(): Promise<Uint8Array> {
  const other = await joinClone(world.granter, world.url)
  await put(other, '/other.md')
  await sync(other)
  const theirs = await giveMore(other)
  await sync(other)
  return shownAt({ ...world, ...theirs }, 'start')
}

const damages: readonly (readonly [string, () => Promise<Uint8Array> | Uint8Array | undefined])[] =
  [
    ['missing', () => undefined],
    ['empty', () => Buffer.alloc(0)],
    ['truncated', () => good.subarray(0, good.length - 1)],
    ['flipped in its version', () => flipped(4)],
    ['flipped in its epoch', () => flipped(9)],
    ['flipped in its body', () => flipped(good.length - 200)],
    ['of another device', foreign],
  ]

async function damage([, make]: (typeof damages)[number]): Promise<void> {
  const bytes = await make()
  if (bytes === undefined) rmSync(startFile())
  else writeFileSync(startFile(), bytes)
}

/** Something that only a merge on the earlier state reconciles. */
async function writeApart(held: MemoryStore): Promise<void> {
  await writeAs(held, create('/unsent.md'))
  await sync(world.granter)
  await put(world.granter, '/apart.md')
  await sync(world.granter)
}

async function expectMended(held: MemoryStore): Promise<void> {
  await syncHolder(held)
  await sync(world.granter)
  await syncHolder(held)
  expect(await contentsOf(held)).toMatchObject({ '/unsent.md': '/unsent.md' })
  expect(await contentsOf(held)).toEqual(await contentsOf(world.granter.store))
  expect((await held.status()).head).toBe(mainAt(world))
}

describe.each(damages)('a start that is %s', (...kind) => {
  test('is fetched again by the next sync of an open handle', async () => {
    await damage(kind)
    // Both open from the verified state in their cache.
    const [held, other] = [await hold(world, at), await hold(world, at)]
    await writeApart(held)
    await expectMended(held)
    expect((await held.status()).beginning).toBeDefined()
    await expectMended(other)
    await held.close()
    await other.close()
    const again = await hold(world, at)
    expect((await again.status()).beginning).toBeDefined()
    await again.close()
  })
})

describe('without a usable start at the remote', () => {
  test('explains what to do, and keeps unsent changes', async () => {
    writeFileSync(startFile(), '')
    const held = await hold(world, at)
    await writeApart(held)
    const shown = shownAt(world, 'start')
    for (const bytes of [undefined, shown.subarray(0, 40)]) {
      showAt(world, 'start', bytes)
      await expect(syncHolder(held)).rejects.toMatchObject({
        code: 'baseline_malformed',
        message: expect.stringContaining('`gitlocket sync` fetches another one'),
      })
      expect((await held.read('/unsent.md'))?.content).toBe('/unsent.md')
    }
    showAt(world, 'start', shown)
    await expectMended(held)
    await held.close()
  })

  test('all of the history can be fetched instead', async () => {
    writeFileSync(startFile(), '')
    const held = await hold(world, at)
    await writeAs(held, create('/unsent.md'))
    showAt(world, 'start', undefined)
    await held.history.fetchAll()
    expect((await held.status()).beginning).toBeUndefined()
    await expectMended(held)
    await held.close()
  })
})

describe('a clone without its caches', () => {
  beforeEach(() => {
    rmSync(join(at.directory, 'gitlocket/cache'), { recursive: true })
    writeFileSync(startFile(), flipped(good.length - 1))
  })

  test('fetches it again when it opens', async () => {
    const held = await hold(world, at)
    expect(await contentsOf(held)).toEqual(await contentsOf(world.granter.store))
    await held.close()
    expect(readFileSync(startFile()).equals(good)).toBe(true)
  })

  test('does not open without one', async () => {
    showAt(world, 'start', undefined)
    await expect(hold(world, at)).rejects.toMatchObject({ code: 'not_found' })
    showAt(world, 'start', flipped(good.length - 1))
    const refused = { code: 'device_signature_invalid' }
    await expect(hold(world, at)).rejects.toMatchObject(refused)
  })
})
