// Vectors of whole keyrings with what opens them: framing, slots, archives, directory. FORMAT §7,
// §7.5. Argon2id stays at its floor.

import { concatBytes } from '../../../src/bytes.ts'
import {
  type Argon2Parameters,
  type KeyringFile,
  type Slot,
  sortSlots,
} from '../../../src/format/keyring.ts'
import { formatIdentity, formatRecoveryKey, generateIdentity } from '../../../src/keys/identity.ts'
import { passphraseIdentity } from '../../../src/keys/recovery.ts'
import { forgeKeyring, type KeyringFault, type KeyringPlan } from '../../support/forge-keyring.ts'
import { flipBit, put } from '../../support/forge-seal.ts'
import { Forge } from '../../support/forge.ts'
import type { Vector } from '../vector.ts'

const passphrase = 'correct horse battery é'
const argon2: Argon2Parameters = {
  salt: new Uint8Array(16).fill(5),
  passes: 2,
  memoryKiB: 65_536,
}

interface Setting {
  readonly plan: KeyringPlan
  readonly identity: Vector
  readonly recovery: Vector
  readonly stranger: Vector
}

export async function keyrings(): Promise<readonly Vector[]> {
  const setting = await prepare()
  const { plan, identity, recovery, stranger } = setting
  const of = (expect: string, name: string, secret: Vector, fault: KeyringFault = {}): Vector => {
    const bytes = Buffer.from(forgeKeyring(plan, fault)).toString('base64')
    return { name, clause: '7', expect, storeId: plan.storeId, ...secret, bytes }
  }
  return [
    of('accepted', 'by identity', identity),
    of('accepted', 'by recovery key', recovery),
    of('accepted', 'by passphrase', { passphrase }),
    of('accepted', 'by passphrase in NFD', { passphrase: passphrase.normalize('NFD') }),
    of('wrong_key', 'by an identity that is no member', stranger),
    of('wrong_key', 'by another recovery key', {
      recoveryKey: formatRecoveryKey(new Uint8Array(32)),
    }),
    of('wrong_key', 'by another passphrase', { passphrase: `${passphrase}x` }),
    ...parameterFaults(of),
    ...framingFaults(of, identity),
    ...contradictions(of, identity),
    ...slotFaults(of, setting),
    ...archiveFaults(of, identity),
  ]
}

type Make = (expect: string, name: string, secret: Vector, fault?: KeyringFault) => Vector

/** A second epoch, so that the archives hold something. */
async function prepare(): Promise<Setting> {
  const forge = await Forge.create('keyring vectors')
  const { signing, kem } = await passphraseIdentity(passphrase, argon2)
  const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey }
  const entry = { slotId: 'bb'.repeat(16), type: 'passphrase', ...keys } as const
  const { directory, storeId, random, founder } = forge
  const plan = {
    storeId,
    random,
    argon2,
    epoch: forge.newEpoch(),
    older: [forge.epoch],
    directory: { ...directory, recovery: [...directory.recovery, entry] },
  }
  return {
    plan,
    identity: { identity: formatIdentity(founder) },
    recovery: { recoveryKey: formatRecoveryKey(new Uint8Array(32).fill(7)) },
    stranger: { identity: formatIdentity(await generateIdentity(random)) },
  }
}

function parameterFaults(of: Make): readonly Vector[] {
  const list: readonly (readonly [name: string, change: Partial<Argon2Parameters>])[] = [
    ['1 pass', { passes: 1 }],
    ['11 passes', { passes: 11 }],
    ['65,535 KiB', { memoryKiB: 65_535 }],
    ['1,048,577 KiB', { memoryKiB: 1_048_577 }],
  ]
  return list.map(([name, change]) =>
    of(
      'weak_key_parameters',
      name,
      { passphrase },
      {
        file: inSlots('passphrase', (slot) => ({ ...slot, argon2: { ...argon2, ...change } })),
      },
    ),
  )
}

function framingFaults(of: Make, identity: Vector): readonly Vector[] {
  const malformed = (name: string, fault: KeyringFault): Vector => {
    return of('keyring_malformed', name, identity, fault)
  }
  return [
    malformed('nothing', { bytes: () => new Uint8Array() }),
    malformed('another magic', { bytes: put(0, 0x58) }),
    of('upgrade_required', 'version 2', identity, { bytes: put(4, 2) }),
    malformed('a reserved byte', { bytes: put(5, 1) }),
    malformed('more slots than there are', { bytes: put(6, 0, 9) }),
    malformed('1,025 slots', { bytes: put(6, 4, 1) }),
    malformed('a type of slot that is unknown', { bytes: put(40, 9) }),
    malformed('a reserved byte of a slot', { bytes: put(41, 1) }),
    malformed('a slot that is too short', { bytes: put(42, 0, 9) }),
    malformed('a byte less', { bytes: (bytes) => bytes.slice(0, -1) }),
    malformed('a byte more', { bytes: (bytes) => concatBytes(bytes, Uint8Array.of(0)) }),
    malformed(
      'slots that do not ascend',
      inFile((f) => ({ ...f, slots: f.slots.toReversed() })),
    ),
    malformed(
      'one slot twice',
      inFile((f) => ({ ...f, slots: f.slots.toSpliced(0, 0, ...f.slots.slice(0, 1)) })),
    ),
    malformed(
      'three slots of devices',
      inFile((f) => ({ ...f, slots: f.slots.slice(1) })),
    ),
  ]
}

