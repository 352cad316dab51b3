// Directories of the reference decoder, with devices that a byte each names, for its unit tests.

import { concat, utf8 } from './reference/bytes.ts'
import type { Device, Directory, Grade, RecoveryEntry } from './reference/directory.ts'
import { deviceIdOf } from './reference/identity.ts'
import { publicKeyOf, sign } from './reference/signature.ts'

export const seed = 'ab'.repeat(16)
export const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
export const slot = (byte: number): string => byte.toString(16).padStart(2, '0').repeat(16)
export const hash = (byte: number): string => slot(byte).repeat(2)
export const noRecord = { sequence: 0, record: hash(0) }

export function device(byte: number, change: Partial<Device> = {}): Device {
  const signingKey = publicKeyOf(filled(byte))
  const kemKey = filled(byte, 1216)
  const message = concat(utf8('GLK1/device-keys/v1\0'), signingKey, kemKey)
  const keys = { signingKey, kemKey, keySignature: sign(message, filled(byte)) }
  const rights = { role: 'writer', ...admitted(1), added: 1 } as const
  return { deviceId: deviceIdOf(signingKey), ...keys, ...rights, name: `n${byte}`, ...change }
}

/** What a device says of its beginning that something of a grade added, by the slot with a byte. */
export function admitted(grade: Grade, byte = 0) {
  return { admittedBy: grade, slotId: slot(byte) } as const
}

/** With the signature of another device. */
export const unsigned = (one: Device): Device => ({ ...one, keySignature: device(99).keySignature })
export const idOf = (byte: number): string => device(byte).deviceId
export const owner = device(1, { role: 'owner', added: 0 })

export function passphrase(byte: number, change: { passes?: number; salt?: Uint8Array } = {}) {
  const keys = { signingKey: filled(byte), kemKey: filled(byte, 1216) }
  const costs = { salt: filled(byte, 16), passes: 3, memoryKiB: 262_144 }
  return { slotId: slot(byte), slotType: 2, ...keys, ...costs, ...change } as const
}

export function recoveryKey(byte: number): RecoveryEntry {
  const keys = { signingKey: filled(byte), kemKey: filled(byte, 1216) }
  return { slotId: slot(byte), slotType: 3, ...keys }
}

const byId = (a: Device, b: Device): number => (a.deviceId < b.deviceId ? -1 : 1)
export const sorted = (...devices: readonly Device[]): readonly Device[] => devices.toSorted(byId)

export function directory(change: Partial<Directory> = {}): Directory {
  const lists = { devices: [owner], removed: [], recoveries: [] }
  return { number: 4, previous: hash(9), ...lists, quota: 2, founderRandom: undefined, ...change }
}
