// T91: a host that lies, breaks off, falls silent, sends without end or redirects costs a store in
// RAM one exchange: nothing unverified is read, no change is lost that was answered, and no
// credential reaches another host or a message.

import { describe, expect, test } from 'vitest'
import { failureOf } from '../support/faulty-remotes.ts'
import {
  advertisement,
  answer,
  cut,
  endless,
  type Fault,
  fetching,
  forever,
  on,
  onCredentials,
  pushing,
  redirect,
  report,
  sendPack,
  stall,
  startGitServer,
} from '../support/git-server.ts'
import { mainAt, moveMain, showAt } from '../support/grant-holders.ts'
import { blob, inChunks, rawPack } from '../support/raw-pack.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'
import {
  change,
  expectFaultRefused,
  openWeb,
  servedGrant,
  webAuthor,
  type WebWorld,
} from '../support/web-stores.ts'

const user = { username: 'me', password: 'correct-horse-battery' }

describe('T91: a fetch from a host that', () => {
  const faults: readonly (readonly [what: string, code: string, fault: Fault])[] = [
    ['shows no list', 'remote_protocol', on(advertisement, answer(200, '<html>'))],
    [
      'has no end of its list',
      'remote_protocol',
      on(advertisement, forever('git-upload-pack-advertisement', [], 'x')),
    ],
    ['is silent at the list', 'remote_timeout', on(advertisement, stall())],
    ['is silent before the pack', 'remote_timeout', on(fetching, stall())],
    [
      'breaks off in the pack',
      'remote_unreachable',
      on(fetching, cut('0000', '0008NAK\n', '0100\u0001PACK')),
    ],
    ...endless(undefined, '0000').map(
      ([what, fault]) => [`sends ${what}`, 'remote_protocol', fault] as const,
    ),
    [
      'sends bytes that are no pack',
      'pack_refused',
      on(fetching, sendPack(Buffer.alloc(4000, 'x'), '0000')),
    ],
    ['sends another pack', 'pack_refused', on(fetching, sendPack(rawPack([blob('one')]), '0000'))],
    ['fails', 'remote_busy', on(fetching, answer(500, 'oops'))],
  ]
  test.each(faults)('%s', { tags: 'slow' }, (_, code, fault) => expectFaultRefused(fault, code))

  test('sends a blob that inflates to more than the store may hold', async () => {
    const { createMemoryObjectStore } =
      await import('../../src/git/memory-store/memory-object-store.ts')
    const { exchange } = createMemoryObjectStore({ bytesMax: 1_000_000 })
    const bomb = rawPack([blob(' '.repeat(1_000_001))])
    expect(bomb.length).toBeLessThan(10_000)
    const received = exchange.incoming().receive(inChunks(bomb, 1000))
    expect(await failureOf(received)).toMatchObject({ code: 'pack_refused' })
  })
})

describe('T91: a host that', () => {
  test('shows an older head is refused', async () => {
    const world = await servedGrant()
    const old = mainAt(world)
    const store = await openWeb(world)
    await store.as(webAuthor).write('/new.md', 'new')
    moveMain(world, old)
    expect(await failureOf(store.sync())).toMatchObject({ code: 'rolled_back' })
    const failure = failureOf(store.as(webAuthor).write('/more.md', 'more'))
    expect(await failure).toMatchObject({ code: 'rolled_back' })
    expect((await store.read('/new.md'))?.content).toBe('new')
    await store.close()
  })

  test('shows another start or other keys is refused', async () => {
    const world = await servedGrant()
    showAt(world, 'start', Buffer.from('another'))
    expect(await failureOf(openWeb(world))).toMatchObject({ code: 'baseline_malformed' })
    showAt(world, 'wraps', Buffer.from('another'))
    expect(await failureOf(openWeb(world))).toMatchObject({ code: 'wraps_malformed' })
  })

  test('accepts a push and keeps nothing: the next sync notices', async () => {
    const world = await servedGrant()
    const store = await openWeb(world)
    world.server.fault = on(pushing, report('unpack ok\n', 'ok refs/heads/main\n'))
    await store.as(webAuthor).write('/new.md', 'new')
    world.server.fault = undefined
    expect(await failureOf(store.sync())).toMatchObject({ code: 'rolled_back' })
    await store.close()
  })
})

