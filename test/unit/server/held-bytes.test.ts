// What requests hold together: who needs more waits, in order.

import { expect, test } from 'vitest'
import { HeldBytes } from '../../../src/server/held-bytes.ts'

test('bytes are given as they are left, in order, and to one alone always', async () => {
  const held = new HeldBytes(10)
  const given: string[] = []
  const take = (name: string, bytes: number): void =>
    void held.take(bytes).then(() => given.push(name))
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  take('a', 6)
  take('b', 4)
  take('c', 25)
  take('d', 1)
  await settled()
  expect(given).toEqual(['a', 'b'])
  held.replace(6, 1)
  await settled()
  expect(given, 'd came later than c').toEqual(['a', 'b'])
  held.replace(1, 0)
  held.replace(4, 0)
  await settled()
  expect(given).toEqual(['a', 'b', 'c'])
  held.replace(25, 3)
  await settled()
  expect(given).toEqual(['a', 'b', 'c', 'd'])
})
