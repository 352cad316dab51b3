// Changes of access: of devices and their roles, passphrase and recovery key, and who may give
// grants (FORMAT §7). Checks each request and reports the residual access. Must not build commits
// (administration.ts does) or know the rules of a directory (format/directory.ts does).

import { toHex } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { parseDeviceCard } from '../../format/device-card.ts'
import {
  byOwner,
  checkGivers,
  checkRole,
  type DeviceEntry,
  findDevice,
  findRemoved,
  type Givers,
  type RecoveryEntry,
  type Role,
} from '../../format/directory.ts'
import { formatId, parseId } from '../../format/id.ts'
import { formatRecoveryKey, generateRecoveryKey, parseOperatorSecret } from '../../keys/identity.ts'
import {
  addDevice,
  addRecoveryKey,
  type EpochChanges,
  renameDevice,
  setGivers,
  setQuota,
} from '../../keys/keyring.ts'
import { nextOperatorKey } from '../../keys/recovery.ts'
import { checkMayWrite } from '../access/authority.ts'
import { type Applied, nothingApplied } from '../changes/apply.ts'
import type { Author } from '../commits/commit-context.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import {
  changeEpoch,
  changeKeyring,
  resealSettings,
  checkCanReseal,
  resealMemories,
} from './administration.ts'
import { countSecrets, type Secrets } from './devices.ts'
import { type EndingGrant, endingGrants } from './ending-grants.ts'
import {
  keysOfDevices,
  keysOfMember,
  readableWith,
  readKeyrings,
  type ResidualAccess,
} from './residual-access.ts'

export interface DeviceAdded extends Applied {
  /** `dev_…` */
  readonly deviceId: string
}

export interface KeysChanged extends Applied {
  /** The remaining access of those who lose keys; undefined if no one does. */
  readonly residualAccess: ResidualAccess | undefined
}

export interface RightsChanged extends KeysChanged {
  /** The grants that it ended: those of devices that may give none any more (FORMAT §12). */
  readonly endsGrants: readonly EndingGrant[]
}

export interface RecoveryKeyMade extends KeysChanged {
  /** `GLKR1-…`, given here and nowhere else. */
  readonly recoveryKey: string
}

export interface DeviceAddition {
  readonly role: Role
  /** `dev_…`: the fingerprint that the machine itself shows. */
  readonly fingerprint?: string | undefined
  /** By default the one in the card. */
  readonly name?: string | undefined
}

/**
 * Adds the device of a card. Throws `invalid_input` for a bad card, or if `fingerprint`, `dev_…`,
 * is of another device.
 */
export async function addDeviceByCard(
  session: StoreSession,
  card: string,
  { role, fingerprint, name }: DeviceAddition,
  author: Author,
): Promise<DeviceAdded> {
  const device = parseDeviceCard(card)
  if (fingerprint !== undefined && parseId('device', fingerprint) !== device.deviceId) {
    throw new StoreError(
      'invalid_input',
      'The device card has a different fingerprint than expected',
    )
  }
  checkRole(role)
  return session.writing(async () => {
    const admission = { role, name: name ?? device.name, ...byOwner }
    const built = await changeKeyring(
      session,
      author,
      (opened) => addDevice(opened, device, admission),
      admission.name,
    )
    const deviceId = formatId('device', device.deviceId)
    return { built, result: { ...appliedBy(built), deviceId } }
  })
}

/** Changes the role of a device; does nothing if it has that role. */
export async function changeRole(
  session: StoreSession,
  deviceId: string,
  role: Role,
  author: Author,
): Promise<RightsChanged> {
  const id = parseId('device', deviceId)
  checkRole(role)
  return changingRights(session, author, (snapshot) => {
    const device = getActive(snapshot, id)
    if (device.role === role) return undefined
    const loses = role === 'auditor' ? [device] : []
    return { changes: { roles: new Map([[id, role]]) }, loses }
  })
}

/** Secrets that are replaced in the same commit. */
export interface SecretsReplaced {
  /** A text replaces the passphrase, null removes it. */
  readonly passphrase?: string | null
  /** Replaces all recovery keys by a new one. */
  readonly recoveryKey?: boolean
}

export interface DevicesRemoved extends RightsChanged {
  /** The secrets in force that a removed device or its user may know: they still open the store. */
  readonly knownSecrets: Secrets
  /** `GLKR1-…`, if one was made: given here and nowhere else. */
  readonly recoveryKey: string | undefined
}

