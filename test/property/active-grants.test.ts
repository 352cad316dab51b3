// Which grants are active after a record (FORMAT §12). The reference decoder follows the recursion
// over parents. The same must come out without it: a grant is active if one of its begins has all
// its other begins and all its ends in its past, and its granter is not forked.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ActiveGrants,
  activeBefore,
  activeGrants,
  begunBy,
  endsGrant,
  grantIdOf,
  type GrantRecord,
  historyOf,
  isForked,
} from '../support/reference/active-grants.ts'
import { mayGive, type Rights, type Role } from '../support/reference/directory.ts'
import type { GrantRow } from '../support/reference/record.ts'
import { full, seed } from '../support/seed.ts'

const owner = 'aa'.repeat(16)
const writer = 'bb'.repeat(16)
const other = 'cc'.repeat(16)
const key = '01'.repeat(32)
const ofWriter = grantIdOf(writer, key)

function rightsOf(role: Role | undefined, givers: 1 | 2 = 1): Rights {
  const devices = [{ deviceId: owner, role: 'owner' as const }]
  return {
    devices: role === undefined ? devices : [...devices, { deviceId: writer, role }],
    givers,
  }
}

const beginRow = (of: string): GrantRow => ({ ends: false, key: of, role: 'writer', notAfter: 9 })
const endRow = (grantId: string): GrantRow => ({ ends: true, grantId })

class History {
  readonly records: Map<string, GrantRecord> = new Map()

  add(
    parents: readonly string[],
    deviceId: string,
    what: Partial<Pick<GrantRecord, 'grants' | 'rights'>> = {},
  ): string {
    const hash = `${this.records.size}`
    const time = this.records.size
    this.records.set(hash, { parents, deviceId, time, grants: [], rights: undefined, ...what })
    return hash
  }

  begin(parent: string, granter = writer): string {
    return this.add([parent], granter, { grants: [beginRow(key)] })
  }

  end(parent: string, author = owner): string {
    return this.add([parent], author, { grants: [endRow(ofWriter)] })
  }

  merge(one: string, another: string): string {
    return this.add([one, another], other)
  }

  isActive(at: string): boolean {
    return activeGrants(this.records, at).has(ofWriter)
  }
}

/** With a genesis, and a record that begins the grant. */
function begun(): { history: History; genesis: string; begin: string } {
  const history = new History()
  const genesis = history.add([], owner, { rights: rightsOf('writer') })
  return { history, genesis, begin: history.begin(genesis) }
}

describe('a grant', () => {
  test('is active from its begin to its end, with the terms of its begin', () => {
    const { history, genesis, begin } = begun()
    const end = history.end(begin)
    const at = [genesis, begin, history.add([begin], owner), end, history.add([end], owner)]
    expect(at.map((hash) => history.isActive(hash))).toEqual([false, true, true, false, false])
    const terms = { key, granter: writer, role: 'writer', began: 1, notAfter: 9 }
    expect(activeGrants(history.records, begin).get(ofWriter)).toEqual(terms)
  })

  test('of another granter with the same key is another one', () => {
    const { history, begin } = begun()
    const both = history.begin(begin, owner)
    expect(activeGrants(history.records, both).size).toBe(2)
    expect(activeGrants(history.records, history.end(both)).has(grantIdOf(owner, key))).toBe(true)
  })

  test.each([
    ['is removed', rightsOf(undefined)],
    ['may only read', rightsOf('reader')],
    ['may no longer give', rightsOf('writer', 2)],
  ])('ends with the keyring in which its granter %s, and does not come back', (_, rights) => {
    const { history, begin } = begun()
    const ended = history.add([begin], owner, { rights })
    const restored = history.add([ended], owner, { rights: rightsOf('writer') })
    const again = history.begin(restored)
    const at = [ended, restored, again]
    expect(at.map((hash) => history.isActive(hash))).toEqual([false, false, true])
  })

  test('of an owner remains where owners alone may give', () => {
    const { history, begin } = begun()
    const both = history.begin(begin, owner)
    const narrowed = history.add([both], owner, { rights: rightsOf('writer', 2) })
    expect([...activeGrants(history.records, narrowed)].map(([id]) => id)).toEqual([
      grantIdOf(owner, key),
    ])
  })
})

