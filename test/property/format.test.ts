// Every layout of docs/FORMAT.md there and back: values survive encoding and decoding, and all
// accepted bytes are the canonical encoding of their value.

import { deepStrictEqual } from 'node:assert/strict'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteWriter, toHex, utf8, utf8Text } from '../../src/bytes.ts'
import { systemRandom } from '../../src/crypto/random.ts'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import { StoreError } from '../../src/errors.ts'
import { encodeCommit, parseCommit, verifyCommitBytes } from '../../src/format/commit.ts'
import { decodeDetail, encodeDetail } from '../../src/format/detail.ts'
import { decodeDirectory, encodeDirectory } from '../../src/format/directory.ts'
import {
  type EnvelopeType,
  openDeterministic,
  openEnvelope,
  sealEnvelope,
} from '../../src/format/envelope.ts'
import { formatId, parseId } from '../../src/format/id.ts'
import {
  decodeArchive,
  decodeKeyring,
  encodeArchive,
  encodeKeyring,
} from '../../src/format/keyring.ts'
import { decodeMemoryBlob, encodeMemoryBlob } from '../../src/format/memory-blob.ts'
import { parseStoreFile, storeFile } from '../../src/format/public-files.ts'
import { type DecodedRecord, decodeRecord, signRecord } from '../../src/format/record.ts'
import { decodeSettings, encodeSettings } from '../../src/format/settings.ts'
import { decodeTree, encodeTree } from '../../src/git/objects/object.ts'
import {
  decodeIdentity,
  formatIdentity,
  formatRecoveryKey,
  generateIdentity,
  parseRecoveryKey,
} from '../../src/keys/identity.ts'
import { full, seed } from '../support/seed.ts'
import { mutated } from './byte-mutations.ts'
import * as values from './format-values.ts'

const runs = { seed, numRuns: full ? 20_000 : 100 }
const seeded = { seed: '0123456789abcdef'.repeat(2) }
const pair = signingKeyPair(systemRandom(32))

/** A layout, as bytes that a reader gets: padded, if they are sealed. */
interface Layout<T> {
  readonly name: string
  readonly value: fc.Arbitrary<T>
  readonly encode: (value: T) => Uint8Array
  readonly decode: (bytes: Uint8Array) => T
}

function layoutTests<T>({ name, value, encode, decode }: Layout<T>): void {
  test(`${name}: decoding returns the encoded value`, () => {
    const property = fc.property(value, (each) => {
      deepStrictEqual(decode(encode(each)), each)
    })
    fc.assert(property, runs)
  })

  test(`${name}: damaged bytes that are accepted are a canonical encoding`, () => {
    const property = fc.property(mutated(value.map(encode)), (bytes) => {
      const read = acceptedBy(decode, bytes)
      if (read !== undefined) expect(toHex(encode(read.value))).toBe(toHex(bytes))
    })
    fc.assert(property, runs)
  })
}