/** Removes the devices in one commit: all of them, or none. */
export async function removeDevices(
  session: StoreSession,
  deviceIds: readonly string[],
  replaced: SecretsReplaced,
  author: Author,
): Promise<DevicesRemoved> {
  const removed = deviceIds.map((deviceId) => parseId('device', deviceId))
  if (removed.length === 0) throw new StoreError('invalid_input', 'Name a device to remove')
  const { passphrase } = replaced
  const secret = replaced.recoveryKey === true ? generateRecoveryKey(session.random) : undefined
  const changes = {
    removed,
    ...(passphrase !== undefined && { passphrase }),
    ...(secret !== undefined && { recoveryKey: secret }),
  }
  let knownSecrets: Secrets = { passphrases: 0, recoveryKeys: 0 }
  const changed = await changingRights(session, author, (snapshot) => {
    knownSecrets = secretsKept(snapshot, replaced)
    return { changes, loses: removed.map((id) => getActive(snapshot, id)) }
  })
  const recoveryKey = secret && formatRecoveryKey(session.storeId, secret)
  return { ...changed, knownSecrets, recoveryKey }
}

/**
 * A device that was admitted by a secret knows it, an owner may have made it, and any other may
 * have been told: so it is every one that is not replaced.
 */
function secretsKept(snapshot: Snapshot, replaced: SecretsReplaced): Secrets {
  const { passphrases, recoveryKeys } = countSecrets(snapshot)
  return {
    passphrases: replaced.passphrase === undefined ? passphrases : 0,
    recoveryKeys: replaced.recoveryKey === true ? 0 : recoveryKeys,
  }
}

/** Gives a device, active, another name; does nothing if it has that name. */
export async function nameOfDevice(
  session: StoreSession,
  deviceId: string,
  name: string,
  author: Author,
): Promise<Applied> {
  const id = parseId('device', deviceId)
  return session.writing(async () => {
    if (getActive(session.snapshot, id).name === name) return nothingBuilt
    const built = await changeKeyring(session, author, (now) => renameDevice(now, id, name), name)
    return { built, result: appliedBy(built) }
  })
}

/** Sets the quota of devices that a passphrase admits; does nothing if that is the quota. */
export async function changePassphraseQuota(
  session: StoreSession,
  quota: number,
  author: Author,
): Promise<Applied> {
  return session.writing(async () => {
    if (session.snapshot.keyring.directory.quota === quota) return nothingBuilt
    const built = await changeKeyring(session, author, (opened) => setQuota(opened, quota))
    return { built, result: appliedBy(built) }
  })
}

/**
 * Sets who may give grants; does nothing if it is so. Writers who lose that right could keep the
 * keys of their grants, so that an epoch begins then (FORMAT §7.1).
 */
export async function changeGivers(
  session: StoreSession,
  givers: Givers,
  author: Author,
): Promise<RightsChanged> {
  checkGivers(givers)
  const isSet = ({ keyring }: Snapshot): boolean => keyring.directory.givers === givers
  if (givers === 'owners') {
    return changingRights(session, author, (snapshot) => {
      return isSet(snapshot) ? undefined : { changes: { givers }, loses: [] }
    })
  }
  return session.writing(async () => {
    const nothing = { ...unchanged, endsGrants: [] }
    if (isSet(session.snapshot)) return { built: undefined, result: nothing }
    const built = await changeKeyring(session, author, (opened) => setGivers(opened, givers))
    return { built, result: { ...nothing, ...appliedBy(built) } }
  })
}

export interface KeysRotated extends KeysChanged {
  /** The number of memories that were sealed again. */
  readonly resealed: number
}

/** Starts a new epoch with the same devices. With `reseal`, the caller seals memories again. */
export async function rotateKeys(
  session: StoreSession,
  { reseal }: { readonly reseal: boolean },
  author: Author,
): Promise<KeysChanged> {
  return rekeying(session, author, (snapshot) => {
    if (reseal) checkCanReseal(snapshot)
    return { changes: {}, loses: [] }
  })
}

/** Moves live memories and the settings into the epoch in force; the number of memories. */
export async function resealAll(session: StoreSession, author: Author): Promise<number> {
  const resealed = await resealMemories(session, author)
  await resealSettings(session, author)
  return resealed
}

/** Replaces the passphrase; null removes it, and does nothing without one. */
export async function changePassphrase(
  session: StoreSession,
  passphrase: string | null,
  author: Author,
): Promise<KeysChanged> {
  return rekeying(session, author, ({ keyring }) => {
    const old = keyring.directory.recovery.filter(({ type }) => type === 'passphrase')
    if (passphrase === null && old.length === 0) return undefined
    return { changes: { passphrase }, loses: old }
  })
}

export interface RecoveryKeyOptions {
  /** Adds the key, and keeps the epoch. */
  readonly keepOld?: boolean
  /** `GLKO1-…`: the next key that it gives for this store, instead of a random one. */
  readonly operatorSecret?: string
}

