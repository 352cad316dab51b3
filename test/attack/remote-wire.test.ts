// T27: a host that lies about what it accepted, breaks off, falls silent, redirects or repeats a
// request costs one sync and nothing else: local changes are complete, the next sync detects the
// lie, and no credential reaches another host or a message. FORMAT §9. T36: a host that never stops
// sending takes no more time than its limit.

import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import type { StoreSyncOptions } from '../../src/index.ts'
import { type Clone, headOf, joinClone, sync, syncAll } from '../support/clones.ts'
import { environment, failureOf, failureUnder } from '../support/faulty-remotes.ts'
import {
  advertisement,
  answer,
  band,
  cut,
  endless,
  type Fault,
  fetching,
  forever,
  nak,
  on,
  onCredentials,
  packAnswer,
  packet,
  packets,
  pushing,
  redirect,
  report,
  stall,
  startGitServer,
} from '../support/git-server.ts'
import {
  branchOf,
  copyRemote,
  create,
  evidenceOf,
  expectInStep,
  moveBranch,
  packOf,
  pairsOfClones,
} from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { serve, type ServedPair } from '../support/served-pair.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

const pairOfClones = pairsOfClones()

async function served(user?: Parameters<typeof serve>[1]): Promise<ServedPair> {
  return serve(await pairOfClones(), user)
}

const access = { environment }

function syncOver({ store }: Clone, options: StoreSyncOptions = {}): ReturnType<typeof sync> {
  return store.as(author).sync({ access, ...options })
}

const ok = ['unpack ok\n', 'ok refs/heads/main\n']
const ng = ['unpack ok\n', 'ng refs/heads/main no\n']

describe('T27: a host that lies about a push', () => {
  test(
    'accepts and keeps nothing: the next sync notices and sends it again',
    { tags: 'slow' },
    async () => {
      const { a, b, remote, server } = await served()
      const before = branchOf(remote)
      await create(b, '/new.md')
      server.fault = on(pushing, report(...ok))
      await syncOver(b)
      expect(branchOf(remote)).toBe(before)
      server.fault = undefined
      expect(await failureOf(syncOver(b))).toMatchObject({ code: 'rolled_back' })
      await syncOver(b, { repair: true })
      await sync(a)
      await expectInStep(remote, [a, b])
    },
  )

  /** Takes the push, and answers something else. */
  function taken(world: ServedPair, say: ReturnType<typeof answer>): Fault {
    return on(pushing, (response) => {
      const { directory } = world.b.place
      git(['push', '--quiet', world.remote, 'main'], directory)
      say(response)
    })
  }

  const answers: readonly (readonly [string, code: string, ReturnType<typeof answer>])[] = [
    ['says no', 'push_rejected', report(...ng)],
    ['breaks off', 'remote_unreachable', cut()],
    ['says nothing', 'remote_timeout', stall()],
    ['is broken', 'remote_busy', answer(500, 'oops')],
  ]
  test.each(sample(answers, 2))(
    'took it and %s: the next sync finds it there',
    { tags: 'slow' },
    async (_, code, say) => {
      const world = await served()
      const { a, b, remote, server } = world
      await create(b, '/new.md')
      await b.store.maintenance.checkpoint()
      const fault = taken(world, say)
      const error = await failureUnder(server, [code, fault], () => syncOver(b))
      expect(error).toMatchObject({ code })
      expect(branchOf(remote)).toBe(await headOf(b))
      expect(await syncOver(b)).toMatchObject({ sent: { commits: 0 }, received: { commits: 0 } })
      await sync(a)
      await expectInStep(remote, [a, b])
    },
  )

  test(
    'accepts and shows others another head: they merge with the hidden one',
    { tags: 'slow' },
    async () => {
      const { a, b, remote, server } = await served()
      await create(b, '/hidden.md')
      server.fault = on(pushing, report(...ok))
      await syncOver(b)
      server.fault = undefined
      await create(a, '/shown.md')
      await sync(a)
      expect(await failureOf(syncOver(b))).toMatchObject({ code: 'rolled_back' })
      expect(await evidenceOf(b)).toBe(branchOf(remote))
      await syncOver(b, { repair: true })
      await syncAll([a])
      expect(await contentsOf(a.store)).toMatchObject({ '/hidden.md': '/hidden.md' })
      await expectInStep(remote, [a, b])
    },
  )
})

describe('T27: a host that breaks off or falls silent', () => {
  const faults: readonly (readonly [what: string, code: string, fault: Fault])[] = [
    ['at the list', 'remote_timeout', on(advertisement, stall())],
    ['before the pack', 'remote_timeout', on(fetching, stall())],
    ['in the pack', 'remote_unreachable', on(fetching, cut('0008NAK\n', '0100\u0001PACK'))],
    ['at the report', 'remote_unreachable', on(pushing, cut())],
  ]
  test.each(sample(faults, 2))(
    '%s: local work is intact and continues',
    { tags: 'slow' },
    async (_, code, fault) => {
      const { a, b, remote, server } = await served()
      await create(a, '/theirs.md')
      await sync(a)
      await create(b, '/ours.md')
      const error = await failureUnder(server, [code, fault], () => syncOver(b))
      expect(error).toMatchObject({ code })
      await create(b, '/goes-on.md')
      expect(await contentsOf(b.store)).toMatchObject({ '/ours.md': '/ours.md' })
      await b.store.maintenance.verify()
      await syncOver(b)
      await sync(a)
      await expectInStep(remote, [a, b])
    },
  )
})

