// Keyrings changed apart, and an owner keeps the line here (FORMAT §9.3). This file repeats what
// the owner chose of the other line: its redactions, its changes of devices. This device signs
// them. Passphrases and recovery keys are never repeated: whoever set them may be an attacker.

import { equalBytes } from '../../bytes.ts'
import type { RedactReason } from '../../format/change-record.ts'
import { type Directory, findDevice, findRemoved } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { DeviceChanges } from '../../keys/membership.ts'
import { decodeAt, directoryAt } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import { changeEpoch } from '../devices/administration.ts'
import { deviceNameTexts } from '../guard/guard.ts'
import type { HistorySource } from '../history/history.ts'
import { redact } from '../redaction/redaction.ts'
import type { StoreSession } from '../session/session.ts'
import type { Redo, SyncOptions } from './options.ts'

/** The line that is dropped: its commits, parents before children. */
interface LeftLine {
  readonly source: HistorySource
  readonly left: readonly Oid[]
}

/** Returns the commits whose whole effect is in force here now. */
export async function redoLeft(
  session: StoreSession,
  line: LeftLine,
  author: Author,
  { redo = [], signal }: Pick<SyncOptions, 'redo' | 'signal'>,
): Promise<ReadonlySet<Oid>> {
  const isChosen = (one: Redo): boolean => redo.includes(one)
  return new Set([
    ...(isChosen('redactions') ? await redactAgain(session, line, author, signal) : []),
    ...(isChosen('members') ? await changeDevicesAgain(session, line, author) : []),
  ])
}

async function redactAgain(
  session: StoreSession,
  { source, left }: LeftLine,
  author: Author,
  signal: AbortSignal | undefined,
): Promise<readonly Oid[]> {
  const redactions = left.flatMap((oid) => {
    const { kind, reason = 'unspecified', rows } = decodeAt(source, oid).record
    return kind === 'redact' ? [{ oid, reason, named: rows.map(({ versionId }) => versionId) }] : []
  })
  for (const reason of new Set(redactions.map((one) => one.reason))) {
    const named = redactions.flatMap((one) => (one.reason === reason ? one.named : []))
    await redactHere(session, named, reason, { author, signal })
  }
  // A version that never came here is gone with that line.
  const kept = new Set(await notRedacted(session, new Set(redactions.flatMap((one) => one.named))))
  const isGone = ({ named }: { readonly named: readonly string[] }): boolean =>
    !named.some((id) => kept.has(id))
  return redactions.filter(isGone).map(({ oid }) => oid)
}

/** The versions that are here and not redacted. */
async function notRedacted(
  session: StoreSession,
  versionIds: Iterable<string>,
): Promise<readonly string[]> {
  const history = await session.loadHistory({})
  const isRedacted = await session.reading(({ redacted }) => new Set(redacted))
  return [...versionIds].filter((id) => !isRedacted.has(id) && history.find(id) !== undefined)
}

/** Current versions of live memories stay: redacting them takes a decision of its own. */
async function redactHere(
  session: StoreSession,
  named: readonly string[],
  reason: RedactReason,
  { author, signal }: { readonly author: Author; readonly signal: AbortSignal | undefined },
): Promise<void> {
  const here = await notRedacted(session, new Set(named))
  const versionIds = here.map((id) => formatId('version', id))
  if (versionIds.length === 0) return
  const request = { select: { versionIds }, reason, current: 'keep' } as const
  await redact(session, request, author, { signal })
}

async function changeDevicesAgain(
  session: StoreSession,
  { source, left }: LeftLine,
  author: Author,
): Promise<readonly Oid[]> {
  const keyrings = left.filter((oid) => decodeAt(source, oid).record.kind === 'keyring')
  const [first] = keyrings
  const last = keyrings.at(-1)
  const [parent] = first === undefined ? [] : decodeAt(source, first).parts.parents
  if (parent === undefined || last === undefined) return []
  const [before, after] = [directoryAt(source, parent), directoryAt(source, last)]
  return session.writing(async () => {
    const { snapshot, identity } = session
    const { changes, isAll } = changesAgain(before, after, {
      now: snapshot.keyring.directory,
      own: identity.deviceId,
    })
    const isNone = Object.values(changes).every((some) => [...some].length === 0)
    const names = [...changes.names.values(), ...changes.added.map(({ name }) => name)]
    await session.checkPermanent(names.flatMap(deviceNameTexts))
    const built = isNone ? undefined : await changeEpoch(session, changes, author)
    return { built, result: isAll ? keyrings : [] }
  }, true)
}

/** The directory in force here, and the device that signs. */
interface Place {
  readonly now: Directory
  readonly own: string
}

/** The changes from `before` to `after` that are still possible here, and whether all are. */
function changesAgain(
  before: Directory,
  after: Directory,
  { now, own }: Place,
): { readonly changes: Required<DeviceChanges>; readonly isAll: boolean } {
  const added = after.devices.filter(({ deviceId }) => !findDevice(before, deviceId))
  const missing = added.filter(({ deviceId }) => !findDevice(now, deviceId))
  const kept = after.devices.filter(({ deviceId }) => findDevice(before, deviceId))
  const roles = kept.filter(({ deviceId, role }) => findDevice(before, deviceId)?.role !== role)
  const names = kept.filter(({ deviceId, name }) => findDevice(before, deviceId)?.name !== name)
  const removed = before.devices.filter(({ deviceId }) => !findDevice(after, deviceId))
  const isThere = ({ deviceId }: { readonly deviceId: string }): boolean =>
    findDevice(now, deviceId) !== undefined && deviceId !== own
  const changes = {
    added: missing.filter(({ deviceId }) => !findRemoved(now, deviceId)),
    removed: removed.filter(isThere).map(({ deviceId }) => deviceId),
    roles: new Map(roles.filter(isThere).map(({ deviceId, role }) => [deviceId, role])),
    names: new Map(names.filter(isThere).map(({ deviceId, name }) => [deviceId, name])),
  }
  const asked = missing.length + removed.length + roles.length + names.length
  const { roles: newRoles, names: newNames } = changes
  const made = changes.added.length + changes.removed.length + newRoles.size + newNames.size
  return { changes, isAll: made === asked && haveSameSecrets(before, after) }
}

function haveSameSecrets(before: Directory, after: Directory): boolean {
  if (before.quota !== after.quota || before.recovery.length !== after.recovery.length) return false
  return before.recovery.every(({ slotId, signingKey }) => {
    const same = after.recovery.find((one) => one.slotId === slotId)
    return same !== undefined && equalBytes(same.signingKey, signingKey)
  })
}
