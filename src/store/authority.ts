// Who may do what: keyrings on the way down the chain, the author of a record, the role of this
// device (FORMAT §6.1 roles, §7.1). Keys from a keyring are used tentatively until the history that
// names it is verified.

import { StoreError } from '../errors.ts'
import {
  checkGenesisDirectory,
  checkRecoveryStep,
  checkRotation,
  checkSuccessor,
  findDevice,
} from '../format/directory.ts'
import type { Directory, RecoveryEntry, Role } from '../format/directory.ts'
import { openEnvelope, recordContext } from '../format/envelope.ts'
import { readKid } from '../format/envelope.ts'
import { deviceIdOf } from '../format/id.ts'
import type { ChangeRecord, RecordKind } from '../format/record.ts'
import { decodeSettings } from '../format/settings.ts'
import type { Oid } from '../git/object.ts'
import { decodeKeyring } from '../format/keyring.ts'
import { openArchives } from '../keys/archive.ts'
import { openDirectory, openKeyring } from '../keys/keyring.ts'
import type { OpenedKeyring, Unlock } from '../keys/keyring.ts'
import { parseCommit } from '../format/commit.ts'
import { readCommitBytes } from './decoded-commit.ts'
import type { Epochs } from './decoded-commit.ts'
import { getBlob, getEntry, getTree } from './git-reads.ts'
import type { ObjectSource } from './git-reads.ts'
import type { JudgedCommit } from './judged-commit.ts'
import type { KeyringState, SettingsState, Snapshot } from './snapshot.ts'

interface Source {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
}

const rolesFor: Readonly<Record<RecordKind, readonly Role[]>> = {
  genesis: ['owner'],
  change: ['owner', 'writer'],
  redact: ['owner'],
  keyring: ['owner'],
  settings: ['owner'],
}

/** Opens the keyring of a head that is not verified yet. Throws `wrong_key`. */
export async function openHeadKeyring(
  objects: ObjectSource,
  storeId: string,
  unlock: Unlock,
  head: Oid,
): Promise<OpenedKeyring> {
  const bytes = getBlob(objects, findKeyring(objects, head), 'keyring_mismatch')
  return openKeyring(bytes, storeId, unlock)
}

/** The keyring blob of a commit that is not verified yet. */
export function findKeyring(objects: ObjectSource, commit: Oid): Oid {
  const { tree } = parseCommit(readCommitBytes(objects, commit))
  return getEntry(getTree(objects, tree), 'keyring')
}

/** A keyring that was verified before, read back from git. */
export function readKeyringState(source: Source, oid: Oid, record: Uint8Array): KeyringState {
  const bytes = getBlob(source.objects, oid, 'keyring_mismatch')
  return { ...openDirectory(bytes, source.storeId, source.epochs), oid, record }
}

/** Settings that were verified before, read back from git. */
export function readSettingsState(source: Source, oid: Oid): SettingsState {
  const bytes = getBlob(source.objects, oid, 'settings_mismatch')
  const epoch = source.epochs.get(readKid('settings', bytes))
  if (epoch === undefined) {
    throw new StoreError('envelope_epoch', 'The settings are sealed under an unknown epoch')
  }
  const context = recordContext(source.storeId)
  return { oid, value: decodeSettings(openEnvelope('settings', epoch.settings, context, bytes)) }
}

/** The keyring that a record brings. Genesis is judged here, a later one by `checkSuccession`. */
export function openNewKeyring(
  source: Source,
  record: ChangeRecord,
  bytes: Uint8Array,
): { readonly kid: string; readonly directory: Directory } {
  const opened = openDirectory(bytes, source.storeId, source.epochs)
  if (opened.directory.number !== record.directoryNumber) {
    throw new StoreError('keyring_mismatch', 'The keyring has another number than its record says')
  }
  if (record.kind === 'genesis') checkGenesisDirectory(source.storeId, opened.directory)
  checkArchives(source, opened.kid, bytes)
  return opened
}

/** FORMAT §7.1: what may follow the keyring in force. Throws `keyring_chain`. */
export function checkSuccession(source: Source, before: KeyringState, next: KeyringState): void {
  checkSuccessor(source.storeId, before.directory, next.directory)
  checkRotation(before.directory, next.directory, next.kid === before.kid)
  // The head lists the epochs in order, oldest first: one that was left does not come back.
  const order = [...source.epochs.keys()]
  if (order.indexOf(next.kid) < order.indexOf(before.kid)) {
    throw new StoreError('keyring_chain', 'A keyring returns to an epoch that was left')
  }
}

/** Who joins with this keyring can read everything before it. */
function checkArchives(source: Source, kid: string, bytes: Uint8Array): void {
  const epoch = source.epochs.get(kid)
  const listed = epoch === undefined ? [] : openArchives(decodeKeyring(bytes), epoch)
  const order = [...source.epochs.keys()].slice(0, listed.length)
  if (listed.map((one) => one.kid).join() === order.join()) return
  throw new StoreError('keyring_chain', 'The archives of a keyring do not hold every older epoch')
}

/**
 * The author was active with the right role in the directory before this record, and signed it.
 * Throws `record_device`, `record_role` or `device_signature_invalid`.
 */
export function checkAuthor(
  snapshot: Snapshot,
  commit: JudgedCommit,
  keyring: KeyringState | undefined,
): void {
  const { record } = commit
  // Genesis is judged by its own directory, which the store id vouches for.
  const founding = record.kind === 'genesis' ? keyring?.directory : undefined
  const directory = founding ?? snapshot.keyring.directory
  const recovery = record.sequence === 0 ? findRecovery(directory, record.deviceId) : undefined
  if (recovery !== undefined) {
    commit.checkSignature(recovery.signingKey)
    if (record.kind !== 'keyring' || keyring === undefined) {
      throw new StoreError('record_role', 'A recovery identity writes keyring records only')
    }
    if (keyring.kid !== snapshot.keyring.kid) {
      throw new StoreError('record_role', 'A recovery identity cannot begin an epoch')
    }
    return checkRecoveryStep(recovery, directory, keyring.directory)
  }
  const device = findDevice(directory, record.deviceId)
  if (device === undefined || device.removed !== 0) {
    throw new StoreError('record_device', 'The author is not an active device of the store')
  }
  if (!rolesFor[record.kind].includes(device.role)) {
    throw new StoreError('record_role', 'The author does not have the role that this record needs')
  }
  if (record.sequence === 0) {
    throw new StoreError('record_sequence', 'Only a recovery identity has the sequence number 0')
  }
  commit.checkSignature(device.signingKey)
}

/** The role of a device. Throws `permission_denied` if it may not write records of this kind. */
export function checkMayWrite(snapshot: Snapshot, deviceId: string, kind: RecordKind): void {
  const role = roleOf(snapshot, deviceId)
  if (role !== undefined && rolesFor[kind].includes(role)) return
  const needed = rolesFor[kind].join(' or ')
  throw new StoreError(
    'permission_denied',
    `This device is ${role ?? 'not a device'} of the store; the change needs the role ${needed}`,
  )
}

/** Undefined for a device that is not, or no longer, one of the store's. */
export function roleOf(snapshot: Snapshot, deviceId: string): Role | undefined {
  const device = findDevice(snapshot.keyring.directory, deviceId)
  return device?.removed === 0 ? device.role : undefined
}

function findRecovery(directory: Directory, deviceId: string): RecoveryEntry | undefined {
  return directory.recovery.find((entry) => deviceIdOf(entry.signingKey) === deviceId)
}
