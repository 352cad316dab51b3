// Builds the commits that change the keyring or the settings: kinds 4 and 5 (FORMAT §6.1, §7). They
// must not touch memories.

import { equalBytes, type Sealed } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import type { DeviceKeys } from '../../format/device-keys.ts'
import { byOwner, type DeviceEntry, grades } from '../../format/directory.ts'
import { recordContext, sealEnvelope } from '../../format/envelope.ts'
import { recoveryIdOf } from '../../format/id.ts'
import { zeroHash } from '../../format/record.ts'
import { checkSettings, encodeSettings, pairsOf, type Settings } from '../../format/settings.ts'
import {
  addDevice,
  addRecoveryKey,
  type EpochChanges,
  type NewKeyring,
  type OpenedKeyring,
  renameDevice,
  setQuota,
  startEpoch,
} from '../../keys/keyring.ts'
import { checkMayWrite, openHeadKeyring, roleOf } from '../access/authority.ts'
import { type Applied, nothingApplied } from '../changes/apply.ts'
import type { Author, CommitContext } from '../commits/commit-context.ts'
import { buildAdministration, type BuiltCommit } from '../commits/commit.ts'
import { deviceNameTexts, settingsTexts } from '../guard/guard.ts'
import type { StoreSession } from '../session/session.ts'
import { lastRecords } from '../snapshot/snapshot.ts'

export function sealSettings(
  { epoch, random }: Pick<CommitContext, 'epoch' | 'random'>,
  settings: Settings,
): Sealed {
  const plaintext = encodeSettings(settings)
  return sealEnvelope('settings', epoch.settings, recordContext(epoch), random(32), plaintext)
}

/**
 * The changes of the settings; a function gets those in force and decides about all of them.
 * Metadata given as an object replace the users' pairs only, and leave the guard unchanged.
 */
export type SettingsChange = Partial<Settings> | ((now: Settings) => Partial<Settings>)

/** Undefined if nothing changes. */
async function changeSettings(
  session: StoreSession,
  change: SettingsChange,
  author: Author,
): Promise<BuiltCommit | undefined> {
  const { snapshot, identity } = session
  checkMayWrite(snapshot, identity.deviceId, 'settings')
  const before = snapshot.settings.value
  const changed =
    typeof change === 'function' ? change(structuredClone(before)) : keepOwnPairs(change, before)
  const value = structuredClone(checkSettings({ ...before, ...changed }))
  if (equalBytes(encodeSettings(value), encodeSettings(before))) return undefined
  if (before.archivedAt !== undefined) {
    throw new StoreError(
      'store_archived',
      'The store is archived for good: its settings cannot change',
    )
  }
  await session.checkPermanent(settingsTexts(value, before), value.metadata)
  return writeSettings(session, value, author)
}

function keepOwnPairs(change: Partial<Settings>, before: Settings): Partial<Settings> {
  // Anything but an object is passed on to the check of the settings.
  const metadata: unknown = (change as Partial<Settings> | undefined | null)?.metadata
  if (typeof metadata !== 'object' || metadata === null) return change
  return { ...change, metadata: { ...pairsOf(before.metadata, 'own'), ...metadata } }
}

async function writeSettings(
  session: StoreSession,
  value: Settings,
  author: Author,
): Promise<BuiltCommit> {
  const { snapshot } = session
  const context = await session.commitContext(session.nextTime(), author)
  const bytes = sealSettings(context, value)
  const { actor, session: authorSession } = author
  const fields = { kind: 'settings', actor, session: authorSession } as const
  return buildAdministration(context, snapshot, fields, { settings: { bytes, value } })
}

/** Adds a device; keeps the epoch. */
export async function admitDevice(
  session: StoreSession,
  device: DeviceKeys,
  admission: Pick<DeviceEntry, 'role' | 'name'>,
  author: Author,
): Promise<BuiltCommit> {
  const opened = await openToChange(session)
  await session.checkPermanent(deviceNameTexts(admission.name))
  const next = await addDevice(opened, device, { ...admission, ...byOwner })
  return extendKeyring(session, next, author)
}

/** Gives a device another name; keeps the epoch. */
export async function nameDevice(
  session: StoreSession,
  deviceId: string,
  name: string,
  author: Author,
): Promise<BuiltCommit> {
  const opened = await openToChange(session)
  await session.checkPermanent(deviceNameTexts(name))
  return extendKeyring(session, await renameDevice(opened, deviceId, name), author)
}

/** Changes how many devices a passphrase may admit; keeps the epoch. */
export async function changeQuota(
  session: StoreSession,
  quota: number,
  author: Author,
): Promise<BuiltCommit> {
  const opened = await openToChange(session)
  return extendKeyring(session, await setQuota(opened, quota), author)
}

