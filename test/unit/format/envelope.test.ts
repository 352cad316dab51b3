// Envelopes: every field that is wrong has its own code, padding is exact, places do not mix.

import { describe, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { openBytes, sealBytes } from '../../../src/crypto/aead.ts'
import {
  archiveContext,
  cacheContext,
  detailContext,
  type EnvelopeType,
  memoryContext,
  openDeterministic,
  openEnvelope,
  readKid,
  recordContext,
  sealEnvelope,
  slotContext,
} from '../../../src/format/envelope.ts'

const fill = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte)
const store = { seed: '11'.repeat(16) }
const memoryId = '22'.repeat(16)
const keys = { kid: '0102030405060708090a0b0c0d0e0f10', key: fill(32, 3), saltKey: fill(32, 4) }
const context = memoryContext(store, memoryId)
const hedge = fill(32, 5)
const plaintext = fill(100, 6)
const envelope = sealEnvelope('memory', keys, context, hedge, plaintext)
const types: readonly EnvelopeType[] = [
  'record',
  'memory',
  'detail',
  'settings',
  'slot',
  'cache',
  'directory',
  'archive',
  'wrap',
  'baseline',
]
const code = (name: string): unknown => expect.objectContaining({ code: name })

describe.each(types)('an envelope of type %s', (type) => {
  const sealed = sealEnvelope(type, keys, context, hedge, plaintext)

  test('opens as no other type', () => {
    for (const other of types.filter((name) => name !== type)) {
      expect(() => openEnvelope(other, keys, context, sealed)).toThrow(code('envelope_type'))
    }
  })

  test('relabelled as another type is refused by the commitment', () => {
    const other = type === 'record' ? 2 : 1
    const relabelled = sealed.with(5, other)
    const name = types[other - 1] ?? 'record'
    expect(() => openEnvelope(name, keys, context, relabelled)).toThrow(code('envelope_commitment'))
  })
})

describe('each wrong field has its own code:', () => {
  test('several at once are refused in the order of the format', () => {
    const all = envelope.map((byte, at) => (at < 24 ? 0xff : byte))
    const orders = [
      'envelope_magic',
      'envelope_suite',
      'envelope_type',
      'envelope_flags',
      'envelope_epoch',
    ]
    const repairs = [
      [0, 4],
      [4, 5],
      [5, 6],
      [6, 8],
    ] as const
    expect(() => openEnvelope('memory', keys, context, all)).toThrow(code(orders[0] ?? ''))
    repairs.forEach(([from, to], index) => {
      all.set(envelope.subarray(from, to), from)
      expect(() => openEnvelope('memory', keys, context, all)).toThrow(
        code(orders[index + 1] ?? ''),
      )
    })
  })
})

test('the hedge may come from the plaintext', () => {
  const found = openDeterministic('memory', keys, context, () => hedge, envelope)
  expect(found.slice(0, 100)).toEqual(plaintext)
})

test('with random bytes that repeat, another plaintext still has another salt', () => {
  const other = sealEnvelope('memory', keys, context, hedge, fill(100, 7))
  expect(other.slice(24, 48)).not.toEqual(envelope.slice(24, 48))
})

test('the same plaintext at another place has another salt and other bytes', () => {
  const elsewhere = memoryContext(store, '33'.repeat(16))
  const other = sealEnvelope('memory', keys, elsewhere, hedge, plaintext)
  expect(other.slice(24, 48)).not.toEqual(envelope.slice(24, 48))
  expect(() => openEnvelope('memory', keys, elsewhere, envelope)).toThrow(
    code('envelope_commitment'),
  )
})

describe('padding', () => {
  test('of a size that is not a step is envelope_padding before anything is decoded', () => {
    const header = envelope.slice(0, 24)
    const odd = sealBytes({
      header,
      salt: fill(24, 1),
      key: keys.key,
      context,
      plaintext: fill(600, 0),
    })
    expect(openBytes(odd, keys.key, context)).toHaveLength(600)
    expect(() => openEnvelope('memory', keys, context, odd)).toThrow(code('envelope_padding'))
  })
})

test('contexts are the bytes that the format lists', () => {
  const { seed: bytes } = store
  expect(toHex(recordContext(store))).toBe(bytes)
  expect(toHex(memoryContext(store, memoryId))).toBe(bytes + memoryId)
  expect(toHex(detailContext(store, fill(32, 9)))).toBe(bytes + '09'.repeat(32))
  expect(toHex(slotContext(store, 2, Uint8Array.of(7)))).toBe(`${bytes}0207`)
  expect(toHex(archiveContext(store, 'C'))).toBe(`${bytes}43`)
  const storeId = '44'.repeat(16)
  expect(toHex(cacheContext(storeId, memoryId, 3, 258))).toBe(
    `${storeId}${memoryId}030000000000000102`,
  )
})

test('the kid is read without a key', () => {
  expect(readKid('memory', envelope)).toBe(keys.kid)
})
