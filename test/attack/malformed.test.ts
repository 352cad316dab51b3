// T15: bytes of an attacker's choice only make a reader refuse with a code: it throws nothing else,
// accepts no version of the future, and reads nothing too large.

import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { concatBytes, utf8 } from '../../src/bytes.ts'
import { StoreError } from '../../src/errors.ts'
import { parseCommit } from '../../src/format/commit.ts'
import { decodeDetail } from '../../src/format/detail.ts'
import { decodeDirectory, encodeDirectory } from '../../src/format/directory.ts'
import { openEnvelope, readKid, recordContext } from '../../src/format/envelope.ts'
import { parseId } from '../../src/format/id.ts'
import { decodeArchive, decodeKeyring } from '../../src/format/keyring.ts'
import { decodeMemoryBlob } from '../../src/format/memory-blob.ts'
import { checkPath } from '../../src/format/path.ts'
import { parseStoreFile, storeFile } from '../../src/format/public-files.ts'
import { decodeRecord } from '../../src/format/record.ts'
import { decodeSettings, encodeSettings } from '../../src/format/settings.ts'
import { decodeTree } from '../../src/git/objects/object.ts'
import { decodeIdentity, parseRecoveryKey } from '../../src/keys/identity.ts'
import { type Fault, plainSettings } from '../support/forge-fault.ts'
import { pad, put } from '../support/forge-seal.ts'
import type { Forge } from '../support/forge.ts'
import { full, seed } from '../support/seed.ts'
import { memory, nextRow, refused, standardHistory, verdicts } from '../support/standard-forge.ts'

let forge: Forge
beforeAll(async () => {
  const standard = await standardHistory()
  forge = standard.forge
})

const huge = [0x00, 0x20, 0, 0, 0, 0, 0, 0] as const

function body(offset: number, ...values: readonly number[]): Fault {
  return { body: put(offset, ...values) }
}

function detail(offset: number, ...values: readonly number[]): Fault {
  return { detailSeal: { padded: put(offset, ...values) } }
}

function blob(offset: number, ...values: readonly number[]): Fault {
  return { blobSeal: { padded: put(offset, ...values) } }
}

