// Directories of a made-up store, with keys from their number repeated: for rules that look at
// directories alone.

import { toHex } from '../../src/bytes.ts'
import { type SigningKeyPair, signingKeyPair } from '../../src/crypto/signature.ts'
import { signDeviceKeys } from '../../src/format/device-keys.ts'
import {
  type DeviceEntry,
  type Directory,
  directoryHash,
  type RecoveryEntry,
  type RemovedDevice,
} from '../../src/format/directory.ts'
import { deviceIdOf, seedOf } from '../../src/format/id.ts'
import { quotaDefault } from '../../src/limits.ts'

type Passphrase = RecoveryEntry & { readonly type: 'passphrase' }

export const key = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
export const slot = (byte: number): string => toHex(key(byte, 16))

const pairs = new Map<number, SigningKeyPair>()
function pairOf(byte: number): SigningKeyPair {
  const pair = pairs.get(byte) ?? signingKeyPair(key(byte))
  pairs.set(byte, pair)
  return pair
}

/** With the device's own signature over its keys, unless `change` has another one. */
export function device(byte: number, change: Partial<DeviceEntry> = {}): DeviceEntry {
  const signing = pairOf(byte)
  const { kemKey = key(byte, 1216) } = change
  const keySignature = signDeviceKeys(signing, { publicKey: kemKey })
  const keys = { signingKey: signing.publicKey, kemKey, keySignature }
  const { admittedBy = 'owner' } = change
  const rest = {
    role: 'writer',
    admittedBy,
    slotId: slotOf[admittedBy],
    added: 0,
    name: '',
  } as const
  return { deviceId: deviceIdOf(keys.signingKey), ...keys, ...rest, ...change }
}

/** The slots of the passphrase and the recovery key below. */
export const slotOf = { owner: undefined, recovery: slot(0x42), passphrase: slot(0x41) } as const

/** Without a last record, unless there is one. */
export function removal(
  deviceId: string,
  removed: number,
  last: Pick<RemovedDevice, 'sequence' | 'record'> = { sequence: 0, record: new Uint8Array(32) },
): RemovedDevice {
  return { deviceId, removed, ...last }
}

export function recoveryKeyOf(byte: number): RecoveryEntry {
  return { slotId: slot(byte), type: 'recovery', ...keysOf(byte) }
}

export function passphraseOf(byte: number): Passphrase {
  const argon2 = { salt: key(5, 16), passes: 3, memoryKiB: 262_144 }
  return { slotId: slot(byte), type: 'passphrase', ...keysOf(byte), argon2 }
}

function keysOf(byte: number): Pick<RecoveryEntry, 'signingKey' | 'kemKey'> {
  return { signingKey: key(byte), kemKey: key(byte, 1216) }
}

export function sorted(...devices: readonly DeviceEntry[]): readonly DeviceEntry[] {
  return devices.toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
}

export const founder: DeviceEntry = device(1, { role: 'owner' })
const founderRandom = key(9)
export const seed: string = seedOf(founder.signingKey, founderRandom)
export const passphrase: Passphrase = passphraseOf(0x41)
export const recoveryKey: RecoveryEntry = recoveryKeyOf(0x42)

export const genesis: Directory = {
  number: 0,
  previous: undefined,
  devices: [founder],
  removed: [],
  recovery: [passphrase, recoveryKey],
  quota: quotaDefault,
  founderRandom,
}

export function successor(before: Directory, change: Partial<Directory> = {}): Directory {
  const previous = directoryHash(seed, before)
  return { ...before, number: before.number + 1, previous, founderRandom: undefined, ...change }
}

/** The founder and device 2, added by number 1. */
export const two: Directory = successor(genesis, {
  devices: sorted(founder, device(2, { added: 1 })),
})
