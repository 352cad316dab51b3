// The search for what a redaction erases: what it reads, and where reasons are matched.

import { expect, test } from 'vitest'
import { Planner } from '../../../src/store/redaction/redaction-plan.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { historyOf, type MadeCommit, makeHistory } from '../../support/histories.ts'
import { author, newStore } from '../../support/stores.ts'

test('a search reads a commit of many versions once, and not for each of them', async () => {
  const { store, place } = await newStore()
  const creates = Array.from({ length: 50 }, (_, n) => {
    return { type: 'create', path: `/${n}.md`, content: `text ${n}` } as const
  })
  await store.as({ ...author, reason: 'why' }).apply(creates)
  const read = await historyOf(store, place)
  const { head } = read.history
  const reads: string[] = []
  const objects = {
    read: (oid: string) => {
      reads.push(oid)
      return read.contents.objects.read(oid)
    },
  }
  const search = (matching: RegExp): readonly (string | undefined)[] => {
    const request = { select: { matching } }
    const planner = new Planner(request, 0, () => ({ ...read.contents, objects }))
    return atOnce(planner.plan(read.history, {})).entries.map(({ path }) => path)
  }
  expect(search(/text 7$/)).toEqual(['/7.md'])
  expect(reads.filter((oid) => oid === head?.oid)).toHaveLength(1)
  // The reason of a change is that of its first row alone.
  expect(search(/why/)).toHaveLength(1)
  await read.close()
  await store.close()
})

test('a search finds each version once, also if a merge moves it between two plans', async () => {
  const { store, place } = await newStore()
  const read = await historyOf(store, place)
  const deletion = (memory: string): MadeCommit => {
    return { rows: [{ memory, operation: 'deleted', path: `/${memory}` }] }
  }
  const ours = ['one', 'two', 'secret three', 'four', 'secret five'].map(deletion)
  const theirs = ['secret six', 'seven', 'eight', 'secret nine'].map(deletion)
  const history = makeHistory(ours)
  const planner = new Planner({ select: { matching: /secret/ } }, 0, () => read.contents)
  const pathsOf = (): readonly (string | undefined)[] => {
    return atOnce(planner.plan(history, {})).entries.map(({ path }) => path)
  }
  expect(pathsOf()).toEqual(['/secret three', '/secret five'])
  history.become(makeHistory([...ours.slice(0, 2), ...theirs, ...ours.slice(2)]))
  const all = ['/secret six', '/secret nine', '/secret three', '/secret five']
  expect(pathsOf()).toEqual(all)
  expect(pathsOf()).toEqual(all)
  await read.close()
  await store.close()
})
