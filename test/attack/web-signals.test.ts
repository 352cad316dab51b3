// T91: a signal ends an opening or a sync of a store in RAM at once, in whichever state it is: the
// connection is closed, nothing rejects unseen, and the store continues from its last state.

import type { ServerResponse } from 'node:http'
import { request as requestByFetch } from 'isomorphic-git/http/web'
import { describe, expect, test } from 'vitest'
import type { HttpClient } from '../../src/web/web.ts'
import { sync } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import {
  advertisement,
  fetching,
  type GitServer,
  nak,
  on,
  pushing,
  stall,
  startGitServer,
} from '../support/git-server.ts'
import { contentsOf } from '../support/stores.ts'
import { change, openWeb, servedGrant, webAuthor } from '../support/web-stores.ts'

interface Interruption {
  readonly ending: AbortController
  /** Resolves once the host has seen the connection close. */
  readonly closed: Promise<void>
  /** Has the host stop from now on. */
  readonly begin: (server: GitServer) => void
  readonly http: HttpClient
}

type Moment = 'asked' | 'answered' | 'reading'

/**
 * The host never finishes its answer to these requests. Aborts when it has been asked, or when the
 * client has the headers, or waits for more of the body.
 */
function interrupting(requests: RegExp, moment: Moment, ...parts: readonly string[]): Interruption {
  const ending = new AbortController()
  let isBegun = false
  let close = (): void => undefined
  const closed = new Promise<void>((resolve) => {
    close = resolve
  })
  const stalled = (response: ServerResponse): void => {
    response.on('close', close)
    if (moment === 'asked') ending.abort()
    else stall(...parts)(response)
  }
  const request: HttpClient['request'] = async (asked) => {
    const answer = await requestByFetch(asked)
    const isIt = isBegun && requests.test(`${asked.method} ${new URL(asked.url).pathname}`)
    if (isIt && moment === 'answered') ending.abort()
    const { body = [] } = answer
    return { ...answer, body: isIt && moment === 'reading' ? untilWaiting(body, ending) : body }
  }
  const begin = (server: GitServer): void => {
    isBegun = true
    server.fault = on(requests, stalled)
  }
  return { ending, closed, begin, http: { request } }
}

async function* untilWaiting(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ending: AbortController,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    yield chunk
    ending.abort()
  }
}

const states: readonly (readonly [what: string, make: () => Interruption])[] = [
  ['the list is asked for', () => interrupting(advertisement, 'asked')],
  ['the list begins', () => interrupting(advertisement, 'answered', '001e')],
  ['the list stops', () => interrupting(advertisement, 'reading', '001e# service')],
  ['the pack is asked for', () => interrupting(fetching, 'asked')],
  ['the answer begins', () => interrupting(fetching, 'answered', '0000')],
  ['the acknowledgement stops', () => interrupting(fetching, 'reading', '0000', '0008N')],
  [
    'the pack stops',
    () => interrupting(fetching, 'reading', '0000', String(nak), '0009\u0001PACK', '0009'),
  ],
]

describe('T91: a signal while', () => {
  test.each(states)('%s ends an opening', async (_, make) => {
    const world = await servedGrant()
    const { ending, closed, begin, http: client } = make()
    begin(world.server)
    const opening = openWeb(world, { http: client, signal: ending.signal })
    expect(await failureOf(opening)).toMatchObject({ code: 'cancelled' })
    await closed
    world.server.fault = undefined
    const store = await openWeb(world)
    expect((await store.read('/notes/0.md'))?.content).toBe('text 0\n')
    await store.close()
  })

  test.each(states)('%s ends a sync', async (_, make) => {
    const world = await servedGrant()
    const { ending, closed, begin, http: client } = make()
    const store = await openWeb(world, { http: client })
    const before = await contentsOf(store)
    await change(world)
    begin(world.server)
    const syncing = store.sync({ signal: ending.signal })
    expect(await failureOf(syncing)).toMatchObject({ code: 'cancelled' })
    await closed
    expect(await contentsOf(store)).toEqual(before)
    world.server.fault = undefined
    await store.sync()
    expect((await store.read('/theirs.md'))?.content).toBe('theirs')
    await store.close()
  })

  test.each<readonly [what: string, make: () => Interruption]>([
    ['a push is sent', () => interrupting(pushing, 'asked')],
    ['a push is answered', () => interrupting(pushing, 'answered', '00')],
    ['the report stops', () => interrupting(pushing, 'reading', '0014\u0001000eunpack ok\n')],
  ])('%s keeps the change, which the next sync sends', async (_, make) => {
    const world = await servedGrant()
    const { ending, closed, begin, http: client } = make()
    const store = await openWeb(world, { http: client, sync: 'background' })
    begin(world.server)
    await store.as(webAuthor).write('/mine.md', 'mine')
    const syncing = store.sync({ signal: ending.signal })
    expect(await failureOf(syncing)).toMatchObject({ code: 'cancelled' })
    await closed
    world.server.fault = undefined
    await store.sync()
    await sync(world.granter)
    expect((await world.granter.store.read('/mine.md'))?.content).toBe('mine')
    await store.close()
  })

  test('the history is verified ends an opening', async () => {
    const world = await servedGrant()
    const ending = new AbortController()
    const opening = openWeb(world, {
      full: true,
      signal: ending.signal,
      progress: () => ending.abort(),
    })
    expect(await failureOf(opening)).toMatchObject({ code: 'cancelled' })
  })

  test('credentials are asked for ends an opening', async () => {
    const world = await servedGrant()
    const user = { username: 'me', password: 'secret' }
    const server = await startGitServer({ repository: world.url, user })
    const ending = new AbortController()
    let give = (): void => undefined
    const onAuth = (): Promise<typeof user> => {
      ending.abort()
      return new Promise((resolve) => {
        give = () => resolve(user)
      })
    }
    const opening = openWeb({ ...world, server }, { onAuth, signal: ending.signal })
    expect(await failureOf(opening)).toMatchObject({ code: 'cancelled' })
    give()
    expect(server.requests.every(({ authorization }) => authorization === undefined)).toBe(true)
  })
})

test('T91: nothing is asked once a signal was aborted', async () => {
  const world = await servedGrant()
  const store = await openWeb(world)
  const count = world.server.requests.length
  const signal = AbortSignal.abort()
  expect(await failureOf(store.sync({ signal }))).toMatchObject({ code: 'cancelled' })
  expect(await failureOf(openWeb(world, { signal }))).toMatchObject({ code: 'cancelled' })
  expect(world.server.requests).toHaveLength(count)
  await store.close()
})
