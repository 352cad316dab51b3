// T7: an attacker who can write to the repository, even a member, cannot drop, reorder, splice or
// back-date changes, nor claim another position for them in the history. FORMAT §6.1, §8.

import { beforeAll, describe, expect, test } from 'vitest'
import { zeroHash } from '../../src/format/record.ts'
import { fields } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import {
  accepted,
  memory,
  nextRow,
  refused,
  type Standard,
  standardHistory,
  verdicts,
  version,
} from '../support/standard-forge.ts'

const other = new Uint8Array(32).fill(0xab)
let standard: Standard
beforeAll(async () => {
  standard = await standardHistory()
})

test('T7: without a fault, forged histories are accepted', async () => {
  const forge = standard.forge.fork()
  expect(await verdicts(forge)).toEqual(accepted)
  forge.change([nextRow])
  forge.change([{ memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' }], {
    author: standard.writer,
  })
  forge.settings({ ...settingsOf('renamed') })
  expect(await verdicts(forge)).toEqual(accepted)
})

function settingsOf(name: string) {
  const limits = { contentBytes: 1000, memories: 10 }
  return { name, description: '', metadata: {}, archivedAt: undefined, limits }
}

describe('T7: a record that claims another position is refused', () => {
  test.each<[code: string, name: string, forging: (forge: Forge) => void, reference?: string]>([
    ['record_height', 'a greater height', (f) => f.change([nextRow], fields({ height: 9 }))],
    ['record_height', 'a smaller height', (f) => f.change([nextRow], fields({ height: 2 }))],
    [
      'record_height',
      'a commit that shows another height',
      (f) => f.change([nextRow], { parts: (parts) => ({ ...parts, height: 9 }) }),
    ],
    ['record_malformed', 'no parent', (f) => f.change([nextRow], fields({ parents: [] }))],
    ['record_parents', 'another parent', (f) => f.change([nextRow], fields({ parents: [other] }))],
    [
      'record_parents',
      'the parent of its parent',
      (f) => f.change([nextRow], fields({ parents: [hashAt(f, -2)] })),
    ],
    [
      'record_parents',
      'two parents that the commit does not have',
      (f) => f.change([nextRow], fields({ parents: ascending(hashAt(f, -2), hashAt(f, -1)) })),
    ],
    [
      'record_malformed',
      'two parents in the wrong order',
      (f) =>
        f.change(
          [nextRow],
          fields({ parents: ascending(hashAt(f, -2), hashAt(f, -1)).toReversed() }),
        ),
    ],
    [
      'record_malformed',
      'one parent twice',
      (f) => f.change([nextRow], fields({ parents: [hashAt(f, -1), hashAt(f, -1)] })),
    ],
    ['record_keyring', 'no keyring', (f) => f.change([nextRow], fields({ keyring: zeroHash }))],
    ['record_keyring', 'another keyring', (f) => f.change([nextRow], fields({ keyring: other }))],
    [
      'record_keyring',
      'an older keyring',
      (f) => f.change([nextRow], fields({ keyring: hashAt(f, 1) })),
    ],
    ['record_sequence', 'a used number', (f) => f.change([nextRow], fields({ sequence: 4 }))],
    [
      'record_sequence',
      'the number of the record before',
      (f) => f.change([nextRow], fields({ sequence: f.entries.at(-1)?.record.sequence ?? 0 })),
    ],
    ['record_sequence', 'number 0', (f) => f.change([nextRow], fields({ sequence: 0 }))],
    [
      'record_sequence',
      'number 0 without a chain',
      (f) => f.change([nextRow], fields({ sequence: 0, previous: zeroHash })),
    ],
    ['record_chain', 'no previous', (f) => f.change([nextRow], fields({ previous: zeroHash }))],
    [
      'record_chain',
      'an older previous',
      (f) => f.change([nextRow], fields({ previous: hashAt(f, -2) })),
    ],
    [
      'record_chain',
      "another device's chain",
      (f) =>
        f.change([nextRow], { author: standard.writer, ...fields({ previous: hashAt(f, -1) }) }),
    ],
  ])('%s: %s', async (code, _, forging, reference) => {
    const forge = standard.forge.fork()
    forging(forge)
    expect(await verdicts(forge)).toEqual(refused(code, reference))
  })

  test('a gap in the sequence numbers is no fault: a restored backup leaves one', async () => {
    const forge = standard.forge.fork()
    forge.change([nextRow], fields({ sequence: 5000 }))
    expect(await verdicts(forge)).toEqual(accepted)
  })
})

describe('T7: commits of the history in another arrangement are refused', () => {
  test.each<[code: string, name: string, forging: (forge: Forge) => string, reference?: string]>([
    [
      'record_parents',
      'the middle record is dropped and its child kept',
      (f) => {
        const before = f.head
        f.change([nextRow])
        const last = f.change([{ ...nextRow, versionId: version.b2, content: 'delta\n' }])
        return f.remake(last, (parts) => ({ ...parts, parents: [before] }))
      },
    ],
    [
      'record_parents',
      'two commits are in the other order',
      (f) => {
        const before = f.head
        const first = f.change([nextRow])
        const second = f.change([{ ...nextRow, memoryId: memory.b, versionId: version.b2 }])
        const swapped = f.remake(second, (parts) => ({ ...parts, parents: [before] }))
        return f.remake(first, (parts) => ({ ...parts, parents: [swapped] }))
      },
    ],
    [
      'duplicate_record',
      'one record is in two commits',
      (f) => f.remake(f.head, (parts) => ({ ...parts, parents: [f.head] })),
    ],
    [
      'record_parents',
      'the first commit is left out',
      (f) => {
        const [first] = f.entries
        const second = f.entries[1]?.oid ?? ''
        expect(first).toBeDefined()
        return f.remake(second, (parts) => ({ ...parts, parents: [] }))
      },
    ],
    [
      'record_parents',
      'a commit follows another branch',
      (f) => {
        const branch = f.fork()
        const elsewhere = branch.change([{ ...nextRow, content: 'elsewhere\n' }])
        for (const [oid, object] of branch.objects) f.objects.set(oid, object)
        const mine = f.change([nextRow])
        f.change([{ ...nextRow, versionId: version.b2 }])
        expect(mine).not.toBe(elsewhere)
        return f.remake(f.head, (parts) => ({ ...parts, parents: [elsewhere] }))
      },
    ],
  ])('%s: %s', async (code, _, forging, reference) => {
    const forge = standard.forge.fork()
    const head = forging(forge)
    const evidence = { ...forge.evidence, head }
    expect(await verdicts({ evidence })).toEqual(refused(code, reference))
  })
})

function hashAt(forge: Forge, index: number): Uint8Array {
  return forge.entries.at(index)?.hash ?? zeroHash
}

function ascending(...hashes: readonly Uint8Array[]): Uint8Array[] {
  return hashes.toSorted((a, b) => Buffer.compare(a, b))
}
