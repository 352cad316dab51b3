// The conflicts that merges of real clones report: `conflicts` lists every memory that was merged,
// joined with another or moved, and a version lists its inputs.

import { describe, expect, test } from 'vitest'
import type { Conflict, MemoryStore } from '../../../../src/index.ts'
import { worldsOf } from '../../../support/clone-templates.ts'
import { type Clone, firstClone, joinClone, put, sync, syncAll } from '../../../support/clones.ts'
import { redact } from '../../../support/hostile-remotes.ts'
import { author, contentsOf, reopen } from '../../../support/stores.ts'

const pair = worldsOf(async (url) => {
  const first = await firstClone(url)
  await put(first, '/notes.md', 'one\ntwo\n')
  await sync(first)
  return { first, second: await joinClone(first, url) }
})

/** The same on both, once both have the merge. */
async function conflictsOf(first: Clone, second: Clone): Promise<readonly Conflict[]> {
  await sync(first)
  await syncAll([second, first])
  const found = await second.store.history.conflicts()
  expect(await first.store.history.conflicts()).toEqual(found)
  return found
}

async function memoryIdOf(store: MemoryStore, versionId: string): Promise<string> {
  return (await store.history.version(versionId)).memoryId
}

describe('conflicts', () => {
  test(
    'an edit of both sides is combined from the versions of both',
    { tags: 'slow' },
    async () => {
      const { first, second } = await pair()
      const ours = await put(first, '/notes.md', 'eins\ntwo\n')
      const theirs = await put(second, '/notes.md', 'uno\ntwo\n')
      const [conflict, ...others] = await conflictsOf(first, second)
      expect(others).toEqual([])
      expect(conflict).toMatchObject({
        path: '/notes.md',
        combination: 'combined',
        kept: undefined,
      })
      expect(conflict).toMatchObject({ joined: undefined, movedFrom: undefined })
      expect(conflict?.inputs.toSorted()).toEqual([ours, theirs].toSorted())
    },
  )

  test.each(['first', 'second'] as const)(
    'lines of the older record come first, however many changes the %s clone made',
    { tags: 'slow' },
    async (busy) => {
      const world = await pair()
      const clocks = { first: 2_000_000_000_000, second: 2_000_000_000_000 }
      const at = async (name: 'first' | 'second'): Promise<Clone> => {
        const { store, place } = world[name]
        await store.close()
        return { place, store: await reopen(place, { clock: () => clocks[name] }) }
      }
      const [first, second] = [await at('first'), await at('second')]
      const [early, late] = busy === 'first' ? [first, second] : [second, first]
      // Several: of one record, the order by the hash may be that by the time.
      const paths = Array.from({ length: 8 }, (_, n) => `/${n}.md`)
      for (const path of paths) await put(first, path, 'one\ntwo\n')
      await syncAll([first, second])
      clocks[busy] += 1000
      for (const path of ['/a', '/b', '/c']) await put(early, path)
      for (const path of paths) await put(early, path, 'early\ntwo\n')
      clocks[busy === 'first' ? 'second' : 'first'] += 2000
      for (const path of paths) await put(late, path, 'late\ntwo\n')
      // The one merges in one case, the other one in the other.
      await syncAll([first, second])
      for (const path of paths) {
        expect((await first.store.read(path))?.content).toBe('early\nlate\ntwo\n')
      }
    },
  )

  test(
    'are reported once, by the sync that receives a merge of others',
    { tags: 'slow' },
    async () => {
      const { first, second } = await pair()
      await put(first, '/notes.md', 'eins\ntwo\n')
      await put(second, '/notes.md', 'uno\ntwo\n')
      await sync(first)
      expect(await sync(second)).toMatchObject({ outcomes: [{}], mergedElsewhere: [] })
      await put(second, '/later.md', 'later\n')
      await sync(second)
      const found = await second.store.history.conflicts()
      expect(found).toHaveLength(1)
      expect(await sync(first)).toMatchObject({ outcomes: [], mergedElsewhere: found })
      await put(second, '/latest.md', 'latest\n')
      await sync(second)
      expect(await sync(first)).toMatchObject({ received: { commits: 1 }, mergedElsewhere: [] })
    },
  )

  test(
    'are also reported if a redaction has changed the ids of earlier commits',
    { tags: 'slow' },
    async () => {
      const { first, second, remote } = await pair()
      const leaked = await put(second, '/key.txt', 'sk-leaked')
      await put(second, '/key.txt', 'revoked')
      await syncAll([second, first])
      const third = await joinClone(first, remote)
      await put(first, '/notes.md', 'eins\ntwo\n')
      await put(second, '/notes.md', 'uno\ntwo\n')
      await syncAll([first, second])
      await redact(second, leaked)
      await sync(second)
      const found = await second.store.history.conflicts()
      expect(found).toHaveLength(1)
      expect(await sync(third)).toMatchObject({ erased: 1, mergedElsewhere: found })
    },
  )

  test(
    'two memories that were created at one path are joined, and listed once',
    { tags: 'slow' },
    async () => {
      const { first, second } = await pair()
      const ours = await put(first, '/new.md', 'of the first\n')
      const theirs = await put(second, '/new.md', 'of the second\n')
      const [conflict, ...others] = await conflictsOf(first, second)
      expect(others).toEqual([])
      expect(conflict).toMatchObject({ path: '/new.md', combination: 'combined' })
      expect(conflict?.inputs.toSorted()).toEqual([ours, theirs].toSorted())
      const memories = await Promise.all([ours, theirs].map((id) => memoryIdOf(first.store, id)))
      expect(new Set([conflict?.memoryId, conflict?.joined])).toEqual(new Set(memories))
    },
  )

  test(
    'a file and a directory of one name: which one moved, and from where',
    { tags: 'slow' },
    async () => {
      const { first, second } = await pair()
      const file = await put(first, '/plan', 'a file\n')
      const below = await put(second, '/plan/a.md', 'in a directory\n')
      const [conflict, ...others] = await conflictsOf(first, second)
      expect(others).toEqual([])
      expect(['/plan', '/plan/a.md']).toContain(conflict?.movedFrom)
      expect([file, below]).toContain(conflict?.kept)
      expect(conflict).toMatchObject({ combination: 'kept', inputs: [conflict?.kept] })
      expect(Object.keys(await contentsOf(first.store))).toContain(conflict?.path)
      expect(conflict?.path).not.toBe(conflict?.movedFrom)
    },
  )

  test('a memory that both sides deleted is listed as deleted', { tags: 'slow' }, async () => {
    const { first, second } = await pair()
    for (const { store } of [first, second]) {
      await store.as(author).apply([{ type: 'delete', path: '/notes.md' }])
    }
    const [conflict, ...others] = await conflictsOf(first, second)
    expect(others).toEqual([])
    expect(conflict).toMatchObject({ path: '/notes.md', combination: 'deleted' })
  })

  test(
    'a rename of one side and an edit of the other is not listed as a move',
    { tags: 'slow' },
    async () => {
      const { first, second } = await pair()
      await first.store.as(author).apply([{ type: 'rename', path: '/notes.md', to: '/moved.md' }])
      await put(second, '/notes.md', 'one\ntwo\nthree\n')
      const [conflict] = await conflictsOf(first, second)
      expect(conflict).toMatchObject({ path: '/moved.md', movedFrom: undefined })
    },
  )

  test('merges without anything in common leave nothing to list', { tags: 'slow' }, async () => {
    const { first, second } = await pair()
    await put(first, '/a.md', 'a')
    await put(second, '/b.md', 'b')
    expect(await conflictsOf(first, second)).toEqual([])
  })
})