describe('after a merge a grant', () => {
  test('that one side began is active, unless the other ends it', () => {
    const { history, genesis, begin } = begun()
    const apart = history.add([genesis], owner)
    expect(history.isActive(history.merge(begin, apart))).toBe(true)
    const lowered = history.add([genesis], owner, { rights: rightsOf('reader') })
    expect(history.isActive(history.merge(begin, lowered))).toBe(false)
  })

  test('that one side ended is not active, though the other never knew', () => {
    const { history, begin } = begun()
    const merged = history.merge(history.end(begin), history.add([begin], other))
    expect(history.isActive(merged)).toBe(false)
  })

  test('that one side ended and began again is active, unless the other ended it too', () => {
    const { history, begin } = begun()
    const again = history.begin(history.end(begin))
    expect(history.isActive(history.merge(again, history.add([begin], other)))).toBe(true)
    expect(history.isActive(history.merge(again, history.end(begin)))).toBe(false)
  })

  test('whose granter is forked there is not active', () => {
    const { history, begin } = begun()
    const merged = history.merge(history.add([begin], writer), history.add([begin], writer))
    expect(history.isActive(merged)).toBe(false)
    expect(history.isActive(history.add([merged], owner))).toBe(false)
  })

  test('that both sides began is not active: its granter is forked', () => {
    const { history, genesis, begin } = begun()
    expect(history.isActive(history.merge(begin, history.begin(genesis)))).toBe(false)
  })
})

/** One step of some clone; the numbers choose among the newest records. */
const step = fc.record({
  kind: fc.constantFrom('begin', 'begin', 'end', 'change', 'keyring', 'merge', 'merge'),
  at: fc.nat(),
  with: fc.nat(),
  device: fc.constantFrom(owner, writer),
  role: fc.constantFrom<Role | undefined>('owner', 'writer', 'writer', 'reader', undefined),
  givers: fc.constantFrom(1 as const, 1 as const, 2 as const),
})

/** Takes the step if it is allowed. */
function take(history: History, one: typeof step extends fc.Arbitrary<infer T> ? T : never): void {
  const { records } = history
  const pick = (from: number): string =>
    [...records.keys()].at(-1 - ((from % 4) % records.size)) ?? ''
  const [at, apart] = [pick(one.at), pick(one.with)]
  const active = activeGrants(records, at)
  const id = grantIdOf(one.device, key)
  if (one.kind === 'merge') {
    if (isMergeable(records, at, apart)) history.merge(at, apart)
  } else if (isForked(records, [at], one.device)) {
    return
  } else if (one.kind === 'change') {
    history.add([at], one.device)
  } else if (one.kind === 'keyring') {
    const isNewest = newestKeyring(records, at) === [...keyringsOf(records)].at(-1)
    if (isNewest) history.add([at], owner, { rights: rightsOf(one.role, one.givers) })
  } else if (one.kind === 'begin') {
    const rights = records.get(newestKeyring(records, at))?.rights
    const gives = rights !== undefined && mayGive(rights, one.device) && !active.has(id)
    if (gives) history.begin(at, one.device)
  } else if (active.has(id)) history.add([at], owner, { grants: [endRow(id)] })
}

function* keyringsOf(records: History['records'], at?: string): Generator<string> {
  const past = at === undefined ? undefined : historyOf(records, at)
  for (const [hash, { rights }] of records) {
    if (rights !== undefined && (past === undefined || past.has(hash))) yield hash
  }
}

/** They are one line, so that the last one is the newest. */
function newestKeyring(records: History['records'], at: string): string {
  return [...keyringsOf(records, at)].at(-1) ?? ''
}

function isMergeable(records: History['records'], one: string, another: string): boolean {
  return !historyOf(records, one).has(another) && !historyOf(records, another).has(one)
}

/** Without recursion. */
function activeByDefinition(records: History['records'], at: string): readonly string[] {
  const past = historyOf(records, at)
  const all = [...past].map((hash) => [hash, records.get(hash)] as const)
  return [owner, writer].flatMap((granter) => {
    const id = grantIdOf(granter, key)
    const decisive = all.filter(([, record]) => {
      return record !== undefined && (begunBy(record).has(id) || endsGrant(record, id, granter))
    })
    const isActive = decisive.some(([hash, record]) => {
      const before = historyOf(records, hash)
      const isBegin = record !== undefined && begunBy(record).has(id)
      return isBegin && decisive.every(([each]) => before.has(each))
    })
    return isActive && !isForked(records, [at], granter) ? [id] : []
  })
}

test('the recursion gives what the last begin and the ends in its past give', () => {
  const seen = { active: 0, ended: 0 }
  const property = fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
    const history = new History()
    history.add([], owner, { rights: rightsOf('writer') })
    for (const one of steps) take(history, one)
    const { records } = history
    for (const [hash, { parents }] of records) {
      const active: ActiveGrants = activeGrants(records, hash)
      expect([...active.keys()].toSorted()).toEqual(activeByDefinition(records, hash).toSorted())
      if (parents.length === 2) expect(active).toEqual(activeBefore(records, parents))
      if (active.size > 0) seen.active += 1
      else seen.ended += 1
    }
  })
  fc.assert(property, { seed, numRuns: full ? 3000 : 200 })
  expect(Math.min(seen.active, seen.ended)).toBeGreaterThan(100)
})
