// FORMAT §7 to §9 as a small model: a store of three devices, a host that replays, and one who
// means harm. All orders of actions to a depth, and random ones beyond it.

import { describe, expect, test } from 'vitest'
import type { Rule } from './ledger.ts'
import { type Bounds, type Hostile, Worlds } from './worlds.ts'

const isFull = process.env['FULL'] === '1'
const hostile: readonly Hostile[] = ['nobody', 'O2', 'W', 'passphrase', 'grant']

const members = { about: 'members', granter: 'O2' } as const

function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

describe.each(hostile)('a store that is attacked by %s', (who) => {
  test('keeps its promises in every order of a few actions', { tags: 'slow' }, () => {
    const worlds = new Worlds({ ...members, hostile: who, remotes: 1, replays: 1 })
    const { states, violations } = worlds.explore(isFull ? 4 : 3)
    expect(violations).toEqual([])
    expect(states).toBeGreaterThan(1000)
  })

  test('keeps them on long ways', { tags: 'slow' }, () => {
    const worlds = new Worlds({ ...members, hostile: who, remotes: 1, replays: 2 })
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
    const worlds = new Worlds({ ...members, hostile: who, remotes: 2, replays: 2 })
    const { violations } = worlds.walk(isFull ? 1500 : 50, 14, randomOf(12_345))
    expect(violations).toEqual([])
  },
)

/** The granter of the grant that is active at first, and the one that means harm. */
const worldsOfGrants: readonly (readonly ['O2' | 'W', Hostile])[] = (['O2', 'W'] as const).flatMap(
  (granter) => (['nobody', 'O2', 'W', 'grant'] as const).map((who) => [granter, who] as const),
)

// Three actions reach 3800 to 9600 states, and four about 80,000 where W gave and means harm.
describe.each(worldsOfGrants)('a grant by %s, where harm comes from %s,', (granter, who) => {
  const bounds = { about: 'grants', granter, hostile: who, remotes: 1, replays: 1 } as const

  test('keeps its promises in every order of a few actions', { tags: 'slow' }, () => {
    const { states, violations } = new Worlds(bounds).explore(isFull ? 4 : 2)
    expect(violations).toEqual([])
    expect(states).toBeGreaterThan(isFull ? 20_000 : 250)
  })

  test('keeps them on long ways', { tags: 'slow' }, () => {
    const remotes = who === 'O2' ? 1 : 2
    const { violations } = new Worlds({ ...bounds, remotes }).walk(
      isFull ? 500 : 10,
      14,
      randomOf(12_345),
    )
    expect(violations).toEqual([])
  })
})

// Each rule of grants is there for something: without it the search finds a broken promise.
test.each<[Rule, Pick<Bounds, 'granter' | 'hostile' | 'role'>, string]>([
  [
    'keyring ends grants',
    { granter: 'W', hostile: 'nobody' },
    'a grant is active whose granter lost the right since',
  ],
  ['id names granter', { granter: 'O2', hostile: 'W' }, 'a grant ended, and none who may ended it'],
  [
    'S ends by keyring too',
    { granter: 'W', hostile: 'grant' },
    'a record of an ended grant is in a head',
  ],
  [
    'begun apart is ended by the other side',
    { granter: 'O2', hostile: 'grant' },
    'a grant is active whose granter lost the right since',
  ],
  [
    'proposer refused',
    { granter: 'O2', hostile: 'grant', role: 'proposer' },
    'a record of a proposer is valid',
  ],
])('without "%s" a grant breaks a promise', { tags: 'slow' }, (rule, who, promise) => {
  const worlds = new Worlds({ about: 'grants', remotes: 2, replays: 2, ...who }, rule)
  const { violations } = worlds.walk(12, 14, randomOf(12_345))
  expect(violations.map(({ what }) => what)).toContain(promise)
})