describe('T15: a field that has no such value is refused', () => {
  test.each<[code: string, name: string, fault: Fault, reference?: string]>([
    ['upgrade_required', 'record version 2', body(0, 2)],
    ['upgrade_required', 'record version 0', body(0, 0)],
    ['upgrade_required', 'record kind 7', body(1, 7)],
    ['upgrade_required', 'record kind 0', body(1, 0)],
    ['record_malformed', 'three parents', body(2, 3)],
    ['record_malformed', 'a reserved byte', body(3, 1)],
    ['record_malformed', 'a height of 2^53', body(4, ...huge)],
    ['record_malformed', 'a sequence number of 2^53', body(28, ...huge)],
    ['record_malformed', 'a time of 2^53', body(132, ...huge)],
    ['record_malformed', 'an actor type 5', body(140, 5)],
    ['record_malformed', 'no actor type beside an id', body(140, 0)],
    ['record_malformed', 'an actor of 65 characters', body(141, 65)],
    ['record_malformed', 'an actor that is longer than its text', body(141, 20)],
    ['record_malformed', 'an actor with a slash', body(142, 0x2f)],
    ['record_malformed', 'an actor that is not filled with zeros', body(200, 0x61)],
    ['record_malformed', 'a session with a line break', body(206, 1, 0x0a)],
    ['record_malformed', 'a reason 7', body(271, 7)],
    ['record_malformed', 'a reason in a change', body(271, 1)],
    ['record_malformed', 'a directory number in a change', body(272, 0, 0, 0, 0, 0, 0, 0, 1)],
    ['record_malformed', 'a keyring in a change', body(280, 1)],
    ['record_malformed', 'settings in a change', body(312, 1)],
    ['record_malformed', 'more rows than there are', body(344, 0, 9)],
    ['record_malformed', 'an operation 4', body(394, 4)],
    ['record_rows', 'no operation', body(394, 0)],
    ['upgrade_required', 'detail version 2', detail(0, 2)],
    ['detail_malformed', 'more rows of a detail than there are', detail(1, 0, 9)],
    ['detail_malformed', 'a path that is longer than the detail', detail(5, 255, 255)],
    ['detail_malformed', 'a note of more than 4,096 bytes', detail(7, 255, 255)],
    ['upgrade_required', 'memory version 2', blob(0, 2)],
    ['upgrade_required', 'a memory of compression 1', blob(1, 1)],
    ['memory_malformed', 'a path that is longer than the memory', blob(2, 255, 255)],
    ['memory_malformed', 'a text of more than 16 MiB', blob(4, 1, 0, 0, 1)],
    ['memory_malformed', 'a text that is longer than the memory', blob(4, 0, 0, 255, 255)],
    ['memory_malformed', 'a creation time of 2^53', blob(24, ...huge)],
  ])('%s: %s', async (code, _, fault, reference) => {
    const spoilt = forge.fork()
    spoilt.change([nextRow], fault)
    expect(await verdicts(spoilt)).toEqual(refused(code, reference))
  })

  test.each<[name: string, session: string | undefined, code: string]>([
    ['a session that contradicts the actor', 'other', 'record_malformed'],
    ['a session that is the actor', 'mine', 'accepted'],
    ['an actor without a session', undefined, 'accepted'],
  ])('%s', async (_, session, code) => {
    const spoilt = forge.fork()
    const actor = { type: 'session', id: 'mine' } as const
    spoilt.change([nextRow], { record: (record) => ({ ...record, actor, session }) })
    expect(await verdicts(spoilt)).toEqual(refused(code))
  })

  test.each<[code: string, name: string, text: Uint8Array]>([
    ['memory_malformed', 'a text that is not UTF-8', Uint8Array.of(0xff)],
    ['memory_malformed', 'a text with half a character', Uint8Array.of(0xc3)],
    ['memory_malformed', 'a text with a surrogate', Uint8Array.of(0xed, 0xa0, 0x80)],
    ['memory_malformed', 'a text in a longer form than needed', Uint8Array.of(0xc0, 0x80)],
  ])('%s: %s', async (code, _, text) => {
    const spoilt = forge.fork()
    const at = 64 + '/a.md'.length
    spoilt.change([{ ...nextRow, content: 'x'.repeat(text.length) }], {
      blobSeal: { padded: put(at, ...text) },
    })
    expect(await verdicts(spoilt)).toEqual(refused(code))
  })

  test('commit_too_large: more than 32 MiB', { tags: 'slow' }, async () => {
    const spoilt = forge.fork()
    spoilt.change([nextRow], { bytes: (bytes) => concatBytes(bytes, new Uint8Array(1 << 25)) })
    expect(await verdicts(spoilt)).toEqual(refused('commit_too_large'))
  })
})

describe('T15: the settings', () => {
  test.each<[name: string, json: string]>([
    ['no JSON', '{'],
    ['another type', '[]'],
    ['white space', spaced()],
    ['another order', JSON.stringify({ description: '', name: 'x' })],
    ['a key twice', json().replace('{"name"', '{"name":"y","name"')],
    ['a key too many', json().replace('{"name"', '{"more":1,"name"')],
    ['an escape that need not be', json().replace('forged', String.raw`\u0066orged`)],
    ['a name that is a number', json().replace('"forged"', '1')],
    ['an empty name', json().replace('"forged"', '""')],
    ['a name with a control character', json().replace('"forged"', String.raw`"a\u0007"`)],
    ['a lone surrogate', json().replace('"forged"', String.raw`"a\ud800"`)],
    ['17 pairs', json().replace('"metadata":{}', `"metadata":${JSON.stringify(pairs(17))}`)],
    ['metadata that is a list', json().replace('"metadata":{}', '"metadata":[]')],
    ['a limit of 0', json().replace('102400', '0')],
    ['a limit above 16 MiB', json().replace('102400', '16777217')],
    ['a limit that is no integer', json().replace('102400', '1.5')],
    ['a limit as a text', json().replace('102400', '"1"')],
    ['a limit in another form', json().replace('102400', '1e5')],
    ['no limits', json().replace(/"limits":.*\}$/, '"limits":null}')],
    ['a negative time', json().replace('null', '-1')],
  ])('settings_malformed: %s', (_, text) => {
    const bytes = utf8(text)
    const plaintext = concatBytes(
      Uint8Array.of(1, 0, 0, 0),
      put(0, bytes.length >> 8, bytes.length)(new Uint8Array(2)),
      bytes,
    )
    expect(codeOf(() => decodeSettings(pad('settings', plaintext)))).toBe('settings_malformed')
  })
})

