// Which numbers are those of payment cards, and which only look like it. The numbers are published
// for tests.

import { describe, expect, test } from 'vitest'
import { findSecrets } from '../../../src/store/guard/find-secrets.ts'

const rulesIn = (content: string): readonly string[] => findSecrets(content).map(({ rule }) => rule)

describe('a payment card number is found', () => {
  test.each([
    '4111111111111111',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '5555555555554444',
    '2223003122003222',
    '378282246310005',
    '3782 822463 10005',
    '30569309025904',
    '3056 930902 5904',
    '6011111111111117',
    '3530111333300000',
    '6205500000000000004',
    '4222222222222',
  ])('%s', (number) => {
    for (const [before, after] of [
      ['', ''],
      ['card: ', ', valid 12/27'],
      ['(', ')'],
      ['12 ', '.'],
    ]) {
      expect(rulesIn(`${before}${number}${after}`)).toEqual(['payment card number'])
    }
  })

  test.each([
    ['a wrong check digit', '4111111111111112'],
    ['an unknown prefix', '9111111111111111'],
    ['a longer number', '14111111111111111'],
    ['in a longer number', '41111111111111110000000'],
    ['in a decimal fraction', '0.4111111111111111'],
    ['in an identifier', 'order_4111111111111111'],
    ['in hex digits', 'a4111111111111111'],
    ['in a UUID', '41111111-1111-1111-1111-411111111111'],
    ['in a table of figures', '4111 1111 1111 1111 1111'],
    ['in a table of figures, later', '1200 4111 1111 1111 1111'],
    ['mixed separators', '4111-1111 1111-1111'],
    ['a time in ms', '1732147200000'],
  ])('not: %s', (_, content) => {
    expect(rulesIn(content)).toEqual([])
  })
})
