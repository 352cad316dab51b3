// T3: no attacker can move a sealed object, or a part of one, to another position, version, type,
// epoch or store, reseal an existing one, or make one ciphertext decrypt in two ways. FORMAT §3,
// §3.1–§3.3.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { concatBytes, fromHex, label } from '../../src/bytes.ts'
import { openBytes } from '../../src/crypto/aead.ts'
import { keyedHash } from '../../src/crypto/digest.ts'
import { parseCommit } from '../../src/format/commit.ts'
import {
  detailContext,
  type EnvelopeType,
  memoryContext,
  openEnvelope,
  recordContext,
} from '../../src/format/envelope.ts'
import type { Oid } from '../../src/git/objects/object.ts'
import { epochKeys } from '../../src/keys/epoch.ts'
import type { Fault } from '../support/forge-fault.ts'
import { put, seal, type SealFault } from '../support/forge-seal.ts'
import type { Forge } from '../support/forge.ts'
import { memory, nextRow, refused, standardHistory, verdicts } from '../support/standard-forge.ts'
import { twoKeyCiphertext } from '../support/two-keys.ts'
import { verdictOf } from '../support/verdict.ts'

let standard: Forge
beforeAll(async () => {
  const { forge } = await standardHistory()
  standard = forge
})

describe('T3: an object from another place is refused', () => {
  test.each<[code: string, name: string, fault: (forge: Forge) => Fault]>([
    [
      'envelope_salt',
      "the memory's blob of an older version",
      (f) => showing(f, blobAt(f, 3, memory.a)),
    ],
    ['envelope_commitment', "another memory's blob", (f) => showing(f, blobAt(f, 3, memory.b))],
    [
      'envelope_type',
      'the settings as a memory',
      (f) => showing(f, f.entries.at(-1)?.settings ?? ''),
    ],
    [
      'envelope_magic',
      'the keyring as a memory',
      (f) => showing(f, f.entries.at(-1)?.keyring ?? ''),
    ],
    ['memory_mismatch', 'a tree as a memory', (f) => showing(f, f.tree([]))],
    [
      'envelope_commitment',
      "another record's detail",
      (f) => ({ parts: (parts) => ({ ...parts, detail: detailOf(f, -1) }) }),
    ],
    [
      'envelope_type',
      'the record as its detail',
      () => ({ parts: (parts) => ({ ...parts, detail: parts.record }) }),
    ],
    [
      'envelope_type',
      'the detail as the record',
      () => ({ parts: (parts) => ({ ...parts, record: parts.detail ?? parts.record }) }),
    ],
    [
      'record_parents',
      'an older record',
      (f) => ({ parts: (parts) => ({ ...parts, ...recordOf(f, 3) }) }),
    ],
  ])('%s: %s', async (code, name, fault) => {
    const forge = standard.fork()
    forge.change([nextRow], fault(forge))
    const order = name === 'an older record' ? 'duplicate_record' : code
    const reference = name === 'a tree as a memory' ? 'object_missing' : order
    expect(await verdicts(forge)).toEqual(refused(order, reference))
  })

  test('envelope_epoch: the blobs of another store', async () => {
    const forge = standard.fork()
    const { forge: other } = await standardHistory('another store')
    const blob = forge.put(
      'blob',
      other.objects.get(blobAt(other, 4, memory.a))?.body ?? new Uint8Array(),
    )
    forge.change([nextRow], showing(forge, blob))
    expect(await verdicts(forge)).toEqual(refused('envelope_epoch'))
  })

  test('envelope_epoch: a whole commit of another store', async () => {
    const forge = standard.fork()
    const { forge: other } = await standardHistory('another store')
    const { record, detail } = parseCommit(other.objects.get(other.head)?.body ?? new Uint8Array())
    forge.change([nextRow], { parts: (parts) => ({ ...parts, record, detail }) })
    expect(await verdicts(forge)).toEqual(refused('envelope_epoch'))
  })

  test('envelope_commitment: a memory of a store with the same keys and another seed', async () => {
    const forge = standard.fork()
    const { auditKey, contentKey, kid } = forge.epoch
    const elsewhere = epochKeys('77'.repeat(16), auditKey, contentKey)
    expect(elsewhere.kid).not.toBe(kid)
    const context = memoryContext(elsewhere, forge.idOf(memory.a))
    const keys = { ...elsewhere.memory, kid }
    const parts = { type: 'memory', keys, context, hedge: new Uint8Array(32) } as const
    const blob = forge.put('blob', seal({ ...parts, plaintext: new Uint8Array(100) }))
    forge.change([nextRow], showing(forge, blob))
    expect(await verdicts(forge)).toEqual(refused('envelope_commitment'))
  })
})

type Place = 'recordSeal' | 'detailSeal' | 'blobSeal'
const places = ['recordSeal', 'detailSeal', 'blobSeal'] as const

