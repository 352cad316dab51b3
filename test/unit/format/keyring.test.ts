// The public framing of a keyring: refusals that no vector shows.

import { describe, expect, test } from 'vitest'
import { concatBytes } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import {
  decodeKeyring,
  encodeKeyring,
  keySlotCount,
  type KeyringFile,
  type PassphraseSlot,
  type Slot,
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

describe('keyring_malformed:', () => {
  const { slots: keys } = file

  const { passphrase } = passphraseSlot
  const argon2 = passphrase && { ...passphrase.argon2, salt: new Uint8Array(16).fill(9) }
  const resalted = {
    ...passphraseSlot,
    passphrase: passphrase && argon2 && { ...passphrase, argon2 },
  }
  test.each<readonly [string, Partial<KeyringFile>]>([
    ['a slot twice', { slots: [...keys.slice(0, 3), ...keys.slice(2, 3)] }],
    ['a passphrase twice', { slots: [...keys, passphraseSlot, passphraseSlot] }],
    ['two slots of a passphrase', { slots: sortSlots([...keys, passphraseSlot, resalted]) }],
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
    ['more slots than allowed', bytes.with(6, 5)],
    ['more than two mebibytes', new Uint8Array(2 * 1024 * 1024 + 1)],
  ])('%s', (_, changed) => {
    expect(() => decodeKeyring(changed)).toThrow(code('keyring_malformed'))
  })
})

test.each([['version 2', bytes.with(4, 2)]])('%s is upgrade_required', (_, changed) => {
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

function passphraseSlotOf(byte: string): PassphraseSlot {
  const argon2 = { salt: new Uint8Array(16).fill(5), passes: 3, memoryKiB: 262_144 }
  return { slotId: byte.repeat(16), argon2 }
}

/** A slot for an unknown device. */
function keySlot(byte: number): Slot {
  const ciphertext = new Uint8Array(1120).fill(byte)
  return { ...passphraseSlot, type: 'key', passphrase: undefined, ciphertext }
}
