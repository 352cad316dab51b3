// Arbitrary values of everything that docs/FORMAT.md lays out in bytes: whatever a store could
// write.

import * as fc from 'fast-check'
import { compareBytes, concatBytes, toHex, utf8 } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import type { Actor, GrantRow, RecordBody, SignedRow } from '../../src/format/change-record.ts'
import type { DetailRow } from '../../src/format/detail.ts'
import type { DeviceEntry, Directory, RecoveryEntry } from '../../src/format/directory.ts'
import { type EnvelopeType, paddedLength } from '../../src/format/envelope.ts'
import { deviceIdOf } from '../../src/format/id.ts'
import {
  type ArchiveEntry,
  type KeyringFile,
  type Slot,
  sortSlots,
} from '../../src/format/keyring.ts'
import type { MemoryBlob } from '../../src/format/memory-blob.ts'
import { grantRowKey } from '../../src/format/record-rules.ts'
import { zeroHash, zeroId } from '../../src/format/record.ts'
import type { Settings } from '../../src/format/settings.ts'

/** As an object literal makes it: fc.record leaves out the prototype now and then. */
export function shape<T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(fields, { noNullPrototype: true })
}

export const bytes = (length: number): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ minLength: length, maxLength: length })
export const id = (digits = 32): fc.Arbitrary<string> =>
  bytes(digits / 2).map((all) => Buffer.from(all).toString('hex'))
/** 32 bytes and not all of them zero. */
const hash = bytes(32).map((all) => all.with(0, (all[0] ?? 0) | 1))
const someId = id().map((hex) => `1${hex.slice(1)}`)
const count = fc.oneof(fc.nat(), fc.maxSafeNat())
/** Ms since 1970, within the calendar of ECMAScript. */
const instant = fc.oneof(fc.nat(), fc.integer({ min: 0, max: 8.64e15 }))

const text = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: 'binary', maxLength }).filter((each) => each.isWellFormed())
const segment = fc.string({ unit: fc.constantFrom('a', '.', 'é', '\u{1f600}'), minLength: 1 })
export const path: fc.Arbitrary<string> = fc
  .array(
    segment.filter((each) => each !== '.' && each !== '..'),
    { minLength: 1, maxLength: 20 },
  )
  .map((segments) => `/${segments.join('/')}`)
  .filter((each) => utf8(each).length <= 1024)

const name = fc.string({ unit: fc.constantFrom(...'aZ0._:@-'), minLength: 1, maxLength: 64 })
const actor: fc.Arbitrary<Actor> = shape({
  type: fc.constantFrom('api' as const, 'user' as const, 'service_account' as const),
  id: name,
})

const plain = shape({
  height: count,
  deviceId: id(),
  sequence: count,
  previous: bytes(32),
  keyring: bytes(32),
  time: instant,
  actor,
  session: fc.option(name, { nil: undefined }),
})
const nothing = {
  reason: undefined,
  directoryNumber: 0,
  keyringHash: zeroHash,
  settingsHash: zeroHash,
  rows: [],
  grants: [],
}
const known: fc.Arbitrary<SignedRow> = shape({
  memoryId: someId,
  base: someId,
  secondBase: fc.constant(zeroId),
  operation: fc.constantFrom('created' as const, 'modified' as const, 'deleted' as const),
  commitment: bytes(32),
})
const fresh: fc.Arbitrary<SignedRow> = bytes(32).map((commitment) => {
  return { memoryId: zeroId, base: zeroId, secondBase: zeroId, operation: 'created', commitment }
})
const knownRows = fc
  .uniqueArray(known, { minLength: 1, maxLength: 12, selector: ({ memoryId }) => memoryId })
  .map((all) => all.toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1)))
const rows = fc.tuple(fc.array(fresh, { maxLength: 3 }), knownRows).map((parts) => parts.flat())
const terms = shape({
  role: fc.constantFrom('writer' as const, 'reader' as const, 'proposer' as const),
  notAfter: instant,
})
const ending = id().map((grantId) => ({ grantId, begins: undefined }))
const grantRows: fc.Arbitrary<readonly GrantRow[]> = fc
  .uniqueArray(fc.oneof(shape({ key: hash, begins: terms }), ending), {
    minLength: 1,
    maxLength: 64,
    selector: (row) => toHex(grantRowKey(row)),
  })
  .map((all) => all.toSorted((a, b) => compareBytes(grantRowKey(a), grantRowKey(b))))
