// Two implementations of docs/FORMAT.md agree on every structure of any content: the product and
// the reference decoder write the same bytes, and each reads what the other wrote.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toHex, utf8 } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import type { RecordBody, SignedRow } from '../../src/format/change-record.ts'
import { encodeCommit, parseCommit, verifyCommitBytes } from '../../src/format/commit.ts'
import { decodeDetail, detailCommitment, encodeDetail } from '../../src/format/detail.ts'
import { formatDeviceCard, parseDeviceCard } from '../../src/format/device-card.ts'
import {
  type EnvelopeType,
  openDeterministic,
  openEnvelope,
  paddedLength,
  sealEnvelope,
} from '../../src/format/envelope.ts'
import { formatId, parseId } from '../../src/format/id.ts'
import { decodeMemoryBlob, encodeMemoryBlob } from '../../src/format/memory-blob.ts'
import { checkPath } from '../../src/format/path.ts'
import {
  decodeRecord,
  encodeSignedBody,
  signRecord,
  zeroHash,
  zeroId,
} from '../../src/format/record.ts'
import { decodeSettings, encodeSettings } from '../../src/format/settings.ts'
import {
  decodeIdentity,
  formatIdentity,
  formatRecoveryKey,
  generateIdentity,
  generateOperatorSecret,
  parseOperatorSecret,
  parseRecoveryKey,
} from '../../src/keys/identity.ts'
import { operatorRecoveryKey } from '../../src/keys/recovery.ts'
import { pad } from '../support/forge-seal.ts'
import * as commit from '../support/reference/commit.ts'
import * as detail from '../support/reference/detail.ts'
import * as deviceCard from '../support/reference/device-card.ts'
import * as envelope from '../support/reference/envelope.ts'
import * as identity from '../support/reference/identity.ts'
import * as memory from '../support/reference/memory.ts'
import * as path from '../support/reference/path.ts'
import * as record from '../support/reference/record.ts'
import * as settings from '../support/reference/settings.ts'
import { full, seed } from '../support/seed.ts'
import { verdictOf } from '../support/verdict.ts'
import { deviceName } from './format-values.ts'

const options = { seed, numRuns: full ? 10_000 : 100 }
const pair = signingKeyPair(new Uint8Array(32).fill(1))

const bytes = (length: number): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ minLength: length, maxLength: length })
const id = bytes(16).map(toHex)
const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER })
/** Ms since 1970, within the calendar of ECMAScript. */
const instant = fc.nat({ max: 8.64e15 })
const callerId = fc.stringMatching(/^[A-Za-z0-9._:@-]{1,64}$/)
const text = fc.string({ unit: 'grapheme', maxLength: 300 }).filter((t) => !t.includes('\0'))

const segment = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .map((name) => name.normalize('NFC').replaceAll('/', '-'))
const pathOf = fc
  .array(segment, { minLength: 1, maxLength: 20 })
  .map((segments) => `/${segments.join('/')}`)
  .filter(isPath)

function isPath(candidate: string): boolean {
  try {
    checkPath(candidate)
    return true
  } catch {
    return false
  }
}

describe('a record', () => {
  const someId = id.filter((hex) => hex !== zeroId)
  const known: fc.Arbitrary<SignedRow> = fc.record({
    memoryId: someId,
    base: someId,
    secondBase: id,
    operation: fc.constantFrom('created', 'modified', 'deleted'),
    commitment: bytes(32),
  })
  const fresh: fc.Arbitrary<SignedRow> = fc.record({
    memoryId: fc.constant(zeroId),
    base: fc.constant(zeroId),
    secondBase: id,
    operation: fc.constant('created'),
    commitment: bytes(32),
  })
  const knownRows = fc
    .uniqueArray(known, { minLength: 1, maxLength: 20, selector: (one) => one.memoryId })
    .map((rows) => rows.toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1)))
  const actor = fc.record({
    type: fc.constantFrom('api', 'user', 'service_account'),
    id: callerId,
  })
  const change: fc.Arbitrary<RecordBody> = fc.record({
    kind: fc.constant('change'),
    height: natural,
    deviceId: id,
    sequence: natural,
    previous: bytes(32),
    keyring: bytes(32),
    parents: fc.tuple(bytes(32)),
    time: instant,
    actor,
    session: fc.option(callerId, { nil: undefined }),
    reason: fc.constant(undefined),
    directoryNumber: fc.constant(0),
    keyringHash: fc.constant(zeroHash),
    settingsHash: fc.constant(zeroHash),
    rows: fc.tuple(fc.array(fresh, { maxLength: 3 }), knownRows).map((parts) => parts.flat()),
    grants: fc.constant([]),
  })

  test('of any fields', { tags: 'slow' }, () => {
    fc.assert(
      fc.property(change, (value) => {
        const padded = pad('record', signRecord({ seed: 'ab'.repeat(16) }, value, pair))
        expect(decodeRecord(padded).record).toEqual(value)
        const other = record.decodeRecord(padded)
        expect(toHex(record.encodeSignedBody(other.record))).toBe(toHex(encodeSignedBody(value)))
      }),
      options,
    )
  })
})

