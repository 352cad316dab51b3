// Creates and opens keyrings (FORMAT §7). Pure over bytes, keys and randomness. format/keyring.ts
// owns the framing, format/directory.ts the rules of succession. Must not decide about trust: the
// store trusts keys from a keyring only after a verified record names it.

import type { Sealed } from '../bytes.ts'
import type { Random } from '../crypto/random.ts'
import type { KemKeyPair } from '../crypto/recipient.ts'
import { StoreError } from '../errors.ts'
import type { DeviceKeys } from '../format/device-card.ts'
import { joinDirectories } from '../format/directory-join.ts'
import {
  decodeDirectory,
  type Directory,
  encodeDirectory,
  type RecoveryEntry,
  type Role,
} from '../format/directory.ts'
import { openEnvelope, recordContext, sealEnvelope } from '../format/envelope.ts'
import { storeIdOf } from '../format/id.ts'
import {
  decodeKeyring,
  encodeKeyring,
  type KeyringFile,
  type Slot,
  sortSlots,
} from '../format/keyring.ts'
import { standardStretch, type StretchParameters } from '../limits.ts'
import { openArchives, openAuditArchive, sealArchives } from './archive.ts'
import { type AuditKeys, auditKeys, type EpochKeys, epochKeys, opensContents } from './epoch.ts'
import { type Identity, parseRecoveryKey } from './identity.ts'
import {
  checkSize,
  type DeviceChanges,
  firstDirectory,
  recoveryEntry,
  withChanges,
  withDevice,
  withRecovery,
} from './membership.ts'
import { type PassphraseParameters, recipientsOf } from './recipients.ts'
import {
  type NewPassphrase,
  newPassphrase,
  passphraseIdentity,
  type RecoveryIdentity,
  recoveryKeyIdentity,
} from './recovery.ts'
import { openSlot, sealSlot } from './slot.ts'

/** The secret that opens a keyring. */
export type Unlock =
  | { readonly type: 'identity'; readonly identity: Identity }
  | { readonly type: 'passphrase'; readonly passphrase: string }
  | { readonly type: 'recovery'; readonly recoveryKey: string }

export interface OpenedKeyring {
  readonly bytes: Uint8Array
  readonly storeId: string
  readonly directory: Directory
  /** By kid, older epochs first, the current one last. */
  readonly epochs: ReadonlyMap<string, EpochKeys>
  readonly epoch: EpochKeys
  /** The identity of the passphrase or recovery key that opened it. */
  readonly recovery: RecoveryIdentity | undefined
}

export interface NewKeyring {
  readonly bytes: Sealed
  readonly storeId: string
  readonly directory: Directory
  readonly epoch: EpochKeys
  /** The kids of earlier epochs, oldest first. */
  readonly archived: readonly string[]
}

const wrongKey: Readonly<Record<Slot['type'], string>> = {
  device:
    'This identity is not, or is no longer, a device of the store; an owner must add it, or a ' +
    'passphrase or recovery key must enrol it',
  passphrase: 'The passphrase is wrong',
  recovery: 'The recovery key is wrong, was replaced, or belongs to another store',
}

/**
 * Creates keyring number 0, with the founder only, a new store id and a new epoch. Throws
 * `invalid_input`.
 */
export async function createKeyring(options: {
  readonly identity: Identity
  readonly passphrase: string | undefined
  readonly recoveryKey: Uint8Array
  readonly random: Random
  readonly stretch?: StretchParameters
}): Promise<NewKeyring> {
  const { identity, random, stretch = standardStretch } = options
  const founderRandom = random(32)
  const storeId = storeIdOf(identity.signing.publicKey, founderRandom)
  const passphrase = await newPassphrase(options.passphrase, [], { random, stretch })
  const recoveryKey = recoveryKeyIdentity(options.recoveryKey)
  const recovery = [
    recoveryEntry('recovery', recoveryKey, random),
    ...passphraseEntries(passphrase, random),
  ]
  const directory = firstDirectory(identity, recovery, founderRandom)
  const epoch = epochKeys(storeId, random(32), random(32))
  const argon2 = parametersOf(recovery, passphrase)
  return assemble({ storeId, directory, epoch, older: [], argon2, random })
}

