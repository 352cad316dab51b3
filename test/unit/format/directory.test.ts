// Directories: what no vector shows of their layout. Which may follow which is a property.

import { expect, test } from 'vitest'
import { signingKeyPair } from '../../../src/crypto/signature.ts'
import { signDeviceKeys } from '../../../src/format/device-keys.ts'
import {
  byOwner,
  decodeDirectory,
  type Directory,
  encodeDirectory,
} from '../../../src/format/directory.ts'
import { deviceIdOf } from '../../../src/format/id.ts'
import { padded } from '../../property/format-values.ts'

const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const signing = signingKeyPair(filled(1))
const kemKey = filled(1, 1216)
const founder = {
  deviceId: deviceIdOf(signing.publicKey),
  signingKey: signing.publicKey,
  kemKey,
  keySignature: signDeviceKeys(signing, { publicKey: kemKey }),
  ...byOwner,
  role: 'owner',
  added: 0,
  name: '',
} as const
const directory: Directory = {
  number: 2,
  previous: filled(9),
  devices: [founder],
  removed: [],
  recovery: [],
  quota: 0,
  givers: 'owners and writers',
  founderRandom: undefined,
}

const malformed = expect.objectContaining({ code: 'keyring_malformed' })
const decoded = (change: Partial<Directory>): Directory =>
  decodeDirectory(padded('directory', encodeDirectory({ ...directory, ...change })))

function recoveryKeys(count: number): Directory['recovery'] {
  return Array.from({ length: count }, (_, at) => {
    const slotId = at.toString(16).padStart(32, '0')
    return { type: 'recovery', slotId, signingKey: filled(at), kemKey: filled(at, 1216) }
  })
}

test('reads 64 recovery keys, and refuses 65', () => {
  expect(decoded({ recovery: recoveryKeys(64) }).recovery).toEqual(recoveryKeys(64))
  expect(() => decoded({ recovery: recoveryKeys(65) })).toThrow(malformed)
})

test.each([
  ['a sequence number without a record', { sequence: 1, record: filled(0) }],
  ['a record without a sequence number', { sequence: 0, record: filled(1) }],
])('refuses a removed device with %s', (_, last) => {
  const removed = [{ deviceId: 'ee'.repeat(16), removed: 1, ...last }]
  expect(() => decoded({ removed })).toThrow(malformed)
})

test('refuses a name with an override of direction, and does not repeat it', () => {
  const devices = [{ ...founder, name: 'SECRET\u202e' }]
  expect(() => decoded({ devices })).toThrow(malformed)
  expect(() => decoded({ devices })).not.toThrow(/SECRET/)
})
