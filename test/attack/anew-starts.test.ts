// T86: the host of a remote cannot use a redaction to have the clone of a grant's holder give up
// changes that it has seen: it begins anew only from a newer start of its granter that lacks none
// of them. Refused, it is as it was, with its unsent changes. FORMAT §8.3, §9, §12, §13.
// @module-tag slow

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type MemoryStore, StoreError } from '../../src/index.ts'
import { type Clone, copyOf, idOf, joinClone, put, sync } from '../support/clones.ts'
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
import { redact } from '../support/hostile-remotes.ts'
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
  // More than a sync fetches again: with the whole history, a clone follows a redaction.
  for (let n = 0; n < 40; n += 1) await put(world.granter, '/later.md', `${n}`)
  await sync(world.granter)
  owner = await joinClone(world.granter, world.url)
  await put(owner, '/of-owner.md', 'first')
  await sync(owner)
  await sync(world.granter)
  await giveMore(world.granter)
  // Its changes follow from the state that the clone begins with.
  await sync(owner)
  at = holderPlace()
  held = await hold(world, at)
  await writeAs(held, create('/unsent.md'))
})
afterEach(() => held.close())

async function redactBelow(): Promise<void> {
  await redact(world.granter, erased)
  await sync(world.granter)
}

/** Moves nothing, and loses nothing. */
async function expectRefused(codes: readonly string[], reason = ''): Promise<void> {
  const { head } = await held.status()
  let [code, message] = ['none', '']
  try {
    await syncHolder(held)
  } catch (error) {
    code = error instanceof StoreError ? error.code : String(error)
    message = String(error)
  }
  expect(codes).toContain(code)
  expect(message).toContain(reason)
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
    await expectRefused(['baseline_malformed', 'device_signature_invalid'])
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

  test('begins nothing for a grant that has ended, with wraps from before', async () => {
    await giveMore(world.granter)
    const wraps = shownAt(world, 'wraps')
    await redact(world.granter, erased)
    await world.granter.store.as(author).grants.end([world.grantId])
    await sync(world.granter)
    expect(shownAt(world, 'wraps')).not.toEqual(wraps)
    showAt(world, 'wraps', wraps)
    await expectRefused(['grant_expired'], 'The grant is not active')
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
  async function fork(
    onOther: () => Promise<unknown>,
    onOwn: () => Promise<unknown> = async () => undefined,
  ): Promise<void> {
    await syncHolder(held)
    await sync(world.granter)
    const [main, start] = [mainAt(world), shownAt(world, 'start')]
    await onOther()
    await syncHolder(held)
    expect(mainAt(world)).not.toBe(main)
    await writeAs(held, create('/unsent-too.md'))
    moveMain(world, main)
    showAt(world, 'start', start)
    // Longer than the line that this clone has seen.
    for (let n = 0; n < 8; n += 1) await put(world.granter, `/own/${n}.md`)
    await onOwn()
    await redactBelow()
  }

  async function expectLacks(what: string): Promise<void> {
    await expectRefused(['rolled_back'], `lacks ${what} that the remote has shown before`)
    expect((await held.read('/unsent-too.md'))?.content).toBe('/unsent-too.md')
  }

  const edit = (text: string) => {
    return { type: 'edit', path: '/notes/0.md', edit: () => text } as const
  }

  test('a change of a device', async () => {
    await fork(async () => {
      await put(owner, '/of-owner.md')
      await sync(owner)
    })
    await expectLacks(`changes of ${idOf(owner)}`)
    expect((await held.read('/of-owner.md'))?.content).toBe('/of-owner.md')
  })

  test('a change of a device whose copy has made another one', async () => {
    await syncHolder(held)
    await sync(owner)
    // Two of them, so that both records have one sequence number.
    const [shown, copy] = [await copyOf(owner), await copyOf(owner)]
    await fork(
      async () => {
        await put(shown, '/of-owner.md')
        await sync(shown)
      },
      async () => {
        await put(copy, '/of-owner.md', 'of the copy')
        await sync(copy)
      },
    )
    for (const { store } of [shown, copy]) await store.close()
    await expectLacks(`changes of ${idOf(owner)}`)
  })

  test('its own change', async () => {
    await fork(async () => writeAs(held, create('/own-sent.md')))
    await expectLacks('versions of memories')
  })

  test.each(['a memory', 'a version'])('%s of another holder', async (what) => {
    const other = await hold(world)
    await fork(async () => {
      await writeAs(other, what === 'a memory' ? create('/of-other.md') : edit('theirs'))
      await syncHolder(other)
    })
    await other.close()
    await expectLacks('versions of memories')
  })

  test('a version of another holder in place of which the granter has one', async () => {
    const other = await hold(world)
    await fork(
      async () => {
        // The redaction would have to come after all of them.
        for (let n = 0; n < 12; n += 1) await writeAs(other, edit(`theirs ${n}`))
        await syncHolder(other)
      },
      async () => put(world.granter, '/notes/0.md', 'by the granter'),
    )
    await other.close()
    await expectLacks('changes')
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
    await expectLacks('redactions')
  })

  test('settings', async () => {
    await fork(async () => {
      await owner.store.as(author).settings.update({ description: 'of the owner' })
      await sync(owner)
    })
    await expectLacks('settings')
  })

  test.each(['the beginning', 'the end'])('%s of a grant', async (what) => {
    const { grantId } = await giveMore(world.granter)
    await sync(world.granter)
    await sync(owner)
    await syncHolder(held)
    await fork(async () => {
      if (what === 'the end') await owner.store.as(author).grants.end([grantId])
      else await giveMore(owner)
    })
    // A grant that is not there any more may have ended: its begin is missed as a record.
    await expectLacks(
      what === 'the end' ? 'changes of members or grants' : `changes of ${idOf(owner)}`,
    )
  })

  test('the removal of a device, where the granter was put back from a backup', async () => {
    const removed = await joinClone(world.granter, world.url)
    await sync(world.granter)
    await sync(owner)
    await syncHolder(held)
    await sync(world.granter)
    const backup = await copyOf(world.granter)
    const [main, start] = [mainAt(world), shownAt(world, 'start')]
    const wraps = shownAt(world, 'wraps')
    await owner.store.as(author).devices.remove([idOf(removed)])
    await sync(world.granter)
    await syncHolder(held)
    await writeAs(held, create('/unsent-too.md'))
    moveMain(world, main)
    showAt(world, 'start', start)
    showAt(world, 'wraps', wraps)
    for (let n = 0; n < 8; n += 1) await put(backup, `/own/${n}.md`)
    await redact(backup, erased)
    await sync(backup)
    await backup.store.close()
    await removed.store.close()
    await expectLacks('changes of members or grants')
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
