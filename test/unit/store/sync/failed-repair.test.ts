// A repair that does not reach the host: the wrong head of the host is still refused by the next
// sync (FORMAT §9).

import { describe, expect, test } from 'vitest'
import { sync } from '../../../support/clones.ts'
import { answer, on, pushing } from '../../../support/git-server.ts'
import {
  branchOf,
  copyRemote,
  create,
  expectInStep,
  expectRefused,
  moveBranch,
  pairsOfClones,
  repair,
  swapRemotes,
} from '../../../support/hostile-remotes.ts'
import { serve, type ServedPair } from '../../../support/served-pair.ts'

const pairOfClones = pairsOfClones()

async function expectStillRefused({ a, b, server, remote }: ServedPair): Promise<void> {
  await expectRefused(b, 'rolled_back')
  server.fault = on(pushing, answer(500, 'No'))
  await expect(repair(b)).rejects.toMatchObject({ code: 'remote_busy' })
  server.fault = undefined
  await expectRefused(b, 'rolled_back')
  await repair(b)
  await sync(b)
  await sync(a)
  await expectInStep(remote, [a, b])
}

describe('after a repair whose push fails, a sync still refuses', () => {
  test('a host that shows an older head', { tags: 'slow' }, async () => {
    const pair = await serve(await pairOfClones())
    const older = branchOf(pair.remote)
    await create(pair.b, '/since.md')
    await sync(pair.b)
    moveBranch(pair.remote, older)
    await expectStillRefused(pair)
  })

  test(
    'a host that was rolled back, and then received commits of another machine',
    { tags: 'slow' },
    async () => {
      const pair = await serve(await pairOfClones())
      const older = copyRemote(pair.remote)
      await create(pair.b, '/since.md')
      await sync(pair.b)
      swapRemotes(pair.remote, older)
      await create(pair.a, '/other.md')
      await sync(pair.a)
      await expectStillRefused(pair)
    },
  )
})