describe('T15: any bytes throw only errors with a code', () => {
  const readers: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
    parseCommit,
    decodeRecord,
    decodeDetail,
    decodeMemoryBlob,
    decodeSettings,
    decodeKeyring,
    decodeDirectory,
    decodeTree,
    parseStoreFile,
    'decodeArchive A': (bytes) => decodeArchive(bytes, 'A'),
    'decodeArchive C': (bytes) => decodeArchive(bytes, 'C'),
    readKid: (bytes) => readKid('record', bytes),
    openEnvelope: (bytes) => {
      return openEnvelope('record', forge.epoch.record, recordContext(forge), bytes)
    },
  }
  const runs = full ? 20_000 : 200

  test.each(Object.entries(readers))('%s', (_, read) => {
    const mutated = fc
      .record({
        example: fc.nat(examples().length - 1),
        cut: fc.nat(4000),
        patches: fc.array(fc.tuple(fc.nat(4000), fc.integer({ min: 0, max: 255 })), {
          maxLength: 4,
        }),
      })
      .map(({ example, cut, patches }) =>
        spoil(examples()[example] ?? new Uint8Array(), cut, patches),
      )
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 600 }), mutated)
    fc.assert(
      fc.property(bytes, (input) => typeof codeOf(() => read(input)) === 'string'),
      { seed, numRuns: runs },
    )
    expect(codeOf(() => read(new Uint8Array()))).toMatch(/^[a-z_]+$/)
  })

  test.each<[name: string, read: (text: string) => unknown]>([
    ['decodeIdentity', decodeIdentity],
    ['parseRecoveryKey', parseRecoveryKey],
    ['parseId', (text) => parseId('memory', text)],
    ['checkPath', checkPath],
  ])('%s', { tags: 'slow' }, (_, read) => {
    const start = fc.constantFrom('', '/', 'mem_', 'GLKR1-', 'GITLOCKET-IDENTITY-1-')
    const text = fc
      .tuple(start, fc.string({ unit: 'binary', maxLength: 200 }))
      .map((all) => all.join(''))
    fc.assert(
      fc.property(text, (input) => typeof codeOf(() => read(input)) === 'string'),
      { seed, numRuns: runs },
    )
    expect(codeOf(() => read('\0'))).toMatch(/^invalid_/)
  })
})

/** `accepted` or the code; any other exception is thrown on. */
function codeOf(read: () => unknown): string {
  try {
    read()
    return 'accepted'
  } catch (error) {
    if (error instanceof StoreError) return error.code
    throw error
  }
}

function spoil(
  example: Uint8Array,
  cut: number,
  patches: readonly (readonly [number, number])[],
): Uint8Array {
  const copy = cut < example.length && cut % 3 === 0 ? example.slice(0, cut) : example.slice()
  for (const [at, value] of patches) if (at < copy.length) copy[at] = value
  return copy
}

function json(): string {
  return Buffer.from(encodeSettings(plainSettings).subarray(6)).toString('utf8')
}

function spaced(): string {
  return json().replace(':', ': ')
}

function pairs(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']))
}

/** Objects and plaintexts to spoil. */
function examples(): readonly Uint8Array[] {
  const last = forge.entries.at(-1)
  const oids = [
    forge.head,
    last?.keyring ?? '',
    last?.settings ?? '',
    last?.blobs.get(forge.idOf(memory.a)) ?? '',
  ]
  const objects = oids.map((oid) => forge.objects.get(oid)?.body ?? new Uint8Array())
  const plain = [
    last?.signed ?? new Uint8Array(),
    encodeDirectory(forge.directory),
    encodeSettings(plainSettings),
  ]
  return [...objects, ...plain.map((bytes) => pad('settings', bytes)), storeFile(forge.storeId)]
}
