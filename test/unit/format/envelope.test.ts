// Envelopes: every field that is wrong has its own code, padding is exact, places do not mix.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concatBytes, toHex } from '../../../src/bytes.ts'
import { openBytes, sealBytes } from '../../../src/crypto/aead.ts'
import { hasCode } from '../../../src/errors.ts'
import {
  archiveContext,
  cacheContext,
  checkPadding,
  detailContext,
  type EnvelopeType,
  memoryContext,
  openDeterministic,
  openEnvelope,
  paddedLength,
  readKid,
  recordContext,
  sealEnvelope,
  slotContext,
} from '../../../src/format/envelope.ts'
import { sealEnvelope as referenceSeal } from '../../support/reference/envelope.ts'
import { full, seed } from '../../support/seed.ts'

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
  'start',
]

const withByte = (at: number, byte: number): Uint8Array => envelope.with(at, byte)
const code = (name: string): unknown => expect.objectContaining({ code: name })

describe.each(types)('an envelope of type %s', (type) => {
  const sealed = sealEnvelope(type, keys, context, hedge, plaintext)

  test('equals the one of the reference implementation', () => {
    expect(toHex(sealed)).toBe(toHex(referenceSeal(type, keys, context, hedge, plaintext)))
  })

  test('opens to its padded plaintext', () => {
    const padded = openDeterministic(type, keys, context, hedge, sealed)
    expect(padded).toHaveLength(paddedLength(type, plaintext.length))
    expect(padded.slice(0, 100)).toEqual(plaintext)
    expect(() => checkPadding(type, padded, plaintext.length)).not.toThrow()
  })

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
  test.each([
    ['no bytes', new Uint8Array(), 'envelope_truncated'],
    ['95 bytes', envelope.slice(0, 95), 'envelope_truncated'],
    ['magic', withByte(0, 0x67), 'envelope_magic'],
    ['suite 0', withByte(4, 0), 'envelope_suite'],
    ['suite 2', withByte(4, 2), 'envelope_suite'],
    ['type', withByte(5, 1), 'envelope_type'],
    ['type 0', withByte(5, 0), 'envelope_type'],
    ['first flags byte', withByte(6, 1), 'envelope_flags'],
    ['second flags byte', withByte(7, 1), 'envelope_flags'],
    ['the first byte of the kid', withByte(8, 9), 'envelope_epoch'],
    ['the last byte of the kid', withByte(23, 9), 'envelope_epoch'],
    ['salt', withByte(24, (envelope[24] ?? 0) ^ 1), 'envelope_commitment'],
    ['commitment', withByte(48, (envelope[48] ?? 0) ^ 1), 'envelope_commitment'],
    ['ciphertext', withByte(80, (envelope[80] ?? 0) ^ 1), 'envelope_tag'],
    ['tag', withByte(envelope.length - 1, (envelope.at(-1) ?? 0) ^ 1), 'envelope_tag'],
    ['a byte more', concatBytes(envelope, Uint8Array.of(0)), 'envelope_tag'],
    ['a byte less', envelope.slice(0, -1), 'envelope_tag'],
  ])('%s', (_, bytes, expected) => {
    expect(() => openEnvelope('memory', keys, context, bytes)).toThrow(code(expected))
  })

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

test('a truncation at every length is refused with an envelope code', () => {
  for (let length = 0; length < envelope.length; length++) {
    const short = envelope.subarray(0, length)
    const expected = length < 96 ? 'envelope_truncated' : 'envelope_tag'
    expect(
      codeOf(() => openEnvelope('memory', keys, context, short)),
      `${length}`,
    ).toBe(expected)
  }
})

test('every changed bit of an envelope is refused with an envelope code', { tags: 'slow' }, () => {
  for (let bit = 0; bit < envelope.length * 8; bit++) {
    const byte = envelope[bit >> 3] ?? 0
    const changed = envelope.with(bit >> 3, byte ^ (1 << (bit & 7)))
    const found = codeOf(() => openEnvelope('memory', keys, context, changed))
    expect(found, `bit ${bit}`).toMatch(/^envelope_/)
  }
})

test('arbitrary bytes are refused with an envelope code', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, dressed) => {
      const input = dressed ? concatBytes(envelope.subarray(0, 24), bytes) : bytes
      expect(codeOf(() => openEnvelope('memory', keys, context, input))).toMatch(/^envelope_/)
    }),
    { seed, numRuns: full ? 20_000 : 300 },
  )
})

