// T13: no attacker can drop a part of the history without a redaction signed by an owner, bring
// back redacted versions, or redact current ones. FORMAT §6.4, §8.1, §10.

import { beforeAll, describe, expect, test } from 'vitest'
import type { Oid } from '../../src/git/objects/object.ts'
import { verifyBegun, verifyHistory } from '../../src/store/verify/verify.ts'
import { fields } from '../support/forge-fault.ts'
import { idOf } from '../support/forge-seal.ts'
import type { Forge } from '../support/forge.ts'
import {
  accepted,
  memory,
  nextRow,
  refused,
  standardHistory,
  verdicts,
  version,
} from '../support/standard-forge.ts'
import { readOnlyObjects, verdictOf } from '../support/verdict.ts'

let standard: Forge
beforeAll(async () => {
  const { forge } = await standardHistory()
  standard = forge
})

const gone: ReadonlySet<string> = new Set([version.a1])
const targets = [[memory.a, version.a1]] as const

test('T13: a redaction with its rewritten history is accepted, and can be continued', async () => {
  const forge = standard.fork()
  const before = forge.entries.map((entry) => entry.hash)
  forge.redact(targets)
  forge.rewrite(gone)
  expect(await verdicts(forge)).toEqual(accepted)
  forge.change([nextRow])
  expect(await verdicts(forge)).toEqual(accepted)
  expect(forge.entries.slice(0, before.length).map((entry) => entry.hash)).toEqual(before)
})

test('T13: a redacted deletion is accepted', async () => {
  const forge = standard.fork()
  forge.change([
    { memoryId: memory.b, operation: 'deleted', path: '/dir/b.md', versionId: version.b2 },
  ])
  forge.redact([
    [memory.b, version.b1],
    [memory.b, version.b2],
  ])
  forge.rewrite(new Set([version.b1, version.b2]))
  expect(await verdicts(forge)).toEqual(accepted)
})

test('T13: a redaction that is repeated is accepted', async () => {
  const forge = standard.fork()
  forge.redact(targets)
  forge.rewrite(gone)
  forge.redact(targets)
  expect(await verdicts(forge)).toEqual(accepted)
})

describe('T13: objects that are missing without a redaction are refused', () => {
  test.each<[code: string, name: string, forging: (forge: Forge) => void]>([
    ['detail_missing', 'detail and memory', (forge) => forge.rewrite(gone)],
    ['detail_missing', 'the detail alone', (forge) => forge.rewrite(gone, { blob: version.a1 })],
    ['tree_mismatch', 'the memory alone', (forge) => forge.rewrite(gone, { detail: version.a1 })],
    [
      'detail_missing',
      'another version than the one that is named',
      (forge) => {
        forge.redact([[memory.a, version.a1]])
        forge.rewrite(new Set([version.a1, version.b1]))
      },
    ],
  ])('%s: %s', async (code, _, forging) => {
    const forge = standard.fork()
    forging(forge)
    expect(await verdicts(forge)).toEqual(refused(code))
  })

  test('commit_malformed: a change whose commit has no detail at all', async () => {
    const forge = standard.fork()
    forge.change([nextRow], { parts: (parts) => ({ ...parts, detail: undefined }) })
    expect(await verdicts(forge)).toEqual(refused('commit_malformed'))
  })
})

describe('T13: redacted objects that are back are refused', () => {
  test.each<[name: string, kept: { detail?: string; blob?: string }]>([
    ['detail and memory', { detail: version.a1, blob: version.a1 }],
    ['the detail', { detail: version.a1 }],
    ['the memory', { blob: version.a1 }],
  ])('redaction_undone: %s', async (_, kept) => {
    const forge = standard.fork()
    forge.redact(targets)
    forge.rewrite(gone, kept)
    expect(await verdicts(forge)).toEqual(refused('redaction_undone'))
  })

  test('the memory, in a later tree', async () => {
    const forge = standard.fork()
    forge.change([{ memoryId: memory.a, operation: 'deleted', path: '/a.md' }])
    const blob = forge.entries[3]?.blobs.get(forge.idOf(memory.a)) ?? ''
    forge.redact(targets)
    forge.rewrite(gone)
    forge.change([{ ...nextRow, memoryId: memory.b, path: '/dir/b.md' }], {
      memories: (shown: ReadonlyMap<string, Oid>) =>
        new Map([...shown, [forge.idOf(memory.a), blob]]),
    })
    expect(await verdicts(forge)).toEqual(refused('redaction_undone'))
  })

  test('redact_target: a version of another branch', async () => {
    const [forge, other] = [standard.fork(), standard.fork()]
    other.change([nextRow])
    forge.redact([[memory.a, other.idOf(version.next)]])
    forge.change([nextRow])
    expect(await verdicts(forge)).toEqual(refused('redact_target'))
  })
})

