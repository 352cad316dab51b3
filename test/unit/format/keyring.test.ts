// The public framing of a keyring: what shows without a key is refused without a key.

import { describe, expect, test } from 'vitest'
import { concatBytes, toHex } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import { hasCode } from '../../../src/errors.ts'
import { paddedLength } from '../../../src/format/envelope.ts'
import {
  decodeArchive,
  decodeKeyring,
  encodeArchive,
  encodeKeyring,
  type KeyringFile,
  slotPublicBytes,
  sortSlots,
} from '../../../src/format/keyring.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import { createKeyring } from '../../../src/keys/keyring.ts'

const random = systemRandom
const identity = await generateIdentity()
const created = await createKeyring({
  identity,
  passphrase: undefined,
  recoveryKey: random(32),
  random,
})
const { bytes } = created
const file = decodeKeyring(bytes)
const code = (name: string): unknown => expect.objectContaining({ code: name })

const passphraseSlot = {
  type: 'passphrase',
  slotId: '01'.repeat(16),
  argon2: { salt: random(16), passes: 3, memoryKiB: 262_144 },
  ciphertext: random(1120),
  envelope: file.slots[0]?.envelope ?? new Uint8Array(),
} as const

test('a keyring is read back as it was written', () => {
  expect(toHex(encodeKeyring(file))).toBe(toHex(bytes))
  const slots = sortSlots([...file.slots, passphraseSlot])
  expect(decodeKeyring(encodeKeyring({ ...file, slots })).slots).toEqual(slots)
})

test('what a slot is bound to is all that stands before its envelope', () => {
  const { slotId, argon2, ciphertext } = passphraseSlot
  expect(toHex(slotPublicBytes(passphraseSlot))).toBe(
    `${slotId}${toHex(argon2.salt)}0000000300040000${toHex(ciphertext)}`,
  )
})

describe('keyring_malformed:', () => {
  const devices = file.slots.filter((slot) => slot.type === 'device')
  const recovery = file.slots.filter((slot) => slot.type === 'recovery')

  test.each<readonly [string, Partial<KeyringFile>]>([
    ['slots that descend', { slots: [...devices.toReversed(), ...recovery] }],
    ['types that descend', { slots: [...recovery, ...devices] }],
    ['a slot twice', { slots: [...devices.slice(0, 3), ...devices.slice(2, 3), ...recovery] }],
    ['three device slots', { slots: [...devices.slice(1), ...recovery] }],
    ['no slots', { slots: [] }],
    [
      'five passphrases',
      {
        slots: sortSlots([
          ...file.slots,
          ...['01', '02', '03', '04', '05'].map((byte) => {
            return { ...passphraseSlot, slotId: byte.repeat(16) }
          }),
        ]),
      },
    ],
    [
      'a short slot envelope',
      {
        slots: file.slots.map((slot) => ({ ...slot, envelope: slot.envelope.slice(1) })),
      },
    ],
    [
      'a long slot envelope',
      {
        slots: file.slots.map((slot) => {
          return { ...slot, envelope: concatBytes(slot.envelope, Uint8Array.of(0)) }
        }),
      },
    ],
  ])('%s', (_, change) => {
    expect(() => decodeKeyring(encodeKeyring({ ...file, ...change }))).toThrow(
      code('keyring_malformed'),
    )
  })

  test.each([
    ['another magic', bytes.with(0, 0)],
    ['a reserved byte', bytes.with(5, 1)],
    ['more slots than there are', bytes.with(7, 200)],
    ['more slots than allowed', bytes.with(6, 5)],
    ['a number beyond 2^53', bytes.with(32, 0x20)],
    ['an unknown slot type', bytes.with(40, 4)],
    ['a reserved byte of a slot', bytes.with(41, 1)],
    ['a byte more', concatBytes(bytes, Uint8Array.of(0))],
    ['nothing', new Uint8Array()],
    ['more than a mebibyte', new Uint8Array(1024 * 1024 + 1)],
  ])('%s', (_, changed) => {
    expect(() => decodeKeyring(changed)).toThrow(code('keyring_malformed'))
  })

  test('a truncation at every length', () => {
    for (let length = 0; length < bytes.length; length += length < 64 ? 1 : 37) {
      expect(isMalformed(bytes.subarray(0, length)), `${length}`).toBe(true)
    }
  })
})

test('another version is upgrade_required', () => {
  expect(() => decodeKeyring(bytes.with(4, 2))).toThrow(code('upgrade_required'))
})

test('a part of another epoch is envelope_epoch', () => {
  const parts = ['archiveA', 'archiveC', 'directory'] as const
  for (const part of parts) {
    const changed = encodeKeyring({ ...file, [part]: file[part].with(8, (file[part][8] ?? 0) ^ 1) })
    expect(() => decodeKeyring(changed)).toThrow(code('envelope_epoch'))
  }
})

describe('archives', () => {
  const entries = [
    { kid: '0101010101010101', key: random(32), hashC: random(32) },
    { kid: '0202020202020202', key: random(32), hashC: random(32) },
  ]
  test('are read back as they were written', () => {
    expect(decodeArchive(pad(encodeArchive(entries)), 'A')).toEqual(entries)
    const ofC = entries.map((entry) => ({ ...entry, hashC: undefined }))
    expect(decodeArchive(pad(encodeArchive(ofC)), 'C')).toEqual(ofC)
    expect(decodeArchive(pad(encodeArchive([])), 'A')).toEqual([])
  })

  test.each([
    ['a reserved byte', pad(encodeArchive(entries)).with(1, 1), 'keyring_malformed'],
    ['more entries than bytes', pad(encodeArchive(entries)).with(2, 1), 'keyring_malformed'],
    ['another version', pad(encodeArchive(entries)).with(0, 2), 'upgrade_required'],
    ['an entry less', pad(encodeArchive(entries)).with(3, 1), 'envelope_padding'],
  ])('with %s are refused', (_, padded, expected) => {
    expect(() => decodeArchive(padded, 'A')).toThrow(code(expected))
  })
})

function pad(plaintext: Uint8Array): Uint8Array {
  const padded = new Uint8Array(paddedLength('archive', plaintext.length))
  padded.set(plaintext)
  return padded
}

function isMalformed(input: Uint8Array): boolean {
  try {
    decodeKeyring(input)
    return false
  } catch (error) {
    return hasCode(error, 'keyring_malformed')
  }
}
