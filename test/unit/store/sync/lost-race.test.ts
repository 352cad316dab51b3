// Clones that push while another pushes: the loser continues from the head that it has verified.

import { expect, onTestFinished, test, vi } from 'vitest'
import { DiskExchange } from '../../../../src/git/disk-store/disk-exchange.ts'
import { StoreSession } from '../../../../src/store/session/session.ts'
import {
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  joinClone,
  put,
  sync,
} from '../../../support/clones.ts'
import { type GitServer, startGitServer } from '../../../support/git-server.ts'
import { expectInStep, redact } from '../../../support/hostile-remotes.ts'
import { author } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

interface Race {
  readonly slow: Clone
  readonly fast: Clone
  readonly repository: string
  readonly server: GitServer
  /**
   * One step of the fast one arrives before each of the next pushes of the slow one; and while the
   * first of these is on its way, `meanwhile` happens.
   */
  readonly overtake: (
    steps: readonly (() => Promise<unknown>)[],
    meanwhile?: () => Promise<unknown>,
  ) => Promise<void>
}

/** The fast one has pushed this number of commits that the slow one has not seen. */
async function newRace(commits: number): Promise<Race> {
  const repository = bareRemote()
  const server = await startGitServer({ repository })
  const slow = await firstClone(server.url)
  await sync(slow)
  const fast = await joinClone(slow, repository)
  await sync(slow)
  for (let number = 0; number < commits; number += 1) await put(fast, `/fast/${number}.md`)
  await sync(fast)
  const overtake: Race['overtake'] = async (steps, meanwhile) => {
    const heads: string[] = []
    for (const step of steps) {
      await step()
      await fast.store.maintenance.checkpoint()
      git(['fetch', '--quiet', '--no-write-fetch-head', fast.place.directory, 'main'], repository)
      heads.push(await headOf(fast))
    }
    let isFirst = true
    server.fault = async ({ method, url = '' }) => {
      const isPush = method === 'POST' && url.includes('git-receive-pack')
      const head = isPush ? heads.shift() : undefined
      if (head === undefined) return false
      git(['update-ref', 'refs/heads/main', head], repository)
      if (isFirst) await meanwhile?.()
      isFirst = false
      return false
    }
  }
  return { slow, fast, repository, server, overtake }
}

/** How many commits each round of a sync verifies; what else reports progress starts with none. */
async function verifiedBy({ store }: Clone): Promise<readonly number[]> {
  const totals: number[] = []
  const progress = (done: number, total: number): void => {
    if (done > 0) totals.push(total)
  }
  await store.as(author).sync({ progress })
  return totals
}

test('each further round verifies only the new commits', { tags: 'slow' }, async () => {
  const { slow, fast, overtake } = await newRace(30)
  await overtake([1, 2, 3].map((number) => () => put(fast, `/late/${number}.md`)))
  await put(slow, '/slow.md')
  expect(await verifiedBy(slow)).toEqual([30, 1, 1, 1])
  await sync(fast)
  expect(await headOf(fast)).toBe(await headOf(slow))
})

test(
  'merges changes that each round brings to a memory changed on both sides',
  { tags: 'slow' },
  async () => {
    const { slow, fast, overtake } = await newRace(1)
    const words = ['one', 'two', 'three', 'four', 'five', 'six', 'seven']
    await put(fast, '/shared.md', `${words.join('\n')}\n`)
    await sync(fast)
    await sync(slow)
    const change = ({ store }: Clone, word: string): Promise<unknown> => {
      const edit = (text: string): string => text.replace(`${word}\n`, `${word}!\n`)
      return store.as(author).apply([{ type: 'edit', path: '/shared.md', edit }])
    }
    await overtake(['one', 'three', 'five'].map((word) => () => change(fast, word)))
    await change(slow, 'seven')
    await sync(slow)
    await sync(fast)
    for (const { store } of [slow, fast]) {
      expect((await store.read('/shared.md'))?.content).toBe(
        'one!\ntwo\nthree!\nfour\nfive!\nsix\nseven!\n',
      )
      await store.maintenance.verify()
    }
    expect(await headOf(fast)).toBe(await headOf(slow))
  },
)

