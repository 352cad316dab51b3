// A new session: what the suite over HTTP cannot see.

import { expect, test } from 'vitest'
import { createSession } from '../../../src/operations/host-operations.ts'

test('refuses many stores before it opens one, since there may be half a million', () => {
  let looks = 0
  const resource = {
    get type() {
      looks += 1
      return 'memory_store'
    },
    memory_store_id: 'memstore_x',
  }
  const isTaken = (count: number): boolean =>
    createSession.input.safeParse({ resources: Array.from({ length: count }, () => resource) })
      .success
  expect([isTaken(9), looks]).toEqual([false, 0])
  expect(isTaken(8)).toBe(true)
})