describe('T91: credentials', () => {
  async function guarded(): Promise<WebWorld> {
    const world = await servedGrant()
    return { ...world, server: await startGitServer({ repository: world.url, user }) }
  }

  test('are asked for, and again once they are rejected', async () => {
    const world = await guarded()
    const asked: number[] = []
    const stale = { username: 'me', password: 'old' }
    const onAuth = async ({ attempt }: { attempt: number }): Promise<typeof user> => {
      asked.push(attempt)
      return attempt === 1 ? stale : user
    }
    const store = await openWeb(world, { onAuth })
    await store.as(webAuthor).write('/new.md', 'new')
    // Those that were accepted are used by the conversations that follow.
    expect(asked).toEqual([1, 2])
    await store.close()
    expect(await failureOf(openWeb(world))).toMatchObject({ code: 'remote_auth' })
    const wrong = openWeb(world, { onAuth: async () => stale })
    expect(await failureOf(wrong)).toMatchObject({ code: 'remote_auth' })
  })

  test('that expire between the list and the push are refreshed', async () => {
    const world = await guarded()
    let asked = 0
    const onAuth = async (): Promise<typeof user> => {
      asked += 1
      // The second is of the same account.
      return asked === 1 ? user : { ...user, username: 'you' }
    }
    const store = await openWeb(world, { onAuth })
    let refused = 0
    const first = Buffer.from(`me:${user.password}`).toString('base64')
    world.server.fault = ({ headers, method = '', url = '' }, response) => {
      if (!pushing.test(`${method} ${url}`)) return false
      if (headers.authorization === `Basic ${first}`) {
        refused += 1
        answer(401, 'expired')(response)
        return true
      }
      // As the host would read it.
      headers.authorization = `Basic ${first}`
      return false
    }
    await store.as(webAuthor).write('/new.md', 'new')
    expect([asked, refused]).toEqual([2, 1])
    await store.close()
  })

  test('reach no other host, and no message', async () => {
    const world = await guarded()
    const copy = `${temporaryDirectory()}/copy.git`
    copyDirectory(world.url, copy)
    const elsewhere = await startGitServer({ repository: copy })
    const store = await openWeb(world, { onAuth: async () => user })
    world.server.fault = onCredentials(redirect(elsewhere))
    expect(await failureOf(store.sync())).toMatchObject({ code: 'remote_auth' })
    expect(elsewhere.requests.every(({ authorization }) => authorization === undefined)).toBe(true)
    world.server.fault = ({ headers }, response) => {
      const { authorization = '' } = headers
      answer(403, `no ${user.password} ${authorization}`)(response)
      return true
    }
    const error = await failureOf(store.sync())
    expect(error.message).not.toContain(user.password)
    expect(error.message).not.toContain(btoa(`${user.username}:${user.password}`))
    await store.close()
  })

  test('do not follow a redirect of the list to another host', async () => {
    const world = await guarded()
    const moved = await startGitServer({ repository: world.url })
    moved.fault = on(/./, redirect(world.server))
    const opening = openWeb({ ...world, server: moved }, { onAuth: async () => user })
    expect(await failureOf(opening)).toMatchObject({ code: 'remote_auth' })
    expect(world.server.requests.every(({ authorization }) => authorization === undefined)).toBe(
      true,
    )
    git(['fsck'], world.url)
  })
})

test('T91: a signal ends an opening and a sync', async () => {
  const world = await servedGrant()
  const store = await openWeb(world)
  await change(world)
  for (const start of [
    (signal: AbortSignal) => store.sync({ signal }),
    (signal: AbortSignal) => openWeb(world, { signal }),
  ]) {
    const ending = new AbortController()
    world.server.fault = (request, response) => {
      ending.abort()
      return on(advertisement, stall())(request, response)
    }
    expect(await failureOf(start(ending.signal))).toMatchObject({ code: 'cancelled' })
  }
  world.server.fault = undefined
  await store.sync()
  expect((await store.read('/theirs.md'))?.content).toBe('theirs')
  await store.close()
})
