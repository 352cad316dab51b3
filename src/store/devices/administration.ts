// Builds the commits that change the keyring or the settings: kinds 4 and 5 (FORMAT §6.1, §7). Also
// seals live memories again under the epoch in force, each as a new version with the same path and
// content: holders of older keys alone cannot open those (§7.3). Archived and deleted versions keep
// the keys of their time.

import { equalBytes, type Sealed } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { grades } from '../../format/directory.ts'
import { recordContext, sealEnvelope } from '../../format/envelope.ts'
import { recoveryIdOf } from '../../format/id.ts'
import { zeroHash } from '../../format/record.ts'
import { checkSettings, encodeSettings, pairsOf, type Settings } from '../../format/settings.ts'
import {
  addDevice,
  type EpochChanges,
  type NewKeyring,
  type OpenedKeyring,
  startEpoch,
} from '../../keys/keyring.ts'
import { MEBIBYTE } from '../../limits.ts'
import { checkMayWrite, openHeadKeyring, roleOf } from '../access/authority.ts'
import { type Applied, nothingApplied } from '../changes/apply.ts'
import type { Author, CommitContext } from '../commits/commit-context.ts'
import { buildAdministration, buildChange, type BuiltCommit } from '../commits/commit.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import { deviceNameTexts, settingsTexts } from '../guard/guard.ts'
import { readMemory } from '../history/contents.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import { lastRecords, type Snapshot } from '../snapshot/snapshot.ts'

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
  checkMayWrite(snapshot, identity, 'settings')
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

/** Changes the keyring in force, keeping the epoch; `name` of a device becomes permanent. */
export async function changeKeyring(
  session: StoreSession,
  author: Author,
  change: (opened: OpenedKeyring) => Promise<NewKeyring>,
  name?: string,
): Promise<BuiltCommit> {
  const opened = await openToChange(session)
  if (name !== undefined) await session.checkPermanent(deviceNameTexts(name))
  return extendKeyring(session, await change(opened), author)
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

/** The commit of a keyring, signed by this device. */
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
  checkMayWrite(snapshot, identity, 'keyring')
  const unlock = { type: 'identity', identity } as const
  // Read through the session: the head may be in the current batch, not yet on disk.
  return openHeadKeyring(contents.objects, storeId, unlock, snapshot.head.commit)
}

/** Seals the settings in force again, under the epoch in force. */
export function resealSettings(session: StoreSession, author: Author): Promise<void> {
  return session.writing(async () => {
    const { snapshot, identity } = session
    checkMayWrite(snapshot, identity, 'settings')
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

/** One commit seals at most this much again, so that other writers need not wait long. */
const MEMORIES_PER_COMMIT = 512
const BYTES_PER_COMMIT = 8 * MEBIBYTE

/** Throws `store_archived`. */
export function checkCanReseal({ settings }: Snapshot): void {
  if (settings.value.archivedAt === undefined) return
  throw new StoreError(
    'store_archived',
    'The store is archived: its memories cannot be sealed again, only its keys be rotated',
  )
}

/** Returns the number of memories that were sealed again, in one or more commits. */
export async function resealMemories(session: StoreSession, author: Author): Promise<number> {
  for (let resealed = 0; ;) {
    const count = await resealSome(session, author)
    if (count === 0) return resealed
    resealed += count
  }
}

function resealSome(session: StoreSession, author: Author): Promise<number> {
  return session.writing(async () => {
    const { snapshot, contents, identity } = session
    checkMayWrite(snapshot, identity, 'change')
    checkCanReseal(snapshot)
    const memories = nextMemories(snapshot)
    if (memories.length === 0) return { built: undefined, result: 0 }
    const rows = memories.map((memory): PlannedRow => {
      const { memoryId, versionId: base, path, size, sha256, created } = memory
      const content = readMemory(contents, memory)
      return { memoryId, base, operation: 'modified', path, content, size, sha256, created }
    })
    // The texts have passed the guard when they were written.
    await session.checkContents([], author)
    const context = await session.commitContext(session.nextTime(), author)
    const reason = author.reason ?? 'sealed again under new keys'
    const built = await buildChange(context, snapshot, rows, { ...author, reason })
    return { built, result: rows.length }
  }, true)
}

/** Some live memories that are sealed under an older epoch, by id; none if all are done. */
function nextMemories({ current, keyring }: Snapshot): readonly LiveMemory[] {
  const found: LiveMemory[] = []
  let bytes = 0
  for (const { live } of current.live()) {
    if (live.kid === keyring.kid) continue
    if (found.length > 0 && bytes + live.size > BYTES_PER_COMMIT) break
    bytes += live.size
    if (found.push(live) === MEMORIES_PER_COMMIT) break
  }
  return found.toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1))
}
