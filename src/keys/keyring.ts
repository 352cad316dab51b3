// Creates and opens keyrings (FORMAT §7). Pure over bytes, keys and randomness. format/keyring.ts
// owns the framing, format/directory.ts the rules of succession. Must not decide about trust: the
// store trusts keys from a keyring only after a verified record names it.

import type { Sealed } from '../bytes.ts'
import type { Random } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import type { DeviceKeys } from '../format/device-keys.ts'
import type { LastRecord } from '../format/directory-succession.ts'
import {
  decodeDirectory,
  type Directory,
  findDevice,
  type Givers,
  type RecoveryEntry,
} from '../format/directory.ts'
import { openEnvelope, recordContext, type Seeded } from '../format/envelope.ts'
import { seedOf } from '../format/id.ts'
import { decodeKeyring, type KeyringFile } from '../format/keyring.ts'
import { standardStretch, type StretchParameters } from '../limits.ts'
import { inSlices } from '../time-slice.ts'
import { openArchives, openAuditArchive } from './archive.ts'
import { type AuditKeys, auditKeys, type EpochKeys, epochKeys, opensContents } from './epoch.ts'
import type { Identity } from './identity.ts'
import { type KeyringParts, makeKeyring } from './keyring-bytes.ts'
import {
  type Admission,
  type DeviceChanges,
  firstDirectory,
  passphraseEntry,
  recoveryKeyEntry,
  withChanges,
  withDevice,
  withGivers,
  withName,
  withQuota,
  withRecovery,
} from './membership.ts'
import {
  newPassphrase,
  type RecoveryIdentity,
  recoveryKeyIdentity,
  type Stretching,
} from './recovery.ts'
import { openDeviceSlot, openWith, type Unlock } from './unlock.ts'

export interface OpenedKeyring {
  readonly bytes: Uint8Array
  readonly directory: Directory
  /** By kid, older epochs first, the current one last. */
  readonly epochs: ReadonlyMap<string, EpochKeys>
  readonly epoch: EpochKeys
  /** The identity of the passphrase or recovery key that opened it. */
  readonly recovery: RecoveryIdentity | undefined
}

export interface NewKeyring {
  readonly bytes: Sealed
  readonly directory: Directory
  readonly epoch: EpochKeys
  /** The kids of earlier epochs, oldest first. */
  readonly archived: readonly string[]
}

/**
 * Creates keyring number 0, with the founder only, a new seed and a new epoch. Throws
 * `invalid_input`.
 */
export async function createKeyring(options: {
  readonly identity: Identity
  /** The name of the founder's device. */
  readonly name: string
  readonly passphrase: string | undefined
  /** 32 bytes, given the seed; undefined for none. */
  readonly recoveryKeyOf: (store: Seeded) => Uint8Array | undefined
  readonly random: Random
  readonly stretch?: StretchParameters
}): Promise<NewKeyring> {
  const { identity, name, random, stretch = standardStretch } = options
  const founderRandom = random(32)
  const seed = seedOf(identity.signing.publicKey, founderRandom)
  const recoveryKey = options.recoveryKeyOf({ seed })
  const recovery = [
    ...(recoveryKey === undefined
      ? []
      : [recoveryKeyEntry(recoveryKeyIdentity({ seed }, recoveryKey), random)]),
    ...(await passphraseEntries(options.passphrase, [], { seed, random, stretch })),
  ]
  const directory = firstDirectory(identity, name, recovery, founderRandom)
  const epoch = epochKeys(seed, random(32), random(32))
  return assemble({ directory, epoch, older: [] })
}

/**
 * Throws `wrong_key`, `weak_key_parameters`, `invalid_identity`, `upgrade_required`, `cancelled`,
 * `keyring_malformed`, `keyring_mismatch` or an envelope code; for an auditor
 * `permission_denied`.
 */
export async function openKeyring(
  bytes: Uint8Array,
  storeId: string,
  unlock: Unlock,
  signal?: AbortSignal,
): Promise<OpenedKeyring> {
  const file = decodeKeyring(bytes)
  const { epoch, recovery } = await openWith(file, storeId, unlock, signal)
  const directory = readDirectory(file, epoch)
  if (unlock.type === 'identity') checkOwnSlot(directory, unlock.identity, epoch)
  if (!opensContents(epoch)) {
    throw new StoreError(
      'permission_denied',
      'This device is an auditor: it verifies and lists the trail, and reads no contents or paths',
      { details: { role: 'auditor' } },
    )
  }
  const epochs = new Map(openArchives(file, epoch).map((one) => [one.kid, one]))
  return { bytes, directory, epochs, epoch, recovery }
}

/** The part of a keyring that an auditor can open; devices of other roles may open it too. */
export interface AuditedKeyring {
  readonly directory: Directory
  /** By kid, older epochs first, the current one last. */
  readonly epochs: ReadonlyMap<string, AuditKeys>
}

/** Throws what `openKeyring` throws, except `permission_denied`. */
export async function openAuditKeyring(
  bytes: Uint8Array,
  identity: Identity,
  signal?: AbortSignal,
): Promise<AuditedKeyring> {
  const file = decodeKeyring(bytes)
  const opened = await openDeviceSlot(file, identity, signal)
  const directory = readDirectory(file, opened)
  checkOwnSlot(directory, identity, opened)
  // Members, too, get only what an auditor has.
  const epoch = auditKeys(file.seed, opened.auditKey, opened.contentKeyHash)
  const epochs = new Map(openAuditArchive(file, epoch).map((one) => [one.kid, one]))
  return { directory, epochs }
}

