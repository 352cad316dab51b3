// Checks rights: the keyrings along the chain, the author of a record, the role of this device
// (FORMAT §6.1 roles, §7.1). Keys from a keyring are tentative until the history that names it is
// verified; must not keep them before.

import { StoreError } from '../../errors.ts'
import type { ChangeRecord, RecordKind } from '../../format/change-record.ts'
import { parseTree } from '../../format/commit.ts'
import {
  checkGenesisDirectory,
  checkSuccessor,
  type LastRecord,
} from '../../format/directory-succession.ts'
import {
  type Admitter,
  byOwner,
  type Directory,
  findDevice,
  type MemberRole,
  type RecoveryEntry,
  type Role,
} from '../../format/directory.ts'
import { openEnvelope, readKid, recordContext, type Seeded } from '../../format/envelope.ts'
import { recoveryIdOf } from '../../format/id.ts'
import type { KeyringFile } from '../../format/keyring.ts'
import { decodeSettings } from '../../format/settings.ts'
import type { Oid, SizeLimit } from '../../git/objects/object.ts'
import { openArchives, openAuditArchive, readArchivedKids } from '../../keys/archive.ts'
import { type AuditKeys, type EpochKeys, opensContents } from '../../keys/epoch.ts'
import type { Identity } from '../../keys/identity.ts'
import { checkKeyring } from '../../keys/keyring-bytes.ts'
import { openDirectory, type OpenedKeyring, openKeyring } from '../../keys/keyring.ts'
import type { Unlock } from '../../keys/unlock.ts'
import { keyringBytesMax } from '../../limits.ts'
import { type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import { getBlob, getEntry, getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import type {
  GrantState,
  KeyringState,
  SettingsRecord,
  SettingsState,
  Snapshot,
} from '../snapshot/snapshot.ts'
import { checkGrantAuthor, type GrantsPast } from './grants.ts'

/** Git objects, with the keys of a member or of an auditor. */
interface Source<Keys extends AuditKeys = AuditKeys> {
  readonly objects: ObjectSource
  readonly epochs: Epochs<Keys>
}

const rolesFor: Readonly<Record<RecordKind, readonly Role[]>> = {
  genesis: ['owner'],
  change: ['owner', 'writer'],
  redact: ['owner'],
  keyring: ['owner'],
  settings: ['owner'],
  grants: ['owner', 'writer'],
}

const keyringLimit: SizeLimit = {
  bytes: keyringBytesMax,
  refusal: () => new StoreError('keyring_malformed', 'A keyring is malformed: it is too large'),
}

/** Opens the keyring of an unverified head. Throws `wrong_key` or `cancelled`. */
export async function openHeadKeyring(
  objects: ObjectSource,
  storeId: string,
  unlock: Unlock,
  head: Oid,
  signal?: AbortSignal,
): Promise<OpenedKeyring> {
  return openKeyring(readHeadKeyring(objects, head), storeId, unlock, signal)
}

/** The bytes of the keyring of an unverified commit. */
export function readHeadKeyring(objects: ObjectSource, commit: Oid): Uint8Array {
  return getBlob(objects, findKeyring(objects, commit), 'keyring_mismatch', keyringLimit)
}

/** The keyring blob of an unverified commit. */
export function findKeyring(objects: ObjectSource, commit: Oid): Oid {
  const tree = parseTree(readCommitBytes(objects, commit))
  return getEntry(getTree(objects, tree), 'keyring')
}

/** Reads a keyring that was verified before back from git. */
export function readKeyringState(source: Source, oid: Oid, record: Uint8Array): KeyringState {
  const bytes = getBlob(source.objects, oid, 'keyring_mismatch')
  const { file, epoch, directory } = openDirectory(bytes, source.epochs)
  return { kid: epoch.kid, archived: readArchivedKids(file, epoch), directory, oid, record }
}

/** Reads settings that were verified before back from git. */
export function readSettingsState(
  source: Source<EpochKeys>,
  oid: Oid,
  record: SettingsRecord,
): SettingsState {
  const bytes = getBlob(source.objects, oid, 'settings_mismatch')
  const epoch = source.epochs.get(readKid('settings', bytes))
  if (epoch === undefined) {
    throw new StoreError('envelope_epoch', 'The settings are sealed under an unknown epoch')
  }
  const context = recordContext(epoch)
  const value = decodeSettings(openEnvelope('settings', epoch.settings, context, bytes))
  return { oid, value, ...record }
}

/**
 * Opens the keyring of a record, and checks that it follows from its directory and keys. Checks
 * genesis; `checkSuccession` checks a later one.
 */
export function* openNewKeyring(
  source: Source,
  record: ChangeRecord,
  bytes: Uint8Array,
): Generator<undefined, Pick<KeyringState, 'kid' | 'archived' | 'directory'>> {
  const { file, epoch, directory } = openDirectory(bytes, source.epochs)
  if (directory.number !== record.directoryNumber) {
    throw new StoreError('keyring_mismatch', 'The keyring number differs from that of its record')
  }
  const older = archivedEpochs(file, epoch)
  yield* checkKeyring(file, { directory, epoch, older })
  const archived = older.map(({ kid }) => kid)
  if (record.kind === 'genesis') {
    checkGenesisDirectory(epoch.seed, directory)
    checkArchived(archived, [])
  }
  return { kid: epoch.kid, archived, directory }
}

/** The author of a keyring record, and what its causal past holds. */
export interface SuccessionContext extends Seeded {
  readonly author: Admitter
  readonly lastRecordOf: (deviceId: string) => LastRecord | undefined
}

/**
 * Checks the successor of the keyring in force (FORMAT §7.1). Throws `keyring_chain` or
 * `record_role`.
 */
export function checkSuccession(
  context: SuccessionContext,
  before: KeyringState,
  next: KeyringState,
): void {
  const isSameEpoch = next.kid === before.kid
  const directories = { previous: before.directory, next: next.directory }
  checkSuccessor({ ...context, ...directories, isSameEpoch })
  if (before.archived.includes(next.kid)) throw returning()
  checkArchived(next.archived, isSameEpoch ? before.archived : [...before.archived, before.kid])
}

/** Checks that a device that is added by this keyring can read everything before it. */
function checkArchived(archived: readonly string[], older: readonly string[]): void {
  if (archived.join() === older.join()) return
  throw new StoreError('keyring_chain', 'The archives of a keyring do not hold every older epoch')
}

function returning(): StoreError {
  return new StoreError('keyring_chain', 'A keyring returns to an earlier epoch')
}

/** The epochs in the archives: of both for a member, of one for an auditor. */
function archivedEpochs(file: KeyringFile, epoch: AuditKeys): readonly AuditKeys[] {
  const epochs = opensContents(epoch) ? openArchives(file, epoch) : openAuditArchive(file, epoch)
  return epochs.filter(({ kid }) => kid !== epoch.kid)
}

/** The newest state in the past of a record that its author is checked against. */
export interface AuthorPast extends Pick<GrantsPast, 'grantOf' | 'deviceOf'> {
  readonly keyring: KeyringState
}

/** The commit whose author is checked. */
interface SignedCommit {
  readonly record: ChangeRecord
  /** The author's signature. Throws `device_signature_invalid`. */
  checkSignature(publicKey: Uint8Array): void
}

/**
 * Checks that the author was active with a sufficient role in the directory before this record, and
 * signed it. Throws `record_device`, `record_role`, `record_sequence`, `device_forked` or
 * `device_signature_invalid`.
 */
export function checkAuthor(
  before: AuthorPast,
  commit: SignedCommit,
  keyring: KeyringState | undefined,
): void {
  const { record } = commit
  // Genesis is checked against its own directory, which the store id authenticates.
  const { directory } =
    record.kind === 'genesis' && keyring !== undefined ? keyring : before.keyring
  const device = findDevice(directory, record.deviceId)
  if (device === undefined) {
    // Asked second: it hashes, and no directory gives one id to both.
    const recovery = findRecovery(directory, record.deviceId)
    const grant = before.grantOf(record.deviceId)
    if (recovery !== undefined) {
      commit.checkSignature(recovery.signingKey)
      return checkRecoveryRights(before.keyring, record, keyring)
    }
    if (grant === undefined) {
      throw new StoreError('record_device', 'The author is not an active device of the store')
    }
    checkGrantAuthor(record, grant, before)
    return commit.checkSignature(grant.key)
  }
  if (!rolesFor[record.kind].includes(device.role)) {
    throw new StoreError('record_role', 'The author does not have the role that the record needs')
  }
  if (record.sequence === 0) {
    throw new StoreError('record_sequence', 'Only a recovery identity has the sequence number 0')
  }
  if (before.deviceOf(record.deviceId)?.forked === true) throw forkedError()
  commit.checkSignature(device.signingKey)
}

/** Checks that a recovery identity remains in the epoch: `checkSuccession` checks what it adds. */
function checkRecoveryRights(
  before: KeyringState,
  { sequence }: ChangeRecord,
  keyring: KeyringState | undefined,
): void {
  if (keyring === undefined) {
    throw new StoreError('record_role', 'A recovery identity may only enrol devices')
  }
  // Genesis begins an epoch.
  if (keyring.kid !== before.kid) {
    throw new StoreError('record_role', 'A recovery identity may not begin an epoch')
  }
  if (sequence > 0) {
    throw new StoreError('record_sequence', 'A recovery identity has no sequence numbers')
  }
}

/**
 * Throws `device_forked`, `grant_expired`, or `permission_denied` if the role of a device does not
 * allow records of this kind.
 */
export function checkMayWrite(
  snapshot: Snapshot,
  { deviceId, grant: held }: Pick<Identity, 'deviceId' | 'grant'>,
  kind: RecordKind,
): void {
  const grant = snapshot.grants.get(deviceId)
  if (grant !== undefined) return checkMayWriteByGrant(grant, kind)
  if (held !== undefined) throw inactiveGrantError()
  const role = roleOf(snapshot, deviceId)
  if (snapshot.devices.get(deviceId)?.forked === true) throw forkedError()
  if (mayWrite(role, kind)) return
  const needed = rolesFor[kind].join(' or ')
  throw new StoreError(
    'permission_denied',
    `This device is ${role ?? 'not a device'} of the store; the change needs the role ${needed}`,
  )
}

/** A verified history does not have the grant as active. */
export function inactiveGrantError(): StoreError {
  return new StoreError(
    'grant_expired',
    'The grant is not active: it has ended, the device that gave it may not give any more, or ' +
      'that device has not synced since',
  )
}

function checkMayWriteByGrant(grant: GrantState, kind: RecordKind): void {
  if (kind === 'change' && grant.role === 'writer') return
  throw new StoreError(
    'permission_denied',
    grant.role === 'reader'
      ? 'The grant is for reading: nothing was changed'
      : 'A grant is for reading and changing memories alone: a device of the store does the rest',
  )
}

/** Whether a role allows records of this kind (FORMAT §6.1); undefined allows none. */
export function mayWrite(role: MemberRole | undefined, kind: RecordKind): boolean {
  return rolesFor[kind].some((one) => one === role)
}

/** The role of an active device or grant; undefined for any other. */
export function roleOf(snapshot: Snapshot, deviceId: string): MemberRole | undefined {
  const grant = snapshot.grants.get(deviceId)
  if (grant !== undefined) return grant.role
  return findDevice(snapshot.keyring.directory, deviceId)?.role
}

/** Every clone that knows of both machines refuses what a forked device writes (FORMAT §8.2). */
export function forkedError(): StoreError {
  return new StoreError(
    'device_forked',
    'Two machines wrote as one device: it was copied or restored from a backup, and cannot write ' +
      'any more',
  )
}

/** By which right the author of a keyring record changes this directory. */
export function admitterOf(directory: Directory, record: ChangeRecord): Admitter {
  const entry = findRecovery(directory, record.deviceId)
  return entry === undefined ? byOwner : { admittedBy: entry.type, slotId: entry.slotId }
}

/** The recovery identity that signs records under this id (FORMAT §1). */
export function findRecovery({ recovery }: Directory, authorId: string): RecoveryEntry | undefined {
  return recovery.find(({ slotId, signingKey }) => recoveryIdOf(slotId, signingKey) === authorId)
}
