// T13: a history that was rewritten for a redaction, but not as FORMAT §10 requires: more is
// erased, less is erased, or something is changed. The attacker holds every key, but cannot change
// records or what they commit to.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { sign } from '../../src/crypto/signature.ts'
import type { DetailRow } from '../../src/format/detail.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { asRecovery, type Entry, type ForgedAuthor } from '../support/forge-fault.ts'
import { flipBit } from '../support/forge-seal.ts'
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

let standard: Forge
let writer: Identity
let reader: Identity
beforeAll(async () => {
  const made = await standardHistory()
  ;({ writer, reader } = made)
  standard = made.forge
})

/** The commit that made version a1 and b1, and the one that made a2. */
const first = 3
const second = 4
const a1 = [memory.a, version.a1] as const
const b1 = [memory.b, version.b1] as const
const gone: ReadonlySet<string> = new Set([version.a1])

/** The standard history with a redaction of a1, its entries changed before all is made again. */
function rewritten(change: (entries: readonly Entry[]) => readonly Entry[]): Forge {
  const forge = standard.fork()
  forge.redact([a1])
  forge.entries = change(forge.entries)
  forge.rewrite(gone)
  return forge
}

function withEntry(index: number, change: (entry: Entry) => Partial<Entry>) {
  return (entries: readonly Entry[]): readonly Entry[] =>
    entries.map((entry, at) => (at === index ? { ...entry, ...change(entry) } : entry))
}

function withDetails(index: number, change: (rows: readonly DetailRow[]) => readonly DetailRow[]) {
  return withEntry(index, ({ details }) => ({ details: change(details) }))
}

/** In the first commit, where the row of a1 is redacted and that of b1 is not. */
function rowOfA1(entry: Entry | undefined): number {
  const versionId = standard.idOf(version.a1)
  return entry?.record.rows.findIndex((row) => row.versionId === versionId) ?? -1
}

describe('T13: a detail that differs from the original', () => {
  const lie = (row: DetailRow): DetailRow => ({ ...row, path: '/lie.md' })
  const noted = (row: DetailRow): DetailRow => ({ ...row, note: 'lie' })

  test.each<
    [code: string, name: string, change: (rows: readonly DetailRow[]) => readonly DetailRow[]]
  >([
    ['detail_mismatch', 'another path in a row that stays', (rows) => rows.map(lie)],
    ['detail_malformed', 'a note that was not there', (rows) => rows.map(noted)],
    [
      'detail_mismatch',
      'another size',
      (rows) => rows.map((row) => ({ ...row, size: row.size + 1 })),
    ],
    [
      'detail_mismatch',
      'another blinding',
      (rows) => rows.map((row) => ({ ...row, blinding: flipBit(0)(row.blinding) })),
    ],
    [
      'detail_malformed',
      'a row more, of no row of the record',
      (rows) => [...rows, ...rows.slice(0, 1).map((row) => ({ ...row, row: 9 }))],
    ],
    ['detail_malformed', 'one row twice', (rows) => [...rows, ...rows]],
  ])('%s: %s', async (code, _, change) => {
    const forge = rewritten(withDetails(first, change))
    expect(await verdicts(forge)).toEqual(refused(code))
  })

  test('detail_malformed: the remaining rows, in another order', async () => {
    const forge = standard.fork()
    forge.change([
      { memoryId: memory.other, operation: 'created', path: '/c.md', versionId: version.b2 },
      nextRow,
      { ...nextRow, memoryId: memory.b, path: '/dir/b.md', versionId: 'cc'.repeat(16) },
    ])
    forge.redact([b1])
    forge.entries = withDetails(5, (rows) => rows.toReversed())(forge.entries)
    forge.rewrite(new Set([version.b1]))
    expect(await verdicts(forge)).toEqual(refused('detail_malformed'))
  })

  test.each<[name: string, put: (row: DetailRow) => DetailRow]>([
    ['as it was', (row) => row],
    ['with another text', (row) => ({ ...row, path: '/innocent.md', note: '' })],
    ['without its blinding', (row) => ({ ...row, blinding: new Uint8Array(32) })],
  ])('redaction_undone: the redacted row, %s', async (_, put) => {
    const forge = standard.fork()
    const index = rowOfA1(forge.entries[first])
    forge.redact([a1])
    forge.entries = withDetails(first, (rows) =>
      rows.map((row) => (row.row === index ? put(row) : row)),
    )(forge.entries)
    forge.rewrite(gone, { detail: version.a1 })
    expect(await verdicts(forge)).toEqual(refused('redaction_undone'))
  })

  test('a remaining row, in the place of the redacted one', async () => {
    const forge = rewritten((entries) => {
      const index = rowOfA1(entries[first])
      return withDetails(first, (rows) => rows.map((row) => ({ ...row, row: index })))(entries)
    })
    // Taken for the redacted row, it is dropped with it: the other one is missing then.
    expect(await verdicts(forge)).toEqual(refused('detail_missing'))
  })
})

