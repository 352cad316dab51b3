// The bytes that requests of one key hold together: a request that needs more waits for its turn.

import { expect, test } from 'vitest'
import { HeldBytes } from '../../../src/server/key-limits.ts'

/** The requests that were given bytes, in order, and a way to ask. */
function asking(max: number): {
  readonly held: HeldBytes
  readonly given: string[]
  readonly take: (name: string, bytes: number, session?: string) => void
} {
  const held = new HeldBytes(max)
  const given: string[] = []
  const take = (name: string, bytes: number, session = 'session'): void =>
    void held.take(session, bytes).then(() => given.push(name))
  return { held, given, take }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('bytes are granted as they are freed, in order, and always to a single request', async () => {
  const { held, given, take } = asking(10)
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

test('a large request is not passed by small ones without end', async () => {
  const { held, given, take } = asking(10)
  take('small', 3)
  take('small', 3)
  take('large', 9)
  for (let round = 0; round < 10; round += 1) {
    // There is room for this one at once, but not in front of the large one.
    take('small', 3, `session ${round}`)
    await settled()
    if (given.includes('large')) break
    held.replace(3, 0)
    await settled()
  }
  expect(given).toEqual(['small', 'small', 'large'])
})

test('the sessions of a key take turns', async () => {
  const { held, given, take } = asking(10)
  for (const name of ['a1', 'a2', 'a3', 'a4']) take(name, 10, 'a')
  take('b1', 10, 'b')
  await settled()
  expect(given).toEqual(['a1'])
  for (let done = 0; done < 5; done += 1) {
    held.replace(10, 0)
    await settled()
  }
  expect(given).toEqual(['a1', 'a2', 'b1', 'a3', 'a4'])
})
