// Vectors of whole keyrings with their secrets: framing, slots, archives, directory. FORMAT §7,
// §7.5. Argon2id is at its floor.

import { concatBytes, equalBytes } from '../../../src/bytes.ts'
import type { Argon2Parameters, Directory } from '../../../src/format/directory.ts'
import { type KeyringFile, type Slot, sortSlots } from '../../../src/format/keyring.ts'
import {
  formatIdentity,
  formatRecoveryKey,
  generateIdentity,
  generateOperatorSecret,
  parseOperatorSecret,
} from '../../../src/keys/identity.ts'
import { holdersOf, type Recipient } from '../../../src/keys/recipients.ts'
import {
  operatorRecoveryKey,
  passphraseIdentity,
  type RecoveryIdentity,
  recoveryKeyIdentity,
} from '../../../src/keys/recovery.ts'
import {
  forgeKeyring,
  forgeSlot,
  type KeyringFault,
  type KeyringPlan,
} from '../../support/forge-keyring.ts'
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
  readonly storeId: string
  readonly plan: KeyringPlan
  /** With this key of the operator's, by its counter. */
  readonly withKey: (counter: number) => KeyringPlan
  readonly identity: Vector
  readonly recovery: Vector
  readonly operator: Vector
  readonly stranger: Vector
}

export async function keyrings(): Promise<readonly Vector[]> {
  const setting = await prepare()
  const { storeId, plan, withKey, identity, recovery, operator, stranger } = setting
  const of: Make = (expect, name, secret, fault = {}, planned = plan) => {
    const bytes = Buffer.from(forgeKeyring(planned, fault)).toString('base64')
    return { name, clause: '7', expect, storeId, ...secret, bytes }
  }
  return [
    of('accepted', 'by identity', identity),
    of('accepted', 'by recovery key', recovery),
    of('accepted', 'by operator secret', operator),
    of('accepted', 'by operator secret, of which it has the last key', operator, {}, withKey(15)),
    of(
      'wrong_key',
      'by operator secret, of which it has a key after the last',
      operator,
      {},
      withKey(16),
    ),
    of('accepted', 'by passphrase', { passphrase }),
    of('accepted', 'by passphrase in NFD', { passphrase: passphrase.normalize('NFD') }),
    of('wrong_key', 'by an identity that is no member', stranger),
    of('wrong_key', 'by another recovery key', {
      recoveryKey: formatRecoveryKey(storeId, new Uint8Array(32)),
    }),
    of('wrong_key', 'by the recovery key of another store', {
      recoveryKey: formatRecoveryKey('ab'.repeat(16), new Uint8Array(32).fill(7)),
    }),
    of('wrong_key', 'by another operator secret', {
      operatorSecret: await generateOperatorSecret((length) => new Uint8Array(length)),
    }),
    of('wrong_key', 'by another passphrase', { passphrase: `${passphrase}x` }),
    ...parameterFaults(of),
    ...framingFaults(of, identity),
    ...contradictions(of, identity),
    ...slotFaults(of, setting),
    ...wrongSlots(of, setting),
    ...archiveFaults(of, identity),
  ]
}

type Make = (
  expect: string,
  name: string,
  secret: Vector,
  fault?: KeyringFault,
  planned?: KeyringPlan,
) => Vector

/** A second epoch, so that the archives hold something. */
async function prepare(): Promise<Setting> {
  const forge = await Forge.started('keyring vectors')
  const { directory, storeId, random, founder } = forge
  const operatorSecret = await generateOperatorSecret(random)
  const byPassphrase = keysOf(await passphraseIdentity(forge, passphrase, argon2))
  const parts = { epoch: forge.newEpoch(), older: [forge.epoch] }
  const withKey = (counter: number): KeyringPlan => {
    const secret = operatorRecoveryKey(forge, parseOperatorSecret(operatorSecret), counter)
    const operator = keysOf(recoveryKeyIdentity(forge, secret))
    const recovery: Directory['recovery'] = [
      ...directory.recovery,
      { slotId: 'bb'.repeat(16), type: 'passphrase', ...byPassphrase, argon2 },
      { slotId: 'cc'.repeat(16), type: 'recovery', ...operator },
    ]
    return { ...parts, directory: { ...directory, recovery } }
  }
  return {
    storeId,
    plan: withKey(0),
    withKey,
    identity: { identity: formatIdentity(founder) },
    recovery: { recoveryKey: formatRecoveryKey(storeId, new Uint8Array(32).fill(7)) },
    operator: { operatorSecret },
    stranger: { identity: formatIdentity(await generateIdentity(random)) },
  }
}

