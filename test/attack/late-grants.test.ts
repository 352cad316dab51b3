// T98: a removed device cannot have honest work of a grant lost by one commit, nor bring its own
// text in with that work, nor an erased one back. FORMAT §7.4, §9.3.

import { renameSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Change, SyncReport } from '../../src/index.ts'
import { worldsOf } from '../support/clone-templates.ts'
import {
  alone,
  type Clone,
  firstClone,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../support/clones.ts'
import { create, giveMore, hold, syncHolder, writeAs } from '../support/grant-holders.ts'
import { author, contentsOf } from '../support/stores.ts'

const threeDevices = worldsOf(async (url) => {
  const owner = await firstClone(url)
  await put(owner, '/notes.md', 'one\ntwo\n')
  await put(owner, '/line.md', 'a line')
  await sync(owner)
  const removed = await joinClone(owner, url)
  const third = await joinClone(owner, url)
  await syncAll([owner, removed, third])
  return { owner, removed, third }
})

interface Attacked {
  readonly owner: Clone
  readonly third: Clone
  readonly grantId: string
  readonly report: SyncReport
}

interface Granted {
  readonly remote: string
  readonly grantId: string
}

interface Attack {
  readonly late: readonly Change[]
  readonly work: readonly (readonly Change[])[]
  /** What the removed device writes on top of the first change of the grant. */
  readonly between?: readonly Change[]
  /** What the owner does before it syncs. */
  readonly before?: (owner: Clone, attacked: Granted) => Promise<unknown>
  readonly isSeenByThird?: boolean
}

async function attack({
  late,
  work,
  between,
  before,
  isSeenByThird = false,
}: Attack): Promise<Attacked> {
  const { owner, removed, third, remote } = await threeDevices()
  const { grant, grantId } = await giveMore(owner)
  await syncAll([owner, removed, third])
  await owner.store.as(author).devices.remove([idOf(removed)], alone)
  await removed.store.as(author).apply(late)
  await sync(removed)
  const held = await hold({ url: remote, grant })
  for (const [index, changes] of work.entries()) {
    await writeAs(held, ...changes)
    await syncHolder(held)
    if (index > 0 || between === undefined) continue
    await sync(removed)
    await removed.store.as(author).apply(between)
    await sync(removed)
    await syncHolder(held)
  }
  await held.close()
  if (isSeenByThird) await sync(third)
  await before?.(owner, { remote, grantId })
  return { owner, third, grantId, report: await sync(owner) }
}

const edit = (path: string, content: string): Change => ({
  type: 'edit',
  path,
  edit: () => content,
})

function lost({ grantWork }: SyncReport): readonly (readonly [string | undefined, string])[] {
  return grantWork.notAgain.map(({ path, why }) => [path, why])
}

async function everything({ store }: Clone): Promise<string> {
  const { data: versions } = await store.history.versions({})
  const texts = versions.map(async ({ versionId }) => {
    return (await store.history.version(versionId))?.content ?? ''
  })
  return (await Promise.all(texts)).join('\n')
}

test('one late commit costs a sandbox nothing', async () => {
  const { owner, report } = await attack({
    late: [create('/late.md', 'evil\n')],
    work: [1, 2, 3, 4, 5].map((n) => [create(`/${n}.md`, `text ${n}\n`)]),
  })
  expect(report.grantWork.again).toMatchObject([{ changes: 5 }])
  expect(Object.keys(await contentsOf(owner.store)).toSorted()).toEqual([
    '/1.md',
    '/2.md',
    '/3.md',
    '/4.md',
    '/5.md',
    '/line.md',
    '/notes.md',
  ])
  expect(await everything(owner)).not.toContain('evil')
})

test('an edit next to a line of the removed device arrives without that line', async () => {
  const { owner, report } = await attack({
    late: [edit('/notes.md', 'one\ntwo\nevil\n')],
    work: [[edit('/notes.md', 'one\ntwo\nevil\nhonest\n')]],
    between: [edit('/notes.md', 'one\nevil again\ntwo\nevil\nhonest\n')],
  })
  expect(lost(report)).toEqual([])
  expect(await contentsOf(owner.store)).toMatchObject({ '/notes.md': 'one\ntwo\nhonest\n' })
  expect(await everything(owner)).not.toContain('evil')
})

test('an edit of a text of the removed device brings none of it', async () => {
  const { owner, report } = await attack({
    late: [
      create('/late.md', 'evil\n'),
      edit('/notes.md', 'one\nevil\n'),
      edit('/line.md', 'an evil line'),
    ],
    work: [
      [
        edit('/late.md', 'evil\nhonest\n'),
        edit('/notes.md', 'one\nevil, honestly\n'),
        edit('/line.md', 'an evil line, honest too'),
      ],
      [{ type: 'rename', path: '/late.md', to: '/mine.md' }],
      [edit('/notes.md', 'one\nevil, honestly\nmore\n'), create('/good.md')],
    ],
  })
  expect(new Map(lost(report))).toEqual(
    new Map([
      ['/late.md', 'not_here'],
      ['/line.md', 'overlaps'],
      ['/mine.md', 'not_here'],
      ['/notes.md', 'overlaps'],
    ]),
  )
  expect(report.grantWork.notAgain.length).toBe(4)
  expect(await contentsOf(owner.store)).toEqual({
    '/good.md': '/good.md',
    '/line.md': 'a line',
    '/notes.md': 'one\ntwo\nmore\n',
  })
  expect(await everything(owner)).not.toContain('evil')
  // The commits of which something is lost are listed with the late one.
  expect(report.late.length).toBe(3)
})

test('a deletion of what the removed device wrote deletes nothing else', async () => {
  const { owner, report } = await attack({
    late: [edit('/notes.md', 'evil\n'), edit('/line.md', 'evil')],
    work: [[{ type: 'delete', path: '/notes.md' }], [create('/notes.md', 'honest\n')]],
  })
  expect(lost(report)).toEqual([['/notes.md', 'overlaps']])
  expect((await contentsOf(owner.store))['/line.md']).toBe('a line')
  expect(await everything(owner)).not.toContain('evil')
})

test('nothing comes back that was redacted here', async () => {
  const { owner, report } = await attack({
    late: [create('/late.md', 'evil\n')],
    work: [[edit('/notes.md', 'one\ntwo\nthree\n')], [edit('/notes.md', 'one\ntwo\nfour\n')]],
    before: async (clone) => {
      const { data: versions } = await clone.store.history.versions({ path: '/notes.md' })
      await put(clone, '/notes.md', 'clean\n')
      const versionIds = versions.map(({ versionId }) => versionId)
      await clone.store.as(author).redact({ select: { versionIds }, reason: 'leaked_secret' })
    },
  })
  expect(lost(report)).toEqual([
    ['/notes.md', 'redacted'],
    ['/notes.md', 'redacted'],
  ])
  expect(await everything(owner)).not.toContain('two')
})

test('nothing comes back that was redacted after it was written again', async () => {
  const { owner, third } = await attack({
    late: [create('/late.md', 'evil\n')],
    work: [[create('/secret.md', 'sk-leaked\n')]],
    isSeenByThird: true,
  })
  const { data: versions } = await owner.store.history.versions({ path: '/secret.md' })
  await put(owner, '/secret.md', 'clean\n')
  const versionIds = versions.map(({ versionId }) => versionId)
  await owner.store.as(author).redact({ select: { versionIds }, reason: 'leaked_secret' })
  await sync(owner)
  expect(lost(await sync(third))).toEqual([['/secret.md', 'redacted']])
  await sync(owner)
  for (const clone of [owner, third]) expect(await everything(clone)).not.toContain('sk-leaked')
})

test('what a grant wrote that has ended is left out for good', async () => {
  const { owner, report } = await attack({
    late: [create('/late.md', 'evil\n')],
    work: [[create('/after.md')]],
    before: async ({ store }, { remote, grantId }) => {
      // While the remote is away, so that the end is made here alone.
      renameSync(remote, `${remote}.away`)
      await store.as(author).grants.end([grantId])
      renameSync(`${remote}.away`, remote)
    },
  })
  expect(report.late.length).toBe(2)
  expect(report.grantWork).toEqual({ again: [], notAgain: [] })
  expect(await contentsOf(owner.store)).not.toHaveProperty('/after.md')
})
