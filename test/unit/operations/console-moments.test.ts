// The console's answers about a point where clones had diverged, and about versions next to a
// redacted one.

import { expect, test } from 'vitest'
import { formatId } from '../../../src/format/id.ts'
import { memoryAt, stateAt } from '../../../src/store/history/state-at.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { historyAt, thenOf } from '../../support/apart.ts'
import { Branches, type Node } from '../../support/branches.ts'
import { newConsole } from '../../support/console.ts'
import { author } from '../../support/stores.ts'

async function clash() {
  const branches = await Branches.start(3)
  const { time } = branches.root
  const create = (by: number, path: string): Promise<Node> => {
    const write = { memory: `of ${by}`, path, content: `${by}\n` }
    return branches.write(branches.root, { by, time: time + 10 * (by + 1) }, [write])
  }
  const [ours, theirs] = [await create(0, '/same'), await create(1, '/same/below')]
  const merge = await branches.merge(ours, theirs, { by: 2, time: time + 99 }, undefined, () => [
    branches.settledRow(theirs.idOf('of 1'), thenOf(theirs, 'of 1'), {
      memory: '',
      path: '/aside',
      content: '1\n',
    }),
  ])
  if (merge === undefined) throw new Error('The sides are not apart')
  const ids = [ours.idOf('of 0'), theirs.idOf('of 1')].map((id) => formatId('memory', id))
  return { branches, ids, time, history: await historyAt(branches, merge) }
}

test('of two memories with conflicting paths the older one is shown', async () => {
  const { branches, ids, time, history } = await clash()
  const at = { time: time + 50 }
  const then = atOnce(stateAt(history, at, false))
  expect(then.memories.map(({ path }) => path)).toEqual(['/same'])
  expect([then.displaced, then.redacted]).toEqual([1, 0])
  const now = atOnce(stateAt(history, undefined, false))
  expect(now.memories.map(({ path }) => path).toSorted()).toEqual(['/aside', '/same'])
  expect(now.displaced).toBe(0)
  const shown = (point: typeof at | undefined) =>
    ids.map((id) => {
      const { state, content } = atOnce(memoryAt(history, branches.contents, id, point))
      return [state, content]
    })
  expect(shown(at)).toEqual([
    ['live', '0\n'],
    ['displaced', undefined],
  ])
  expect(shown(undefined)).toEqual([
    ['live', '0\n'],
    ['live', '1\n'],
  ])
})

test('lines are not counted against a redacted version', async () => {
  const { store, ask } = await newConsole()
  const me = store.as(author)
  for (const text of ['one\n', 'secret\n', 'three\n']) await me.write('/a.md', text)
  const [row] = (await ask('memories.tree', {})).memories
  const { memoryId = '' } = row ?? {}
  const second = (await ask('memory.versions', { memoryId })).data[1]?.versionId ?? ''
  await me.redact({ select: { versionIds: [second] }, reason: 'legal' })
  const { data } = await ask('memory.versions', { memoryId })
  expect(data.map(({ added, removed }) => [added, removed])).toEqual([
    [undefined, undefined],
    [undefined, undefined],
    [1, 0],
  ])
  expect(data[1]?.redactedAt).toBeTypeOf('number')
})

test('an update to the current text writes nothing; one without a change is refused', async () => {
  const { store, ask } = await newConsole()
  const { memoryId, versionId, sha256 } = await ask('memory.create', { path: '/a', content: 'a' })
  const { head } = await store.status()
  const same = { memoryId, content: 'a', path: '/a', expectedSha256: sha256 }
  expect(await ask('memory.update', same)).toEqual({
    commit: undefined,
    memoryId,
    versionId,
    sha256,
  })
  const empty = ask('memory.update', { memoryId, expectedSha256: sha256 })
  await expect(empty).rejects.toMatchObject({ code: 'invalid_input' })
  expect((await store.status()).head).toBe(head)
})

test('of two concurrent edits of one text, one is refused', async () => {
  const { ask } = await newConsole()
  const { memoryId, sha256 } = await ask('memory.create', { path: '/a', content: 'a' })
  const edit = (content: string) =>
    ask('memory.update', { memoryId, content, path: `/${content}`, expectedSha256: sha256 })
  const [first, second] = await Promise.allSettled([edit('b'), edit('c')])
  expect(first.status).toBe('fulfilled')
  expect(second).toMatchObject({ status: 'rejected', reason: { code: 'precondition_failed' } })
  expect((await ask('memories.tree', {})).memories.map(({ path }) => path)).toEqual(['/b'])
})