function keysOf({ signing, kem }: RecoveryIdentity): {
  readonly signingKey: Uint8Array
  readonly kemKey: Uint8Array
} {
  return { signingKey: signing.publicKey, kemKey: kem.publicKey }
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
        file: inSlots(isPassphrase, (slot) => ({ ...slot, passphrase: stretched(change) })),
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
    of('upgrade_required', 'version 0', identity, { bytes: put(4, 0) }),
    of('upgrade_required', 'version 2', identity, { bytes: put(4, 2) }),
    malformed('a reserved byte', { bytes: put(5, 1) }),
    malformed('fewer slots than there are', { bytes: put(6, 0, 4) }),
    malformed('1,025 slots', { bytes: put(6, 4, 1) }),
    of('upgrade_required', 'a type of slot that is unknown', identity, { bytes: put(48, 9) }),
    of('upgrade_required', 'a slot of type 3', identity, { bytes: put(48, 3) }),
    malformed('a reserved byte of a slot', { bytes: put(49, 1) }),
    malformed('a slot that is too short', { bytes: put(50, 0, 9) }),
    malformed('more than 4 MiB', { bytes: (bytes) => concatBytes(bytes, new Uint8Array(4 << 20)) }),
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
      'three slots of type 1',
      inFile((f) => ({ ...f, slots: f.slots.slice(1) })),
    ),
  ]
}

/** Keyrings whose framing contradicts their contents. */
function contradictions(of: Make, identity: Vector): readonly Vector[] {
  return [
    of(
      'wrong_key',
      "another store's seed",
      identity,
      inFile((f) => ({ ...f, seed: '77'.repeat(16) })),
    ),
    of(
      'envelope_epoch',
      'another kid',
      identity,
      inFile((f) => ({ ...f, kid: '77'.repeat(16) })),
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
      'keyring_slots',
      'no slot for a passphrase',
      identity,
      inFile((f) => ({ ...f, slots: f.slots.filter((slot) => !isPassphrase(slot)) })),
    ),
  ]
}

function inFile(change: (file: KeyringFile) => KeyringFile): KeyringFault {
  return { file: change }
}

function isPassphrase({ type }: Slot): boolean {
  return type === 'passphrase'
}

function stretched(change: Partial<Argon2Parameters>): Slot['passphrase'] {
  return { slotId: 'bb'.repeat(16), argon2: { ...argon2, ...change } }
}

function padded(change: (bytes: Uint8Array) => Uint8Array): KeyringFault {
  return { archiveSeal: { padded: change } }
}

/** Faults of the slot of the identity that opens the keyring. */
function slotFaults(of: Make, { plan, identity, recovery }: Setting): readonly Vector[] {
  const own = holderOf(plan, 'recovery')
  const { ciphertext } = forgeSlot(plan, own)
  const isOwn = (slot: Slot): boolean => equalBytes(slot.ciphertext, ciphertext)
  const inOwnSlot = (change: (slot: Slot) => Slot): KeyringFault => ({
    file: inSlots(isOwn, change),
  })
  const envelope = (bit: number): KeyringFault =>
    inOwnSlot((s) => ({ ...s, envelope: flipBit(bit)(s.envelope) }))
  return [
    of(
      'wrong_key',
      'another X-Wing ciphertext',
      recovery,
      inOwnSlot((s) => ({ ...s, ciphertext: flipBit(9)(s.ciphertext) })),
    ),
    of(
      'wrong_key',
      'another slot id of the passphrase',
      { passphrase },
      {
        file: inSlots(isPassphrase, (s) => ({
          ...s,
          passphrase: { slotId: 'ab'.repeat(16), argon2 },
        })),
      },
    ),
    of('envelope_suite', 'another suite of a slot', recovery, envelope(8 * 4)),
    of('envelope_type', 'another type of a slot', recovery, envelope(8 * 5)),
    of('envelope_epoch', 'another kid of a slot', recovery, envelope(8 * 24 - 1)),
    of('wrong_key', 'another salt of a slot', recovery, envelope(8 * 24)),
    of('envelope_tag', 'another tag of a slot', recovery, envelope(8 * 608 - 1)),
    of('keyring_mismatch', 'the keys of another epoch', identity, {
      slotPlaintext: new Uint8Array(64).fill(1),
    }),
    of('envelope_padding', 'more than two keys in a slot', identity, {
      slotSeal: { padded: (bytes) => put(64, 1)(bytes) },
    }),
  ]
}