describe('T13: a rewrite that erases more than was redacted', () => {
  test.each<[name: string, forging: (forge: Forge) => void]>([
    [
      'another version of the same memory',
      (forge) => {
        forge.redact([a1])
        forge.rewrite(new Set([version.a1, version.a2]))
      },
    ],
    [
      'another memory in the same commit',
      (forge) => {
        forge.redact([a1])
        forge.rewrite(new Set([version.a1, version.b1]))
      },
    ],
    [
      'a version that came after the redaction',
      (forge) => {
        forge.redact([a1])
        forge.change([nextRow])
        forge.rewrite(new Set([version.a1, version.next]))
      },
    ],
    [
      'what a redact record named that nobody kept',
      (forge) => {
        forge.redact([a1])
        forge.entries = forge.entries.slice(0, -1)
        forge.rewrite(gone)
      },
    ],
  ])('detail_missing: %s', async (_, forging) => {
    const forge = standard.fork()
    forging(forge)
    expect(await verdicts(forge)).toEqual(refused('detail_missing'))
  })
})

describe('T13: a rewrite that was not done, or not wholly', () => {
  test.each<[name: string, forging: (forge: Forge) => void]>([
    ['not at all', (forge) => forge.redact([a1])],
    [
      'not at all, with changes on top',
      (forge) => {
        forge.redact([a1])
        forge.change([nextRow])
      },
    ],
    [
      'for one of two versions only',
      (forge) => {
        forge.change([{ memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' }])
        forge.redact([a1, b1])
        forge.rewrite(gone)
      },
    ],
    [
      'for one of two redactions only',
      (forge) => {
        forge.redact([a1])
        forge.rewrite(gone)
        forge.change([{ memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' }])
        forge.redact([b1])
      },
    ],
    [
      'and the memory kept in an old tree alone',
      (forge) => {
        forge.redact([a1])
        forge.rewrite(gone, { blob: version.a1 })
      },
    ],
    [
      'and the memory kept in all trees until its deletion',
      (forge) => {
        forge.change([{ memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' }])
        forge.redact([b1])
        forge.rewrite(new Set([version.b1]), { blob: version.b1 })
      },
    ],
  ])('redaction_undone: %s', async (_, forging) => {
    const forge = standard.fork()
    forging(forge)
    expect(await verdicts(forge)).toEqual(refused('redaction_undone'))
  })

  test('tree_mismatch: the redacted memory in a tree, under another name', async () => {
    const forge = standard.fork()
    const blob = forge.entries[first]?.blobs.get(forge.idOf(memory.a)) ?? ''
    forge.redact([a1])
    forge.rewrite(gone)
    forge.change([nextRow], { memories: (shown) => new Map([...shown, [memory.other, blob]]) })
    expect(await verdicts(forge)).toEqual(refused('tree_mismatch'))
  })
})

describe('T13: a rewrite that touches records', () => {
  /** Signs the record of an entry again, as a member could who is not its author. */
  const signedBy =
    (author: ForgedAuthor) =>
    (entry: Entry): Partial<Entry> => {
      const body = entry.signed.subarray(0, -64)
      return { signed: Buffer.concat([body, sign(body, author.signing)]) }
    }

  test.each<[code: string, name: string, change: (entries: readonly Entry[]) => readonly Entry[]]>([
    [
      'record_parents',
      'a commit is dropped',
      (entries) => entries.filter((_, index) => index !== second),
    ],
    [
      'record_parents',
      'two commits change places',
      (entries) =>
        entries.with(first, entries[second] ?? fail()).with(second, entries[first] ?? fail()),
    ],
    [
      'duplicate_record',
      'a commit comes twice',
      (entries) => entries.toSpliced(second, 0, entries[second] ?? fail()),
    ],
    [
      'device_signature_invalid',
      'a bit of a record differs',
      withEntry(first, ({ signed }) => ({ signed: flipBit(8 * 500)(signed) })),
    ],
    [
      'device_signature_invalid',
      'the signature of the redact record is gone',
      withEntry(5, ({ signed }) => ({
        signed: signed.map((byte, at) => (at < signed.length - 64 ? byte : 0)),
      })),
    ],
    [
      'device_signature_invalid',
      'the redact record is signed again by another device',
      (entries) => withEntry(5, signedBy(writer))(entries),
    ],
  ])('%s: %s', async (code, _, change) => {
    const forge = rewritten(change)
    expect(await verdicts(forge)).toEqual(refused(code))
  })
})

describe('T13: a redact record by an author that may not redact', () => {
  test.each<[code: string, name: string, author: () => Promise<ForgedAuthor> | ForgedAuthor]>([
    ['record_role', 'a writer', () => writer],
    ['record_role', 'a reader', () => reader],
    ['record_device', 'a stranger', () => generateIdentity(standard.random)],
  ])('%s: %s', async (code, _, author) => {
    const forge = standard.fork()
    forge.redact([a1], { author: await author() })
    forge.rewrite(gone)
    expect(await verdicts(forge)).toEqual(refused(code))
  })

  test('record_role: a recovery key', async () => {
    const forge = standard.fork()
    const recovery = recoveryKeyIdentity(forge, new Uint8Array(32).fill(7))
    const { author } = asRecovery({ slotId: 'aa'.repeat(16) }, recovery)
    forge.redact([a1], { author })
    forge.rewrite(gone)
    expect(await verdicts(forge)).toEqual(refused('record_role'))
  })
})

describe('T13: after a redaction', () => {
  test('redact_target: the current version of a memory that came back', async () => {
    const forge = standard.fork()
    forge.change([
      { memoryId: memory.b, operation: 'deleted', path: '/dir/b.md', versionId: version.b2 },
    ])
    const back = {
      memoryId: memory.b,
      operation: 'created',
      path: '/dir/b.md',
      content: 'b',
    } as const
    forge.change([{ ...back, versionId: version.next, base: version.b2 }])
    forge.redact([[memory.b, version.next]])
    forge.rewrite(new Set([version.next]))
    expect(await verdicts(forge)).toEqual(refused('redact_target'))
  })

  test('redact_target: a version that is deleted only later', async () => {
    const forge = standard.fork()
    forge.redact([b1])
    forge.change([{ memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' }])
    forge.rewrite(new Set([version.b1]))
    expect(await verdicts(forge)).toEqual(refused('redact_target'))
  })

  test('accepted: a memory whose every version is erased comes back', async () => {
    const forge = standard.fork()
    forge.change([
      { memoryId: memory.b, operation: 'deleted', path: '/dir/b.md', versionId: version.b2 },
    ])
    forge.redact([b1, [memory.b, version.b2]])
    forge.rewrite(new Set([version.b1, version.b2]))
    forge.change([
      {
        memoryId: memory.b,
        operation: 'created',
        path: '/new.md',
        content: 'b',
        versionId: version.next,
        base: version.b2,
      },
    ])
    expect(await verdicts(forge)).toEqual(accepted)
  })
})

function fail(): never {
  throw new Error('There is no such entry')
}
