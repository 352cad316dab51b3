// The operations of callers who see one directory: what they check still holds when they write.

import { expect, test, vi } from 'vitest'
import { restorePath } from '../../../src/operations/path-operations.ts'
import { author, contentsOf, newStore } from '../../support/stores.ts'

test('does not bring back a memory that left the directory after the check', async () => {
  const { store } = await newStore()
  const me = store.as(author)
  await me.write('/in/a.md', 'old')
  const { versionId } = (await store.read('/in/a.md')) ?? {}
  await me.write('/in/a.md', 'new')
  const restore = me.restore.bind(me)
  vi.spyOn(me, 'restore').mockImplementation(async (request, options) => {
    const answer = await restore(request, options)
    if (options?.dryRun === true) await me.move('/in/a.md', '/out/a.md')
    return answer
  })
  const context = { store, me, access: 'read_write', root: '/in' } as const
  const to = versionId === undefined ? undefined : { versionId }
  await expect(restorePath.run(context, { path: '/in/a.md', to })).rejects.toMatchObject({
    code: 'precondition_failed',
  })
  expect(await contentsOf(store)).toEqual({ '/out/a.md': 'new' })
})
