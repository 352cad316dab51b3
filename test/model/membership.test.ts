// FORMAT §7 to §9 as a small model: a store of three devices, a host that replays, and one who
// means harm. All orders of actions to a depth, and random ones beyond it.

import { describe, expect, test } from 'vitest'
import { type Hostile, Worlds } from './worlds.ts'

const isFull = process.env['FULL'] === '1'
const hostile: readonly Hostile[] = ['nobody', 'O2', 'W', 'passphrase', 'grant']

function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

describe.each(hostile)('a store that is attacked by %s', (who) => {
  test('keeps its promises in every order of a few actions', { tags: 'slow' }, () => {
    const worlds = new Worlds({ hostile: who, remotes: 1, replays: 1 })
    const { states, violations } = worlds.explore(isFull ? 4 : 3)
    expect(violations).toEqual([])
    expect(states).toBeGreaterThan(1000)
  })

  test('keeps them on long ways', { tags: 'slow' }, () => {
    const worlds = new Worlds({ hostile: who, remotes: 1, replays: 2 })
    const { violations } = worlds.walk(isFull ? 2000 : 50, 14, randomOf(12_345))
    expect(violations).toEqual([])
  })
})

// Without an owner who means harm, who may show each remote another store: that is in an owner's
// power (THREAT-MODEL).
test.each(hostile.filter((who) => who !== 'O2'))(
  'a store with two remotes where harm comes from %s keeps its promises on long ways',
  { tags: 'slow' },
  (who) => {
    const worlds = new Worlds({ hostile: who, remotes: 2, replays: 2 })
    const { violations } = worlds.walk(isFull ? 1500 : 50, 14, randomOf(12_345))
    expect(violations).toEqual([])
  },
)
