// Syncs that are asked for while one runs: they wait for one more, however many they are, and each
// has sent every write acknowledged before it.

import { expect, test } from 'vitest'
import { bareRemote, type Clone, firstClone, headOf, put, sync } from '../../../support/clones.ts'
import { type GitServer, startGitServer } from '../../../support/git-server.ts'
import { author } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

interface World {
  readonly clone: Clone
  readonly repository: string
  /** The requests to the host since the last call. */
  readonly asked: () => readonly string[]
  /** The next push waits for `meanwhile`. */
  readonly holdNext: (meanwhile: () => Promise<void>) => void
}

async function newWorld(): Promise<World> {
  const repository = bareRemote()
  const server: GitServer = await startGitServer({ repository })
  const clone = await firstClone(server.url)
  await sync(clone)
  let seen = server.requests.length
  const asked = (): readonly string[] => {
    const news = server.requests.slice(seen)
    seen += news.length
    return news.map(({ method }) => method)
  }
  let held: (() => Promise<void>) | undefined
  server.fault = async ({ method, url = '' }) => {
    if (method !== 'POST' || !url.includes('git-receive-pack')) return false
    const meanwhile = held
    held = undefined
    await meanwhile?.()
    return false
  }
  return { clone, repository, asked, holdNext: (meanwhile) => (held = meanwhile) }
}

test(
  'the next sync serves all that wait, with every acknowledged commit',
  { tags: 'slow' },
  async () => {
    const { clone, repository, asked, holdNext } = await newWorld()
    const waiting: Promise<string>[] = []
    const ask = async (): Promise<string> => (await clone.store.as(author).sync()).head
    holdNext(async () => {
      for (let number = 0; number < 5; number += 1) {
        await put(clone, `/late/${number}.md`)
        waiting.push(ask())
      }
    })
    await put(clone, '/early.md')
    await sync(clone)
    const head = await headOf(clone)
    expect(await Promise.all(waiting)).toEqual(Array(5).fill(head))
    // Two conversations, each with the refs and a push.
    expect(asked()).toEqual(['GET', 'POST', 'GET', 'POST'])
    expect(git(['rev-parse', 'main'], repository).trim()).toBe(head)
  },
)

test('a sync that can be cancelled ends alone', { tags: 'slow' }, async () => {
  const { clone, holdNext } = await newWorld()
  const endings = [new AbortController(), new AbortController()]
  const waiting: Promise<unknown>[] = []
  holdNext(async () => {
    await put(clone, '/late.md')
    for (const { signal } of endings) {
      waiting.push(
        clone.store
          .as(author)
          .sync({ signal })
          .catch((error: unknown) => error),
      )
    }
    endings[0]?.abort()
  })
  await put(clone, '/early.md')
  await sync(clone)
  const [cancelled, done] = await Promise.all(waiting)
  expect(cancelled).toMatchObject({ code: 'cancelled' })
  expect(done).toMatchObject({ head: await headOf(clone) })
})