/** What a decoder makes of the bytes; undefined if it refuses them. */
function acceptedBy<T>(
  decode: (bytes: Uint8Array) => T,
  bytes: Uint8Array,
): { readonly value: T } | undefined {
  try {
    return { value: decode(bytes) }
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

describe('layouts', () => {
  test('records: decoding returns the encoded record', { tags: 'slow' }, () => {
    const property = fc.property(values.record, (record) => {
      const signed = signRecord(seeded, record, pair)
      const decoded = decodeRecord(values.padded('record', signed))
      expect(decoded.record).toEqual(record)
      expect(toHex(decoded.signed)).toBe(toHex(signed))
    })
    fc.assert(property, runs)
  })

  layoutTests<Pick<DecodedRecord, 'record' | 'signature'>>({
    name: 'records under one signature',
    // The bytes are those of the body and of whatever signature was there.
    value: values.record.map((record) => ({ record, signature: new Uint8Array(64).fill(9) })),
    encode: ({ record, signature }) => {
      const signed = signRecord(seeded, record, pair)
      signed.set(signature, signed.length - signature.length)
      return values.padded('record', signed)
    },
    decode: (bytes) => {
      const { record, signature } = decodeRecord(bytes)
      return { record, signature }
    },
  })

  layoutTests({
    name: 'details',
    value: values.detail,
    encode: (rows) => values.padded('detail', encodeDetail(rows)),
    decode: decodeDetail,
  })

  layoutTests({
    name: 'memory blobs',
    value: values.memoryBlob,
    encode: (blob) => values.padded('memory', encodeMemoryBlob(blob)),
    decode: decodeMemoryBlob,
  })

  layoutTests({
    name: 'settings',
    value: values.settings,
    encode: (settings) => values.padded('settings', encodeSettings(settings)),
    decode: decodeSettings,
  })

  layoutTests({
    name: 'directories',
    value: values.directory,
    encode: (directory) => values.padded('directory', encodeDirectory(directory)),
    decode: decodeDirectory,
  })

  layoutTests({
    name: 'archives of A',
    value: values.archive('A'),
    encode: (entries) => values.padded('archive', encodeArchive(entries)),
    decode: (bytes) => decodeArchive(bytes, 'A'),
  })

  layoutTests({
    name: 'archives of C',
    value: values.archive('C'),
    encode: (entries) => values.padded('archive', encodeArchive(entries)),
    decode: (bytes) => decodeArchive(bytes, 'C'),
  })

  layoutTests({
    name: 'keyrings',
    value: values.keyring,
    encode: encodeKeyring,
    decode: decodeKeyring,
  })

  layoutTests({
    name: 'store.json',
    value: values.id(),
    encode: storeFile,
    decode: parseStoreFile,
  })

  layoutTests({
    name: 'git trees',
    value: fc
      .uniqueArray(
        values.shape({
          mode: fc.constantFrom('100644' as const, '40000' as const),
          name: fc.stringMatching(/^[0-9a-z][0-9a-z._-]{0,5}$/),
          oid: values.id(40),
        }),
        { maxLength: 20, selector: ({ name }) => name },
      )
      // Into the order in which they are read back, which is git's.
      .map((entries) => decodeTree(encodeTree(entries))),
    encode: encodeTree,
    decode: decodeTree,
  })
})

describe('settings in equivalent words', () => {
  test.each<readonly [string, (json: string) => string]>([
    ['a space', (json) => json.replace('{', '{ ')],
    ['a newline at the end', (json) => `${json}\n`],
    ['an escape', (json) => json.replace('"name":"n', String.raw`"name":"\u006e`)],
    ['another form of a number', (json) => json.replace(/(?<="memories":\d+)(?=\})/, '.0')],
    ['a key twice', (json) => json.replace('{', '{"name":"n",')],
    ['a key more', (json) => json.replace('{', '{"more":1,')],
    ['another order', (json) => reordered(json)],
  ])('are refused for %s', (_, reword) => {
    const property = fc.property(values.settings, (settings) => {
      const plaintext = encodeSettings(settings)
      const json = utf8(reword(utf8Text(plaintext.subarray(6))))
      const reworded = new ByteWriter().u8(1).u8(0).u32(json.length).raw(json).bytes()
      const read = acceptedBy(decodeSettings, values.padded('settings', reworded))
      expect(read).toBeUndefined()
    })
    fc.assert(property, runs)
  })
})

/** With the two limits of a store in the other order. */
function reordered(json: string): string {
  return json.replace(/("content_bytes":\d+),("memories":\d+)\}\}$/, '$2,$1}}')
}

describe('envelopes', () => {
  const types: readonly EnvelopeType[] = ['record', 'memory', 'detail', 'settings', 'archive']
  const parts = values.shape({
    type: fc.constantFrom(...types),
    keys: values.shape({
      kid: values.id(),
      key: values.bytes(32),
      saltKey: values.bytes(32),
    }),
    context: fc.uint8Array({ maxLength: 60 }),
    hedge: values.bytes(32),
    plaintext: fc.uint8Array({ maxLength: 1200 }),
  })

  test('open to the padded plaintext, and with one plaintext are one envelope', () => {
    const property = fc.property(parts, ({ type, keys, context, hedge, plaintext }) => {
      const envelope = sealEnvelope(type, keys, context, hedge, plaintext)
      const padded = toHex(values.padded(type, plaintext))
      expect(toHex(openEnvelope(type, keys, context, envelope))).toBe(padded)
      expect(toHex(openDeterministic(type, keys, context, hedge, envelope))).toBe(padded)
      const again = sealEnvelope(type, keys, context, hedge, plaintext)
      expect(toHex(again)).toBe(toHex(envelope))
    })
    fc.assert(property, runs)
  })

  test('do not open once they are damaged, by any damage', () => {
    const property = fc.property(
      parts.chain((each) => {
        const { type, keys, context, hedge, plaintext } = each
        const envelope = sealEnvelope(type, keys, context, hedge, plaintext)
        return fc.tuple(fc.constant({ each, envelope }), mutated(fc.constant(envelope)))
      }),
      ([{ each, envelope }, damaged]) => {
        fc.pre(toHex(damaged) !== toHex(envelope))
        const { type, keys, context } = each
        const opened = acceptedBy((bytes) => openEnvelope(type, keys, context, bytes), damaged)
        expect(opened).toBeUndefined()
      },
    )
    fc.assert(property, runs)
  })
})