test('a redaction of commits from an earlier round is followed', { tags: 'slow' }, async () => {
  const { slow, fast, overtake, repository } = await newRace(3)
  let secret = ''
  await overtake([
    async () => (secret = await put(fast, '/key.txt', 'sk-leaked')),
    async () => {
      await put(fast, '/key.txt', 'revoked')
      await redact(fast, secret)
    },
    () => put(fast, '/last.md'),
  ])
  await put(slow, '/slow.md')
  await sync(slow)
  expect(await slow.store.history.version(secret)).toMatchObject({
    content: undefined,
    path: undefined,
  })
  expect((await slow.store.maintenance.findResidue()).found).toEqual([])
  await sync(fast)
  await expectInStep(repository, [slow, fast])
})

test(
  'a redaction of ours that renames merged commits starts the sync over',
  { tags: 'slow' },
  async () => {
    const { slow, fast, overtake, repository } = await newRace(3)
    const secret = await put(slow, '/key.txt', 'sk-leaked')
    await put(slow, '/key.txt', 'revoked')
    await sync(slow)
    await sync(fast)
    await put(fast, '/fast/3.md')
    await sync(fast)
    await overtake([() => put(fast, '/one.md'), () => put(fast, '/two.md')], () =>
      redact(slow, secret),
    )
    await put(slow, '/slow.md')
    await sync(slow)
    await sync(fast)
    await expectInStep(repository, [slow, fast])
    expect((await fast.store.maintenance.findResidue()).found).toEqual([])
  },
)

/** How often something is packed from here on. */
function countPacks(): () => number {
  const packs = vi.spyOn(DiskExchange.prototype, 'pack')
  onTestFinished(() => packs.mockRestore())
  return () => packs.mock.calls.length
}

test('a race that is lost before the push costs no pack', { tags: 'slow' }, async () => {
  const { slow, fast, repository, server } = await newRace(1)
  await put(slow, '/slow.md')
  await put(fast, '/late.md')
  await fast.store.maintenance.checkpoint()
  git(['fetch', '--quiet', '--no-write-fetch-head', fast.place.directory, 'main'], repository)
  const head = await headOf(fast)
  let asked = 0
  server.fault = ({ method, url = '' }) => {
    if (method !== 'GET' || !url.includes('git-receive-pack')) return false
    asked += 1
    // The first finds that the remote has moved already; the second comes after the merge.
    if (asked === 2) git(['update-ref', 'refs/heads/main', head], repository)
    return false
  }
  const packs = countPacks()
  await sync(slow)
  expect(asked).toBe(3)
  expect(packs()).toBe(1)
  await sync(fast)
  await expectInStep(repository, [slow, fast])
})

test('a race that is lost again before the push costs no merge', { tags: 'slow' }, async () => {
  const { slow, fast, repository, server } = await newRace(1)
  const heads: string[] = []
  for (const path of ['/one.md', '/two.md', '/three.md']) {
    await put(fast, path)
    await fast.store.maintenance.checkpoint()
    git(['fetch', '--quiet', '--no-write-fetch-head', fast.place.directory, 'main'], repository)
    heads.push(await headOf(fast))
  }
  await put(slow, '/slow.md')
  let asked = 0
  server.fault = ({ method, url = '' }) => {
    if (method !== 'GET' || !url.includes('git-receive-pack')) return false
    asked += 1
    const head = heads.shift()
    if (head !== undefined) git(['update-ref', 'refs/heads/main', head], repository)
    return false
  }
  await sync(slow)
  // The push without a fetch, the one of each of two lost rounds, and the one that arrives.
  expect(asked).toBe(4)
  const merges = git(['rev-list', '--count', '--merges', 'main'], repository)
  expect(Number(merges)).toBe(2)
  await sync(fast)
  await expectInStep(repository, [slow, fast])
})