/** A slot gives a device the keys of its role: an auditor could not check another kind of slot. */
function checkOwnSlot(
  directory: Directory,
  { deviceId }: Identity,
  epoch: AuditKeys | EpochKeys,
): void {
  const role = findDevice(directory, deviceId)?.role
  if (role === undefined || (role === 'auditor') !== opensContents(epoch)) return
  throw new StoreError(
    'keyring_slots',
    'The slot of this device does not hold the keys of its role in the directory',
  )
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
  epochs: ReadonlyMap<string, AuditKeys>,
): OpenedDirectory {
  const file = decodeKeyring(bytes)
  const epoch = epochs.get(file.kid)
  if (epoch === undefined) {
    throw new StoreError('envelope_epoch', 'A keyring belongs to an unknown epoch')
  }
  if (file.seed !== epoch.seed) {
    throw new StoreError('store_seed_mismatch', 'A keyring belongs to another store')
  }
  return { file, epoch, directory: readDirectory(file, epoch) }
}

/**
 * The next keyring of the same epoch, with one more device. Throws `permission_denied` for a device
 * that was removed, `invalid_input` for one that is a member, `store_full`.
 */
export function addDevice(
  opened: OpenedKeyring,
  device: DeviceKeys,
  admission: Admission,
): Promise<NewKeyring> {
  return extend(opened, withDevice(opened.epoch.seed, opened.directory, device, admission))
}

/** The next keyring of the same epoch, with one more recovery key. */
export function addRecoveryKey(
  opened: OpenedKeyring,
  recoveryKey: Uint8Array,
  random: Random,
): Promise<NewKeyring> {
  const { directory, epoch } = opened
  const { seed } = epoch
  const entry = recoveryKeyEntry(recoveryKeyIdentity({ seed }, recoveryKey), random)
  return extend(opened, withRecovery(seed, directory, entry))
}

/** The next keyring of the same epoch, in which a device has another name. */
export function renameDevice(
  opened: OpenedKeyring,
  deviceId: string,
  name: string,
): Promise<NewKeyring> {
  return extend(opened, withName(opened.epoch.seed, opened.directory, deviceId, name))
}

/** The next keyring of the same epoch, with another quota of devices that a passphrase admits. */
export function setQuota(opened: OpenedKeyring, quota: number): Promise<NewKeyring> {
  return extend(opened, withQuota(opened.epoch.seed, opened.directory, quota))
}

/**
 * The next keyring of the same epoch, with others who may give grants: who loses that right could
 * otherwise keep the keys, so that leaving it to owners alone needs a new epoch.
 */
export function setGivers(opened: OpenedKeyring, givers: Givers): Promise<NewKeyring> {
  return extend(opened, withGivers(opened.epoch.seed, opened.directory, givers))
}

/** The changes of a new epoch; missing fields change nothing. */
export interface EpochChanges extends DeviceChanges {
  /** A string replaces the passphrase, `null` removes it. */
  readonly passphrase?: string | null
  /** 32 bytes that replace all recovery keys. */
  readonly recoveryKey?: Uint8Array
  /** The cost of a new passphrase. */
  readonly stretch?: StretchParameters
  /** The last record of a device that this device knows; undefined if it has none, or is forked. */
  readonly lastRecordOf?: (deviceId: string) => LastRecord | undefined
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
  const { directory: before } = opened
  const { seed } = opened.epoch
  const { passphrase, recoveryKey, stretch = standardStretch, lastRecordOf } = changes
  const replaced = { passphrase: passphrase !== undefined, recovery: recoveryKey !== undefined }
  const recovery = [
    ...before.recovery.filter(({ type }) => !replaced[type]),
    ...(await passphraseEntries(passphrase, before.recovery, { seed, random, stretch })),
    ...(recoveryKey === undefined
      ? []
      : [recoveryKeyEntry(recoveryKeyIdentity({ seed }, recoveryKey), random)]),
  ]
  return assemble({
    directory: withChanges(seed, before, changes, recovery, lastRecordOf ?? (() => undefined)),
    epoch: epochKeys(seed, random(32), random(32)),
    older: [...opened.epochs.values()],
  })
}

/** The next keyring of the same epoch. */
function extend(opened: OpenedKeyring, directory: Directory): Promise<NewKeyring> {
  const { epoch, epochs } = opened
  const older = [...epochs.values()].filter(({ kid }) => kid !== epoch.kid)
  return assemble({ directory, epoch, older })
}

async function assemble(parts: KeyringParts): Promise<NewKeyring> {
  const { directory, epoch, older } = parts
  const bytes = await inSlices(makeKeyring(parts))
  return { bytes, directory, epoch, archived: older.map(({ kid }) => kid) }
}

function readDirectory(file: KeyringFile, epoch: AuditKeys): Directory {
  const context = recordContext(file)
  const directory = decodeDirectory(
    openEnvelope('directory', epoch.directory, context, file.directory),
  )
  if (directory.number !== file.number) {
    throw new StoreError('keyring_mismatch', 'The number of a keyring is not that of its directory')
  }
  return directory
}

/** The entry of a new passphrase, at least as costly as the ones before; none without one. */
async function passphraseEntries(
  passphrase: string | null | undefined,
  before: readonly RecoveryEntry[],
  how: Stretching,
): Promise<readonly RecoveryEntry[]> {
  const costs = before.flatMap((entry) => (entry.type === 'passphrase' ? [entry.argon2] : []))
  const fresh = await newPassphrase(passphrase, costs, how)
  return fresh === undefined ? [] : [passphraseEntry(fresh.identity, fresh.argon2, how.random)]
}
