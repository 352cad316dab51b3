// One clone seals all memories again under new keys while another one works: this is no edit of
// its own, so the other clone's changes win without a conflict.

import { expect, test } from 'vitest'
import type { Change } from '../../../../src/index.ts'
import { worldsOf } from '../../../support/clone-templates.ts'
import { alone, type Clone, firstClone, joinClone, sync, syncAll } from '../../../support/clones.ts'
import { redact } from '../../../support/hostile-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'

const before = { '/deleted': 'a\n', '/edited': 'b\n', '/left': 'c\n', '/renamed': 'd\n' }
const creations = Object.entries(before).map(([path, content]) => {
  return { type: 'create', path, content } as const
})
const work: readonly Change[] = [
  { type: 'delete', path: '/deleted' },
  { type: 'edit', path: '/edited', edit: () => 'new\n' },
  { type: 'rename', path: '/renamed', to: '/new-name' },
]
const after = { '/edited': 'new\n', '/left': 'c\n', '/new-name': 'd\n' }

const pair = worldsOf(async (url) => {
  const first = await firstClone(url)
  await first.store.as(author).apply(creations)
  await sync(first)
  const second = await joinClone(first, url)
  await syncAll([first, second])
  return { first, second }
})

async function reseal({ store }: Clone): Promise<void> {
  await store.as(author).keys.rotate({ reseal: true, ...alone })
}

async function expectAll(
  clones: readonly Clone[],
  contents: Readonly<Record<string, string>>,
): Promise<void> {
  await syncAll(clones)
  for (const { store } of clones) {
    expect(await contentsOf(store)).toEqual(contents)
    expect(await store.history.conflicts()).toEqual([])
    await store.maintenance.verify()
  }
}

test.each(['first', 'second'] as const)(
  'what another clone changed wins over sealing again, where the %s clone merges',
  { tags: 'slow' },
  async (name) => {
    const { first, second } = await pair()
    const [merging, other] = name === 'first' ? [first, second] : [second, first]
    await second.store.as(author).apply(work)
    await reseal(first)
    await reseal(first)
    await sync(other)
    expect((await sync(merging)).outcomes).toEqual([])
    await expectAll([first, second], after)
  },
)

test('both clones seal again, and one follows the other', { tags: 'slow' }, async () => {
  const { first, second } = await pair()
  await reseal(first)
  await reseal(second)
  await sync(first)
  const { outcomes } = await second.store.as(author).sync({ takeTheirs: true })
  expect(outcomes).toEqual([])
  await expectAll([first, second], before)
})

test(
  'an edit that was sealed again is an edit, and so is a possible one',
  { tags: 'slow' },
  async () => {
    const { first, second } = await pair()
    const edit = { type: 'edit', path: '/deleted', edit: () => 'kept\n' } as const
    await first.store.as(author).apply([edit])
    const { data } = await first.store.history.versions({ path: '/left' })
    await reseal(first)
    // What the new version repeats is not known any more.
    await redact(first, data[0]?.versionId ?? '')
    const deletions = ['/deleted', '/left'].map((path) => ({ type: 'delete', path }) as const)
    await second.store.as(author).apply(deletions)
    await sync(second)
    const { outcomes } = await sync(first)
    expect(outcomes.map(({ kind, path }) => [kind, path])).toEqual([
      ['edit_kept', '/deleted'],
      ['edit_kept', '/left'],
    ])
    await syncAll([first, second])
    expect(await contentsOf(first.store)).toEqual({ ...before, '/deleted': 'kept\n' })
  },
)
