// The search for what a redaction erases: what it reads, and where reasons are matched.

import { expect, test } from 'vitest'
import { Selector } from '../../../src/store/redaction/redaction-plan.ts'
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
  const search = async (matching: RegExp): Promise<readonly (string | undefined)[]> => {
    const selector = new Selector({ matching }, read.history, 0, () => ({
      ...read.contents,
      objects,
    }))
    return (await selector.search(read.history, {})).map(({ path }) => path)
  }
  expect(await search(/text 7$/)).toEqual(['/7.md'])
  expect(reads.filter((oid) => oid === head?.oid)).toHaveLength(1)
  // The reason of a change is that of its first row alone.
  expect(await search(/why/)).toHaveLength(1)
  await read.close()
  await store.close()
})

test('a search finds each version once, also where a merge moves it meanwhile', async () => {
  const { store, place } = await newStore()
  const read = await historyOf(store, place)
  const deletion = (memory: string): MadeCommit => {
    return { rows: [{ memory, operation: 'deleted', path: `/${memory}` }] }
  }
  const ours = ['one', 'two', 'secret three', 'four', 'secret five'].map(deletion)
  const theirs = ['secret six', 'seven', 'eight', 'secret nine'].map(deletion)
  const history = makeHistory(ours)
  const matching = /secret/
  const selector = new Selector({ matching }, history, 0, () => read.contents)
  const pathsOf = async (): Promise<readonly (string | undefined)[]> => {
    return (await selector.search(history, {})).map(({ path }) => path)
  }
  expect(await pathsOf()).toEqual(['/secret three', '/secret five'])
  history.become(makeHistory([...ours.slice(0, 2), ...theirs, ...ours.slice(2)]))
  const all = ['/secret six', '/secret nine', '/secret three', '/secret five']
  expect(await pathsOf()).toEqual(all)
  expect(await pathsOf()).toEqual(all)
  await read.close()
  await store.close()
})