describe('T36: a host that never stops sending', () => {
  const upload = 'git-upload-pack-result'
  const slowly: readonly (readonly [what: string, fault: Fault])[] = [
    ['a list of refs', on(advertisement, forever('git-upload-pack-advertisement', [], 'x', 10))],
    ...endless(10),
    ['one long packet', on(fetching, forever(upload, [nak, 'fff0\u0001PACK'], '.', 10))],
  ]
  test.each(slowly)('%s, byte by byte, ends', { tags: 'slow' }, async (_, fault) => {
    const { a, b, server } = await served()
    await create(a, '/theirs.md')
    await sync(a)
    const code = 'remote_timeout'
    const error = await failureUnder(server, [code, fault], () => syncOver(b))
    expect(error).toMatchObject({ code })
    await syncOver(b)
    expect(await contentsOf(b.store)).toMatchObject({ '/theirs.md': '/theirs.md' })
  })

  test.each(endless())('%s without a pause end', { tags: 'slow' }, async (_, fault) => {
    const { a, b, server } = await served()
    await create(a, '/theirs.md')
    await sync(a)
    server.fault = fault
    const error = await failureOf(syncOver(b))
    expect(error).toMatchObject({ code: 'remote_protocol' })
  })

  const chatter: readonly (readonly [what: string, again: Uint8Array])[] = [
    ['what a hook prints', band(2, 'still here')],
    ['more of the report', band(1, packet('ok refs/heads/other\n'))],
  ]
  test.each(chatter)('after a push, %s', { tags: 'slow' }, async (_, again) => {
    const { a, b, remote, server } = await served()
    await create(b, '/new.md')
    await b.store.maintenance.checkpoint()
    server.fault = on(pushing, (response) => {
      git(['push', '--quiet', remote, 'main'], b.place.directory)
      forever('git-receive-pack-result', [band(1, packets(...ok))], again)(response)
    })
    const done = await syncOver(b)
    expect(done).toMatchObject({ sent: { commits: 1 } })
    server.fault = undefined
    await sync(a)
    await expectInStep(remote, [a, b])
  })

  test('is not one that counts for longer than the timeout', { tags: 'slow' }, async () => {
    const { a, b, remote, server } = await served()
    await create(a, '/theirs.md')
    await sync(a)
    const oids = git(['rev-list', '--objects', '--no-object-names', 'main'], remote).trim()
    const pack = packOf(remote, oids.split('\n'))
    server.fault = on(fetching, (response) => {
      forever(upload, [nak], packet('\u0001'), 50)(response)
      setTimeout(() => response.end(packAnswer(pack).subarray(nak.length)), 1500)
    })
    await syncOver(b, { access: { environment, timeoutMs: 1000 } })
    expect(await contentsOf(b.store)).toMatchObject({ '/theirs.md': '/theirs.md' })
  })
})

describe('T27: a host that sends us elsewhere', () => {
  const user = { username: 'me', password: 'correct-horse-battery' }
  const credentials = async (): Promise<typeof user> => user

  test(
    'gets no credential, and its content is verified like any other',
    { tags: 'slow' },
    async () => {
      const { a, b, remote, server } = await served(user)
      const old = copyRemote(remote)
      await create(a, '/new.md')
      await sync(a)
      await syncOver(b, { access: { ...access, credentials } })
      moveBranch(old, `${branchOf(old)}~1`)
      const elsewhere = await startGitServer({ repository: old })
      server.fault = onCredentials(redirect(elsewhere))
      const error = await failureOf(syncOver(b, { access: { ...access, credentials } }))
      expect(error.code).toBe('rolled_back')
      expect(elsewhere.requests.length).toBeGreaterThan(0)
      expect(elsewhere.requests.every(({ authorization }) => authorization === undefined)).toBe(
        true,
      )
      await b.store.maintenance.verify()
    },
  )

  test(
    'learns no more than it knows from a message, and neither does a log',
    { tags: 'slow' },
    async () => {
      const { b, server } = await served(user)
      await create(b, '/new.md')
      server.fault = onCredentials((response, authorization) => {
        const known = Buffer.from(authorization.slice(6), 'base64').toString()
        answer(403, `no ${known} ${authorization} ${user.password}`)(response)
      })
      const error = await failureOf(syncOver(b, { access: { ...access, credentials } }))
      const texts = [error.message, String(error.stack), JSON.stringify(error.details)]
      for (let at = error.cause; at instanceof Error; at = at.cause) texts.push(String(at.stack))
      const secret = Buffer.from(`${user.username}:${user.password}`).toString('base64')
      for (const text of texts) {
        expect(text).not.toContain(user.password)
        expect(text).not.toContain(secret)
      }
      await b.store.close()
      const found = spawnSync('grep', ['-rlaF', user.password, b.place.directory])
      expect(String(found.stdout)).toBe('')
    },
  )

  test('cannot have a credential kept in an address', { tags: 'slow' }, async () => {
    const { b, server } = await served()
    const url = server.url.replace('http://', 'http://me:secret@')
    await expect(b.store.remotes.add('other', url)).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await b.store.remotes.list()).toHaveLength(1)
  })

  test('gives nothing to a machine that joins there', async () => {
    const { a, server } = await served(user)
    const joining = joinClone(a, server.url, { access })
    expect(await failureOf(joining)).toMatchObject({ code: 'remote_auth' })
  })
})
