// T35: whatever a sender without a key sends, checking it keeps within its budget of work, which
// follows from the bytes that were sent, and gives way after each entry. What passes has the index
// that stock git makes of it.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { unwatched } from '../../src/async.ts'
import { equalBytes } from '../../src/bytes.ts'
import { hasCode } from '../../src/errors.ts'
import { type CheckedPack, checkPack } from '../../src/git/pack/pack-resolve.ts'
import { WorkBudget } from '../../src/git/pack/work-budget.ts'
import { objectBytesMax } from '../../src/limits.ts'
import { atOnce, inSlices as runInSlices } from '../../src/time-slice.ts'
import { chain, fan, hostileEntries, inRam, packOf } from '../support/hostile-packs.ts'
import { bareRepository } from '../support/pack-fixtures.ts'
import { full, seed } from '../support/seed.ts'
import { cleanEnvironment, temporaryDirectory } from '../support/temporary.ts'
import { inSlices, mostInOneTurn } from '../support/turns.ts'

interface Outcome {
  readonly budget: WorkBudget
  /** Undefined for a pack that is refused. */
  readonly checked: CheckedPack | undefined
}

function check(pack: Uint8Array): Outcome {
  const budget = new WorkBudget(pack.length, unwatched)
  try {
    return { budget, checked: atOnce(checkPack(inRam(pack), { watch: unwatched, budget })) }
  } catch (error) {
    expect(hasCode(error, 'pack_corrupt')).toBe(true)
    return { budget, checked: undefined }
  }
}

function indexByGit(repository: string, pack: Uint8Array): Uint8Array {
  const [path, index] = [join(repository, 'out/some.pack'), join(repository, 'out/some.idx')]
  writeFileSync(path, pack)
  const how = { cwd: repository, env: cleanEnvironment(), encoding: 'utf8' } as const
  const { status, stderr } = spawnSync('git', ['index-pack', '-o', index, path], how)
  expect(`${status} ${stderr}`).toBe('0 ')
  return readFileSync(index)
}

test('no hostile pack takes more work than its budget', { tags: 'slow' }, () => {
  const repository = temporaryDirectory()
  bareRepository(repository)
  mkdirSync(join(repository, 'out'))
  const seen = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(hostileEntries, (entries) => {
      const pack = packOf(entries)
      const { budget, checked } = check(pack)
      // What ends the work is at most one object above it.
      expect(budget.spent).toBeLessThanOrEqual(budget.bytesMax + 2 * objectBytesMax)
      seen[checked === undefined ? 'refused' : 'accepted'] += 1
      if (checked === undefined) return
      expect(budget.spent).toBeLessThanOrEqual(budget.bytesMax)
      const index = checked.encodeIndex(pack.subarray(-20))
      expect(equalBytes(index, indexByGit(repository, pack))).toBe(true)
    }),
    { seed, numRuns: full ? 10_000 : 100 },
  )
  expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(5)
})

test.each([
  ['a chain', chain(40, 300)],
  ['a fan', fan(40, 300)],
])('checking %s gives way after each entry', async (_, entries) => {
  const moments: number[] = []
  await inSlices((turn) => {
    const visit = (): void => void moments.push(turn())
    return runInSlices(checkPack(inRam(packOf(entries)), { watch: unwatched, visit }))
  })
  expect(moments).toHaveLength(41)
  expect(mostInOneTurn(moments)).toBe(1)
})
