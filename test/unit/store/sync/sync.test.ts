// Two machines and a remote between them: each reads what the other writes, concurrent changes are
// merged, and what one erases is erased everywhere.

import { describe, expect, test } from 'vitest'
import type { Change } from '../../../../src/index.ts'
import {
  checkWithGit,
  type Clone,
  firstClone,
  headOf,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { pairsOfClones, write } from '../../../support/hostile-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'
import { git, temporaryDirectory } from '../../../support/temporary.ts'

const pair = pairsOfClones()

function edit(path: string, from: string, to: string): Change {
  return { type: 'edit', path, edit: (content) => content.replace(from, to) }
}

async function expectSame(a: Clone, b: Clone): Promise<void> {
  expect(await headOf(a)).toBe(await headOf(b))
  expect(await contentsOf(a.store)).toEqual(await contentsOf(b.store))
  for (const { store } of [a, b]) await store.maintenance.verify()
}

describe('a sync', () => {
  test(
    'brings the changes of one machine to another and reports them',
    { tags: 'slow' },
    async () => {
      const { a, b } = await pair()
      await write(a, edit('/notes.md', 'two', 'zwei'))
      expect(await sync(a)).toMatchObject({ received: { commits: 0 }, sent: { commits: 1 } })
      expect(await sync(b)).toMatchObject({ received: { commits: 1 }, sent: { commits: 0 } })
      expect((await b.store.read('/notes.md'))?.content).toBe('one\nzwei\nthree\n')
      const idle = { received: { commits: 0, bytes: 0 }, sent: { commits: 0, bytes: 0 } }
      expect(await sync(a)).toMatchObject(idle)
      await expectSame(a, b)
    },
  )

  test(
    'merges edits of different lines and lists the merged memories',
    { tags: 'slow' },
    async () => {
      const { a, b } = await pair()
      await write(a, edit('/notes.md', 'one', 'eins'))
      await write(b, edit('/notes.md', 'three', 'drei'), {
        type: 'create',
        path: '/b.md',
        content: 'b',
      })
      await sync(a)
      const merged = await sync(b)
      expect(merged.merge).toMatch(/^[0-9a-f]{40}$/)
      expect(merged.outcomes).toMatchObject([{ kind: 'merged', path: '/notes.md' }])
      await sync(a)
      expect(await contentsOf(a.store)).toEqual({ '/notes.md': 'eins\ntwo\ndrei\n', '/b.md': 'b' })
      const [conflict] = await a.store.history.conflicts()
      expect(conflict).toMatchObject({ path: '/notes.md', combination: 'combined' })
      const inputs = await Promise.all(
        conflict?.inputs.map((id) => a.store.history.version(id)) ?? [],
      )
      expect(new Set(inputs.map(({ content }) => content))).toEqual(
        new Set(['eins\ntwo\nthree\n', 'one\ntwo\ndrei\n']),
      )
      await expectSame(a, b)
    },
  )

  test('leaves a remote that stock git clones, checks and verifies', { tags: 'slow' }, async () => {
    const { a, b, remote } = await pair()
    await write(a, edit('/notes.md', 'one', 'eins'))
    await write(b, edit('/notes.md', 'one', 'uno'))
    await syncAll([a, b])
    checkWithGit(remote)
    const copy = `${temporaryDirectory()}/copy.git`
    git(['clone', '--quiet', '--bare', remote, copy], '/')
    checkWithGit(copy)
    const heads = git(['rev-list', '--all', '--parents'], copy).trim().split('\n')
    expect(heads.some((line) => line.split(' ').length === 3)).toBe(true)
    await expectSame(a, b)
  })

  test(
    'refuses a remote that holds another store, and loses nothing',
    { tags: 'slow' },
    async () => {
      const { a, remote } = await pair()
      const other = await firstClone(remote)
      await write(other, { type: 'create', path: '/mine.md', content: 'mine' })
      await expect(sync(other)).rejects.toMatchObject({ code: 'store_id_mismatch' })
      expect(await contentsOf(other.store)).toEqual({ '/mine.md': 'mine' })
      expect(git(['rev-parse', 'main'], remote).trim()).toBe(await headOf(a))
    },
  )

  test('refuses a remote that was put back, until it is repaired', { tags: 'slow' }, async () => {
    const { a, remote } = await pair()
    const old = git(['rev-parse', 'main~1'], remote).trim()
    git(['update-ref', 'refs/heads/main', old], remote)
    await expect(sync(a)).rejects.toMatchObject({ code: 'rolled_back' })
    await a.store.as(author).sync({ repair: true })
    expect(git(['rev-parse', 'main'], remote).trim()).toBe(await headOf(a))
  })
})

describe('a redaction', () => {
  async function leaked(clone: Clone): Promise<string> {
    await write(clone, { type: 'create', path: '/key.txt', content: 'sk-leaked' })
    await write(clone, edit('/key.txt', 'sk-leaked', 'revoked'))
    const { data: versions } = await clone.store.history.versions({
      path: '/key.txt',
      order: 'oldest',
    })
    return versions[0]?.versionId ?? ''
  }

  const reason = 'leaked_secret' as const

  test(
    'reaches a clone, which erases it too and keeps its own writes',
    { tags: 'slow' },
    async () => {
      const { a, b } = await pair()
      const versionId = await leaked(a)
      await syncAll([a, b])
      await write(b, { type: 'create', path: '/later.md', content: 'unpushed' })
      await a.store.as(author).redact({ select: { versionIds: [versionId] }, reason })
      await sync(a)
      expect(await sync(b)).toMatchObject({ erased: 1 })
      expect((await b.store.history.version(versionId)).content).toBeUndefined()
      expect((await b.store.maintenance.findResidue()).found).toEqual([])
      await syncAll([a, b])
      expect(await contentsOf(a.store)).toMatchObject({ '/later.md': 'unpushed' })
      await expectSame(a, b)
    },
  )

  test('sends only the rewritten commits again', { tags: 'slow' }, async () => {
    const { a, b } = await pair()
    for (let n = 0; n < 20; n += 1) {
      await write(a, { type: 'create', path: `/${n}.md`, content: `${n}` })
    }
    const versionId = await leaked(a)
    await syncAll([a, b])
    await a.store.as(author).redact({ select: { versionIds: [versionId] }, reason })
    // Both commits about the key, and the redaction.
    expect((await sync(a)).sent.commits).toBe(3)
    expect((await sync(b)).received.commits).toBe(1)
    await expectSame(a, b)
  })

  test('by both clones apart ends in the same commits', { tags: 'slow' }, async () => {
    const { a, b } = await pair()
    const first = await leaked(a)
    await write(a, { type: 'create', path: '/b.txt', content: 'another leak' })
    await write(a, { type: 'delete', path: '/b.txt' })
    await syncAll([a, b])
    const { data: versions } = await a.store.history.versions({ path: '/b.txt', order: 'oldest' })
    const second = versions[0]?.versionId ?? ''
    await a.store.as(author).redact({ select: { versionIds: [first] }, reason })
    await b.store.as(author).redact({ select: { versionIds: [second] }, reason })
    await write(b, { type: 'create', path: '/later.md', content: 'unpushed' })
    await syncAll([a, b])
    for (const { store } of [a, b]) {
      expect((await store.history.version(first)).content).toBeUndefined()
      expect((await store.history.version(second)).content).toBeUndefined()
      expect((await store.maintenance.findResidue()).found).toEqual([])
    }
    await expectSame(a, b)
  })
})
