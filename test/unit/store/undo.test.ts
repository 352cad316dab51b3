// Undo of what an actor or a session wrote, as stories of one memory: the changes in order, and the
// expected result, or why the memory is left alone.

import { describe, expect, test } from 'vitest'
import type { Author, Change, MemoryStore, UndoRequest } from '../../../src/index.ts'
import { author, contentsOf, newStore } from '../../support/stores.ts'

const good: Author = { actor: { type: 'user', id: 'good' }, session: 'sess_good' }
const bad: Author = { actor: { type: 'session', id: 'sess_bad' }, session: 'sess_bad' }

/** `G` or `B`, a verb, a path, and its lines as letters or a second path. */
type Line = string

function changeOf(line: Line): { readonly by: Author; readonly change: Change } {
  const [who, verb = '', path = '', rest = ''] = line.split(' ')
  const by = who === 'B' ? bad : good
  const content = [...rest].map((letter) => `${letter}\n`).join('')
  switch (verb) {
    case 'create':
      return { by, change: { type: 'create', path, content } }
    case 'edit':
      return { by, change: { type: 'edit', path, edit: () => content } }
    case 'delete':
      return { by, change: { type: 'delete', path } }
    case 'rename':
      return { by, change: { type: 'rename', path, to: rest } }
    default:
      throw new Error('Not a verb')
  }
}

/**
 * Each line is a commit, a second after the one before. `G restore`, `B redact` and `G reseal` are
 * steps too.
 */
async function writeStory(lines: readonly Line[]): Promise<{
  readonly store: MemoryStore
  readonly versions: readonly string[]
  readonly start: number
}> {
  const start = 1_700_000_000_000
  let now = start
  const { store } = await newStore({ clock: () => now })
  const versions: string[] = []
  for (const line of lines) {
    now += 1000
    const [who, verb, path = '', number = ''] = line.split(' ')
    const by = who === 'B' ? bad : good
    const versionId = versions[Number(number)] ?? ''
    if (verb === 'restore') {
      const made = await store.as(by).restore({ memory: path, to: { versionId } })
      versions.push(made.versionIds[0] ?? '')
    } else if (verb === 'reseal') {
      await store.as(by).keys.rotate({ reseal: true })
      versions.push('')
    } else if (verb === 'redact') {
      await store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'poisoned' })
    } else {
      const { versionIds } = await store.as(by).apply([changeOf(line).change])
      versions.push(versionIds[0] ?? '')
    }
  }
  return { store, versions, start }
}

/** Path → letters. */
async function lettersOf(store: MemoryStore): Promise<Record<string, string>> {
  const contents = await contentsOf(store)
  return Object.fromEntries(
    Object.entries(contents).map(([path, content]) => [path, content.replaceAll('\n', '')]),
  )
}