/**
 * Throws `wrong_key`, `weak_key_parameters`, `invalid_identity`, `upgrade_required`,
 * `store_id_mismatch`, `keyring_malformed`, `keyring_mismatch` or an envelope code; for an auditor
 * `permission_denied`.
 */
export async function openKeyring(
  bytes: Uint8Array,
  storeId: string,
  unlock: Unlock,
): Promise<OpenedKeyring> {
  const file = decodeFor(bytes, storeId)
  const { epoch, recovery } = await openWith(file, unlock)
  if (!opensContents(epoch)) {
    throw new StoreError(
      'permission_denied',
      'This device is an auditor: it verifies and lists the trail, and reads no contents or paths',
      { details: { role: 'auditor' } },
    )
  }
  const epochs = new Map(openArchives(file, epoch).map((one) => [one.kid, one]))
  return { bytes, storeId, directory: readDirectory(file, epoch), epochs, epoch, recovery }
}

/** The part of a keyring that an auditor can open; devices of other roles may open it too. */
export interface AuditedKeyring {
  readonly directory: Directory
  /** By kid, older epochs first, the current one last. */
  readonly epochs: ReadonlyMap<string, AuditKeys>
}

/** Throws what `openKeyring` throws, except `permission_denied`. */
export function openAuditKeyring(
  bytes: Uint8Array,
  storeId: string,
  identity: Identity,
): AuditedKeyring {
  const file = decodeFor(bytes, storeId)
  // Members, too, get only what an auditor has.
  const { auditKey, contentKeyHash } = openSlots(file, 'device', identity.kem)
  const epoch = auditKeys(storeId, auditKey, contentKeyHash)
  const epochs = new Map(openAuditArchive(file, epoch).map((one) => [one.kid, one]))
  return { directory: readDirectory(file, epoch), epochs }
}

/** A keyring opened with known keys of its epoch. */
export interface OpenedDirectory {
  readonly file: KeyringFile
  readonly epoch: AuditKeys
  readonly directory: Directory
}

/**
 * Opens the directory of a keyring of a known epoch, to walk a history's chain of keyrings. Throws
 * `envelope_epoch` for an unknown epoch, and what `openKeyring` throws.
 */
export function openDirectory(
  bytes: Uint8Array,
  storeId: string,
  epochs: ReadonlyMap<string, AuditKeys>,
): OpenedDirectory {
  const file = decodeFor(bytes, storeId)
  const epoch = epochs.get(file.kid)
  if (epoch === undefined) {
    throw new StoreError('envelope_epoch', 'A keyring belongs to an unknown epoch')
  }
  return { file, epoch, directory: readDirectory(file, epoch) }
}

/**
 * The next keyring of the same epoch, with one more device. Every slot is sealed again, so that the
 * change does not reveal whose slot is whose. Throws `permission_denied` for a device that was
 * removed, `invalid_input` for one that is a member, `store_full`.
 */
export function addDevice(
  opened: OpenedKeyring,
  device: DeviceKeys,
  role: Role,
  random: Random,
): NewKeyring {
  const { storeId, epoch } = opened
  const directory = withDevice(storeId, opened.directory, device, role)
  return assemble({ ...sameEpoch(opened), storeId, directory, epoch, random })
}

/** The next keyring of the same epoch, with one more recovery key. */
export function addRecoveryKey(
  opened: OpenedKeyring,
  recoveryKey: Uint8Array,
  random: Random,
): NewKeyring {
  const { storeId, epoch } = opened
  const entry = recoveryEntry('recovery', recoveryKeyIdentity(recoveryKey), random)
  const directory = withRecovery(storeId, opened.directory, entry)
  return assemble({ ...sameEpoch(opened), storeId, directory, epoch, random })
}

