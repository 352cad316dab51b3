// Deleted memories are kept as compact records: they read back as set and take little memory.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CurrentVersion } from '../../../src/store/snapshot/live-memory.ts'
import { CurrentVersions } from '../../../src/store/snapshot/snapshot.ts'
import { seed } from '../../support/seed.ts'

const hex = (length: number, of: number): string => of.toString(16).padStart(length, '0')

function liveVersion(memoryId: string, number: number): CurrentVersion {
  const versionId = hex(32, number)
  const created = 1_700_000_000_000 + number
  const live = {
    memoryId,
    versionId,
    path: `/${number}`,
    size: number,
    sha256: hex(64, number),
    created,
    updated: created,
    blob: hex(40, number),
    kid: hex(16, 1),
  }
  return { versionId, operation: 'modified', created, live }
}

/** A deletion, or a version that was redacted. */
function emptyVersion(number: number): CurrentVersion {
  const operation = (['created', 'modified', 'deleted'] as const)[number % 3] ?? 'deleted'
  return { versionId: hex(32, number), operation, created: 1.5e12 + number, live: undefined }
}

const memoryIds = fc.integer({ min: 0, max: 20 }).map((of) => hex(32, of))
const step = fc.tuple(memoryIds, fc.constantFrom('live', 'empty', 'copy'), fc.nat(1e6))

describe('current versions', () => {
  test('match a plain map in every state that they had', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        let versions = CurrentVersions.of()
        const model = new Map<string, CurrentVersion>()
        const left: (readonly [CurrentVersions, ReadonlyMap<string, CurrentVersion>])[] = []
        for (const [memoryId, what, number] of steps) {
          const version = what === 'live' ? liveVersion(memoryId, number) : emptyVersion(number)
          if (what === 'copy') {
            left.push([versions, new Map(model)])
          } else {
            versions = versions.with(memoryId, version)
            model.set(memoryId, version)
          }
          expect(versions.get(memoryId)).toEqual(model.get(memoryId))
        }
        expect(new Map(CurrentVersions.of([...model]))).toEqual(model)
        for (const [one, expected] of [...left, [versions, model] as const]) {
          expect(new Map(one)).toEqual(expected)
          expect([...one]).toHaveLength(expected.size)
          const changed = [...versions.changesSince(one)]
          for (const [id, version] of changed) expect(version).toEqual(model.get(id))
          expect(new Map([...expected, ...changed])).toEqual(model)
          const live = [...expected.values()].flatMap((version) => version.live ?? [])
          expect(new Set([...one.live()].map((version) => version.live))).toEqual(new Set(live))
        }
      }),
      { seed },
    )
  })

  test('of deleted memories take less than 100 bytes each', { tags: 'slow' }, () => {
    setFlagsFromString('--expose-gc')
    const count = 100_000
    const held = (): number => {
      runInNewContext('gc()')
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const before = held()
    let versions = CurrentVersions.of()
    for (let number = 0; number < count; number += 1) {
      versions = versions.with(hex(32, number), emptyVersion(number))
    }
    expect((held() - before) / count).toBeLessThan(100)
    expect(versions.get(hex(32, 77))).toEqual(emptyVersion(77))
  })
})
