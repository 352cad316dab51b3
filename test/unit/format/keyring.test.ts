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
  keySlotCount,
  type KeyringFile,
  type PassphraseSlot,
  type Slot,
  slotPublicBytes,
  sortSlots,
} from '../../../src/format/keyring.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import { createKeyring } from '../../../src/keys/keyring.ts'

const random = systemRandom
const identity = await generateIdentity()
const created = await createKeyring({
  identity,
  name: '',
  passphrase: undefined,
  recoveryKeyOf: () => random(32),
  random,
})
const { bytes } = created
const file = decodeKeyring(bytes)
const code = (name: string): unknown => expect.objectContaining({ code: name })

const passphraseSlot = {
  type: 'passphrase',
  passphrase: passphraseSlotOf('01'),
  ciphertext: random(1120),
  envelope: file.slots[0]?.envelope ?? new Uint8Array(),
} as const

test('a keyring is read back as it was written', () => {
  expect(toHex(encodeKeyring(file))).toBe(toHex(bytes))
  const slots = sortSlots([...file.slots, passphraseSlot])
  expect(decodeKeyring(encodeKeyring({ ...file, slots })).slots).toEqual(slots)
})

test('what a slot is bound to is all that stands before its envelope', () => {
  const { passphrase, ciphertext } = passphraseSlot
  const { slotId, argon2 } = passphrase
  expect(toHex(slotPublicBytes(passphraseSlot))).toBe(
    `${slotId}${toHex(argon2.salt)}0000000300040000${toHex(ciphertext)}`,
  )
  const anonymous = { type: 'key', passphrase: undefined, ciphertext } as const
  expect(slotPublicBytes(anonymous)).toEqual(ciphertext)
})

describe('keyring_malformed:', () => {
  const { slots: keys } = file

  const { passphrase } = passphraseSlot
  const argon2 = passphrase && { ...passphrase.argon2, salt: new Uint8Array(16).fill(9) }
  const resalted = {
    ...passphraseSlot,
    passphrase: passphrase && argon2 && { ...passphrase, argon2 },
  }
  test.each<readonly [string, Partial<KeyringFile>]>([
    ['slots that descend', { slots: keys.toReversed() }],
    ['types that descend', { slots: [passphraseSlot, ...keys] }],
    ['a slot twice', { slots: [...keys.slice(0, 3), ...keys.slice(2, 3)] }],
    ['a passphrase twice', { slots: [...keys, passphraseSlot, passphraseSlot] }],
    ['two slots of a passphrase', { slots: sortSlots([...keys, passphraseSlot, resalted]) }],
    ['three slots of type 1', { slots: keys.slice(1) }],
    ['five slots of type 1', { slots: sortSlots([...keys, keySlot(1)]) }],
    ['six slots of type 1', { slots: sortSlots([...keys, keySlot(1), keySlot(2)]) }],
    ['no slots', { slots: [] }],
    [
      'five passphrases',
      {
        slots: sortSlots([
          ...file.slots,
          ...['01', '02', '03', '04', '05'].map((byte) => {
            return { ...passphraseSlot, passphrase: passphraseSlotOf(byte) }
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
    ['more slots than there are', bytes.with(7, 5).subarray(0, 48 + 4 * (4 + 1120 + 608))],
    ['more slots than allowed', bytes.with(6, 5)],
    ['a number beyond 2^53', bytes.with(40, 0x20)],
    ['a reserved byte of a slot', bytes.with(49, 1)],
    ['a byte more', concatBytes(bytes, Uint8Array.of(0))],
    ['nothing', new Uint8Array()],
    ['more than two mebibytes', new Uint8Array(2 * 1024 * 1024 + 1)],
  ])('%s', (_, changed) => {
    expect(() => decodeKeyring(changed)).toThrow(code('keyring_malformed'))
  })

  test('a truncation at every length', () => {
    for (let length = 0; length < bytes.length; length += length < 64 ? 1 : 37) {
      expect(isMalformed(bytes.subarray(0, length)), `${length}`).toBe(true)
    }
  })
})

test.each([
  ['version 1', bytes.with(4, 1)],
  ['version 3', bytes.with(4, 3)],
  ['a slot of type 3', bytes.with(48, 3)],
  ['a slot of type 0', bytes.with(48, 0)],
])('%s is upgrade_required', (_, changed) => {
  expect(() => decodeKeyring(changed)).toThrow(code('upgrade_required'))
})

test('eight slots of type 1 are read', () => {
  const all = sortSlots([...file.slots, ...[1, 2, 3, 4].map(keySlot)])
  expect(decodeKeyring(encodeKeyring({ ...file, slots: all })).slots).toEqual(all)
})

test.each([
  [1, 4],
  [4, 4],
  [5, 8],
  [9, 16],
  [314, 512],
])('for %i devices and recovery keys there are %i slots of type 1', (holders, count) => {
  expect(keySlotCount(holders)).toBe(count)
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
    { kid: '01'.repeat(16), key: random(32), hashC: random(32) },
    { kid: '02'.repeat(16), key: random(32), hashC: random(32) },
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

function passphraseSlotOf(byte: string): PassphraseSlot {
  const argon2 = { salt: new Uint8Array(16).fill(5), passes: 3, memoryKiB: 262_144 }
  return { slotId: byte.repeat(16), argon2 }
}

/** For somebody, whom nothing shows. */
function keySlot(byte: number): Slot {
  const ciphertext = new Uint8Array(1120).fill(byte)
  return { ...passphraseSlot, type: 'key', passphrase: undefined, ciphertext }
}

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
