// FORMAT §3 and §5.1 as the reference decoder implements them: envelopes, padding, blobs,
// signatures.

import { ed25519, ED25519_TORSION_SUBGROUP } from '@noble/curves/ed25519.js'
import { describe, expect, test } from 'vitest'
import { concat, fromHex, toHex, utf8 } from '../../support/reference/bytes.ts'
import { hasForbidden } from '../../support/reference/characters.ts'
import {
  deriveSalt,
  openDeterministic,
  openEnvelope,
  pad,
  paddedLength,
  sealEnvelope,
  sealWithSalt,
  zeroHedge,
} from '../../support/reference/envelope.ts'
import { H, sha256, sha512 } from '../../support/reference/hash.ts'
import { decodeMemoryBlob, encodeMemoryBlob } from '../../support/reference/memory.ts'
import { checkPath } from '../../support/reference/path.ts'
import { decodeSettings, encodeSettings } from '../../support/reference/settings.ts'
import { publicKeyOf, sign, verifySignature } from '../../support/reference/signature.ts'

const keys = {
  kid: '00112233445566778899aabbccddeeff',
  key: H(utf8('key')),
  saltKey: H(utf8('salt key')),
}
const context = H(utf8('context')).slice(0, 16)
const plaintext = utf8('some text')
const sealed = sealEnvelope('record', keys, context, zeroHedge, plaintext)

/** The envelope with byte `at` replaced, or cut before it. */
const altered = (at: number, value = (sealed[at] ?? 0) ^ 1) =>
  concat(sealed.slice(0, at), Uint8Array.of(value), sealed.slice(at + 1))

describe('an envelope', () => {
  test('opens to the padded plaintext', () => {
    const padded = openDeterministic('record', keys, context, zeroHedge, sealed)
    expect(padded).toEqual(pad('record', plaintext))
    expect(sealed.length).toBe(80 + 512 + 16)
  })

  test.each([
    ['envelope_truncated', 'of 95 bytes', sealed.slice(0, 95)],
    ['envelope_magic', 'with another magic', altered(0)],
    ['envelope_suite', 'of suite 2', altered(4, 2)],
    ['envelope_type', 'of another type', altered(5, 2)],
    ['envelope_flags', 'with a flag', altered(7, 1)],
    ['envelope_epoch', 'with another kid', altered(8)],
    ['envelope_epoch', 'with another end of the kid', altered(23)],
    ['envelope_commitment', 'with another salt', altered(24)],
    ['envelope_commitment', 'with another commitment', altered(48)],
    ['envelope_tag', 'with another ciphertext', altered(80)],
    ['envelope_tag', 'with another tag', altered(sealed.length - 1)],
    ['envelope_tag', 'that is longer', concat(sealed, Uint8Array.of(0))],
  ])('is refused as %s %s', (kind, _, envelope) => {
    const open = () => openEnvelope('record', keys, context, envelope)
    expect(open).toThrow(new RegExp(`^${kind}: `))
  })

  test.each([
    ['context', { ...keys }, H(utf8('elsewhere'))],
    ['key', { ...keys, key: H(utf8('other')) }, context],
  ])('under another %s is refused by its commitment', (_, otherKeys, place) => {
    const open = () => openEnvelope('record', otherKeys, place, sealed)
    expect(open).toThrow(/^envelope_commitment: /)
  })

  test('with a chosen salt opens, and is refused when the salt is recomputed', () => {
    const salt = H(utf8('chosen')).slice(0, 24)
    const chosen = sealWithSalt('record', keys, context, salt, pad('record', plaintext))
    expect(openEnvelope('record', keys, context, chosen)).toEqual(pad('record', plaintext))
    const open = () => openDeterministic('record', keys, context, zeroHedge, chosen)
    expect(open).toThrow(/^envelope_salt: /)
  })

  test('has a salt that depends on type, context, hedge and plaintext', () => {
    const other = H(utf8('other'))
    const salts = [
      deriveSalt('record', keys.saltKey, context, zeroHedge, plaintext),
      deriveSalt('detail', keys.saltKey, context, zeroHedge, plaintext),
      deriveSalt('record', keys.saltKey, other, zeroHedge, plaintext),
      deriveSalt('record', keys.saltKey, context, other, plaintext),
      deriveSalt('record', keys.saltKey, context, zeroHedge, other),
    ]
    expect(new Set(salts.map(toHex)).size).toBe(5)
  })
})

test.each([
  ['record', [512, 768, 1024, 1280], [1, 512, 513, 768, 769, 1025]],
  ['detail', [256, 512, 768, 1024, 1280, 1536], [0, 256, 257, 512, 513, 769, 1025, 1281]],
  ['memory', [512, 768, 1024, 1280, 1536, 2048, 3072], [0, 512, 513, 769, 1025, 1281, 1537, 2049]],
] as const)(
  'the padding ladder of a %s is the smallest rung that holds it',
  (type, rungs, sizes) => {
    for (const size of sizes) {
      const expected = rungs.find((rung) => rung >= size)
      expect(paddedLength(type, size)).toBe(expected)
    }
  },
)

