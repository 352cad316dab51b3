// Queries of a past in which clones had diverged: versions and pages, views, lines, undo. Random
// histories of that kind are in test/property/branches.test.ts; here are the cases that they lack.

import { describe, expect, test } from 'vitest'
import { formatId } from '../../../src/format/id.ts'
import { blameLines } from '../../../src/store/history/blame.ts'
import { catchUp } from '../../../src/store/history/catch-up.ts'
import { comparePoints } from '../../../src/store/history/history-diff.ts'
import { openPast } from '../../../src/store/history/past.ts'
import { findVersions } from '../../../src/store/history/versions.ts'
import { planRestore } from '../../../src/store/revert/restore.ts'
import { planUndo } from '../../../src/store/revert/undo.ts'
import { snapshotAt } from '../../../src/store/verify/snapshot-at.ts'
import { atOnce } from '../../../src/time-slice.ts'
import {
  apart,
  historyAt,
  joined,
  revertSource,
  type Texts,
  thenOf,
  versionOf,
} from '../../support/apart.ts'
import { Branches, type Node } from '../../support/branches.ts'

const both: Texts = {
  before: 'one\ntwo\nthree\n',
  ours: 'ours\none\ntwo\nthree\n',
  theirs: 'one\ntwo\nthree\ntheirs\n',
  merged: 'ours\none\ntwo\nthree\ntheirs\n',
}

describe('versions', () => {
  test('name the inputs of a merged one', async () => {
    const { branches, ours, theirs, merge } = await apart(both)
    const { data: versions } = findVersions(await historyAt(branches, merge), { order: 'oldest' })
    const inputs = [versionOf(ours, 'm'), versionOf(theirs, 'm')]
    const [created, , , merged] = versions
    expect(merged?.versionId).toBe(versionOf(merge, 'm'))
    expect(merged?.mergedFrom.toSorted()).toEqual(inputs.toSorted())
    expect(merged?.baseVersionId).toBe(merged?.mergedFrom[0])
    expect(versions.slice(0, 3).map(({ mergedFrom }) => mergedFrom)).toEqual([[], [], []])
    expect(versions.slice(1, 3).map(({ baseVersionId }) => baseVersionId)).toEqual(
      Array.from({ length: 2 }, () => created?.versionId),
    )
  })

  test('can be paged through while older ones are merged in', async () => {
    const branches = await Branches.start(3)
    const { time } = branches.root
    const grow = async (by: number, count: number): Promise<Node> => {
      let node = branches.root
      for (let n = 1; n <= count; n += 1) {
        const memory = `${by} ${n}`
        const write = { memory, path: `/${memory}`, content: memory }
        node = await branches.write(node, { by, time: time + n }, [write])
      }
      return node
    }
    const [ours, theirs] = [await grow(0, 6), await grow(1, 4)]
    const history = await historyAt(branches, ours)
    const first = findVersions(history, { limit: 3 })
    expect(first.data.map(({ path }) => path)).toEqual(['/0 6', '/0 5', '/0 4'])
    const merge = await branches.merge(ours, theirs, { by: 2, time: time + 9 })
    await catchUp(history, branches.source, merge?.oid ?? '', {})
    const rest = findVersions(history, { page: first.nextPage })
    const paths = rest.data.map(({ path }) => path)
    expect(paths.filter((path) => path?.startsWith('/0'))).toEqual(['/0 3', '/0 2', '/0 1'])
    const theirPaths = paths.filter((path) => path?.startsWith('/1'))
    expect(theirPaths.slice(-3)).toEqual(['/1 3', '/1 2', '/1 1'])
    expect(rest.nextPage).toBeUndefined()
  })
})