describe('the result', () => {
  test.each<[string, Line[], Record<string, string>]>([
    ['a note of theirs goes', ['G create /a abc', 'B create /b xyz'], { '/a': 'abc' }],
    [
      'an edit of theirs goes',
      ['G create /a abc', 'B edit /a axc', 'B edit /a axy'],
      { '/a': 'abc' },
    ],
    ['what they deleted comes back', ['G create /a abc', 'B delete /a'], { '/a': 'abc' }],
    ['what they moved goes back', ['G create /a abc', 'B rename /a /b'], { '/a': 'abc' }],
    [
      'an edit after theirs, of other lines, stays',
      ['G create /a abcde', 'B edit /a aXcde', 'G edit /a aXcdY'],
      { '/a': 'abcdY' },
    ],
    [
      'edits before, between and after stay',
      ['G create /a abcdefg', 'B edit /a aXcdefg', 'G edit /a aXcYefg', 'B edit /a aXcYefZ'],
      { '/a': 'abcYefg' },
    ],
    [
      'an edit that took theirs out already is kept',
      ['G create /a abc', 'B edit /a abXc', 'G edit /a abc'],
      { '/a': 'abc' },
    ],
    [
      'an edit by others that says the same is kept',
      ['G create /a abc', 'B edit /a aXc', 'G delete /a', 'G restore /a 1'],
      { '/a': 'aXc' },
    ],
    [
      'a path that others chose since stays, without the content',
      ['G create /a abc', 'B edit /a aXc', 'G rename /a /b'],
      { '/b': 'abc' },
    ],
    [
      'a path that they chose goes, an edit since stays',
      ['G create /a abc', 'B rename /a /b', 'G edit /b abY'],
      { '/a': 'abY' },
    ],
    [
      'what others deleted since stays deleted',
      ['G create /a abc', 'B edit /a x', 'G delete /a'],
      {},
    ],
    [
      'what others restored since stays',
      ['G create /a abc', 'B edit /a x', 'G delete /a', 'G restore /a 0'],
      { '/a': 'abc' },
    ],
    [
      'what they restored is deleted again',
      ['G create /a abc', 'G delete /a', 'B restore /a 0'],
      {},
    ],
    [
      'names that they swapped are swapped back',
      ['G create /a a', 'G create /b b', 'B rename /a /t', 'B rename /b /a', 'B rename /t /b'],
      { '/a': 'a', '/b': 'b' },
    ],
    [
      'a note of theirs that others sealed again goes',
      ['G create /a abc', 'B create /b xyz', 'G reseal'],
      { '/a': 'abc' },
    ],
    [
      'an edit of theirs that others sealed again goes, edits since stay',
      ['G create /a abcde', 'B edit /a aXcde', 'G reseal', 'G edit /a aXcdY'],
      { '/a': 'abcdY' },
    ],
    [
      'what they sealed again stays, and so do edits before and since',
      ['G create /a abc', 'B reseal', 'G edit /a abY', 'B reseal'],
      { '/a': 'abY' },
    ],
    ['nothing of theirs: nothing', ['G create /a abc'], { '/a': 'abc' }],
    [
      'an erased version in the middle does no harm',
      ['G create /a abc', 'B edit /a x', 'B edit /a y', 'B redact /a 1'],
      { '/a': 'abc' },
    ],
    [
      'an erased version of others that they did not build on',
      ['G create /a abc', 'G edit /a xyz', 'G edit /a abd', 'B edit /a q', 'G redact /a 1'],
      { '/a': 'abd' },
    ],
  ])('%s', async (_, lines, expected) => {
    const { store } = await writeStory(lines)
    const before = await lettersOf(store)
    const planned = await store.as(good).undo({ session: 'sess_bad' }, { dryRun: true })
    expect(await lettersOf(store)).toEqual(before)
    const made = await store.as(good).undo({ session: 'sess_bad' })
    const { plan } = planned
    expect({ ...made, commit: undefined, versionIds: [], plan }).toEqual(planned)
    expect(made.left).toEqual([])
    expect(await lettersOf(store)).toEqual(expected)
    expect(made.commit === undefined).toBe(JSON.stringify(before) === JSON.stringify(expected))
    if (made.commit !== undefined) {
      const { data: versions } = await store.history.versions({ limit: 1 })
      expect(versions).toMatchObject([{ reason: 'undo session sess_bad', createdBy: good.actor }])
    }
    // Undone is undone.
    expect((await store.as(good).undo({ session: 'sess_bad' })).steps).toEqual([])
    await store.maintenance.verify()
    await store.close()
  })
})