describe('T13: a redaction that may not be is refused', () => {
  test.each<[name: string, memoryId: string, versionId: string]>([
    ['the current version of a live memory', memory.a, version.a2],
    ['a version that never was', memory.a, version.next],
    ['a version of another memory', memory.b, version.a1],
  ])('redact_target: %s', async (_, memoryId, versionId) => {
    const forge = standard.fork()
    forge.redact([[memoryId, versionId]])
    forge.rewrite(new Set([versionId]))
    expect(await verdicts(forge)).toEqual(refused('redact_target'))
  })

  test.each<[code: string, name: string, forging: (forge: Forge) => void]>([
    ['record_rows', 'without a target', (forge) => forge.redact([])],
    [
      'record_malformed',
      'without a reason',
      (forge) => forge.redact(targets, fields({ reason: undefined })),
    ],
    ['record_rows', 'one version twice', (forge) => forge.redact([...targets, ...targets])],
    [
      'record_rows',
      'a target that carries an operation',
      (forge) =>
        forge.redact(targets, {
          record: (record) => ({
            ...record,
            rows: record.rows.map((row) => ({ ...row, operation: 'deleted' })),
          }),
        }),
    ],
    [
      'record_malformed',
      'a reason in a change',
      (forge) => forge.change([nextRow], fields({ reason: 'legal' })),
    ],
    [
      'record_malformed',
      'nobody as its actor',
      (forge) => forge.redact(targets, fields({ actor: undefined })),
    ],
  ])('%s: %s', async (code, _, forging) => {
    const forge = standard.fork()
    forging(forge)
    forge.rewrite(gone)
    expect(await verdicts(forge)).toEqual(refused(code))
  })
})

describe('T13: above the state at which a clone begins', () => {
  const later = [nextRow, { ...nextRow, content: 'delta\n', versionId: idOf('later') }] as const
  const erased = new Set([version.next])

  /** The verdict of a holder whose clone begins at the commit of this height. */
  async function verdictFrom(
    forge: Forge,
    height: number,
    attested: readonly string[] = [],
  ): Promise<string> {
    const { evidence, entries } = forge
    const { objects, ...rest } = evidence
    const source = { ...rest, objects: readOnlyObjects(objects, evidence.head) }
    const { snapshot } = await verifyHistory(source, entries[height]?.oid ?? '')
    const begun = snapshot.with({ redacted: new Set(attested.map((id) => forge.idOf(id))) })
    return verdictOf(async () => {
      expect(await verifyBegun(source, begun, evidence.head)).toBeDefined()
    })
  }

  function changed(): { readonly forge: Forge; readonly height: number } {
    const forge = standard.fork()
    const height = forge.entries.length - 1
    for (const row of later) forge.change([row])
    return { forge, height }
  }

  test('a redaction of a later version is accepted, and rewritten commits alone', async () => {
    const { forge, height } = changed()
    forge.redact([[memory.a, version.next]])
    expect(await verdictFrom(forge, height)).toBe('redaction_undone')
    forge.rewrite(erased)
    expect(await verdictFrom(forge, height)).toBe('accepted')
  })

  test('commits that are rewritten without one are refused', async () => {
    const { forge, height } = changed()
    forge.rewrite(erased)
    expect(await verdictFrom(forge, height)).toBe('detail_missing')
  })

  test('a redaction of an earlier version needs the word of the granter', async () => {
    const forge = standard.fork()
    const height = forge.entries.length - 1
    forge.redact(targets)
    expect(await verdictFrom(forge, height)).toBe('redact_target')
    expect(await verdictFrom(forge, height, [...gone])).toBe('accepted')
    const current = [[memory.b, version.b1]] as const
    const other = standard.fork()
    other.redact(current)
    expect(await verdictFrom(other, height, [version.b1])).toBe('redact_target')
  })
})