describe('a merged version', () => {
  test('comes with the texts of its inputs', { tags: 'slow' }, async () => {
    const { first, second } = await pair()
    await put(first, '/notes.md', 'eins\ntwo\n')
    await put(second, '/notes.md', 'uno\ntwo\n')
    const [conflict] = await conflictsOf(first, second)
    const shown = await first.store.history.version(conflict?.versionId ?? '')
    expect(shown.inputs.map(({ versionId }) => versionId)).toEqual(shown.mergedFrom)
    const texts = new Set(shown.inputs.map(({ content }) => content))
    expect(texts).toEqual(new Set(['eins\ntwo\n', 'uno\ntwo\n']))
    const [input] = shown.mergedFrom
    expect((await first.store.history.version(input ?? '')).inputs).toEqual([])
  })

  test('names its redacted inputs and returns the others', { tags: 'slow' }, async () => {
    const { first, second } = await pair()
    const ours = await put(first, '/new.md', 'a secret\n')
    const theirs = await put(second, '/new.md', 'no secret\n')
    const [conflict] = await conflictsOf(first, second)
    await first.store
      .as({ actor: author.actor })
      .redact({ select: { versionIds: [ours] }, reason: 'leaked_secret' })
    const { inputs } = await first.store.history.version(conflict?.versionId ?? '')
    expect(inputs).toContainEqual(
      expect.objectContaining({ versionId: theirs, content: 'no secret\n' }),
    )
    const redacted = inputs.find(({ versionId }) => versionId === ours)
    expect(redacted).toMatchObject({ content: undefined, redactedAt: expect.any(Number) })
  })
})
