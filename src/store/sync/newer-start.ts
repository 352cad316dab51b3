// Whether a start of the granter may replace what a clone knows that a grant began (decision 0066).
// It is made by the device whose word this clone began with, and stands for a history that nothing
// here verifies: so it must be newer than the one before, and must lack nothing of what this clone
// has seen that can be told from a state. Changes nothing.

import { equalBytes, toHex } from '../../bytes.ts'
import { findRemoved, isInForce } from '../../format/directory.ts'
import { formatId, grantIdOf } from '../../format/id.ts'
import type { Start } from '../../format/start.ts'
import type { HeldAccess } from '../../keys/identity.ts'
import { decodeAt } from '../access/post-revocation.ts'
import type { NewStart } from '../clone/start-fetch.ts'
import type { History } from '../history/history.ts'
import { findRecord } from '../history/known-commit.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { GrantedFiles } from '../session/granted.ts'
import type { StoreSession } from '../session/session.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CloneBeginning } from '../verify/beginning.ts'
import { lacksShownError, noNewStartError } from './refusals.ts'

/** A clone that began with a grant. */
export interface StartedClone {
  readonly held: HeldAccess
  readonly granted: GrantedFiles
  readonly beginning: CloneBeginning
  /** The start that it has. */
  readonly before: Start
  /** The head that the remote has shown last. */
  readonly seen: SeenHead | undefined
}

/** Throws `history_needed` for the start that a clone has, or an older one. */
export function checkIsNewer(before: Start, start: Start): void {
  if (start.counter <= before.counter) throw noNewStartError(before.granter)
}

/** The versions that the state of a remote has redacted, and this clone has not. */
export function newlyRedacted(ours: Snapshot, theirs: Snapshot): ReadonlySet<string> {
  return new Set([...theirs.redacted].filter((id) => !ours.redacted.has(id)))
}

/** Whether the commit at a position is of this clone, and the remote was not known to have it. */
export function findLocal(
  session: StoreSession,
  history: History,
  seen: SeenHead | undefined,
): (position: number) => boolean {
  const shown = seen && findRecord(session, history, seen)
  const isShown = shown === undefined ? (): boolean => false : history.pastOf(shown)
  const { deviceId } = session.identity
  return (position) => {
    const isOwn = history.commits.at(position)?.deviceId === deviceId
    return isOwn && !history.isBeginning(position) && !isShown(position)
  }
}

/**
 * Throws `rolled_back` if what the remote shows lacks something that it has shown before. Call in a
 * turn, on the state before.
 */
export function checkContains(
  session: StoreSession,
  history: History,
  { before, seen }: StartedClone,
  { snapshot: theirs, start, records }: NewStart,
): void {
  const lacks = (what: string): never => {
    throw lacksShownError(before.granter, what)
  }
  const ours = session.snapshot
  // A redaction comes after all that the remote had then.
  const isAbove = seen !== undefined && seen.height >= start.state.height
  if (isAbove && !records.has(toHex(seen.record))) lacks('changes')
  if ([...ours.redacted].some((id) => !theirs.redacted.has(id))) lacks('redactions')
  if (lacksRights(ours, theirs, grantsSeen(session, history))) lacks('changes of members or grants')
  if (ours.settings.height > theirs.settings.height) lacks('settings')
  const device = findOlderDevice(ours, theirs)
  if (device !== undefined) lacks(`changes of ${formatId('device', device)}`)
  if (hasOlderVersion(history, theirs, findLocal(session, history, seen))) {
    lacks('versions of memories')
  }
}

/** Whether a right that has ended here is in force there. `known`: when grants seen here began. */
function lacksRights(
  ours: Snapshot,
  theirs: Snapshot,
  known: ReadonlyMap<string, number>,
): boolean {
  const { directory } = theirs.keyring
  const removed = ours.keyring.directory.removed
  if (removed.some(({ deviceId }) => findRemoved(directory, deviceId) === undefined)) return true
  return [...theirs.grants].some(([grantId, { began }]) => {
    return !ours.grants.has(grantId) && known.get(grantId) === began
  })
}

/** When each grant began that was active where this clone begins, or has begun since. */
function grantsSeen(session: StoreSession, history: History): ReadonlyMap<string, number> {
  const { beginning } = session
  const seen = new Map<string, number>()
  for (const [id, { began }] of beginning?.snapshot.grants ?? []) seen.set(id, began)
  for (const { kind, oid, position } of history.commits) {
    if (kind !== 'grants' || history.isBeginning(position)) continue
    const { deviceId, grants, time } = decodeAt(session, oid).record
    for (const row of grants) {
      if (row.begins !== undefined) seen.set(grantIdOf(deviceId, row.key), time)
    }
  }
  return seen
}

/** A device in force of which an older record is the newest one there. */
function findOlderDevice(ours: Snapshot, theirs: Snapshot): string | undefined {
  const older = [...ours.devices].find(([deviceId, { sequence, record }]) => {
    if (!isInForce(theirs.keyring.directory, deviceId)) return false
    const there = theirs.devices.get(deviceId)
    if (there === undefined || there.sequence < sequence) return true
    return there.sequence === sequence && !there.forked && !equalBytes(there.record, record)
  })
  return older?.[0]
}

/** Whether a memory is unknown there, or has a version that is known here to be an earlier one. */
function hasOlderVersion(
  history: History,
  theirs: Snapshot,
  isLocal: (position: number) => boolean,
): boolean {
  for (const memoryId of history.memoryIds()) {
    const shown = history.ofMemory(memoryId).filter(({ commit }) => !isLocal(commit.position))
    const newest = shown.at(-1)
    if (newest === undefined) continue
    const now = theirs.current.get(memoryId)
    if (now === undefined) return true
    const known = shown.find(({ versionId }) => versionId === now.versionId)
    const isPast = known !== undefined && known !== newest
    if (isPast && history.pastOf(newest.commit)(known.commit.position)) return true
  }
  return false
}
