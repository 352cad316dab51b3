// What commands tell the holder of a grant, whose clone lacks the earlier history.
// @module-tag slow

import { expect, test } from 'vitest'
import { needHistory, notePartial } from '../../../src/cli/store/granted.ts'
import { givenGrant, hold } from '../../support/grant-holders.ts'

test('a list of all needs the whole history, and an undo reports its limit', async () => {
  const held = await hold(await givenGrant())
  const notices: string[] = []
  const needed = { code: 'history_needed', hint: expect.stringContaining('fetch --all') }
  expect(() => needHistory(held)).toThrow(expect.objectContaining(needed))
  notePartial({ notices }, held)
  expect(notices).toEqual([expect.stringContaining('before this clone began')])
  await held.history.fetchAll()
  expect(() => needHistory(held)).not.toThrow()
  notePartial({ notices }, held)
  expect(notices).toHaveLength(1)
  await held.close()
})
