// What a store reports about its remotes without contacting them.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RemoteStatus } from '../../../../src/index.ts'
import { bareRemote, type Clone, firstClone, joinClone, sync } from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import {
  branchOf,
  create,
  edit,
  leak,
  moveBranch,
  redact,
} from '../../../support/hostile-remotes.ts'
import { author } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

async function statusOf({ store }: Clone): Promise<Partial<RemoteStatus> | undefined> {
  const { remotes } = await store.status()
  return remotes.find(({ name }) => name === 'origin')
}

test('counts commits that a remote lacks, from the first sync on', { tags: 'slow' }, async () => {
  const url = bareRemote()
  const first = await firstClone(url)
  const nothingKept = { name: 'origin', url, evidence: undefined }
  expect(await statusOf(first)).toEqual({ ...nothingKept, unsent: undefined })
  await sync(first)
  const syncedAt: unknown = expect.any(Number)
  expect(await statusOf(first)).toEqual({ ...nothingKept, unsent: 0, syncedAt })
  await create(first, '/a.md')
  await edit(first, '/a.md', 'b')
  expect(await statusOf(first)).toMatchObject({ unsent: 2 })
  const second = await joinClone(first, url)
  expect(await statusOf(second)).toMatchObject({ unsent: 0 })
  await first.store.as(author).sync({ only: 'pull' })
  // A merge of what both have done is one commit more.
  expect(await statusOf(first)).toMatchObject({ unsent: 3 })
  await sync(first)
  expect(await statusOf(first)).toMatchObject({ unsent: 0 })
})

test('counts very many commits that a remote lacks', { tags: 'slow' }, async () => {
  const url = bareRemote()
  const first = await firstClone(url)
  await sync(first)
  const second = await joinClone(first, url)
  await create(second, '/theirs.md')
  await sync(second)
  const writes = Array.from({ length: 600 }, (_, n) => create(first, `/ours-${n}.md`))
  await Promise.all(writes)
  expect(await statusOf(first)).toMatchObject({ unsent: 600 })
  await first.store.as(author).sync({ only: 'pull' })
  expect(await statusOf(first)).toMatchObject({ unsent: 601 })
  await redact(first, await leak(first))
  expect(await statusOf(first)).toMatchObject({ unsent: 604 })
})

test(
  'counts commits that a redaction renamed, and forgets another address',
  { tags: 'slow' },
  async () => {
    const url = bareRemote()
    const first = await firstClone(url)
    await create(first, '/before.md')
    const leaked = await leak(first)
    await sync(first)
    await redact(first, leaked)
    // Both commits of the leaked memory were made again, and the record of the redaction is new.
    expect(await statusOf(first)).toMatchObject({ unsent: 3 })
    await first.store.remotes.remove('origin')
    await first.store.remotes.add('origin', bareRemote())
    expect(await statusOf(first)).toMatchObject({ unsent: undefined })
  },
)

test('names the repository that keeps the refused pack', { tags: 'slow' }, async () => {
  const url = bareRemote()
  const first = await firstClone(url)
  await sync(first)
  const junk = git(['commit-tree', `${branchOf(url)}^{tree}`, '-m', 'mine'], url).trim()
  moveBranch(url, junk)
  expect(await failureOf(sync(first))).toMatchObject({ code: 'commit_malformed' })
  const { evidence = '' } = (await statusOf(first)) ?? {}
  expect(git(['rev-parse', 'main'], join(first.place.directory, evidence)).trim()).toBe(junk)
})

test('a remote with a name that only git allows is named', async () => {
  const first = await firstClone(bareRemote())
  git(['remote', 'add', 'some/where', '/x.git'], first.place.directory)
  const { remotes } = await first.store.status()
  expect(remotes).toContainEqual(expect.objectContaining({ name: 'some/where', unsent: undefined }))
})