describe('a detail', () => {
  const row = fc.record({
    row: fc.nat(16_383),
    path: pathOf,
    note: fc.constant(''),
    size: fc.nat(16_777_216),
    sha256: bytes(32),
    blinding: bytes(32),
  })
  const rows = fc
    .uniqueArray(row, { maxLength: 20, selector: (one) => one.row })
    .map((list) => list.toSorted((a, b) => a.row - b.row))

  test('of any rows', { tags: 'slow' }, () => {
    fc.assert(
      fc.property(rows, text, (list, note) => {
        const noted = list.map((one) => (one.row === 0 ? { ...one, note } : one))
        const padded = pad('detail', encodeDetail(noted))
        expect(decodeDetail(padded)).toEqual(noted)
        const other = detail.decodeDetail(padded)
        expect(toHex(pad('detail', detail.encodeDetail(other)))).toBe(toHex(padded))
        for (const [index, one] of noted.entries()) {
          const mine = toHex(detailCommitment(one.blinding, one))
          const theirs = other[index]
          expect(theirs && detail.detailCommitment(theirs.blinding, theirs)).toBe(mine)
        }
      }),
      options,
    )
  })
})

test('a memory of any text', () => {
  const blob = fc.record({ path: pathOf, content: text, versionId: id, created: instant })
  fc.assert(
    fc.property(blob, (fields) => {
      const value = { ...fields, sha256: sha256(utf8(fields.content)) }
      const padded = pad('memory', encodeMemoryBlob(value))
      expect(decodeMemoryBlob(padded)).toEqual(value)
      expect(toHex(memory.encodeMemoryBlob(memory.decodeMemoryBlob(padded)))).toBe(
        toHex(encodeMemoryBlob(value)),
      )
    }),
    options,
  )
})

test('settings of any text', () => {
  const name = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
    .filter((value) => !/\p{Cc}/u.test(value) && value.length > 0)
  const key = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .filter((k) => k !== '__proto__')
  const value = fc.record({
    name,
    description: fc.string({ unit: 'grapheme', maxLength: 100 }),
    metadata: fc.dictionary(
      key,
      text.filter((v) => [...v].length <= 512),
      { maxKeys: 16, noNullPrototype: true },
    ),
    archivedAt: fc.option(instant, { nil: undefined }),
    limits: fc.record({
      contentBytes: fc.integer({ min: 1, max: 16_777_216 }),
      memories: fc.integer({ min: 1, max: 1_000_000 }),
    }),
  })
  fc.assert(
    fc.property(value, (fields) => {
      const padded = pad('settings', encodeSettings(fields))
      expect(decodeSettings(padded)).toEqual(fields)
      const other = settings.encodeSettings(settings.decodeSettings(padded))
      expect(toHex(other)).toBe(toHex(encodeSettings(fields)))
    }),
    options,
  )
})