/** Slots of others that do not follow from directory and keys: anyone who opens it sees that. */
function wrongSlots(of: Make, { plan, identity }: Setting): readonly Vector[] {
  const nobodysKey = plan.directory.recovery[0]?.kemKey ?? new Uint8Array()
  const kinds = ['recovery', 'passphrase', 'nobody'] as const
  const sealed = (change: (one: Recipient) => Partial<Recipient>): KeyringFault => ({
    recipients: (all) => all.map((one) => ({ ...one, ...change(one) })),
  })
  const atOther = forgeSlot(plan, { ...holderOf(plan, 'recovery'), id: 'ee'.repeat(16) })
  return [
    ...kinds.map((kind) =>
      of(
        'keyring_slots',
        `a slot that is sealed to another key than that of: ${kind}`,
        identity,
        sealed((one) => (one.kind === kind ? { kemKey: otherThan(one, nobodysKey) } : {})),
      ),
    ),
    of(
      'keyring_slots',
      'a slot that opens, but was sealed with another seed',
      identity,
      sealed((one) => (one.kind === 'recovery' ? { id: 'ee'.repeat(16) } : {})),
    ),
    of(
      'keyring_slots',
      'a slot of a member that holds the keys of an auditor',
      identity,
      sealed((one) => (one.kind === 'recovery' ? { isAuditor: true } : {})),
    ),
    of('keyring_slots', 'twice as many slots as there should be', identity, {
      recipients: (all) => {
        const keys = all.filter(({ kind }) => kind !== 'passphrase')
        return [...all, ...keys.map((one) => ({ ...one, id: 'ee'.repeat(16) }))]
      },
    }),
    of('keyring_slots', 'a slot in place of nobody', identity, {
      file: (file) => {
        const [nobody, ...rest] = nobodyFirst(plan, file)
        return nobody === undefined ? file : { ...file, slots: sortSlots([atOther, ...rest]) }
      },
    }),
    of('keyring_slots', 'other Argon2id parameters of a passphrase', identity, {
      file: inSlots(isPassphrase, (slot) => ({ ...slot, passphrase: stretched({ passes: 3 }) })),
    }),
  ]
}

function holderOf(plan: KeyringPlan, kind: Recipient['kind']): Recipient {
  const found = holdersOf(plan.directory).find((one) => one.kind === kind)
  if (found === undefined) throw new Error('No such holder')
  return found
}

/** Another user's key. */
function otherThan({ kemKey }: Recipient, other: Uint8Array): Uint8Array {
  return equalBytes(kemKey, other) ? kemKey.map((byte, at) => (at < 1184 ? byte : byte ^ 1)) : other
}

/** The slots of a keyring, with a decoy at the front. */
function nobodyFirst(plan: KeyringPlan, { slots }: KeyringFile): readonly Slot[] {
  const held = holdersOf(plan.directory).map((one) => forgeSlot(plan, one).ciphertext)
  const isHeld = (slot: Slot): boolean => held.some((one) => equalBytes(one, slot.ciphertext))
  return slots.toSorted((a, b) => Number(isHeld(a)) - Number(isHeld(b)))
}

function archiveFaults(of: Make, identity: Vector): readonly Vector[] {
  return [
    of('upgrade_required', 'an archive of version 2', identity, padded(put(0, 2))),
    of('keyring_malformed', 'a reserved byte of an archive', identity, padded(put(1, 1))),
    of('keyring_malformed', 'more in an archive than there is', identity, padded(put(2, 0xff))),
    of('keyring_mismatch', 'another kid in the archives', identity, padded(put(4, 1, 2, 3))),
    of('keyring_mismatch', 'another key in the archives', identity, padded(put(20, 1, 2, 3))),
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
  isIt: (slot: Slot) => boolean,
  change: (slot: Slot) => Slot,
): (file: KeyringFile) => KeyringFile {
  return (file) => {
    const slots = file.slots.map((slot) => (isIt(slot) ? change(slot) : slot))
    return { ...file, slots: sortSlots(slots) }
  }
}
