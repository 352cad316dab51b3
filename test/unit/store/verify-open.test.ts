// An open store is verified like a store on disk, even if its history is so long that the packs are
// read with their indexes in RAM.

import { expect, test } from 'vitest'
import { worthwhileCommits } from '../../../src/store/verify/packed-objects.ts'
import { author, newStore } from '../../support/stores.ts'

test('an open store with a long history is verified', { tags: 'slow' }, async () => {
  const { store } = await newStore()
  const writes = Array.from({ length: worthwhileCommits }, (_, n) => {
    return store.as(author).write('/a.md', `${n}`)
  })
  await Promise.all(writes)
  await store.maintenance.checkpoint()
  const { commits } = await store.maintenance.verify({ threads: 0 })
  expect(commits).toBeGreaterThan(worthwhileCommits)
  await store.close()
})