const redaction = { secondBase: zeroId, operation: undefined, commitment: zeroHash }

export const record: fc.Arbitrary<RecordBody> = fc.oneof(
  fc.tuple(plain, hash, rows).map(([fields, parent, all]) => {
    return { ...nothing, ...fields, kind: 'change' as const, parents: [parent], rows: all }
  }),
  fc.tuple(plain, hash, knownRows).map(([fields, parent, all]) => ({
    ...nothing,
    ...fields,
    kind: 'redact' as const,
    reason: 'personal_data' as const,
    parents: [parent],
    rows: all.map(({ memoryId, base }) => ({ memoryId, base, ...redaction })),
  })),
  fc.tuple(plain, hash, hash).map(([fields, keyringHash, settingsHash]) => {
    const hashes = { keyringHash, settingsHash }
    return { ...nothing, ...fields, ...hashes, kind: 'genesis' as const, parents: [] }
  }),
  fc.tuple(plain, hash, hash, count).map(([fields, parent, keyringHash, directoryNumber]) => {
    const named = { keyringHash, directoryNumber, actor: undefined }
    return { ...nothing, ...fields, ...named, kind: 'keyring' as const, parents: [parent] }
  }),
  fc.tuple(plain, hash, grantRows).map(([fields, parent, grants]) => {
    return { ...nothing, ...fields, grants, kind: 'grants' as const, parents: [parent] }
  }),
  fc.tuple(plain, hash, hash).map(([fields, parent, settingsHash]) => {
    return { ...nothing, ...fields, settingsHash, kind: 'settings' as const, parents: [parent] }
  }),
)