describe('a view of a time when clones had diverged', () => {
  async function clash() {
    const branches = await Branches.start(3)
    const { time } = branches.root
    const create = (by: number, path: string): Promise<Node> => {
      const write = { memory: `of ${by}`, path, content: `${by}\n` }
      return branches.write(branches.root, { by, time: time + 10 * (by + 1) }, [write])
    }
    const [ours, theirs] = [await create(0, '/same'), await create(1, '/same/below')]
    const [older, younger] = [thenOf(ours, 'of 0'), thenOf(theirs, 'of 1')]
    const merge = await branches.merge(ours, theirs, { by: 2, time: time + 99 }, undefined, () => [
      branches.settledRow(theirs.idOf('of 1'), younger, {
        memory: '',
        path: '/aside',
        content: '1\n',
      }),
    ])
    if (merge === undefined) throw new Error('The sides are not apart')
    return { branches, ours, merge, older, time }
  }

  test('has the older of two memories with conflicting paths', async () => {
    const { branches, merge, older, time } = await clash()
    const history = await historyAt(branches, merge)
    const source = { contents: branches.contents, loadHistory: async () => history }
    const then = await openPast(source, { time: time + 50 }, {})
    expect([then.displaced, then.redacted]).toEqual([1, 0])
    expect([time + 10, time + 20]).toContain(then.time)
    expect((await then.read('/same'))?.versionId).toBe(formatId('version', older.versionId))
    expect(await then.read('/same/below')).toBeUndefined()
    const now = await openPast(source, { commit: merge.oid }, {})
    expect([now.displaced, (await now.read('/aside'))?.content]).toEqual([0, '1\n'])
    const at = { time: time + 50 }
    const [line] = atOnce(blameLines(history, branches.contents, '/same', at))
    expect(line?.line).toBe('0')
  })

  test('can be compared with others', async () => {
    const { branches, merge, time } = await clash()
    const history = await historyAt(branches, merge)
    const points = { from: { time: time + 50 }, to: undefined }
    const { changes, redacted } = atOnce(comparePoints(history, branches.contents, points, {}))
    const paths = changes.map(({ before, after }) => [before?.path, after?.path])
    // As in the view of that time, which does not list it.
    expect([paths, redacted]).toEqual([[[undefined, '/aside']], 0])
  })

  test('does not change when older commits are merged in', async () => {
    const { branches, ours, merge } = await clash()
    const history = await historyAt(branches, ours)
    const source = { contents: branches.contents, loadHistory: async () => history }
    const views = await Promise.all([
      openPast(source, { commit: ours.oid }, {}),
      openPast(source, { time: Number.MAX_SAFE_INTEGER }, {}),
    ])
    await catchUp(history, branches.source, merge.oid, {})
    for (const view of views) {
      expect((await view.list('/'))?.children.map(({ path }) => path)).toEqual(['/same'])
      expect([view.commit, view.displaced]).toEqual([ours.oid, 0])
    }
  })
})

test('a restore puts back either input of a merge', async () => {
  const { branches, ours, theirs, merge } = await apart(both)
  const source = revertSource(branches, await historyAt(branches, merge), merge)
  for (const [node, content] of [
    [ours, both.ours],
    [theirs, both.theirs],
  ] as const) {
    for (const to of [{ versionId: versionOf(node, 'm') }, { commit: node.oid }]) {
      const { steps } = await planRestore(source, { memory: '/m', to })
      expect(steps.map(({ after }) => after?.content)).toEqual([content])
    }
  }
})

describe('the lines of a merged memory', () => {
  test.each([
    { merged: both.merged, from: ['ours', 'before', 'before', 'before', 'theirs'] },
    {
      merged: 'theirs\nthree\nnew\none\nours\n',
      from: ['theirs', 'before', 'merge', 'before', 'ours'],
    },
  ])('come from $from', async ({ merged, from }) => {
    const sides = await apart({ ...both, merged })
    const { branches, merge } = sides
    const lines = atOnce(blameLines(await historyAt(branches, merge), branches.contents, '/m'))
    const named = new Map(
      (['before', 'ours', 'theirs', 'merge'] as const).map((name) => {
        return [versionOf(sides[name], 'm'), name] as const
      }),
    )
    expect(lines.map(({ version }) => named.get(version.versionId))).toEqual(from)
  })

  test('are uncertain where an input is redacted', async () => {
    const { branches, theirs, merge } = await apart(both)
    const history = await historyAt(branches, merge)
    const erased = theirs.rows[0]?.versionId ?? ''
    history.applyRedaction(new Map(), new Set([erased]))
    const lines = atOnce(blameLines(history, branches.contents, '/m'))
    expect(lines.map(({ line, uncertain }) => [line, uncertain])).toEqual([
      ['ours', false],
      ['one', false],
      ['two', false],
      ['three', false],
      ['theirs', true],
    ])
  })

  test('may come from another memory that had the same path', async () => {
    const { branches, ours, theirs, merge } = await joined()
    const lines = atOnce(blameLines(await historyAt(branches, merge), branches.contents, '/m'))
    expect(lines.map(({ line, version }) => [line, version.versionId])).toEqual([
      ['ours', versionOf(ours, 'first')],
      ['theirs', versionOf(theirs, 'second')],
    ])
  })
})

interface UndoCase extends Texts {
  readonly name: string
  readonly undo: string
  /** The outcome for the memory: a text, null if it is deleted, or why it is left alone. */
  readonly becomes: string | null | { readonly left: string }
}

const overlapping = {
  before: 'one\nmiddle\nlast\n',
  ours: 'ours\none\nmiddle\nlast\n',
  theirs: 'one\nmiddle\nlast\ntheirs\n',
}

