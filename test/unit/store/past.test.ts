// The store as it was: reads and listings at earlier commits, also during redactions.

import { describe, expect, test } from 'vitest'
import type { Author, Change, MemoryStore } from '../../../src/index.ts'
import { openPast, type PastView } from '../../../src/store/history/past.ts'
import type { Point } from '../../../src/store/history/points.ts'
import { historyOf, type ReadHistory } from '../../support/histories.ts'
import { author, contentsOf, newStore } from '../../support/stores.ts'

interface Story {
  readonly store: MemoryStore
  readonly read: ReadHistory
  /** What the store held after each commit, genesis first. */
  readonly states: readonly Record<string, string>[]
  readonly at: (point: Point) => Promise<PastView>
}

/** A memory moves, changes, is deleted, and another one takes its path. Times go up by 10. */
async function writeStory(): Promise<Story> {
  let now = 990
  const { store, place } = await newStore({ clock: () => (now += 10) })
  const states = [await contentsOf(store)]
  const write = async (...changes: readonly Change[]): Promise<void> => {
    await store.as(author).apply(changes)
    states.push(await contentsOf(store))
  }
  await write({ type: 'create', path: '/a/one.md', content: 'one\n' })
  await write({ type: 'create', path: '/b.md', content: 'bé\n' })
  await write({ type: 'edit', path: '/a/one.md', edit: () => 'two\n' })
  await write({ type: 'rename', path: '/a', to: '/c' })
  await write({ type: 'delete', path: '/b.md' })
  await write({ type: 'create', path: '/b.md/below', content: 'below\n' })
  const read = await historyOf(store, place)
  return { store, read, states, at: (point) => openPast(read, point, {}) }
}

async function close({ store, read }: Story): Promise<void> {
  await read.close()
  await store.close()
}

async function allContents(view: PastView): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const pending = [await view.list('/')]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'file') found[node.path] = (await view.read(node.path))?.content ?? ''
    pending.push(...node.children)
  }
  return found
}

describe('a past view', () => {
  test("has the store's contents after each commit, by commit and by time", async () => {
    const story = await writeStory()
    for (const [height, state] of story.states.entries()) {
      const { oid, time } = story.read.history.commits.at(height) ?? { oid: '', time: 0 }
      const view = await story.at({ commit: oid })
      expect([view.commit, view.time, view.redacted]).toEqual([oid, time, 0])
      expect(await allContents(view)).toEqual(state)
      for (const later of [time, time + 9]) {
        expect((await story.at({ time: later })).commit).toBe(oid)
      }
    }
    await close(story)
  })

  test('describes a memory in its former state', async () => {
    const story = await writeStory()
    const memory = await story.store.read('/c/one.md')
    const { data: versions } = await story.store.history.versions({ memoryId: memory?.memoryId })
    const [moved, edited, created] = versions
    const view = await story.at({ versionId: edited?.versionId ?? '' })
    expect(await view.read('/a/one.md')).toEqual({
      memoryId: memory?.memoryId,
      versionId: edited?.versionId,
      path: '/a/one.md',
      sha256: edited?.sha256,
      sizeBytes: 4,
      createdAt: created?.createdAt,
      updatedAt: edited?.createdAt,
      content: 'two\n',
    })
    const now = await story.at({ versionId: moved?.versionId ?? '' })
    expect(await now.read('/c/one.md')).toEqual(memory)
    await close(story)
  })

  test('lists directories with sizes and times, to a depth', async () => {
    const story = await writeStory()
    const view = await story.at({ commit: story.read.history.commits.at(3)?.oid ?? '' })
    expect(await view.list('/', { depth: 1 })).toEqual({
      type: 'directory',
      name: '',
      path: '/',
      sizeBytes: 8,
      children: [
        { type: 'directory', name: 'a', path: '/a', sizeBytes: 4, children: [] },
        { type: 'file', name: 'b.md', path: '/b.md', sizeBytes: 4, updatedAt: 1060, children: [] },
      ],
    })
    const [here, gone] = [await view.list('/a/one.md'), await view.list('/c')]
    expect([here?.type, gone]).toEqual(['file', undefined])
    await close(story)
  })

  test('is undefined at an unknown path and refuses a malformed one', async () => {
    const story = await writeStory()
    const view = await story.at({ time: 5000 })
    expect(await view.read('/b.md')).toBeUndefined()
    expect(await view.read('/nothing')).toBeUndefined()
    await expect(view.read('nothing')).rejects.toThrow(
      expect.objectContaining({ code: 'invalid_path' }),
    )
    await expect(view.list('/a/')).rejects.toThrow(
      expect.objectContaining({ code: 'invalid_path' }),
    )
    await close(story)
  })

  test('does not change with later commits', async () => {
    const story = await writeStory()
    const view = await story.at({ time: 5000 })
    await story.store.as(author).apply([{ type: 'delete', path: '/c' }])
    expect(await allContents(view)).toEqual(story.states.at(-1))
    await close(story)
  })
})

describe('a redaction', () => {
  test('removes erased texts from a view in use, and keeps the rest', async () => {
    const story = await writeStory()
    const at = { commit: story.read.history.commits.at(2)?.oid ?? '' }
    const view = await story.at(at)
    expect(await allContents(view)).toEqual({ '/a/one.md': 'one\n', '/b.md': 'bé\n' })
    const { data: versions } = await story.store.history.versions({
      path: '/a/one.md',
      operation: 'created',
    })
    const versionIds = versions.map(({ versionId }) => versionId)
    const remover: Author = { actor: { type: 'user', id: 'remover' } }
    await story.store.as(remover).redact({ select: { versionIds }, reason: 'legal' })
    expect(await allContents(view)).toEqual({ '/b.md': 'bé\n' })
    expect(await view.read('/a/one.md')).toBeUndefined()
    expect(view.redacted).toBe(1)
    expect(view.commit).not.toBe(at.commit)
    expect(view.commit).toBe(story.read.history.commits.at(2)?.oid)
    // Neither later nor earlier versions.
    const later = await story.at({ commit: story.read.history.commits.at(3)?.oid ?? '' })
    expect([await allContents(later), later.redacted]).toEqual([story.states[3], 0])
    const earlier = await story.at({ commit: story.read.history.commits.at(0)?.oid ?? '' })
    expect([await allContents(earlier), earlier.redacted]).toEqual([{}, 0])
    await close(story)
  })
})
