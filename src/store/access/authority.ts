// Who may do what: keyrings on the way down the chain, the author of a record, the role of this
// device (FORMAT §6.1 roles, §7.1). Keys from a keyring are used tentatively until the history that
// names it is verified.

import { equalBytes } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import type { ChangeRecord, RecordKind } from '../../format/change-record.ts'
import { parseCommit } from '../../format/commit.ts'
import { checkJoined } from '../../format/directory-join.ts'
import {
  checkGenesisDirectory,
  checkRecoveryStep,
  checkRotation,
  checkSuccessor,
  type Directory,
  findDevice,
  type RecoveryEntry,
  type Role,
} from '../../format/directory.ts'
import { openEnvelope, readKid, recordContext } from '../../format/envelope.ts'
import { deviceIdOf } from '../../format/id.ts'
import type { KeyringFile } from '../../format/keyring.ts'
import { decodeSettings } from '../../format/settings.ts'
import type { Oid } from '../../git/objects/object.ts'
import { openArchives, openAuditArchive, readArchivedKids } from '../../keys/archive.ts'
import { type AuditKeys, type EpochKeys, opensContents } from '../../keys/epoch.ts'
import { openDirectory, type OpenedKeyring, openKeyring, type Unlock } from '../../keys/keyring.ts'
import { type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import { getBlob, getEntry, getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import type { DeviceState, KeyringState, SettingsState, Snapshot } from '../snapshot/snapshot.ts'
import type { ParentHead, TwoKeyrings } from './keyring-change.ts'

/** With the keys of a member, or of an auditor. */
interface Source<Keys extends AuditKeys = AuditKeys> {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs<Keys>
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
  const { file, epoch, directory } = openDirectory(bytes, source.storeId, source.epochs)
  return { kid: epoch.kid, archived: readArchivedKids(file, epoch), directory, oid, record }
}

/** Settings that were verified before, read back from git. */
export function readSettingsState(
  source: Source<EpochKeys>,
  oid: Oid,
  record: Uint8Array,
  height: number,
): SettingsState {
  const bytes = getBlob(source.objects, oid, 'settings_mismatch')
  const epoch = source.epochs.get(readKid('settings', bytes))
  if (epoch === undefined) {
    throw new StoreError('envelope_epoch', 'The settings are sealed under an unknown epoch')
  }
  const context = recordContext(source.storeId)
  const value = decodeSettings(openEnvelope('settings', epoch.settings, context, bytes))
  return { oid, value, record, height }
}

/** The keyring that a record brings. Genesis is judged here, a later one by `checkSuccession`. */
export function openNewKeyring(
  source: Source,
  record: ChangeRecord,
  bytes: Uint8Array,
): Pick<KeyringState, 'kid' | 'archived' | 'directory'> {
  const { file, epoch, directory } = openDirectory(bytes, source.storeId, source.epochs)
  if (directory.number !== record.directoryNumber) {
    throw new StoreError('keyring_mismatch', 'The keyring has another number than its record says')
  }
  const archived = archivedEpochs(file, epoch)
  if (record.kind === 'genesis') {
    checkGenesisDirectory(source.storeId, directory)
    checkArchived(archived, [])
  }
  return { kid: epoch.kid, archived, directory }
}

/** FORMAT §7.1: what may follow the keyring in force. Throws `keyring_chain`. */
export function checkSuccession(storeId: string, before: KeyringState, next: KeyringState): void {
  const isSameEpoch = next.kid === before.kid
  checkSuccessor(storeId, before.directory, next.directory)
  checkRotation(before.directory, next.directory, isSameEpoch)
  if (before.archived.includes(next.kid)) throw returning()
  checkArchived(next.archived, isSameEpoch ? before.archived : [...before.archived, before.kid])
}

/** FORMAT §7.2: what joins two keyrings that do not know of each other. Throws `keyring_chain`. */
export function checkJoining(
  storeId: string,
  [first, second]: TwoKeyrings,
  next: KeyringState,
): void {
  checkJoined(storeId, [first.directory, second.directory], next.directory)
  const epochs = new Set([...first.archived, first.kid, ...second.archived, second.kid])
  if (epochs.has(next.kid)) throw returning()
  checkArchived(next.archived, [...epochs])
}

/** Who joins with a keyring can read everything before it. */
function checkArchived(archived: readonly string[], older: readonly string[]): void {
  if (archived.join() === older.join()) return
  throw new StoreError('keyring_chain', 'The archives of a keyring do not hold every older epoch')
}

function returning(): StoreError {
  return new StoreError('keyring_chain', 'A keyring returns to an epoch that was left')
}

/** Opens the archives as a whole; an auditor opens one of the two. */
function archivedEpochs(file: KeyringFile, epoch: AuditKeys): readonly string[] {
  const epochs = opensContents(epoch) ? openArchives(file, epoch) : openAuditArchive(file, epoch)
  return epochs.map(({ kid }) => kid).filter((kid) => kid !== epoch.kid)
}

/** What is in force where a commit is taken up, and the keyring record of its own side. */
export type InForce = Pick<KeyringState, 'record' | 'directory'>

/**
 * FORMAT §7.4: each parent of a merge is by a device that the newest keyring knows as active, or is
 * in the past of that keyring's record. That is above one parent only if it is that parent itself:
 * otherwise one parent would be an ancestor of the other. Throws `record_late`.
 */
export function checkInTime(newest: InForce, parents: readonly ParentHead[]): void {
  const isTimely = ({ head, authorId }: ParentHead): boolean => {
    return isInTime(newest, { record: head.record, authorId })
  }
  if (parents.every(isTimely)) return
  throw new StoreError('record_late', 'A merge takes up a record of a device that was removed')
}

/** Of a commit outside the past of that keyring's record, or of that record itself. */
export function isInTime(
  newest: InForce,
  { record, authorId }: { readonly record: Uint8Array; readonly authorId: string },
): boolean {
  if (equalBytes(record, newest.record)) return true
  if (findDevice(newest.directory, authorId)?.removed === 0) return true
  return findRecovery(newest.directory, authorId) !== undefined
}

/** What the author of a record continues: the newest of its past. */
export interface AuthorPast {
  readonly keyring: KeyringState
  readonly device: DeviceState | undefined
}

/** Whose author is to be checked. */
interface SignedCommit {
  readonly record: ChangeRecord
  /** The author's signature. Throws `device_signature_invalid`. */
  checkSignature(publicKey: Uint8Array): void
}

/**
 * The author was active with the right role in the directory before this record, and signed it.
 * Throws `record_device`, `record_role`, `device_forked` or `device_signature_invalid`.
 */
export function checkAuthor(
  before: AuthorPast,
  commit: SignedCommit,
  keyring: KeyringState | undefined,
): void {
  const { record } = commit
  // Genesis is judged by its own directory, which the store id vouches for.
  const founding = record.kind === 'genesis' ? keyring?.directory : undefined
  const directory = founding ?? before.keyring.directory
  const recovery = record.sequence === 0 ? findRecovery(directory, record.deviceId) : undefined
  if (recovery !== undefined) {
    commit.checkSignature(recovery.signingKey)
    if (keyring === undefined) {
      throw new StoreError(
        'record_role',
        'A recovery identity enrols devices and does nothing else',
      )
    }
    // Genesis begins one, and so does a record that joins two keyrings.
    if (keyring.kid !== before.keyring.kid) {
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
  if (before.device?.forked === true) throw forkedError()
  commit.checkSignature(device.signingKey)
}

/**
 * Throws `device_forked`, or `permission_denied` if the role of a device does not let it write
 * records of this kind.
 */
export function checkMayWrite(snapshot: Snapshot, deviceId: string, kind: RecordKind): void {
  const role = roleOf(snapshot, deviceId)
  if (snapshot.devices.get(deviceId)?.forked === true) throw forkedError()
  if (mayWrite(role, kind)) return
  const needed = rolesFor[kind].join(' or ')
  throw new StoreError(
    'permission_denied',
    `This device is ${role ?? 'not a device'} of the store; the change needs the role ${needed}`,
  )
}

/** Whether that role, undefined for none, is one for records of this kind (FORMAT §6.1). */
export function mayWrite(role: Role | undefined, kind: RecordKind): boolean {
  return role !== undefined && rolesFor[kind].includes(role)
}

/** Undefined for a device that is not, or no longer, one of the store's. */
export function roleOf(snapshot: Snapshot, deviceId: string): Role | undefined {
  const device = findDevice(snapshot.keyring.directory, deviceId)
  return device?.removed === 0 ? device.role : undefined
}

/** FORMAT §8.2: what such a device writes is refused by everybody who knows of both machines. */
export function forkedError(): StoreError {
  return new StoreError(
    'device_forked',
    'Two machines wrote as one device: it was copied, or put back from a backup, and may not go on',
  )
}

function findRecovery(directory: Directory, deviceId: string): RecoveryEntry | undefined {
  return findRecoveries(directory, deviceId)[0]
}

/** The entries of a recovery identity: one secret may stand in more than one. */
export function findRecoveries(directory: Directory, deviceId: string): readonly RecoveryEntry[] {
  return directory.recovery.filter((entry) => deviceIdOf(entry.signingKey) === deviceId)
}
