// The requests with which a machine sends new commits: as few as possible, and never over commits
// that others have sent since.

import { expect, test } from 'vitest'
import {
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  joinClone,
  sync,
} from '../../../support/clones.ts'
import { answer, type GitServer, startGitServer } from '../../../support/git-server.ts'
import { author } from '../../../support/stores.ts'

interface World {
  readonly server: GitServer
  readonly clone: Clone
  /** Of another machine, over a path. */
  readonly other: Clone
  /** The services that were asked since the last call. */
  readonly asked: () => readonly string[]
}

async function synced(): Promise<World> {
  const repository = bareRemote()
  const server = await startGitServer({ repository })
  const clone = await firstClone(server.url)
  await write(clone, '/a.md')
  await sync(clone)
  const other = await joinClone(clone, repository)
  await sync(clone)
  let seen = server.requests.length
  const asked = (): string[] => {
    const news = server.requests.slice(seen)
    seen += news.length
    return news.map(({ method, path }) => {
      return `${method} ${/git-(upload|receive)-pack/.exec(path)?.[0]}`
    })
  }
  return { server, clone, other, asked }
}

function write({ store }: Clone, path: string): Promise<unknown> {
  return store.as(author).apply([{ type: 'create', path, content: 'text\n' }])
}

test('new commits for an unmoved remote take one conversation', { tags: 'slow' }, async () => {
  const { clone, asked } = await synced()
  await write(clone, '/b.md')
  expect((await sync(clone)).sent.commits).toBe(1)
  expect(asked()).toEqual(['GET git-receive-pack', 'POST git-receive-pack'])
})

test('without new local commits, the remote is only asked to read', { tags: 'slow' }, async () => {
  const { clone, asked } = await synced()
  await sync(clone)
  expect(asked()).toEqual(['GET git-upload-pack'])
})

test(
  'commits of another machine are merged before anything is sent',
  { tags: 'slow' },
  async () => {
    const { clone, other } = await synced()
    await write(other, '/theirs.md')
    await sync(other)
    await write(clone, '/ours.md')
    const report = await sync(clone)
    expect(report.merge).toBeDefined()
    expect(report.received.commits).toBe(1)
    await sync(other)
    expect(await headOf(other)).toBe(await headOf(clone))
  },
)

test('a remote that denies pushes can still be read', { tags: 'slow' }, async () => {
  const { server, clone, other } = await synced()
  await write(other, '/theirs.md')
  await sync(other)
  await write(clone, '/ours.md')
  server.fault = ({ url = '' }, response) => {
    if (!url.includes('git-receive-pack')) return false
    answer(403, 'Not you')(response)
    return true
  }
  await expect(sync(clone)).rejects.toMatchObject({ code: 'remote_auth' })
  expect(await clone.store.read('/theirs.md')).toBeDefined()
})
