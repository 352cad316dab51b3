// A head that is refused for good is fetched once, and again after a redaction and in a repair,
// which replaces it.

import { expect, test } from 'vitest'
import { hasCode } from '../../../../src/errors.ts'
import type { SyncOptions } from '../../../../src/index.ts'
import { bareRemote, firstClone } from '../../../support/clones.ts'
import { environment } from '../../../support/faulty-remotes.ts'
import { fetching, startGitServer } from '../../../support/git-server.ts'
import { create, edit, evidenceOf, moveBranch, redact } from '../../../support/hostile-remotes.ts'
import { author } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

test('a head that is refused for good is fetched once', async () => {
  const repository = bareRemote()
  const { url, requests } = await startGitServer({ repository })
  const clone = await firstClone(url)
  await create(clone, '/key.txt', 'sk-leaked')
  await edit(clone, '/key.txt', 'revoked')
  const sync = async (options?: SyncOptions): Promise<readonly [code: string, fetches: number]> => {
    const before = requests.length
    const code = await clone.store
      .as(author)
      .sync({ access: { environment }, ...options })
      .then(
        () => 'accepted',
        (error: unknown) => (hasCode(error, 'commit_malformed') ? error.code : 'another'),
      )
    const asked = requests.slice(before)
    return [code, asked.filter(({ method, path }) => fetching.test(`${method} ${path}`)).length]
  }
  expect(await sync()).toEqual(['accepted', 0])
  const junkOf = (message: string): string => {
    return git(['commit-tree', 'main^{tree}', '-p', 'main', '-m', message], repository).trim()
  }
  const [junk, other] = [junkOf('one'), junkOf('other')]
  moveBranch(repository, junk)
  expect(await sync()).toEqual(['commit_malformed', 1])
  expect(await sync()).toEqual(['commit_malformed', 0])
  expect(await evidenceOf(clone)).toBe(junk)
  moveBranch(repository, other)
  expect(await sync()).toEqual(['commit_malformed', 1])
  moveBranch(repository, junk)
  expect(await sync()).toEqual(['commit_malformed', 0])
  const { data: versions } = await clone.store.history.versions({ order: 'oldest' })
  await redact(clone, versions[0]?.versionId ?? '')
  expect(await sync()).toEqual(['commit_malformed', 1])
  expect(await sync()).toEqual(['commit_malformed', 0])
  // The repair fetches the refused head once more, and then the head that it has pushed.
  expect(await sync({ repair: true })).toEqual(['accepted', 2])
  expect(await sync()).toEqual(['accepted', 0])
})
