// The recipients of an epoch (FORMAT §7): the active devices and the recovery identities of a
// directory, and slots for no one that hide how many there are. Must not seal: slot.ts does.

import { fromHex, label } from '../bytes.ts'
import { keyedHash } from '../crypto/digest.ts'
import { kemKeyPair } from '../crypto/recipient.ts'
import type { Directory } from '../format/directory.ts'
import { keySlotCount, type PassphraseSlot } from '../format/keyring.ts'
import type { EpochKeys } from './epoch.ts'

/** The kinds of recipients, and their numbers in the seed of an encapsulation. */
export const recipientKinds = { nobody: 0, device: 1, passphrase: 2, recovery: 3 } as const

/** The recipient of a slot. */
export interface Recipient {
  readonly kind: keyof typeof recipientKinds
  /** 32 hex digits: of a device, of a slot, or the number of a slot for no one. */
  readonly id: string
  readonly kemKey: Uint8Array
  /** For a passphrase only. */
  readonly passphrase: PassphraseSlot | undefined
  /** An auditor gets A and H(C), every other recipient A and C. */
  readonly isAuditor: boolean
}

const NOBODY_LABEL = label('GLK1/slot/nobody/v1')

/** All but the random slots. */
export function holdersOf({ devices, recovery }: Directory): readonly Recipient[] {
  const ofDevices = devices.map(({ deviceId, kemKey, role }): Recipient => {
    const isAuditor = role === 'auditor'
    return { kind: 'device', id: deviceId, kemKey, passphrase: undefined, isAuditor }
  })
  const ofSecrets = recovery.map((entry): Recipient => {
    const { type: kind, slotId, kemKey } = entry
    const passphrase = entry.type === 'passphrase' ? { slotId, argon2: entry.argon2 } : undefined
    return { kind, id: slotId, kemKey, passphrase, isAuditor: false }
  })
  return [...ofDevices, ...ofSecrets]
}

/** How many slots of type 1 are for no one. */
export function countNobody(holders: readonly Recipient[]): number {
  const keys = holders.filter(({ kind }) => kind !== 'passphrase').length
  return keySlotCount(keys) - keys
}

/** The random slot number `index`: only holders of C can derive its secret key. */
export function nobody(epoch: EpochKeys, directoryHash: Uint8Array, index: number): Recipient {
  const id = index.toString(16).padStart(32, '0')
  const place = [fromHex(epoch.seed), directoryHash, fromHex(id)]
  const kemSeed = keyedHash(32, epoch.slotKey, NOBODY_LABEL, ...place)
  const kemKey = kemKeyPair(kemSeed).publicKey
  return { kind: 'nobody', id, kemKey, passphrase: undefined, isAuditor: false }
}