/** Adds a recovery key with `keepOld`; otherwise it replaces all recovery keys. */
export async function makeRecoveryKey(
  session: StoreSession,
  { keepOld = false, operatorSecret }: RecoveryKeyOptions,
  author: Author,
): Promise<RecoveryKeyMade> {
  const operator = operatorSecret === undefined ? undefined : parseOperatorSecret(operatorSecret)
  const secretFor = async (): Promise<Uint8Array> =>
    operator === undefined
      ? generateRecoveryKey(session.random)
      : nextOperatorKey(session.currentEpoch(), operator, await recoveryKeysEver(session))
  if (keepOld) {
    return session.writing(async () => {
      const secret = await secretFor()
      const built = await changeKeyring(session, author, (opened) =>
        addRecoveryKey(opened, secret, session.random),
      )
      const recoveryKey = formatRecoveryKey(session.storeId, secret)
      return { built, result: { ...appliedBy(built), residualAccess: undefined, recoveryKey } }
    }, operator !== undefined)
  }
  let recoveryKey = ''
  const changed = await rekeying(session, author, async ({ keyring }) => {
    const old = keyring.directory.recovery.filter(({ type }) => type === 'recovery')
    const secret = await secretFor()
    recoveryKey = formatRecoveryKey(session.storeId, secret)
    return { changes: { recoveryKey: secret }, loses: old }
  })
  return { ...changed, recoveryKey }
}

/** The signing keys of the recovery entries that any directory of the store has had, in hex. */
async function recoveryKeysEver(session: StoreSession): Promise<ReadonlySet<string>> {
  const keyrings = readKeyrings(session.contents, await session.historyNow())
  return new Set(
    keyrings.flatMap(({ directory }) =>
      directory.recovery.map(({ signingKey }) => toHex(signingKey)),
    ),
  )
}

/** The plan of a new epoch. */
interface Rekeying {
  readonly changes: EpochChanges
  /** The entries that had keys before and get none of the new epoch. */
  readonly loses: readonly (DeviceEntry | RecoveryEntry)[]
}

/** Begins an epoch as `plan` decides on the newest snapshot; does nothing if it is undefined. */
function rekeying(
  session: StoreSession,
  author: Author,
  plan: (snapshot: Snapshot) => Rekeying | undefined | Promise<Rekeying | undefined>,
): Promise<KeysChanged> {
  const write: Build<KeysChanged> = async () => {
    const { snapshot, identity } = session
    checkMayWrite(snapshot, identity, 'keyring')
    const planned = await plan(snapshot)
    if (planned === undefined) return { built: undefined, result: unchanged }
    const { changes, loses } = planned
    const residualAccess = loses.length === 0 ? undefined : await residualAccessOf(session, loses)
    const built = await changeEpoch(session, changes, author)
    return { built, result: { ...appliedBy(built), residualAccess } }
  }
  return session.writing(write, true)
}

/** Begins an epoch in which devices have other rights, as `rekeying` does. */
async function changingRights(
  session: StoreSession,
  author: Author,
  plan: (snapshot: Snapshot) => Rekeying | undefined,
): Promise<RightsChanged> {
  let endsGrants: readonly EndingGrant[] = []
  const changed = await rekeying(session, author, async (snapshot) => {
    const planned = plan(snapshot)
    endsGrants = planned === undefined ? [] : await endingGrants(session, planned.changes)
    return planned
  })
  return { ...changed, endsGrants }
}

const unchanged: KeysChanged = { commit: undefined, versionIds: [], residualAccess: undefined }

/** What the old keys open, including the record that replaces them, which is sealed under them. */
async function residualAccessOf(
  session: StoreSession,
  loses: Rekeying['loses'],
): Promise<ResidualAccess> {
  const { snapshot, contents } = session
  const history = await session.historyNow()
  const keyrings = readKeyrings(contents, history)
  const devices = loses.flatMap((one) => ('deviceId' in one ? [one.deviceId] : []))
  const keys =
    devices.length === loses.length
      ? keysOfDevices(devices, keyrings)
      : keysOfMember(snapshot.keyring)
  const found = readableWith(keys, snapshot, history, keyrings)
  const { kid } = snapshot.keyring
  return {
    ...found,
    commits: found.commits + Number(keys.records.has(kid)),
    commitsWithContents: found.commitsWithContents + Number(keys.contents.has(kid)),
  }
}

function getActive({ keyring }: Snapshot, deviceId: string): DeviceEntry {
  const device = findDevice(keyring.directory, deviceId)
  if (device !== undefined) return device
  const wasRemoved = findRemoved(keyring.directory, deviceId) !== undefined
  const state = wasRemoved ? 'was removed before' : 'is not one of the store'
  throw new StoreError('invalid_input', `The device ${formatId('device', deviceId)} ${state}`)
}

const nothingBuilt = { built: undefined, result: nothingApplied }

function appliedBy(built: BuiltCommit): Applied {
  return { commit: built.snapshot.head.commit, versionIds: [] }
}
