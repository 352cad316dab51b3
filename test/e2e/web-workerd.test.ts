// The bundle of `gitlocket/web` in a Worker: dist/web/workerd.js in Cloudflare's runtime, over git
// hosts on this machine.
// @module-tag slow

import { expect, test } from 'vitest'
import { answersBundle, expectAnswers } from '../support/answers-bundle.ts'
import { bareRemote, put, sync } from '../support/clones.ts'
import { pushing } from '../support/git-server.ts'
import { author, contentsOf } from '../support/stores.ts'
import { startWebGit } from '../support/web-git.ts'
import { servedGrant } from '../support/web-stores.ts'
import { startWorker, takeSteps, workerd } from '../support/workerd.ts'

type Step = Parameters<typeof takeSteps>[1]

const create = (path: string, text: string): Step => {
  return ['tool', { command: 'create', path: `/memories${path}`, file_text: text }]
}
const replace = (path: string, before: string, after: string): Step => {
  const command = { command: 'str_replace', path: `/memories${path}` }
  return ['tool', { ...command, old_str: before, new_str: after }]
}

test.skipIf(workerd.missing)(
  `a Durable Object merges with a clone on a disk, and forgets what that redacts${workerd.note}`,
  async () => {
    const { granter, grant, server } = await servedGrant()
    const held = `${await startWorker()}held`
    const opened = await takeSteps(
      held,
      ['open', { url: server.url, grant }],
      ['read', '/notes/0.md'],
      ['tool', { command: 'view', path: '/memories/notes' }],
      create('/key.txt', 'Canary-Rr4tY8\n'),
    )
    expect(opened).toEqual([
      null,
      'text 0\n',
      expect.stringContaining('/memories/notes/1.md'),
      expect.stringContaining('/memories/key.txt'),
    ])
    await sync(granter)
    expect((await granter.store.read('/key.txt'))?.content).toBe('Canary-Rr4tY8\n')

    await put(granter, '/notes/0.md', 'of the disk\ntext 0\n')
    await sync(granter)
    await takeSteps(held, replace('/notes/0.md', 'text 0\n', 'text 0\nof the Worker\n'))
    await sync(granter)
    expect((await contentsOf(granter.store))['/notes/0.md']).toBe(
      'of the disk\ntext 0\nof the Worker\n',
    )
    expect(await takeSteps(held, ['read', '/notes/0.md'], ['search', 'Canary'])).toEqual([
      'of the disk\ntext 0\nof the Worker\n',
      1,
    ])

    const select = { path: '/key.txt' }
    await granter.store.as(author).redact({ select, reason: 'leaked_secret', current: 'delete' })
    await sync(granter)
    expect(await takeSteps(held, ['sync'], ['read', '/key.txt'], ['search', 'Canary'])).toEqual([
      expect.objectContaining({ erased: 1 }),
      null,
      0,
    ])
    await takeSteps(held, create('/later.md', 'later'), ['close'])
    await sync(granter)
    expect((await granter.store.read('/later.md'))?.content).toBe('later')
  },
)

test.skipIf(workerd.missing)(
  `requests at one time each write, and all is at the host${workerd.note}`,
  async () => {
    const { granter, grant, server } = await servedGrant()
    const address = await startWorker()
    const names = ['/a.md', '/b.md', '/c.md', '/d.md', '/e.md', '/f.md']
    const results = await Promise.all(
      names.map((name) =>
        takeSteps(address, ['open', { url: server.url, grant }], create(name, name), ['close']),
      ),
    )
    expect(results).toEqual(names.map((name) => [null, expect.stringContaining(name), null]))
    await sync(granter)
    expect(await contentsOf(granter.store)).toMatchObject(
      Object.fromEntries(names.map((name) => [name, name])),
    )
  },
)

test.skipIf(workerd.missing)(
  `requests outlive a caller that disconnects${workerd.note}`,
  async () => {
    const { granter, grant, server } = await servedGrant()
    const address = await startWorker()
    const open: Step = ['open', { url: server.url, grant }]
    for (let round = 0; round < 2; round += 1) {
      const leaving = new AbortController()
      server.fault = ({ method, url }) => {
        if (pushing.test(`${method} ${url}`)) leaving.abort()
        return false
      }
      const body = JSON.stringify([open, create(`/left${round}.md`, 'left')])
      const left = ['a', 'b', 'c'].map(() =>
        fetch(address, { method: 'POST', body, signal: leaving.signal }),
      )
      const stay = ['a', 'b', 'c'].map((name) =>
        takeSteps(address, open, create(`/${name}${round}.md`, 'stays'), ['close']),
      )
      const ends = await Promise.allSettled(left)
      expect(ends.filter(({ status }) => status === 'fulfilled')).toEqual([])
      const done = [null, expect.stringContaining('created'), null]
      expect(await Promise.all(stay)).toEqual([done, done, done])
    }
    await takeSteps(address, open, create('/after.md', 'after'))
    await sync(granter)
    expect((await granter.store.read('/after.md'))?.content).toBe('after')
  },
)

test.skipIf(workerd.missing)(
  `a Worker follows a store of \`serve --web-git\`, and its writes are refused${workerd.note}`,
  async () => {
    const at = await startWebGit()
    const grant = await at.use(async (store) => {
      await put({ store }, '/a.md', 'early')
      await store.remotes.add('origin', bareRemote())
      return (await store.as(author).grants.give({ role: 'writer' })).text
    })
    const held = `${await startWorker()}held`
    const open = { url: at.url, grant }
    expect(await takeSteps(held, ['open', { ...open, password: 'wrong' }])).toMatchObject([
      { code: 'remote_auth' },
    ])
    expect(
      await takeSteps(held, ['open', { ...open, password: at.token }], ['read', '/a.md']),
    ).toEqual([null, 'early'])
    await at.use((store) => put({ store }, '/b.md', 'later'))
    expect(await takeSteps(held, ['sync'], ['read', '/b.md'])).toMatchObject([{}, 'later'])
    const [refusal] = await takeSteps(held, create('/c.md', 'c'))
    expect(refusal).toMatchObject({ message: expect.stringMatching(/reading alone|taken back/) })
    expect(await takeSteps(held, ['read', '/c.md'], ['close'])).toEqual([null, null])
  },
)

test.skipIf(workerd.missing)(
  `the ports and the cryptography give the known answers in a Worker${workerd.note}`,
  async () => {
    const [report] = await takeSteps(await startWorker(await answersBundle()), ['answers'])
    await expectAnswers(report)
  },
)