/** The changes of a new epoch; missing fields change nothing. */
export interface EpochChanges extends DeviceChanges {
  /** A string replaces the passphrase, `null` removes it. */
  readonly passphrase?: string | null
  /** 32 bytes that replace all recovery keys. */
  readonly recoveryKey?: Uint8Array
  /** Of a new passphrase. */
  readonly stretch?: StretchParameters
}

/**
 * The first keyring of a new epoch. Throws `invalid_input` for a device that is not active, for a
 * passphrase that is too short, or if no owner would remain.
 */
export async function startEpoch(
  opened: OpenedKeyring,
  changes: EpochChanges,
  random: Random,
): Promise<NewKeyring> {
  const { storeId, directory: before } = opened
  const { passphrase, recoveryKey, stretch = standardStretch } = changes
  const old = argon2Of(opened)
  const fresh = await newPassphrase(passphrase, [...old.values()], { random, stretch })
  const freshEntries = passphraseEntries(fresh, random)
  const replaced = { passphrase: passphrase !== undefined, recovery: recoveryKey !== undefined }
  const recovery = [
    ...before.recovery.filter(({ type }) => !replaced[type]),
    ...freshEntries,
    ...(recoveryKey === undefined
      ? []
      : [recoveryEntry('recovery', recoveryKeyIdentity(recoveryKey), random)]),
  ]
  return assemble({
    storeId,
    directory: withChanges(storeId, before, changes, recovery),
    epoch: epochKeys(storeId, random(32), random(32)),
    older: [...opened.epochs.values()],
    argon2: replaced.passphrase ? parametersOf(freshEntries, fresh) : old,
    random,
  })
}

/**
 * Joins two concurrent keyrings into one of a new epoch, in the order of the records that brought
 * them (FORMAT §7.2). Throws `store_full` if it had more devices, or more removed slots, than a
 * keyring can have.
 */
export function joinKeyrings(
  [first, second]: readonly [first: OpenedKeyring, second: OpenedKeyring],
  random: Random,
): NewKeyring {
  const { storeId } = first
  const directory = joinDirectories(storeId, [first.directory, second.directory])
  checkSize(directory)
  return assemble({
    storeId,
    directory,
    epoch: epochKeys(storeId, random(32), random(32)),
    // An epoch that both know keeps its position in the first one.
    older: [...new Map([...first.epochs, ...second.epochs]).values()],
    argon2: new Map([...argon2Of(second), ...argon2Of(first)]),
    random,
  })
}

/** The part of a keyring that stays in the same epoch. */
function sameEpoch(opened: OpenedKeyring): Pick<Parts, 'older' | 'argon2'> {
  const older = [...opened.epochs.values()].filter(({ kid }) => kid !== opened.epoch.kid)
  return { older, argon2: argon2Of(opened) }
}

interface Parts {
  readonly storeId: string
  readonly directory: Directory
  readonly epoch: EpochKeys
  readonly older: readonly EpochKeys[]
  readonly argon2: PassphraseParameters
  readonly random: Random
}

function assemble(parts: Parts): NewKeyring {
  const { storeId, directory, epoch, older, random } = parts
  const recipients = recipientsOf(directory, parts.argon2, random)
  const slots = recipients.map((recipient) => sealSlot(storeId, epoch, recipient, random))
  const context = recordContext(storeId)
  const plaintext = encodeDirectory(directory)
  const bytes = encodeKeyring({
    kid: epoch.kid,
    storeId,
    number: directory.number,
    slots: sortSlots(slots),
    ...sealArchives(storeId, epoch, older, random),
    directory: sealEnvelope('directory', epoch.directory, context, random(32), plaintext),
  })
  return { bytes, storeId, directory, epoch, archived: older.map(({ kid }) => kid) }
}

