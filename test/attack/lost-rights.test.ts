// T32, T43, T50: no one brings in changes made with a right that the history has taken away, by its
// own merge or by another member's; keyrings that changed apart are never merged. FORMAT §7.2,
// §7.4.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { type Clones, standardClones } from '../support/forged-clones.ts'
import { keptRights, lostRights } from '../support/forged-rights.ts'
import { accepted, refused, verdicts } from '../support/standard-forge.ts'

let clones: () => Clones
beforeAll(async () => {
  clones = await standardClones('lost rights')
})

test.each(keptRights)('%s: %s', async (_, __, forging) => {
  expect(await verdicts(forging(clones()))).toEqual(accepted)
})

describe('T32, T43, T50', () => {
  test.each(lostRights)('%s: %s', async (code, _, forging) => {
    expect(await verdicts(forging(clones()))).toEqual(refused(code))
  })
})
