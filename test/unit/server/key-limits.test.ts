// How much one API key may ask, by a clock of the test.

import { describe, expect, test } from 'vitest'
import { KeyLimits } from '../../../src/server/key-limits.ts'
import type { ServerLimits } from '../../../src/server/options.ts'

const HOUR = 3_600_000
const limited = expect.objectContaining({ code: 'rate_limited' })
let now = 0

function limitsOf(options: Partial<ServerLimits>): KeyLimits {
  now = Date.UTC(2026, 0, 1)
  const all = {
    inFlightPerKey: 100,
    requestsPerSecondPerKey: 100,
    streamsPerKey: 2,
    heldBytesPerKey: 100,
    matchingMsPerMinutePerKey: 6000,
    ...options,
  }
  return new KeyLimits(all, () => now)
}

describe('requests in a second', () => {
  const limits = (): KeyLimits => limitsOf({ requestsPerSecondPerKey: 2 })
  const ask = (one: KeyLimits): void => one.enter('key', 'session').leave()

  test('are refused beyond the limit, and let in as time passes', () => {
    const one = limits()
    ask(one)
    ask(one)
    expect(() => ask(one)).toThrow(limited)
    now += 500
    ask(one)
    expect(() => ask(one)).toThrow(limited)
  })

  test('are let in although the clock was set back an hour', () => {
    const one = limits()
    ask(one)
    now -= HOUR
    ask(one)
    expect(() => ask(one)).toThrow(limited)
    now += 500
    ask(one)
  })
})

test('the streams of a key are counted until they have left', () => {
  const limits = limitsOf({})
  const [first, second, third] = ['one', 'other', 'one'].map((who) => limits.enter('key', who))
  first?.beginStream()
  second?.beginStream()
  expect(() => third?.beginStream()).toThrow(limited)
  limits.enter('another key', 'one').beginStream()
  first?.leave()
  third?.beginStream()
})

describe('the time for regular expressions', () => {
  test('is that of a key in a minute, for all its sessions', () => {
    const limits = limitsOf({})
    const [one, other] = [limits.enter('key', 'one'), limits.enter('key', 'other')]
    one.checkMatching()
    one.matched(4000)
    other.checkMatching()
    other.matched(4000)
    for (const stay of [one, other]) expect(() => stay.checkMatching()).toThrow(limited)
    limits.enter('another key', 'one').checkMatching()
    now += 19_000
    expect(() => one.checkMatching(), 'two seconds more than allowed come first').toThrow(limited)
    now += 2000
    one.checkMatching()
  })

  test('comes back although the clock was set back an hour', () => {
    const stay = limitsOf({}).enter('key', 'session')
    stay.matched(6000)
    now -= HOUR
    expect(() => stay.checkMatching()).toThrow(limited)
    now += 1000
    stay.checkMatching()
  })
})
