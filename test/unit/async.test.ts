import { expect, test } from 'vitest'
import { Turns } from '../../src/async.ts'

test('turns run so many tasks at a time, in order, also after one that failed', async () => {
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
