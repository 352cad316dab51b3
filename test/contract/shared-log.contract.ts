// What every SharedLog promises, whatever keeps it.

import { describe, expect, test } from 'vitest'
import type { BaseChange, SharedLog } from '../../src/git/replica/shared-log.ts'

/** Two servers' views of one new log. */
export type CreateLogs = () => Promise<readonly [SharedLog, SharedLog]>

const ids = ['a'.repeat(32), 'b'.repeat(32), 'c'.repeat(32)] as const

function body(number: number, length: number = 40): Uint8Array {
  return new Uint8Array(length).fill(number)
}

async function partsOf(log: SharedLog, id: string): Promise<readonly number[]> {
  const found: number[] = []
  for await (const part of log.parts(id)) found.push(part[0] ?? -1)
  return found
}

async function numbersOf(log: SharedLog, after = 0): Promise<readonly number[]> {
  return (await log.entries(after, 1_000_000)).map(({ number }) => number)
}

function change(number: number, id: string, more: Partial<BaseChange> = {}): BaseChange {
  return { expected: 0, base: { number, id }, removeTo: 0, erases: false, ...more }
}

export function describeSharedLog(kind: string, create: CreateLogs): void {
  describe(`shared log (${kind})`, () => {
    test('a new log is empty', async () => {
      const [a] = await create()
      expect(await a.position()).toEqual({ number: 0, base: 0 })
      expect(await a.entries(0, 1000)).toEqual([])
      expect(await a.base()).toBeUndefined()
      expect(await partsOf(a, ids[0])).toEqual([])
    })

    test('entries are appended in turn, by any server, and read in order', async () => {
      const [a, b] = await create()
      expect(await a.append(1, body(1))).toBe(true)
      expect(await b.append(2, body(2))).toBe(true)
      expect(await a.append(2, body(9))).toBe(false)
      expect(await a.append(4, body(9))).toBe(false)
      expect(await a.append(3, body(3))).toBe(true)
      expect(await b.position()).toEqual({ number: 3, base: 0 })
      const entries = await b.entries(1, 1_000_000)
      expect(entries.map(({ number, body: [first] }) => [number, first])).toEqual([
        [2, 2],
        [3, 3],
      ])
    })

    test('one of two appends at once wins', async () => {
      const [a, b] = await create()
      for (let number = 1; number <= 10; number += 1) {
        const won = await Promise.all([a.append(number, body(1)), b.append(number, body(2))])
        expect(won.filter(Boolean)).toHaveLength(1)
        const [entry] = await a.entries(number - 1, 1)
        expect(entry?.body[0]).toBe(won[0] ? 1 : 2)
      }
    })

    test('as much is read at a time as was asked for, and at least one entry', async () => {
      const [a] = await create()
      for (let number = 1; number <= 6; number += 1) await a.append(number, body(number, 1000))
      expect((await a.entries(0, 1)).map(({ number }) => number)).toEqual([1])
      expect((await a.entries(2, 2500)).length).toBeLessThanOrEqual(3)
      expect(await numbersOf(a, 2)).toEqual([3, 4, 5, 6])
    })

    test('a number that was removed is not given again', async () => {
      const [a, b] = await create()
      for (let number = 1; number <= 5; number += 1) await a.append(number, body(number))
      await a.putPart(ids[0], 0, body(1))
      expect(await a.setBase(change(5, ids[0], { removeTo: 5 }))).toBe(true)
      expect(await numbersOf(b)).toEqual([])
      for (const number of [1, 3, 5]) expect(await b.append(number, body(9))).toBe(false)
      expect(await b.append(6, body(6))).toBe(true)
    })

    test('a claim refuses the appends of others until the holder appends or releases', async () => {
      const [a, b] = await create()
      expect(await a.claim()).toBe(true)
      expect(await a.claim()).toBe(true)
      expect(await b.claim()).toBe(false)
      expect(await b.append(1, body(2))).toBe(false)
      expect(await a.append(1, body(1))).toBe(true)
      expect(await b.append(2, body(2))).toBe(true)
      expect(await b.claim()).toBe(true)
      await a.release()
      expect(await a.append(3, body(1))).toBe(false)
      await b.release()
      expect(await a.append(3, body(1))).toBe(true)
    })

    test('a claim of a server that died ends by itself', async () => {
      const [a, b] = await create()
      expect(await a.claim()).toBe(true)
      await expect.poll(() => b.append(1, body(2))).toBe(true)
    })

    test('parts are read in their order, and an entry with a missing one is refused', async () => {
      const [a, b] = await create()
      for (const part of [2, 0, 1, 1]) await a.putPart(ids[0], part, body(part, 100_000))
      expect(await partsOf(b, ids[0])).toEqual([0, 1, 2])
      expect(await a.append(1, body(1), { id: ids[0], count: 4 })).toBe(false)
      expect(await a.append(1, body(1), { id: ids[1], count: 1 })).toBe(false)
      expect(await a.append(1, body(1), { id: ids[0], count: 3 })).toBe(true)
      // They are named now.
      await a.removeParts(ids[0])
      expect(await partsOf(b, ids[0])).toEqual([0, 1, 2])
      await a.putPart(ids[1], 0, body(1))
      await a.removeParts(ids[1])
      expect(await partsOf(b, ids[1])).toEqual([])
    })

    test('a base takes the place of the expected one alone, with its parts', async () => {
      const [a, b] = await create()
      await a.putPart(ids[2], 0, body(3))
      await a.append(1, body(1), { id: ids[2], count: 1 })
      await a.append(2, body(2))
      await a.putPart(ids[0], 0, body(1))
      await b.putPart(ids[1], 0, body(2))
      expect(await a.setBase(change(2, ids[0]))).toBe(true)
      expect(await b.setBase(change(2, ids[1]))).toBe(false)
      expect(await b.base()).toEqual({ number: 2, id: ids[0] })
      expect(await b.position()).toEqual({ number: 2, base: 2 })
      expect(await numbersOf(b)).toEqual([1, 2])
      // The parts of another server's unfinished work.
      expect(await partsOf(a, ids[1])).toEqual([2])
      await a.append(3, body(3))
      expect(await b.setBase(change(3, ids[1], { expected: 2, removeTo: 2 }))).toBe(true)
      expect(await numbersOf(a)).toEqual([3])
      expect(await partsOf(a, ids[0])).toEqual([])
      expect(await partsOf(a, ids[2])).toEqual([])
      expect(await partsOf(a, ids[1])).toEqual([2])
    })

    test('a base leaps far above a log that is where it was expected', async () => {
      const [a, b] = await create()
      await a.append(1, body(1))
      await a.append(2, body(2))
      await b.putPart(ids[0], 0, body(1))
      const leaps = change(1000, ids[0], { removeTo: 1000, erases: true })
      expect(await b.setBase({ ...leaps, leapsFrom: 1 })).toBe(false)
      expect(await b.position()).toEqual({ number: 2, base: 0 })
      expect(await b.setBase({ ...leaps, leapsFrom: 2 })).toBe(true)
      expect(await a.position()).toEqual({ number: 1000, base: 1000 })
      expect(await numbersOf(a)).toEqual([])
      expect(await a.append(3, body(3))).toBe(false)
      expect(await a.append(1001, body(3))).toBe(true)
    })

    test('a base that erases leaves no parts of unfinished work', async () => {
      const [a, b] = await create()
      await a.append(1, body(1))
      await b.putPart(ids[1], 0, body(2))
      await a.putPart(ids[0], 0, body(1))
      expect(await a.setBase(change(1, ids[0], { removeTo: 1, erases: true }))).toBe(true)
      expect(await partsOf(a, ids[1])).toEqual([])
      expect(await b.append(2, body(2), { id: ids[1], count: 1 })).toBe(false)
      expect(await b.append(2, body(2))).toBe(true)
    })
  })
}
