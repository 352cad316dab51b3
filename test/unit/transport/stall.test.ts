// How long a conversation with a remote may last: signs of life prolong it only so far, data as
// often as there is some.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { MEBIBYTE } from '../../../src/limits.ts'
import { awaitMoved, Endurance } from '../../../src/transport/stall.ts'

const timeoutMs = 1000
let now = 0

beforeEach(() => {
  now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
})
afterEach(() => vi.restoreAllMocks())

function newEndurance(): Endurance {
  return new Endurance(timeoutMs, undefined)
}

describe('the wait for the next sign of life', () => {
  test('is the timeout until ten of them have passed without data', () => {
    const endurance = newEndurance()
    const waits = [0, 8999, 9500, 10_000].map((at) => {
      now = at
      endurance.heard(5)
      return endurance.leftOf(now)
    })
    expect(waits).toEqual([1000, 1000, 500, 0])
  })

  test('begins again with enough data', () => {
    const endurance = newEndurance()
    now = 9500
    endurance.moved(65_535)
    expect(endurance.leftOf(now)).toBe(500)
    endurance.moved(1)
    expect(endurance.leftOf(now)).toBe(1000)
  })

  test('begins again with each piece that is sent', () => {
    const endurance = newEndurance()
    now = 900
    endurance.moved(1)
    now = 1500
    expect(endurance.leftOf(0)).toBe(400)
    now = 1900
    expect(endurance.leftOf(0)).toBe(0)
  })

  test('is longer after a large request, until something is heard', () => {
    const endurance = newEndurance()
    endurance.sent(4 * MEBIBYTE - 1)
    expect(endurance.leftOf(now)).toBe(1000)
    endurance.sent(8 * MEBIBYTE)
    expect(endurance.leftOf(now)).toBe(3000)
    endurance.sent(1024 * MEBIBYTE)
    expect(endurance.leftOf(now)).toBe(10_000)
    endurance.heard(0)
    expect(endurance.leftOf(now)).toBe(1000)
  })

  test('does not take place after its end', async () => {
    const endurance = newEndurance()
    now = 10_000
    const wait = awaitMoved(Promise.resolve('there at once'), endurance)
    await expect(wait).rejects.toMatchObject({ code: 'remote_timeout' })
  })
})

test.each([
  ['packets', 1, 65_536],
  ['bytes', 4096, 1024],
])('what is no data ends after so many %s', (_, bytes, times) => {
  const endurance = newEndurance()
  for (let n = 0; n < times; n += 1) endurance.heard(bytes)
  expect(() => endurance.heard(bytes)).toThrow(expect.objectContaining({ code: 'remote_protocol' }))
})