/** Decodes the framing of a keyring of this store. */
function decodeFor(bytes: Uint8Array, storeId: string): KeyringFile {
  const file = decodeKeyring(bytes)
  if (file.storeId === storeId) return file
  throw new StoreError('store_id_mismatch', 'The keyring belongs to another store')
}

function readDirectory(file: KeyringFile, epoch: AuditKeys): Directory {
  const context = recordContext(file.storeId)
  const directory = decodeDirectory(
    openEnvelope('directory', epoch.directory, context, file.directory),
  )
  if (directory.number !== file.number) {
    throw new StoreError('keyring_mismatch', 'The number of a keyring is not that of its directory')
  }
  checkSlots(file.slots, directory)
  return directory
}

/** Checks that the public slots are those that the directory lists. */
function checkSlots(slots: readonly Slot[], directory: Directory): void {
  const shown = slots.flatMap(({ type, slotId }) => (slotId === undefined ? [] : [type + slotId]))
  const listed = directory.recovery.map(({ type, slotId }) => type + slotId)
  const active = directory.devices.filter((device) => device.removed === 0).length
  const same = shown.toSorted().join() === listed.toSorted().join()
  if (same && active <= slots.length - shown.length) return
  throw new StoreError(
    'keyring_mismatch',
    'The slots of a keyring are not those that its directory lists',
  )
}

interface Opened {
  readonly epoch: AuditKeys | EpochKeys
  readonly recovery: RecoveryIdentity | undefined
}

async function openWith(file: KeyringFile, unlock: Unlock): Promise<Opened> {
  if (unlock.type === 'identity') {
    return { epoch: openSlots(file, 'device', unlock.identity.kem), recovery: undefined }
  }
  if (unlock.type === 'passphrase') return openWithPassphrase(file, unlock.passphrase)
  const recovery = recoveryKeyIdentity(parseRecoveryKey(unlock.recoveryKey))
  return { epoch: openSlots(file, 'recovery', recovery.kem), recovery }
}

/** A joined keyring may have several passphrases, each with its own salt. */
async function openWithPassphrase(file: KeyringFile, passphrase: string): Promise<Opened> {
  for (const slot of file.slots) {
    if (slot.argon2 === undefined) continue
    const recovery = await passphraseIdentity(passphrase, slot.argon2)
    const epoch = openSlot(file, slot, recovery.kem)
    if (epoch !== undefined) return { epoch, recovery }
  }
  if (argon2In(file).size === 0) {
    throw new StoreError('wrong_key', 'The store has no passphrase; use the recovery key')
  }
  throw new StoreError('wrong_key', wrongKey.passphrase)
}

function openSlots(file: KeyringFile, type: Slot['type'], pair: KemKeyPair): AuditKeys | EpochKeys {
  for (const slot of file.slots) {
    if (slot.type !== type) continue
    const epoch = openSlot(file, slot, pair)
    if (epoch !== undefined) return epoch
  }
  throw new StoreError('wrong_key', wrongKey[type])
}

function argon2Of(opened: OpenedKeyring): PassphraseParameters {
  return argon2In(decodeKeyring(opened.bytes))
}

function argon2In({ slots }: KeyringFile): PassphraseParameters {
  return new Map(
    slots.flatMap(({ slotId, argon2 }) => {
      return slotId === undefined || argon2 === undefined ? [] : [[slotId, argon2] as const]
    }),
  )
}

function passphraseEntries(
  passphrase: NewPassphrase | undefined,
  random: Random,
): readonly RecoveryEntry[] {
  if (passphrase === undefined) return []
  return [recoveryEntry('passphrase', passphrase.identity, random)]
}

/** The parameters of the one new passphrase among the recovery entries. */
function parametersOf(
  entries: readonly RecoveryEntry[],
  passphrase: NewPassphrase | undefined,
): PassphraseParameters {
  const entry = entries.find(({ type }) => type === 'passphrase')
  if (entry === undefined || passphrase === undefined) return new Map()
  return new Map([[entry.slotId, passphrase.argon2]])
}
