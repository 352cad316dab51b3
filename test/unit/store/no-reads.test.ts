// A store that keeps writing reads nothing of its own again: no text that it has just written, and
// no commit to count it.

import { expect, test } from 'vitest'
import { countedDisk } from '../../support/counted-disk.ts'
import { author, newStore } from '../../support/stores.ts'

test('does not read the newest texts again after they are packed', async () => {
  const { disk, counts } = countedDisk()
  const { store } = await newStore({ disk })
  const me = store.as(author)
  const path = '/a.md'
  await me.write(path, 'one')
  await me.edit(path, (text) => `${text} two`)
  await store.maintenance.checkpoint()
  const before = counts.reads
  await me.edit(path, (text) => `${text} three`)
  await me.move(path, '/b.md')
  expect((await store.read('/b.md'))?.content).toBe('one two three')
  expect((await store.status()).commits).toBe(5)
  expect(counts.reads).toBe(before)
  await store.close()
})
