import { expect, test } from 'vitest'
import { SharedGate, Turns } from '../../src/async.ts'

test('turns run at most two tasks at a time, in order, even after one that failed', async () => {
  const turns = new Turns(2)
  const started: number[] = []
  const ends: (() => void)[] = []
  const tasks = [0, 1, 2, 3].map((n) =>
    turns.run(async () => {
      started.push(n)
      await new Promise<void>((resolve) => ends.push(resolve))
      if (n === 0) throw new Error('failed')
      return n
    }),
  )
  expect(started).toEqual([0, 1])
  ends[0]?.()
  await expect(tasks[0]).rejects.toThrow('failed')
  expect(started).toEqual([0, 1, 2])
  for (let n = 1; n < 4; n += 1) {
    ends[n]?.()
    expect(await tasks[n]).toBe(n)
  }
  expect(started).toEqual([0, 1, 2, 3])
  expect(await turns.run(async () => 'free again')).toBe('free again')
})

test('equal requests that wait share one run, which begins after all of them', async () => {
  const gate = new SharedGate<string, number>((one, other) => one === other)
  const ends: (() => void)[] = []
  const started: string[] = []
  const ask = (request: string): Promise<number> =>
    gate.run(request, async () => {
      started.push(request)
      await new Promise<void>((resolve) => ends.push(resolve))
      return started.length
    })
  const end = async (): Promise<void> => {
    await expect.poll(() => ends.length).toBeGreaterThan(0)
    ends.shift()?.()
  }
  const first = ask('a')
  await expect.poll(() => started).toEqual(['a'])
  // The one that runs may have passed what these wait for.
  const waiting = [ask('a'), ask('b'), ask('a'), ask('a')]
  await end()
  expect(await first).toBe(1)
  await end()
  await end()
  expect(await Promise.all(waiting)).toEqual([2, 3, 2, 2])
  expect(started).toEqual(['a', 'a', 'b'])
})
