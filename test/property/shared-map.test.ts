// The immutable map against plain maps, with every state that it had on the way.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { SharedMap } from '../../src/store/snapshot/shared-map.ts'
import { full, seed } from '../support/seed.ts'

const key = fc.nat({ max: 400 }).map((number) => number.toString(36))
const change = fc.tuple(key, fc.option(fc.nat()))

test('matches a plain map in every state that it had', () => {
  const changes = fc.array(change, { maxLength: 1500, size: 'max' })
  const property = fc.property(changes, fc.array(key, { maxLength: 300 }), (taken, first) => {
    const model = new Map(first.map((one) => [one, -1]))
    let map = SharedMap.of<number>(first.map((one) => [one, -1] as const))
    const states: [SharedMap<number>, ReadonlyMap<string, number>][] = []
    for (const [at, [name, value]] of taken.entries()) {
      if (at % 100 === 0) states.push([map, new Map(model)])
      map = value === null ? map.without(name) : map.with(name, value)
      if (value === null) model.delete(name)
      else model.set(name, value)
      expect(map.get(name)).toBe(model.get(name))
    }
    for (const [state, expected] of [...states, [map, model] as const]) {
      const sorted = [...expected].toSorted(([a], [b]) => (a < b ? -1 : 1))
      expect([...state]).toEqual(sorted)
      expect([...state.values()]).toEqual(sorted.map(([, value]) => value))
      expect(state.size).toBe(expected.size)
      const changed = [...map.changesSince(state)].map(([name]) => name)
      const differing = [...model].filter(([name, value]) => expected.get(name) !== value)
      expect(changed.toSorted()).toEqual(differing.map(([name]) => name).toSorted())
    }
  })
  fc.assert(property, { seed, numRuns: full ? 1000 : 30 })
})