test('a commit of any parts', { tags: 'slow' }, () => {
  const oid = bytes(20).map(toHex)
  const parts = fc.record({
    tree: oid,
    parents: fc.array(oid, { maxLength: 2 }),
    height: fc.nat(1_000_000),
    record: fc.uint8Array({ minLength: 1, maxLength: 400 }),
    detail: fc.option(fc.uint8Array({ minLength: 1, maxLength: 400 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(parts, (value) => {
      const encoded = encodeCommit(value, pair)
      expect(parseCommit(encoded)).toMatchObject(value)
      expect(verifyCommitBytes(encoded, value, pair)).toBeUndefined()
      const other = commit.encodeCommit(commit.parseCommit(encoded), pair.secretKey.slice(0, 32))
      expect(toHex(other)).toBe(toHex(encoded))
    }),
    options,
  )
})

test('an envelope of any plaintext', () => {
  const type = fc.constantFrom<EnvelopeType>('record', 'memory', 'detail', 'settings', 'archive')
  const keys = fc.record({ kid: id, key: bytes(32), saltKey: bytes(32) })
  const context = fc.uint8Array({ minLength: 16, maxLength: 48 })
  const plaintext = fc.uint8Array({ maxLength: 3000 })
  fc.assert(
    fc.property(type, keys, context, bytes(32), plaintext, (kind, own, place, hedge, plain) => {
      const sealed = sealEnvelope(kind, own, place, hedge, plain)
      expect(toHex(openEnvelope(kind, own, place, sealed))).toBe(toHex(pad(kind, plain)))
      expect(openDeterministic(kind, own, place, hedge, sealed)).toHaveLength(sealed.length - 96)
      expect(toHex(envelope.sealEnvelope(kind, own, place, hedge, plain))).toBe(toHex(sealed))
    }),
    options,
  )
})

test('a padded length', () => {
  const type = fc.constantFrom<EnvelopeType>('record', 'memory', 'detail', 'slot')
  fc.assert(
    fc.property(type, fc.nat(1 << 24), (kind, length) => {
      expect(paddedLength(kind, length)).toBe(envelope.paddedLength(kind, length))
      expect(paddedLength(kind, paddedLength(kind, length))).toBe(paddedLength(kind, length))
    }),
    options,
  )
})

describe('text forms', () => {
  test('an id', () => {
    const kind = fc.constantFrom('store', 'memory', 'version', 'device')
    fc.assert(
      fc.property(kind, id, (which, hex) => {
        expect(parseId(which, formatId(which, hex))).toBe(hex)
        expect(identity.formatId(which, hex)).toBe(formatId(which, hex))
      }),
      options,
    )
  })

  test('an identity', async () => {
    await fc.assert(
      fc.asyncProperty(bytes(96), async (secret) => {
        const made = await generateIdentity(() => secret)
        expect(toHex(decodeIdentity(formatIdentity(made)).secret)).toBe(toHex(secret))
        const other = identity.parseIdentity(formatIdentity(made))
        expect(formatIdentity(made)).toContain(identity.formatIdentity(other))
      }),
      { ...options, numRuns: full ? 1000 : 20 },
    )
  })

  test('a recovery key', () => {
    fc.assert(
      fc.property(id, bytes(32), (storeId, key) => {
        const shown = formatRecoveryKey(storeId, key)
        expect(toHex(parseRecoveryKey(shown).key)).toBe(toHex(key))
        expect(parseRecoveryKey(shown).isOf(storeId)).toBe(true)
        expect(identity.formatRecoveryKey(storeId, key)).toBe(shown)
      }),
      options,
    )
  })

  test('an operator secret, and the recovery key that it gives', async () => {
    await fc.assert(
      fc.asyncProperty(id, bytes(32), fc.nat(15), async (ofStore, secret, counter) => {
        const shown = await generateOperatorSecret(() => secret)
        expect(toHex(parseOperatorSecret(shown))).toBe(toHex(secret))
        expect(identity.formatOperatorSecret(secret)).toBe(shown)
        const key = identity.operatorRecoveryKey(secret, ofStore, counter)
        const made = operatorRecoveryKey({ seed: ofStore }, secret, counter)
        expect(toHex(made)).toBe(toHex(key))
      }),
      options,
    )
  })

  test('a device card with any name', async () => {
    await fc.assert(
      fc.asyncProperty(bytes(96), deviceName, async (secret, name) => {
        const made = await generateIdentity(() => secret)
        const card = formatDeviceCard(made, { name })
        expect(parseDeviceCard(card)).toMatchObject({ deviceId: made.deviceId, name })
        const read = deviceCard.parseDeviceCard(card)
        expect([read.deviceId, read.name]).toEqual([made.deviceId, name])
        expect(toHex(read.kemKey)).toBe(toHex(made.kem.publicKey))
      }),
      { ...options, numRuns: full ? 500 : 10 },
    )
  })

  test('both decoders accept the same paths', async () => {
    const any = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.array(segment, { maxLength: 23 }).map((segments) => `/${segments.join('/')}`),
      pathOf,
    )
    await fc.assert(
      fc.asyncProperty(any, async (candidate) => {
        const mine = await verdictOf(() => checkPath(candidate))
        expect(await verdictOf(() => path.checkPath(candidate, 'invalid_path'))).toBe(mine)
      }),
      options,
    )
  })
})
