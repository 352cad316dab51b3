// T86: the host of a remote cannot use a redaction to have the clone of a grant's holder give up
// changes that it has seen: it begins anew only from a newer start of its granter that lacks none
// of them. Refused, it is as it was, with its unsent changes. FORMAT §8.3, §9, §12, §13.
// @module-tag slow

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type MemoryStore, StoreError } from '../../src/index.ts'
import { type Clone, joinClone, put, sync } from '../support/clones.ts'
import {
  create,
  forgeStart,
  givenGrant,
  giveMore,
  type GrantWorld,
  hold,
  type HolderPlace,
  holderPlace,
  mainAt,
  moveMain,
  shownAt,
  showAt,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { author } from '../support/stores.ts'
import { copyDirectory, temporaryDirectory } from '../support/temporary.ts'

let world: GrantWorld
let owner: Clone
let at: HolderPlace
let held: MemoryStore
let erased: string
beforeEach(async () => {
  world = await givenGrant()
  erased = await put(world.granter, '/secret.md', 'a secret\n')
  await put(world.granter, '/secret.md', 'clean\n')
  await sync(world.granter)
  owner = await joinClone(world.granter, world.url)
  await sync(world.granter)
  await giveMore(world.granter)
  at = holderPlace()
  held = await hold(world, at)
  await writeAs(held, create('/unsent.md'))
})
afterEach(() => held.close())

async function redact({ store }: Clone, versionId: string): Promise<void> {
  await store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'legal' })
}

async function redactBelow(): Promise<void> {
  await redact(world.granter, erased)
  await sync(world.granter)
}

/** Moves nothing, and loses nothing. */
async function expectRefused(codes: readonly string[]): Promise<void> {
  const { head } = await held.status()
  let code = 'none'
  try {
    await syncHolder(held)
  } catch (error) {
    code = error instanceof StoreError ? error.code : String(error)
  }
  expect(codes).toContain(code)
  expect((await held.status()).head).toBe(head)
  expect((await held.read('/unsent.md'))?.content).toBe('/unsent.md')
  expect(existsSync(join(at.directory, 'gitlocket/start-next'))).toBe(false)
}

async function expectBegins(): Promise<void> {
  expect((await syncHolder(held)).begunAnew).toBeDefined()
  expect((await held.read('/unsent.md'))?.content).toBe('/unsent.md')
}

describe('a rewritten history', () => {
  test('needs a newer start of the granter', async () => {
    const before = shownAt(world, 'start')
    await redactBelow()
    const start = shownAt(world, 'start')
    showAt(world, 'start', undefined)
    await expectRefused(['history_needed'])
    showAt(world, 'start', before)
    await expectRefused(['history_needed'])
    showAt(world, 'start', start)
    forgeStart(world, (said) => ({ ...said, counter: said.counter + 1 }), owner)
    await expectRefused(['start_malformed', 'device_signature_invalid'])
    showAt(world, 'start', start)
    await expectBegins()
  })

  test('with a start of a state that it lacks is refused', async () => {
    await redactBelow()
    const main = mainAt(world)
    await put(world.granter, '/later.md')
    await sync(world.granter)
    await giveMore(world.granter)
    moveMain(world, main)
    await expectRefused(['rolled_back', 'history_needed'])
  })

  test('that redacts nothing is no reason', async () => {
    // The granter lies: its start is of a state with nothing redacted.
    await redactBelow()
    forgeStart(world, (said) => ({ ...said, redacted: [] }))
    await expectRefused(['history_needed', 'redaction_undone', 'detail_missing'])
  })

  test('cannot be taken back once it is adopted', async () => {
    const [main, start] = [mainAt(world), shownAt(world, 'start')]
    await redactBelow()
    await expectBegins()
    const refusals = ['rolled_back', 'history_needed', 'redaction_undone']
    moveMain(world, main)
    await expectRefused(refusals)
    showAt(world, 'start', start)
    await expectRefused(refusals)
  })
})

describe('another line that the host has shown here lacks nothing:', () => {
  /** Shows this clone what the granter never sees, and then the granter's redaction without it. */
  async function fork(onOther: () => Promise<unknown>): Promise<void> {
    const [main, start] = [mainAt(world), shownAt(world, 'start')]
    await onOther()
    const { received } = await syncHolder(held)
    expect(received.commits).toBeGreaterThan(0)
    await writeAs(held, create('/unsent-too.md'))
    moveMain(world, main)
    showAt(world, 'start', start)
    // Longer than the line that this clone has seen.
    for (let n = 0; n < 8; n += 1) await put(world.granter, `/own/${n}.md`)
    await redactBelow()
  }

  test('a change of a device', async () => {
    await fork(async () => {
      await put(owner, '/of-owner.md')
      await sync(owner)
    })
    await expectRefused(['rolled_back'])
    expect(await held.read('/of-owner.md')).toBeDefined()
  })

  test.each(['a memory', 'a version'])('%s of another holder', async (what) => {
    const other = await hold(world)
    await fork(async () => {
      const edit = { type: 'edit', path: '/notes/0.md', edit: () => 'theirs' } as const
      await writeAs(other, what === 'a memory' ? create('/of-other.md') : edit)
      await syncHolder(other)
    })
    await other.close()
    await expectRefused(['rolled_back'])
  })

  test('a redaction', async () => {
    const above = await put(owner, '/above.md', 'one')
    await put(owner, '/above.md', 'two')
    await sync(owner)
    await sync(world.granter)
    await syncHolder(held)
    await fork(async () => {
      await redact(owner, above)
      await sync(owner)
    })
    await expectRefused(['rolled_back'])
  })

  test('the end of a grant', async () => {
    const { grantId } = await giveMore(world.granter)
    await sync(world.granter)
    await sync(owner)
    await syncHolder(held)
    await fork(async () => owner.store.as(author).grants.end([grantId]))
    await expectRefused(['rolled_back'])
  })
})

test('an older copy of the clone is refused, with the start that belongs to it', async () => {
  await held.close()
  const copy = join(temporaryDirectory(), 'copy')
  copyDirectory(at.directory, copy)
  await redactBelow()
  held = await hold(world, at)
  await expectBegins()
  await held.close()
  rmSync(at.directory, { recursive: true })
  copyDirectory(copy, at.directory)
  await expect(hold(world, at)).rejects.toMatchObject({ code: 'rolled_back' })
  copyDirectory(join(copy, 'gitlocket/start'), join(at.directory, 'gitlocket/start-next'))
  await expect(hold(world, at)).rejects.toMatchObject({ code: 'rolled_back' })
})