describe('a salt that does not follow from the content is envelope_salt:', () => {
  const resealed = sealEnvelope('memory', keys, context, fill(32, 9), plaintext)

  test('another hedge', () => {
    expect(() => openDeterministic('memory', keys, context, hedge, resealed)).toThrow(
      code('envelope_salt'),
    )
  })

  test('another salt subkey', () => {
    const other = { ...keys, saltKey: fill(32, 8) }
    expect(() => openDeterministic('memory', other, context, hedge, envelope)).toThrow(
      code('envelope_salt'),
    )
  })

  test('a salt of the sealer’s choice', () => {
    const header = envelope.slice(0, 24)
    const padded = openEnvelope('memory', keys, context, envelope)
    const chosen = sealBytes({
      header,
      salt: fill(24, 1),
      key: keys.key,
      context,
      plaintext: padded,
    })
    expect(openEnvelope('memory', keys, context, chosen)).toEqual(padded)
    expect(() => openDeterministic('memory', keys, context, hedge, chosen)).toThrow(
      code('envelope_salt'),
    )
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
  test.each([
    [
      'record',
      [
        [0, 512],
        [512, 512],
        [513, 768],
        [768, 768],
        [769, 1024],
        [1025, 1280],
      ],
    ],
    [
      'detail',
      [
        [0, 256],
        [256, 256],
        [257, 512],
        [513, 768],
        [769, 1024],
        [1025, 1280],
        [1281, 1536],
        [2049, 3072],
      ],
    ],
    [
      'memory',
      [
        [0, 512],
        [512, 512],
        [513, 768],
        [769, 1024],
        [1025, 1280],
        [1280, 1280],
        [1281, 1536],
        [1537, 2048],
        [2049, 3072],
        [102_400, 131_072],
        [98_304, 98_304],
        [98_305, 131_072],
        [16_777_216, 16_777_216],
      ],
    ],
  ] as const)('of a %s follows its ladder', (type, steps) => {
    for (const [length, padded] of steps) expect(paddedLength(type, length)).toBe(padded)
  })

  test('is the smallest of the ladder that holds the plaintext', () => {
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.nat(200_000), (type, length) => {
        const padded = paddedLength(type, length)
        expect(padded).toBeGreaterThanOrEqual(length)
        expect(paddedLength(type, padded)).toBe(padded)
        expect(padded <= 512 || paddedLength(type, padded - 1) === padded).toBe(true)
      }),
      { seed, numRuns: full ? 20_000 : 500 },
    )
  })

  test.each([
    ['a byte that is not zero', fill(512, 0).with(511, 1), 100],
    ['a byte that is not zero at its start', fill(512, 0).with(100, 1), 100],
    ['a larger size than needed', fill(768, 0), 100],
    ['a size that is no step', fill(600, 0), 600],
    ['a plaintext longer than the whole', fill(512, 0), 513],
  ])('with %s is envelope_padding', (_, padded, length) => {
    expect(() => checkPadding('memory', padded, length)).toThrow(code('envelope_padding'))
  })

  test('of a size that is no step is envelope_padding before anything is decoded', () => {
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

function codeOf(action: () => unknown): string {
  try {
    action()
    return 'nothing was refused'
  } catch (error) {
    return hasCode(error, ...codes) ? error.code : String(error)
  }
}

const codes = [
  'envelope_truncated',
  'envelope_magic',
  'envelope_suite',
  'envelope_type',
  'envelope_flags',
  'envelope_epoch',
  'envelope_commitment',
  'envelope_tag',
] as const