/** Adds a recovery key; keeps the epoch. */
export async function admitRecoveryKey(
  session: StoreSession,
  recoveryKey: Uint8Array,
  author: Author,
): Promise<BuiltCommit> {
  const opened = await openToChange(session)
  const next = await addRecoveryKey(opened, recoveryKey, session.random)
  return extendKeyring(session, next, author)
}

/**
 * Begins an epoch with these changes. Slow with a new passphrase: Argon2id runs before the commit
 * is built.
 */
export async function changeEpoch(
  session: StoreSession,
  changes: EpochChanges,
  author: Author,
): Promise<BuiltCommit> {
  const { random, stretch, snapshot } = session
  const known = { stretch, lastRecordOf: lastRecords(snapshot.devices) }
  const next = await startEpoch(await openToChange(session), { ...known, ...changes }, random)
  const built = await extendKeyring(session, next, author)
  return { ...built, epochs: new Map([...session.epochs, [next.epoch.kid, next.epoch]]) }
}

/**
 * Adds this session's identity as a device, in the grade of the passphrase or recovery key that
 * opened the store. Does nothing if it is a device already.
 */
export async function enrolDevice(
  session: StoreSession,
  opened: OpenedKeyring,
  name: string,
): Promise<void> {
  const { recovery } = opened
  if (recovery === undefined) return
  await session.writing(async () => {
    const { snapshot, identity, random, storeId } = session
    if (roleOf(snapshot, identity.deviceId) !== undefined) return nothingBuilt
    const { publicKey } = recovery.signing
    const entry = snapshot.keyring.directory.recovery.find(({ signingKey }) => {
      return equalBytes(signingKey, publicKey)
    })
    if (snapshot.keyring.kid !== opened.epoch.kid || entry === undefined) {
      throw new StoreError(
        'wrong_key',
        'The passphrase or recovery key was replaced in the meantime',
      )
    }
    await session.checkPermanent(deviceNameTexts(name))
    const deviceId = recoveryIdOf(entry.slotId, publicKey)
    const admission = { role: grades[entry.type], admittedBy: entry.type, slotId: entry.slotId }
    const current = { ...opened, directory: snapshot.keyring.directory }
    const next = await addDevice(current, identity, { ...admission, name })
    const signer = { deviceId, pair: recovery.signing, sequence: 0, previous: zeroHash }
    const time = session.nextTime()
    const context = { storeId, epoch: opened.epoch, signer, time, random }
    return { built: await buildKeyring(context, session, next, undefined), result: undefined }
  })
}

const nothingBuilt = { built: undefined, result: undefined }

async function buildKeyring(
  context: CommitContext,
  session: StoreSession,
  next: NewKeyring,
  author: Author | undefined,
): Promise<BuiltCommit> {
  const fields = {
    kind: 'keyring',
    actor: author?.actor,
    session: author?.session,
    directoryNumber: next.directory.number,
  } as const
  const built = await buildAdministration(context, session.snapshot, fields, { keyring: next })
  const { objects, seenRemotes } = session
  // Until a remote has it, who may open the store is not settled.
  if (objects.exchange.remotes().length > 0) await seenRemotes.notePending(built.snapshot.head)
  return built
}

/** Builds the commit of a keyring, signed by this device. */
async function extendKeyring(
  session: StoreSession,
  next: NewKeyring,
  author: Author,
): Promise<BuiltCommit> {
  // Sealed and signed under the previous epoch, so that trust runs down the chain (FORMAT §7.1).
  const context = await session.commitContext(session.nextTime(), author)
  return buildKeyring(context, session, next, author)
}

/** Opens the keyring in force for an owner. Throws `permission_denied`. */
async function openToChange(session: StoreSession): Promise<OpenedKeyring> {
  const { contents, storeId, identity, snapshot } = session
  checkMayWrite(snapshot, identity.deviceId, 'keyring')
  const unlock = { type: 'identity', identity } as const
  // Read through the session: the head may be in the current batch, not yet on disk.
  return openHeadKeyring(contents.objects, storeId, unlock, snapshot.head.commit)
}

/** Seals the settings in force again, under the epoch in force. */
export function resealSettings(session: StoreSession, author: Author): Promise<void> {
  return session.writing(async () => {
    const { snapshot, identity } = session
    checkMayWrite(snapshot, identity.deviceId, 'settings')
    const built = await writeSettings(session, snapshot.settings.value, author)
    return { built, result: undefined }
  })
}

/** Changes settings in one commit; does nothing if they are equal (`SettingsWriter.update`). */
export function updateSettings(
  session: StoreSession,
  change: SettingsChange,
  author: Author,
): Promise<Applied> {
  return session.writing(async () => {
    const built = await changeSettings(session, change, author)
    if (built === undefined) return { built, result: nothingApplied }
    return { built, result: { commit: built.snapshot.head.commit, versionIds: [] } }
  })
}
