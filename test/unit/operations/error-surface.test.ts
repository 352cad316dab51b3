// The table of error codes as a whole: the rules for every row, and how the rows relate.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import {
  afterBackup,
  errorSurface,
  keepStateApart,
  mendStore,
  surfaceOf,
  unexpectedSurface,
} from '../../../src/operations/error-surface.ts'
import { exitCodes, syncExitCodes } from '../../../src/operations/exit-codes.ts'

const rows = Object.entries(errorSurface)

/** Memory Stores API §2. */
const typesByStatus: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid_request_error'],
  401: ['authentication_error'],
  403: ['permission_error'],
  404: ['not_found_error'],
  409: ['memory_path_conflict_error', 'memory_precondition_failed_error', 'conflict_error'],
  413: ['request_too_large'],
  429: ['rate_limit_error'],
  500: ['api_error'],
  504: ['timeout_error'],
  507: ['api_error'],
}

describe('the error surface', () => {
  test.each(rows)('%s: its type belongs to its status', (_, { status, type }) => {
    expect(typesByStatus[status]).toContain(type)
  })

  test.each(rows)('%s: its exit code is documented and not 0', (_, { exitCode }) => {
    expect(exitCodes.has(exitCode)).toBe(true)
    expect(exitCode).not.toBe(0)
  })

  test.each(rows)('%s: its advice is one sentence without a final period', (_, { advice }) => {
    expect(advice).toMatch(/^[A-Z].*[^.]$/)
    expect(advice).not.toMatch(/\. /)
  })

  test('every exit code is used', () => {
    const used = new Set(rows.map(([, { exitCode }]) => exitCode))
    used.add(0)
    for (const code of Object.values(syncExitCodes)) used.add(code)
    used.add(unexpectedSurface.exitCode)
    expect([...used].toSorted((a, b) => a - b)).toEqual([...exitCodes.keys()])
  })

  test('a failed verification exits with 11, a rollback with 12', () => {
    const codes = rows.filter(([code]) => {
      return /^(?:envelope|record|row|keyring)_(?!conflict)/.test(code)
    })
    expect(codes.length).toBeGreaterThan(20)
    expect(codes.filter(([, { exitCode }]) => exitCode !== 11)).toEqual([])
    expect(errorSurface.rolled_back.exitCode).toBe(12)
  })

  test('the guide gives the same advice about the anchor, backups and damage', () => {
    const file = fileURLToPath(new URL('../../../docs/GUIDE.md', import.meta.url))
    const text = readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ').toLowerCase()
    for (const advice of [keepStateApart, afterBackup, mendStore]) {
      expect(text).toContain(`${advice.toLowerCase()}.`)
    }
    expect(errorSurface.anchor_corrupt.advice).toContain(keepStateApart)
    expect(errorSurface.rolled_back.advice).toContain(afterBackup)
    for (const code of ['object_missing', 'pack_corrupt', 'ref_corrupt'] as const) {
      expect(errorSurface[code].advice).toBe(mendStore)
    }
  })

  test('any error but a StoreError is unexpected', () => {
    expect(surfaceOf(new TypeError('x'))).toBe(unexpectedSurface)
    expect(surfaceOf(undefined)).toBe(unexpectedSurface)
    expect(surfaceOf(new StoreError('not_found', 'x'))).toBe(errorSurface.not_found)
  })
})