/** Of what the framing says and what is inside says otherwise. */
function contradictions(of: Make, identity: Vector): readonly Vector[] {
  return [
    of(
      'store_id_mismatch',
      "another store's",
      identity,
      inFile((f) => ({ ...f, storeId: '77'.repeat(16) })),
    ),
    of(
      'envelope_epoch',
      'another kid',
      identity,
      inFile((f) => ({ ...f, kid: '77'.repeat(8) })),
    ),
    of(
      'keyring_mismatch',
      'another directory number',
      identity,
      inFile((f) => ({ ...f, number: 9 })),
    ),
    of('envelope_tag', 'a directory that was changed', identity, {
      directorySeal: { envelope: flipBit(8 * 100) },
    }),
    of('envelope_padding', 'a directory with other padding', identity, {
      directorySeal: { padded: (bytes) => put(bytes.length - 1, 1)(bytes) },
    }),
    of(
      'keyring_mismatch',
      'no slot for a recovery entry',
      identity,
      inFile((f) => ({
        ...f,
        slots: f.slots.filter((slot) => slot.type !== 'recovery'),
      })),
    ),
  ]
}

function inFile(change: (file: KeyringFile) => KeyringFile): KeyringFault {
  return { file: change }
}

function inRecoverySlot(change: (slot: Slot) => Slot): KeyringFault {
  return { file: inSlots('recovery', change) }
}

function padded(change: (bytes: Uint8Array) => Uint8Array): KeyringFault {
  return { archiveSeal: { padded: change } }
}

function slotFaults(of: Make, { identity, recovery }: Setting): readonly Vector[] {
  const envelope = (bit: number): KeyringFault =>
    inRecoverySlot((s) => ({ ...s, envelope: flipBit(bit)(s.envelope) }))
  return [
    of(
      'wrong_key',
      'another X-Wing ciphertext',
      recovery,
      inRecoverySlot((s) => ({ ...s, ciphertext: flipBit(9)(s.ciphertext) })),
    ),
    of('wrong_key', 'another slot id', recovery, {
      file: inSlots('recovery', (s) => ({ ...s, slotId: 'ab'.repeat(16) })),
    }),
    of('envelope_suite', 'another suite of a slot', recovery, envelope(8 * 4)),
    of('envelope_type', 'another type of a slot', recovery, envelope(8 * 5)),
    of('wrong_key', 'another salt of a slot', recovery, envelope(8 * 16)),
    of('envelope_tag', 'another tag of a slot', recovery, envelope(8 * 600 - 1)),
    of('keyring_mismatch', 'the keys of another epoch', identity, {
      slotPlaintext: new Uint8Array(64).fill(1),
    }),
    of('envelope_padding', 'more than two keys in a slot', identity, {
      slotSeal: { padded: (bytes) => put(64, 1)(bytes) },
    }),
  ]
}

function archiveFaults(of: Make, identity: Vector): readonly Vector[] {
  return [
    of('upgrade_required', 'an archive of version 2', identity, padded(put(0, 2))),
    of('keyring_malformed', 'a reserved byte of an archive', identity, padded(put(1, 1))),
    of('keyring_malformed', 'more in an archive than there is', identity, padded(put(2, 0xff))),
    of('keyring_mismatch', 'another kid in the archives', identity, padded(put(4, 1, 2, 3))),
    of('keyring_mismatch', 'another key in the archives', identity, padded(put(12, 1, 2, 3))),
    of(
      'envelope_padding',
      'other padding of the archives',
      identity,
      padded((b) => put(b.length - 1, 1)(b)),
    ),
    of('envelope_tag', 'an archive that was changed', identity, {
      archiveSeal: { envelope: flipBit(8 * 100) },
    }),
  ]
}

function inSlots(
  type: Slot['type'],
  change: (slot: Slot) => Slot,
): (file: KeyringFile) => KeyringFile {
  return (file) => {
    const slots = file.slots.map((slot) => (slot.type === type ? change(slot) : slot))
    return { ...file, slots: sortSlots(slots) }
  }
}
