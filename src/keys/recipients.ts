// The recipients of an epoch (FORMAT §7): the active devices and the recovery identities of a
// directory, with dummy slots that hide the number of devices. Must not seal: slot.ts does.

import type { Random } from '../crypto/random.ts'
import { kemKeyPair } from '../crypto/recipient.ts'
import { assert } from '../errors.ts'
import type { Directory } from '../format/directory.ts'
import type { Argon2Parameters } from '../format/keyring.ts'
import type { Recipient } from './slot.ts'

/** The Argon2id parameters of passphrases, by slot id. */
export type PassphraseParameters = ReadonlyMap<string, Argon2Parameters>

/** FORMAT §7: the number of device slots is one of 4, 8, 16, … */
const DEVICE_SLOTS_MIN = 4

export function recipientsOf(
  directory: Directory,
  argon2: PassphraseParameters,
  random: Random,
): readonly Recipient[] {
  return [...deviceRecipients(directory, random), ...recoveryRecipients(directory, argon2)]
}

/** The active devices, padded with keys without an owner, to hide the number of members. */
function deviceRecipients(directory: Directory, random: Random): readonly Recipient[] {
  const active = directory.devices.filter((device) => device.removed === 0)
  let slots = DEVICE_SLOTS_MIN
  while (slots < active.length) slots *= 2
  const common = { type: 'device', slotId: undefined, argon2: undefined } as const
  return Array.from({ length: slots }, (_, index) => {
    const device = active[index]
    const kemKey = device?.kemKey ?? kemKeyPair(random(32)).publicKey
    return { ...common, kemKey, auditor: device?.role === 'auditor' }
  })
}

function recoveryRecipients(
  directory: Directory,
  argon2: PassphraseParameters,
): readonly Recipient[] {
  return directory.recovery.map(({ type, slotId, kemKey }) => {
    const parameters = type === 'passphrase' ? argon2.get(slotId) : undefined
    assert(type === 'recovery' || parameters !== undefined, 'a passphrase has its parameters')
    return { type, slotId, kemKey, argon2: parameters, auditor: false }
  })
}