describe('left alone', () => {
  test.each<[string, Line[], [string | undefined, string]]>([
    [
      'an edit of the same line',
      ['G create /a abc', 'B edit /a aXc', 'G edit /a aYc'],
      ['/a', 'overlap'],
    ],
    [
      'an edit of the next line',
      ['G create /a abcd', 'B edit /a aXcd', 'G edit /a aXYd'],
      ['/a', 'overlap'],
    ],
    ['an edit of a note of theirs', ['B create /a abc', 'G edit /a abY'], ['/a', 'overlap']],
    ['a note of theirs that was moved', ['B create /a abc', 'G rename /a /b'], ['/b', 'overlap']],
    [
      'an edit on top of an erased one',
      ['G create /a abc', 'B edit /a abX', 'G edit /a abY', 'G redact /a 1'],
      ['/a', 'redacted'],
    ],
    [
      'a content that is erased',
      ['G create /a abc', 'B edit /a abX', 'G redact /a 0'],
      ['/a', 'redacted'],
    ],
    [
      'a deletion of what is erased',
      ['G create /a abc', 'B delete /a', 'G redact /a 0'],
      [undefined, 'redacted'],
    ],
    [
      'a path that others took',
      ['G create /a abc', 'B rename /a /b', 'G create /a new'],
      ['/a', 'path_taken'],
    ],
    [
      'a path below which others wrote',
      ['G create /a abc', 'B delete /a', 'G create /a/b new'],
      ['/a', 'path_taken'],
    ],
  ])('%s', async (_, lines, [path, reason]) => {
    const { store } = await writeStory([...lines, 'B create /theirs x', 'G create /ours y'])
    const before = await lettersOf(store)
    const made = await store.as(good).undo({ session: 'sess_bad' })
    expect(made.left.map((each) => [each.path, each.reason])).toEqual([[path, reason]])
    const { '/theirs': gone, ...rest } = before
    expect(gone).toBe('x')
    expect(await lettersOf(store)).toEqual(rest)
    await store.close()
  })

  test('two memories that would get the same path', async () => {
    const { store } = await writeStory([
      'G create /a a',
      'G create /b b',
      'B rename /a /c',
      'G rename /b /a',
      'B rename /a /d',
    ])
    const made = await store.as(good).undo({ session: 'sess_bad' })
    expect(made.left.map(({ path, reason }) => [path, reason])).toEqual([
      ['/a', 'path_taken'],
      ['/a', 'path_taken'],
    ])
    expect(made.commit).toBeUndefined()
    expect(await lettersOf(store)).toEqual({ '/c': 'a', '/d': 'b' })
    await store.close()
  })
})

describe('the selected versions', () => {
  const lines = ['G create /a 1', 'B edit /a 2', 'B create /b 1', 'B create /c 1']

  test.each<[string, UndoRequest, Record<string, string>, string]>([
    ['an actor', { actorId: 'sess_bad' }, { '/a': '1' }, 'undo actor sess_bad'],
    ['a session', { session: 'sess_bad' }, { '/a': '1' }, 'undo session sess_bad'],
    [
      'an actor in a session',
      { actorId: 'sess_bad', session: 'sess_bad' },
      { '/a': '1' },
      'undo actor sess_bad session sess_bad',
    ],
    [
      'from a time on',
      { session: 'sess_bad', since: 1_700_000_003_000 },
      { '/a': '2' },
      'undo session sess_bad since 2023-11-14T22:13:23Z',
    ],
    [
      'up to a time',
      { session: 'sess_bad', until: 1_700_000_003_500 },
      { '/a': '1', '/c': '1' },
      'undo session sess_bad until 2023-11-14T22:13:23.500Z',
    ],
  ])('%s', async (_, request, expected, reason) => {
    const { store } = await writeStory(lines)
    const { versionIds } = await store.as(good).undo(request)
    expect(await lettersOf(store)).toEqual(expected)
    expect(await store.history.version(versionIds[0] ?? '')).toMatchObject({ reason })
    await store.close()
  })

  test.each([
    ['nobody', {}],
    ['a time alone', { since: 5 }],
    ['a number', { session: 5 }],
    ['no time', { session: 'sess_bad', until: Number.NaN }],
  ])('%s is refused', async (_, request) => {
    const { store } = await writeStory(lines)
    // @ts-expect-error Callers in JavaScript can pass anything.
    await expect(store.as(good).undo(request)).rejects.toMatchObject({ code: 'invalid_input' })
    await store.close()
  })

  test("an actor is not the author of others' writes in a session", async () => {
    const { store } = await writeStory(lines)
    const made = await store.as(good).undo({ actorId: 'good', session: 'sess_bad' })
    expect(made).toEqual({ commit: undefined, versionIds: [], steps: [], left: [] })
    await store.close()
  })
})

test('an undo can be undone, and rolled back', async () => {
  const { store, versions } = await writeStory([
    'G create /a abc',
    'B edit /a aXc',
    'B create /b x',
  ])
  const poisoned = await lettersOf(store)
  const healer: Author = { actor: { type: 'user', id: 'healer' } }
  await store.as(healer).undo({ session: 'sess_bad' })
  expect(await lettersOf(store)).toEqual({ '/a': 'abc' })
  await store.as(good).undo({ actorId: 'healer' })
  expect(await lettersOf(store)).toEqual(poisoned)
  await store.as(healer).undo({ session: 'sess_bad' })
  await store.as(good).rollback({ to: { versionId: versions.at(-1) ?? '' } })
  expect(await lettersOf(store)).toEqual(poisoned)
  await store.close()
})
