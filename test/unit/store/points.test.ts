// Points: which commits had been made by a time, a version or a commit.

import { describe, expect, test } from 'vitest'
import { formatId } from '../../../src/format/id.ts'
import { History } from '../../../src/store/history/history.ts'
import { type Point, resolvePoint, resolvePointOrHead } from '../../../src/store/history/points.ts'
import { makeHistory, oidAt, versionAt } from '../../support/histories.ts'

// A device with a slow clock wrote 3 and 4.
const times = [100, 200, 300, 150, 160, 400]
const history = makeHistory(times.map((time) => ({ time, rows: [{ memory: 'a' }] })))

describe('a time', () => {
  test.each([
    { time: 100, height: 0 },
    { time: 149, height: 0 },
    // Searched from the head back: 3 and 4 came after 1, whatever their clock said.
    { time: 155, height: 3 },
    { time: 299, height: 4 },
    { time: 399, height: 4 },
    { time: 400, height: 5 },
    { time: Number.MAX_SAFE_INTEGER, height: 5 },
  ])('of $time names the newest commit that is not younger', ({ time, height }) => {
    expect(resolvePoint(history, { time }).commit.height).toBe(height)
  })

  test('before genesis is refused', () => {
    const search = () => resolvePoint(history, { time: 99 })
    expect(search).toThrow(expect.objectContaining({ code: 'not_found' }))
    expect(search).toThrow('Nothing was written by then')
  })
})

describe('a version', () => {
  test.each([0, 3, 5])('names the commit that wrote it', (height) => {
    const versionId = formatId('version', versionAt(height, 'a'))
    expect(resolvePoint(history, { versionId }).commit.oid).toBe(oidAt(height))
  })
})

describe('a commit', () => {
  test.each([40, 39, 12, 7])('is named by %i digits', (digits) => {
    const { commit } = resolvePoint(history, { commit: oidAt(2).slice(0, digits) })
    expect(commit.height).toBe(2)
  })

  test('is refused if two begin with the same digits', () => {
    const twins = makeHistory([{ oid: `${'a'.repeat(39)}1` }, { oid: `${'a'.repeat(39)}2` }])
    expect(resolvePoint(twins, { commit: `${'a'.repeat(39)}2` }).commit.height).toBe(1)
    const search = () => resolvePoint(twins, { commit: 'a'.repeat(39) })
    expect(search).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  })
})

describe('no point', () => {
  test('is the head', () => {
    expect(resolvePointOrHead(history, undefined).commit.height).toBe(5)
    expect(() => resolvePointOrHead(new History(), undefined)).toThrow(
      expect.objectContaining({ code: 'not_found' }),
    )
  })
})

test.each<{ point: Point; code: string }>([
  { point: { time: Number.NaN }, code: 'invalid_input' },
  { point: { time: Number.POSITIVE_INFINITY }, code: 'invalid_input' },
  { point: { versionId: 'memver_0' }, code: 'invalid_input' },
  { point: { versionId: formatId('version', versionAt(9, 'a')) }, code: 'not_found' },
  { point: { commit: oidAt(2).slice(0, 6) }, code: 'invalid_input' },
  { point: { commit: oidAt(2).toUpperCase() }, code: 'invalid_input' },
  { point: { commit: `${oidAt(2)}0` }, code: 'invalid_input' },
  { point: { commit: '' }, code: 'invalid_input' },
  { point: { commit: oidAt(9) }, code: 'not_found' },
])('$point is refused as $code', ({ point, code }) => {
  expect(() => resolvePoint(history, point)).toThrow(expect.objectContaining({ code }))
})