describe('a memory blob', () => {
  const content = 'naïve\n'
  const blob = {
    path: '/a',
    content,
    versionId: 'ab'.repeat(16),
    created: 1,
    sha256: toHex(sha256(utf8(content))),
  }

  test('reads back', () => {
    expect(decodeMemoryBlob(pad('memory', encodeMemoryBlob(blob)))).toEqual(blob)
  })

  test.each([
    ['memory_malformed', 'another SHA-256', { sha256: '00'.repeat(32) }],
    ['memory_malformed', 'a NUL', { content: 'a\0b' }],
    ['memory_malformed', 'a path that the grammar refuses', { path: '/a/' }],
  ])('is refused as %s with %s', (kind, _, fault) => {
    const padded = pad('memory', encodeMemoryBlob({ ...blob, ...fault }))
    expect(() => decodeMemoryBlob(padded)).toThrow(new RegExp(`^${kind}: `))
  })

  test('with a compression that is unknown is refused as upgrade_required', () => {
    const padded = pad('memory', encodeMemoryBlob(blob))
    padded[1] = 1
    expect(() => decodeMemoryBlob(padded)).toThrow(/^upgrade_required: /)
  })

  test.each([
    ['a larger rung', (padded: Uint8Array) => concat(padded, new Uint8Array(256))],
    ['a byte in the padding', (padded: Uint8Array) => concat(padded.slice(0, -1), utf8('x'))],
  ])('is refused as envelope_padding with %s', (_, alter) => {
    const padded = alter(pad('memory', encodeMemoryBlob(blob)))
    expect(() => decodeMemoryBlob(padded)).toThrow(/^envelope_padding: /)
  })
})

describe('settings', () => {
  const settings = {
    name: 'Notes “1”',
    description: '',
    metadata: new Map([
      ['b', '1'],
      ['10', 'two'],
      ['9', '\u0001'],
      ['__proto__', 'x'],
    ]),
    archivedAt: undefined,
    limits: { contentBytes: 102_400, memories: 10_000 },
  }

  test('sort metadata by code unit, whatever JavaScript does with integer-like keys', () => {
    const decoded = decodeSettings(pad('settings', encodeSettings(settings)))
    expect(decoded).toEqual(settings)
  })

  test.each([
    ['white space', (json: string) => json.replace(':', ': ')],
    ['an escape that is not needed', (json: string) => json.replace('N', '\\u004e')],
    ['another key', (json: string) => json.replace('{', '{"a":1,')],
    ['a key twice', (json: string) => json.replace('{', '{"name":"x",')],
    ['another order', (json: string) => json.replace('"9":"\\u0001",', '').replace('"b"', '"0"')],
  ])('with %s are refused', (_, alter) => {
    const json = Buffer.from(encodeSettings(settings).slice(6)).toString()
    const bytes = utf8(alter(json))
    const head = Uint8Array.of(1, 0, 0, 0, bytes.length >> 8, bytes.length)
    const decode = () => decodeSettings(pad('settings', concat(head, bytes)))
    expect(decode).toThrow(/^settings_malformed: /)
  })
})

test.each([
  ['no slash', 'a'],
  ['an empty segment', '/a//b'],
  ['a trailing slash', '/a/'],
  ['dots', '/a/..'],
  ['21 segments', '/a'.repeat(21)],
  ['1,025 bytes', `/${'a'.repeat(1024)}`],
  ['a control character', '/a\u0007'],
  ['a format character', '/a\u200Db'],
  ['a line separator', '/a\u2028b'],
  ['a lone surrogate', '/\uD800'],
  ['the reserved name', '/.anthropic-memory-store'],
])('a path with %s is refused', (_, path) => {
  expect(() => checkPath(path, 'invalid_path')).toThrow(/^invalid_path: /)
})

test.each([
  ['decomposed letters', '/e\u0301'],
  ['a character that is not assigned', '/\u0378'],
  ['a character beside the forbidden ones', '/\u2065\u00a0'],
  ['a reserved name below', '/.anthropic-memory-store/a'],
])('a path with %s is read', (_, path) => {
  expect(checkPath(path, 'invalid_path')).toBe(path)
})

test('170 characters of category Cf are forbidden, and 67 others', { tags: 'slow' }, () => {
  const all = Array.from({ length: 0x110000 }, (_, point) => String.fromCodePoint(point))
  const found = all.filter(hasForbidden)
  const formats = found.filter((character) => /\p{Cf}/u.test(character))
  expect([formats.length, found.length - formats.length]).toEqual([170, 33 + 32 + 2])
})

/** A little-endian number. */
function number(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`)
}

function scalar(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, '0')).toReversed()
}

describe('Ed25519 verifies as libsodium does', () => {
  const { Point } = ed25519
  const order = Point.Fn.ORDER
  const message = utf8('message')
  const seed = H(utf8('seed'))
  const valid = sign(message, seed)
  const torsion = Point.fromHex(ED25519_TORSION_SUBGROUP[1] ?? '')
  const secret = 12_345_678_901_234_567_890n
  /** A signature by `secret` that shows A and R as given. */
  const forge = (publicKey: Uint8Array, r: Uint8Array, nonce: bigint) => {
    const k = number(sha512(concat(r, publicKey, message))) % order
    return concat(r, scalar((nonce + k * secret) % order))
  }

  test('a valid signature', () => {
    expect(() => verifySignature(message, valid, publicKeyOf(seed))).not.toThrow()
  })

  const honest = Point.BASE.multiply(secret).toBytes()
  const mixedR = Point.BASE.multiply(7n).add(torsion).toBytes()
  const identity = Point.ZERO.toBytes()
  test.each([
    [
      'S + L',
      concat(valid.slice(0, 32), scalar(number(valid.slice(32)) + order)),
      publicKeyOf(seed),
    ],
    [
      'an R with a torsion part, which cofactored verifiers accept',
      forge(honest, mixedR, 7n),
      honest,
    ],
    ['an R of small order', forge(honest, identity, 0n), honest],
    ['a public key of small order', concat(identity, scalar(0n)), identity],
  ])('refuses %s', (_, signature, publicKey) => {
    const verify = () => verifySignature(message, signature, publicKey)
    expect(verify).toThrow(/^device_signature_invalid: /)
  })
})
