// Turns that many callers share: one with many requests delays only its own.

import { describe, expect, test } from 'vitest'
import { FairQueue, FairTurns, type TurnOwner } from '../../src/fair-queue.ts'

const by = (key: string, session = key): TurnOwner => ({ key, session })

describe('a fair queue', () => {
  test('gives items of one session in their order', () => {
    const queue = new FairQueue<number>()
    for (const item of [1, 2, 3]) queue.push(by('a'), item)
    expect(all(queue)).toEqual([1, 2, 3])
  })

  test('lets keys take turns, and within a key its sessions', () => {
    const queue = new FairQueue<string>()
    for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push(by('a', 'busy'), item)
    queue.push(by('b'), 'b1')
    queue.push(by('a', 'quiet'), 'q1')
    queue.push(by('b'), 'b2')
    expect(all(queue)).toEqual(['a1', 'b1', 'q1', 'b2', 'a2', 'a3', 'a4'])
  })

  test('gives a key that comes back a turn after those that wait', () => {
    const queue = new FairQueue<string>()
    queue.push(by('a'), 'a1')
    queue.push(by('b'), 'b1')
    queue.push(by('b'), 'b2')
    expect(queue.shift()).toBe('a1')
    queue.push(by('a'), 'a2')
    expect(all(queue)).toEqual(['b1', 'a2', 'b2'])
  })

  test('keeps the item whose turn it is in front of later ones', () => {
    const queue = new FairQueue<string>()
    queue.push(by('a', 'one'), 'first')
    for (const owner of [by('b'), by('a', 'two'), by('a', 'one')]) queue.push(owner, 'later')
    expect(queue.peek()).toBe('first')
    expect(queue.shift()).toBe('first')
  })

  test('is empty after its last item', () => {
    const queue = new FairQueue<string>()
    expect([queue.peek(), queue.shift()]).toEqual([undefined, undefined])
    queue.push(by('a'), 'a')
    expect(all(queue)).toEqual(['a'])
    expect([queue.peek(), queue.shift()]).toEqual([undefined, undefined])
  })
})

test('a key with one task waits for those that run, not for all of a busy key', async () => {
  const turns = new FairTurns(2)
  const begun: string[] = []
  const ends: (() => void)[] = []
  const tasks = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1'].map((name) =>
    turns.run(by(name.slice(0, 1)), async () => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.push(resolve))
    }),
  )
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  while (ends.length > 0 || begun.length < tasks.length) {
    await settled()
    ends.shift()?.()
  }
  await Promise.all(tasks)
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'a4', 'a5'])
})

test('a task that fails gives its turn on', async () => {
  const turns = new FairTurns(1)
  const failed = turns.run(by('a'), () => Promise.reject(new Error('planned')))
  const next = turns.run(by('a'), async () => 'done')
  await expect(failed).rejects.toThrow('planned')
  await expect(next).resolves.toBe('done')
})

function all<T>(queue: FairQueue<T>): (T | undefined)[] {
  const items: (T | undefined)[] = []
  while (queue.peek() !== undefined) items.push(queue.shift())
  return items
}