describe('undo', () => {
  test.each<UndoCase>([
    { name: 'ours', ...both, undo: 'ours', becomes: both.theirs ?? null },
    { name: 'theirs', ...both, undo: 'theirs', becomes: both.ours ?? null },
    { name: 'a merge that anybody would make so', ...both, undo: 'merge', becomes: both.merged },
    {
      name: 'a merge that changes the text itself',
      ...both,
      merged: `${both.merged}poison\n`,
      undo: 'merge',
      becomes: both.merged,
    },
    {
      name: 'a merge that needs a choice',
      before: 'one\n',
      ours: 'ours\n',
      theirs: 'theirs\n',
      merged: 'ours\ntheirs\n',
      undo: 'merge',
      becomes: { left: 'overlap' },
    },
    {
      name: 'an edit that kept a memory from being deleted',
      ...both,
      ours: undefined,
      merged: both.theirs ?? '',
      undo: 'theirs',
      becomes: null,
    },
    {
      name: 'a deletion that an edit has beaten',
      ...both,
      ours: undefined,
      merged: both.theirs ?? '',
      undo: 'ours',
      becomes: both.theirs ?? null,
    },
    {
      name: 'what all others built on',
      ...overlapping,
      merged: both.merged,
      undo: 'before',
      becomes: { left: 'overlap' },
    },
  ])('of $name', async ({ undo, becomes, ...texts }) => {
    const { branches, merge } = await apart(texts)
    const source = revertSource(branches, await historyAt(branches, merge), merge)
    const { steps, left } = await planUndo(source, { session: undo })
    const isLeft = typeof becomes === 'object' && becomes !== null
    expect(left.map(({ reason }) => reason)).toEqual(isLeft ? [becomes.left] : [])
    if (isLeft) return
    const changed = becomes === texts.merged ? [] : [becomes ?? undefined]
    expect(steps.map(({ after }) => after?.content)).toEqual(changed)
  })

  test('of one part of a side if its other part overlaps', async () => {
    const branches = await Branches.start(3)
    const { root } = branches
    let time = root.time
    const write = (on: Node, by: number, session: string, content: string): Promise<Node> => {
      const step = { by, time: (time += 1), session }
      return branches.write(on, step, [{ memory: 'm', path: '/m', content }])
    }
    const before = await write(root, 0, 'before', 'a\nb\nc\nd\ne\n')
    const edited = await write(before, 0, 'ours', 'a\nb\nc\nd\nE of ours\n')
    const ours = await write(edited, 0, 'poison', 'poison\na\nb\nc\nd\nE of ours\n')
    const theirs = await write(before, 1, 'theirs', 'a\nb\nc\nd\nE of theirs\n')
    const merge = await branches.merge(ours, theirs, { by: 2, time: time + 1 }, () => {
      return { path: '/m', content: 'poison\na\nb\nc\nd\nE of ours\nE of theirs\n' }
    })
    if (merge === undefined) throw new Error('The sides are not apart')
    const source = revertSource(branches, await historyAt(branches, merge), merge)
    const { steps, left } = await planUndo(source, { session: 'poison' })
    expect(left).toEqual([])
    expect(steps.map(({ after }) => after?.content)).toEqual([
      'a\nb\nc\nd\nE of ours\nE of theirs\n',
    ])
  })

  test('of a side leaves a memory alone whose other side is redacted', async () => {
    const { branches, theirs, merge } = await apart(both)
    const history = await historyAt(branches, merge)
    history.applyRedaction(new Map(), new Set([theirs.rows[0]?.versionId ?? '']))
    const source = revertSource(branches, history, merge)
    const { steps, left } = await planUndo(source, { session: 'ours' })
    // Our side is as it was before then, so the merge would have been their text: erased.
    expect([steps, left.map(({ reason }) => reason)]).toEqual([[], ['redacted']])
  })

  test.each([
    { session: 'theirs', becomes: ['ours\n'] },
    { session: 'ours', becomes: ['theirs\n'] },
  ])('of $session in a memory that two became', async ({ session, becomes }) => {
    const { branches, merge } = await joined()
    const source = revertSource(branches, await historyAt(branches, merge), merge)
    const { steps, left } = await planUndo(source, { session })
    expect(left).toEqual([])
    expect(steps.map(({ after }) => after?.content)).toEqual(becomes)
  })
})

test('the snapshot at a cut knows a device that two machines wrote as', async () => {
  const branches = await Branches.start(2)
  const { root } = branches
  const write = (n: number): Promise<Node> => {
    const step = { by: 0, time: root.time + n }
    return branches.write(root, step, [{ memory: `${n}`, path: `/${n}`, content: '' }])
  }
  const [one, two] = [await write(1), await write(2)]
  const merge = await branches.merge(one, two, { by: 1, time: root.time + 3 })
  if (merge === undefined) throw new Error('The sides are not apart')
  const history = await historyAt(branches, merge)
  const { position } = history.head ?? { position: -1 }
  const { devices } = atOnce(snapshotAt(branches.source, history, position))
  expect([...devices.values()].some(({ forked }) => forked)).toBe(true)
  expect(devices).toEqual(merge.snapshot.devices)
  expect(() => atOnce(snapshotAt(branches.source, history, position - 1))).toThrow('cut')
})