/** However slow this machine is. */
function holdBackWithoutLimit(): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with the session
  const { holdBack } = StoreSession.prototype
  const held = vi.spyOn(StoreSession.prototype, 'holdBack')
  onTestFinished(() => held.mockRestore())
  held.mockImplementation(function (this: StoreSession) {
    return holdBack.call(this, 2 ** 31 - 1)
  })
}

/** How many rounds syncs take from here on. */
function countRounds(): () => number {
  const rounds = vi.spyOn(DiskExchange.prototype, 'incoming')
  onTestFinished(() => rounds.mockRestore())
  return () => rounds.mock.calls.length
}

test(
  'a clone that never stops writing wins against one that pushes all the time',
  { tags: 'slow' },
  async () => {
    const { slow, fast, repository } = await newRace(1)
    const start = await headOf(fast)
    for (let number = 0; number < 40; number += 1) await put(fast, `/late/${number}.md`)
    await fast.store.maintenance.checkpoint()
    git(['fetch', '--quiet', '--no-write-fetch-head', fast.place.directory, 'main'], repository)
    const range = ['rev-list', '--reverse', 'main', `^${start}`]
    const heads = git(range, fast.place.directory).trim().split('\n')
    let pushed = start
    const push = (): void => {
      const isThere = git(['rev-parse', 'main'], repository).trim() === pushed
      const next = isThere ? heads.shift() : undefined
      if (next === undefined) return
      git(['update-ref', 'refs/heads/main', next, pushed], repository)
      pushed = next
    }
    push()
    const over = new AbortController()
    let written = 0
    const write = async (): Promise<void> => {
      for (; !over.signal.aborted; written += 1) {
        await put(slow, `/slow/${written}.md`)
        if (written % 4 === 3) push()
      }
    }
    holdBackWithoutLimit()
    const rounds = countRounds()
    const writing = write()
    await sync(slow)
    expect(rounds()).toBeLessThanOrEqual(2)
    over.abort()
    await writing
    await sync(fast)
    await sync(slow)
    await sync(fast)
    await expectInStep(repository, [slow, fast])
    for (let number = 0; number < written; number += 1) {
      expect(await fast.store.read(`/slow/${number}.md`)).toBeDefined()
    }
  },
)

test('writes do not wait for a remote that does not answer', { tags: 'slow' }, async () => {
  const { slow, fast, overtake, server } = await newRace(1)
  await put(slow, '/slow.md')
  await overtake([() => put(fast, '/late.md')])
  const overtaken = server.fault
  let pushes = 0
  server.fault = async (request, response) => {
    const isPush = request.method === 'POST' && request.url?.includes('git-receive-pack') === true
    if (isPush) pushes += 1
    // The answer to the second push comes after a concurrent write.
    if (isPush && pushes === 2) await put(slow, '/meanwhile.md')
    return (await overtaken?.(request, response)) ?? false
  }
  await sync(slow)
  expect(pushes).toBe(2)
  expect(await slow.store.read('/meanwhile.md')).toBeDefined()
})

test(
  'an error that no race explains ends a sync, though files move concurrently',
  { tags: 'slow' },
  async () => {
    const { slow, repository, server } = await newRace(1)
    await sync(slow)
    git(['update-ref', 'refs/heads/main', 'main~1'], repository)
    await put(slow, '/slow.md')
    let asked = 0
    server.fault = async ({ method, url = '' }) => {
      if (method !== 'GET' || !url.includes('git-upload-pack')) return false
      asked += 1
      await slow.store.maintenance.checkpoint()
      return false
    }
    await expect(sync(slow)).rejects.toMatchObject({ code: 'rolled_back' })
    expect(asked).toBe(1)
  },
)