describe('T3: an object that is sealed otherwise is refused', () => {
  const faults: [code: string, name: string, fault: SealFault][] = [
    ['envelope_suite', 'suite 0', { header: put(4, 0) }],
    ['envelope_suite', 'suite 2', { header: put(4, 2) }],
    ['envelope_type', 'another type, and sealed as such', { header: put(5, 6) }],
    ['envelope_flags', 'a flag', { header: put(7, 1) }],
    ['envelope_epoch', 'an unknown kid', { header: put(8, 1, 2, 3, 4) }],
    ['envelope_salt', 'another salt, and sealed with it', { salt: put(0, 1, 2, 3, 4) }],
    ['envelope_commitment', 'another salt after sealing', { envelope: put(24, 1, 2, 3, 4) }],
    ['envelope_commitment', 'another commitment', { envelope: put(48, 1, 2, 3, 4) }],
    ['envelope_padding', 'a byte in the padding', { padded: (b) => put(b.length - 1, 1)(b) }],
    [
      'envelope_padding',
      'the next larger size',
      { padded: (b) => concatBytes(b, new Uint8Array(256)) },
    ],
    [
      'envelope_padding',
      'a size that is not on the ladder',
      { padded: (b) => concatBytes(b, new Uint8Array(1)) },
    ],
    ['envelope_truncated', 'nothing', { envelope: () => new Uint8Array() }],
  ]

  describe.each(places)('%s', (place) => {
    test.each(faults)('%s: %s', async (code, _, fault) => {
      const forge = standard.fork()
      forge.change([nextRow], { [place]: fault })
      expect(await verdicts(forge)).toEqual(refused(code))
    })
  })

  test.each<[place: Place, code: string]>([
    ['recordSeal', 'record_malformed'],
    ['detailSeal', 'detail_malformed'],
    ['blobSeal', 'memory_malformed'],
  ])('%s, cut off inside: %s', async (place, code) => {
    const forge = standard.fork()
    forge.change([nextRow], { [place]: { padded: (padded: Uint8Array) => padded.slice(0, 40) } })
    const [product, reference] = ['envelope_padding', code]
    expect(await verdicts(forge)).toEqual(refused(product, reference))
  })
})

describe('T3: parts of two objects do not make a third', () => {
  test.each<[name: string, start: number, end: number]>([
    ['salt', 24, 48],
    ['commitment', 48, 80],
    ['salt and commitment', 24, 80],
  ])('envelope_commitment: the %s of another memory', async (_, start, end) => {
    const donor = standard.objects.get(blobAt(standard, 3, memory.b))?.body
    const part = donor?.subarray(start, end) ?? new Uint8Array()
    const forge = standard.fork()
    forge.change([nextRow], { blobSeal: { envelope: put(start, ...part) } })
    expect(await verdicts(forge)).toEqual(refused('envelope_commitment'))
  })

  test('a ciphertext that opens under two keys opens under one only', async () => {
    const { epoch } = standard
    const other = standard.newEpoch()
    const context = recordContext(epoch)
    const header = Uint8Array.of(0x47, 0x4c, 0x4b, 0x31, 1, 4, 0, 0, ...fromHex(epoch.kid))
    const salt = new Uint8Array(24).fill(3)
    const okm = [epoch.settings.key, other.settings.key].map((key) =>
      keyedHash(64, key, label('GLK1/seal/v1'), header, salt, Uint8Array.of(0, 16), context),
    )
    const [first = new Uint8Array(), second = new Uint8Array()] = okm
    const start = concatBytes(header, salt, first.subarray(32))
    const keys = [first.subarray(0, 32), second.subarray(0, 32)] as const
    // Without the commitment both would open it: the two-key construction has checked that.
    const envelope = concatBytes(start, twoKeyCiphertext(keys, salt, start, 32))
    expect(openBytes(envelope, epoch.settings.key, context)).toHaveLength(512)
    const again = () => openBytes(envelope, other.settings.key, context)
    expect(await verdictOf(again)).toBe('envelope_commitment')
  })

  const contexts: Readonly<Record<string, (forge: Forge) => Uint8Array>> = {
    'another store': () => recordContext({ seed: '77'.repeat(16) }),
    'another memory': (forge) => memoryContext(forge, forge.idOf(memory.b)),
    'a detail': (forge) => detailContext(forge, new Uint8Array(32)),
    'no place': () => new Uint8Array(),
  }
  test.each(Object.entries(contexts))(
    'envelope_commitment: opened for %s',
    async (_, contextOf) => {
      const blob = standard.objects.get(blobAt(standard, 3, memory.a))?.body
      const type: EnvelopeType = 'memory'
      const keys = standard.epoch.memory
      const open = () => openEnvelope(type, keys, contextOf(standard), blob ?? new Uint8Array())
      expect(await verdictOf(open)).toBe('envelope_commitment')
    },
  )
})

function showing(forge: Forge, blob: Oid): Fault {
  return { memories: (shown) => new Map([...shown, [forge.idOf(memory.a), blob]]) }
}

function detailOf(forge: Forge, index: number): Uint8Array | undefined {
  return parseCommit(
    forge.objects.get(forge.entries.at(index)?.oid ?? '')?.body ?? new Uint8Array(),
  ).detail
}

function recordOf(forge: Forge, index: number) {
  const parts = parseCommit(
    forge.objects.get(forge.entries[index]?.oid ?? '')?.body ?? new Uint8Array(),
  )
  return { record: parts.record, detail: parts.detail, height: parts.height }
}

function blobAt(forge: Forge, entry: number, id: string): Oid {
  return forge.entries[entry]?.blobs.get(forge.idOf(id)) ?? ''
}