describe('commits', () => {
  const parts = values.shape({
    tree: values.id(40),
    parents: fc.array(values.id(40), { maxLength: 2 }),
    height: fc.oneof(fc.nat(), fc.integer({ min: 0, max: 2 ** 52 })),
    record: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    detail: fc.option(fc.uint8Array({ minLength: 1, maxLength: 300 }), { nil: undefined }),
  })

  test('are parsed into the parts that they were made of', () => {
    const property = fc.property(parts, (each) => {
      const bytes = encodeCommit(each, pair)
      const { signature, ...parsed } = parseCommit(bytes)
      expect(parsed).toEqual(each)
      expect(signature).toMatch(/^-----BEGIN SSH SIGNATURE-----\n/)
      verifyCommitBytes(bytes, parsed, pair)
    })
    fc.assert(property, runs)
  })

  test('verify only as the bytes that would be written', () => {
    const property = fc.property(
      mutated(parts.map((each) => encodeCommit(each, pair))),
      (bytes) => {
        const parsed = acceptedBy((all) => {
          const read = parseCommit(all)
          verifyCommitBytes(all, read, pair)
          return read
        }, bytes)
        if (parsed === undefined) return
        expect(toHex(encodeCommit(parsed.value, pair))).toBe(toHex(bytes))
      },
    )
    fc.assert(property, runs)
  })
})

describe('text forms', () => {
  test('ids have one', () => {
    const kind = fc.constantFrom('store', 'memory', 'version', 'device')
    const property = fc.property(kind, values.id(), mutation, (each, hex, change) => {
      const text = formatId(each, hex)
      expect(parseId(each, text)).toBe(hex)
      const damaged = change(text)
      const read = acceptedBy(
        (bytes) => parseId(each, Buffer.from(bytes).toString()),
        utf8(damaged),
      )
      if (read !== undefined) expect(formatId(each, read.value)).toBe(damaged)
    })
    fc.assert(property, runs)
  })

  test('identities are read as they were written, however they are spaced and cased', async () => {
    const identity = await generateIdentity()
    const text = formatIdentity(identity)
    const property = fc.property(typing, (typed) => {
      const [comment = '', secret = ''] = text.split('\n')
      const [prefix, digits] = [secret.slice(0, 21), secret.slice(21)]
      const read = decodeIdentity(`\n${comment}\r\n\t${typed(prefix, digits)} \n`)
      expect(toHex(read.secret)).toBe(toHex(identity.secret))
      expect(formatIdentity(read)).toBe(text)
    })
    fc.assert(property, { ...runs, numRuns: runs.numRuns / 4 })
  })

  test('recovery keys are read as they were written, however they are spaced and cased', () => {
    const property = fc.property(values.id(), values.bytes(32), typing, (store, key, typed) => {
      const text = formatRecoveryKey(store, key)
      expect(text).toMatch(/^GLKR1(?:-[0-9A-HJKMNP-TV-Z]{8}){8}$/)
      const read = parseRecoveryKey(typed(text.slice(0, 6), text.slice(6)))
      expect(toHex(read.key)).toBe(toHex(key))
      expect(read.isOf(store)).toBe(true)
    })
    fc.assert(property, runs)
  })
})

/** Puts one character in the place of another. */
const mutation = fc
  .tuple(fc.nat({ max: 40 }), fc.constantFrom(...'08iloOIL-_ Zz\u00e9\u212a'))
  .map(([at, character]) => (text: string): string => {
    const place = at % text.length
    return text.slice(0, place) + character + text.slice(place + 1)
  })

type Typed = (prefix: string, digits: string) => string

/** What FORMAT §1.3 forgives a person who types: case, letters for digits, spaces and hyphens. */
const typing: fc.Arbitrary<Typed> = fc
  .infiniteStream(fc.constantFrom('as it is', 'lower case', 'letter', 'space', 'hyphen'))
  .map((stream) => (prefix, digits) => {
    const type = (character: string, forgive: boolean): string => {
      const { value } = stream.next()
      if (value === 'lower case') return character.toLowerCase()
      if (!forgive) return character
      if (value === 'space') return ` ${character}`
      if (value === 'hyphen') return `-${character}`
      const alike = value === 'letter' ? { '0': 'o', '1': 'L' }[character] : undefined
      return alike ?? character
    }
    const prefixText = Array.from(prefix, (character) => type(character, false)).join('')
    return prefixText + Array.from(digits, (character) => type(character, true)).join('')
  })