export const detail: fc.Arbitrary<readonly DetailRow[]> = fc
  .uniqueArray(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
  .chain((indexes) =>
    fc.tuple(
      ...indexes
        .toSorted((a, b) => a - b)
        .map((index) =>
          shape({
            row: fc.constant(index),
            path,
            note: index === 0 ? text(30) : fc.constant(''),
            size: fc.integer({ min: 0, max: 0xffff_ffff }),
            sha256: bytes(32),
            blinding: bytes(32),
          }),
        ),
    ),
  )

export const memoryBlob: fc.Arbitrary<MemoryBlob> = shape({
  path,
  content: text(1500).map((all) => all.replaceAll('\0', '')),
  versionId: id(),
  created: instant,
}).map((blob) => ({ ...blob, sha256: sha256(utf8(blob.content)) }))

export const settings: fc.Arbitrary<Settings> = shape({
  name: text(60).map((all) => `n${all.replaceAll(/\p{Cc}/gu, '')}`),
  description: text(60),
  metadata: fc.dictionary(
    fc.oneof(text(6), fc.constantFrom('10', '9', '__proto__')).filter((key) => key !== ''),
    text(20),
    { maxKeys: 16, noNullPrototype: true },
  ),
  archivedAt: fc.option(instant, { nil: undefined }),
  limits: shape({
    contentBytes: fc.integer({ min: 1, max: 16_777_216 }),
    memories: fc.integer({ min: 1, max: 1_000_000 }),
  }),
})

export const deviceName: fc.Arbitrary<string> = fc
  .string({ unit: fc.constantFrom('a', 'Z', '7', ' ', '’', 'é', '\u{1f600}'), maxLength: 64 })
  .map((each) => each.trim())

const device: fc.Arbitrary<DeviceEntry> = shape({
  signingKey: bytes(32).map((secret) => signingKeyPair(secret).publicKey),
  kemKey: bytes(1216),
  keySignature: bytes(64),
  role: fc.constantFrom('owner', 'writer', 'reader', 'auditor'),
  admittedBy: fc.constantFrom('owner', 'recovery', 'passphrase'),
  slotId: id(),
  name: deviceName,
}).map(({ slotId, ...entry }) => ({
  ...entry,
  deviceId: deviceIdOf(entry.signingKey),
  slotId: entry.admittedBy === 'owner' ? undefined : slotId,
  added: 0,
}))
const recovery: fc.Arbitrary<readonly RecoveryEntry[]> = fc
  .uniqueArray(id(), { maxLength: 2 })
  .map((ids) =>
    ids.toSorted().map((slotId, index): RecoveryEntry => {
      const signingKey = new Uint8Array(32).fill(index)
      const keys = { slotId, signingKey, kemKey: new Uint8Array(1216).fill(index) }
      const argon2 = { salt: new Uint8Array(16).fill(index), passes: 3, memoryKiB: 65_536 }
      return index === 0 ? { ...keys, type: 'passphrase', argon2 } : { ...keys, type: 'recovery' }
    }),
  )
const lastRecord = fc.oneof(
  fc.constant({ sequence: 0, record: zeroHash }),
  shape({ sequence: count.map((n) => Math.max(n, 1)), record: hash }),
)
export const directory: fc.Arbitrary<Directory> = fc
  .tuple(
    fc.uniqueArray(fc.tuple(device, lastRecord), {
      maxLength: 4,
      selector: ([{ deviceId }]) => deviceId,
    }),
    recovery,
    hash,
    fc.oneof(fc.constant(0), count),
    fc.integer({ min: 0, max: 250 }),
    fc.constantFrom('owners and writers' as const, 'owners' as const),
  )
  .map(([entries, codes, random, number, quota, givers]) => {
    const isRemoved = (index: number): boolean => number > 0 && index % 2 === 1
    const ordered = entries.toSorted(([a], [b]) => (a.deviceId < b.deviceId ? -1 : 1))
    const active = ordered.filter((_, index) => !isRemoved(index))
    const removed = ordered.filter((_, index) => isRemoved(index))
    return {
      number,
      previous: number === 0 ? undefined : random,
      devices: active.map(([entry]) => entry),
      removed: removed.map(([{ deviceId }, last]) => ({ deviceId, removed: number, ...last })),
      recovery: codes,
      quota,
      givers,
      founderRandom: number === 0 ? random : undefined,
    }
  })

export const archive = (master: 'A' | 'C'): fc.Arbitrary<readonly ArchiveEntry[]> =>
  fc.array(
    shape({
      kid: id(),
      key: bytes(32),
      hashC: master === 'A' ? bytes(32) : fc.constant(undefined),
    }),
    { maxLength: 20 },
  )

/** Looks like an envelope to who has no key. */
function framed(type: number, kid: string, length: number): Uint8Array {
  const head = concatBytes(utf8('GLK1'), Uint8Array.of(1, type, 0, 0), Buffer.from(kid, 'hex'))
  return concatBytes(head, new Uint8Array(length - head.length).fill(7))
}

export const keyring: fc.Arbitrary<KeyringFile> = fc
  .tuple(id(), id(), count, fc.constantFrom(4, 8), fc.nat({ max: 1 }))
  .map(([kid, seed, number, keys, passphrases]) => {
    const types = [
      ...Array.from({ length: keys }, () => 'key' as const),
      ...Array.from({ length: passphrases }, () => 'passphrase' as const),
    ]
    const slots = types.map((type, index) => slotOf(type, kid, index))
    return {
      kid,
      seed,
      number,
      slots: sortSlots(slots),
      archiveA: framed(8, kid, 608),
      archiveC: framed(8, kid, 609),
      directory: framed(7, kid, 96),
    }
  })

function slotOf(type: Slot['type'], kid: string, index: number): Slot {
  const filled = (length: number): Uint8Array => new Uint8Array(length).fill(index)
  const slotId = Buffer.from(filled(16)).toString('hex')
  const argon2 = { salt: filled(16), passes: 3, memoryKiB: 65_536 }
  return {
    type,
    passphrase: type === 'passphrase' ? { slotId, argon2 } : undefined,
    ciphertext: filled(1120),
    envelope: framed(5, kid, 608),
  }
}

/** As a plaintext is padded before it is sealed. */
export function padded(type: EnvelopeType, plaintext: Uint8Array): Uint8Array {
  const all = new Uint8Array(paddedLength(type, plaintext.length))
  all.set(plaintext)
  return all
}
