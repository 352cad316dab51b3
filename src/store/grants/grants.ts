// Begins, ends and lists grants (FORMAT §12): each change is a record of kind 6. What holders need
// at a remote is made elsewhere (publish.ts). Labels are this device's own, and in no record.

import { StoreError } from '../../errors.ts'
import type { GrantRole, GrantRow } from '../../format/change-record.ts'
import { mayGive } from '../../format/directory.ts'
import { formatId, grantIdOf, parseId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Identity } from '../../keys/identity.ts'
import { formatGrant, grantKeysOf, grantOf } from '../../keys/wraps.ts'
import { grantRowsMax, wrapsMax } from '../../limits.ts'
import { checkMayWrite } from '../access/authority.ts'
import { applyGrants } from '../access/grants.ts'
import { isOwner } from '../access/lateness.ts'
import { decodeAt } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildGrants, type BuiltCommit } from '../commits/commit.ts'
import type { EndingGrant } from '../devices/ending-grants.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { GrantState, Snapshot } from '../snapshot/snapshot.ts'
import { liveGrants, readNotes, refNames, reserveGrant } from './own-grants.ts'

/**
 * After its end by time a grant is ended by a record: by its granter, which leaves time for a last
 * push, or later by an owner, if the granter has not synced.
 */
const ENDS_AFTER_MS = 24 * 60 * 60 * 1000
const OWNERS_END_AFTER_MS = 2 * ENDS_AFTER_MS

/**
 * `expired`: its time is over, and a sync of its granter or of an owner ends it by a record.
 * `ended`: a record has ended it.
 * `granter_inactive`: it has ended since the device that gave it was removed, may not give grants
 * any more, or was cloned; if that device is raised again, the grant remains ended.
 */
export type GrantStatus = 'active' | 'expired' | 'ended' | 'granter_inactive'

/** Times are ms since 1970. */
export interface Grant extends EndingGrant {
  /** Whether this device gave it. */
  readonly isOwn: boolean
  readonly givenAt: number
  /** When a record ended it that names it; undefined if it has ended with its granter. */
  readonly endedAt: number | undefined
  readonly status: GrantStatus
}

export interface GrantTermsAsked {
  readonly role: GrantRole
  /** How long it lasts, in ms. */
  readonly lastsMs: number
  readonly label: string
}

/** A grant that was begun here, and which no remote knows yet. */
export interface BegunGrant {
  readonly grantId: string
  /** `GLKG1-…` */
  readonly text: string
  readonly expiresAt: number
  readonly commit: string
}

/** Throws `permission_denied`, `device_forked` or `change_too_large`. */
export function beginGrant(
  session: StoreSession,
  { role, lastsMs, label }: GrantTermsAsked,
  author: Author,
): Promise<BegunGrant> {
  // Alone: lost notes are found again in the history.
  return session.writing(async () => {
    const { snapshot, identity, storeId } = session
    checkMayGive(snapshot, identity)
    if (liveGrants(snapshot, identity.deviceId).length >= wrapsMax) {
      throw new StoreError(
        'change_too_large',
        `A device keeps at most ${wrapsMax} grants: end some first`,
      )
    }
    const expiresAt = session.nextTime() + lastsMs
    const { number } = await reserveGrant(session, label)
    const name = refNames(session)(identity.deviceId)
    const grant = { ...grantOf(identity, storeId, number), name }
    const { signing, grantId } = grantKeysOf(grant)
    const row = { key: signing.publicKey, begins: { role, notAfter: expiresAt } }
    const built = await commitRows(session, [row], author)
    const { commit } = built.snapshot.head
    return {
      built,
      result: { grantId: formatId('device', grantId), text: formatGrant(grant), expiresAt, commit },
    }
  }, true)
}

function checkMayGive(snapshot: Snapshot, identity: Identity): void {
  checkMayWrite(snapshot, identity, 'grants')
  if (mayGive(snapshot.keyring.directory, identity.deviceId)) return
  throw new StoreError(
    'permission_denied',
    'Only owners may give grants in this store (`gitlocket grant givers`): ask an owner for one',
  )
}

/** The grants that were ended now, and the commit that did it. */
interface EndedHere {
  /** Without those that had ended before. */
  readonly grantIds: readonly string[]
  readonly commit: Oid | undefined
}

/** At most `grantRowsMax` of them, in one commit. */
export async function endGrants(
  session: StoreSession,
  grantIds: readonly string[],
  author: Author,
): Promise<EndedHere> {
  const ids = grantIds.map((id) => parseId('device', id))
  const begun = await session.planning(async () => {
    return begunGrants(session, await session.historyNow())
  })
  return endSome(session, ({ snapshot }) => getLive(session, snapshot, begun, ids), author)
}

/** The ids of active grants whose time was over so long ago that this device ends them. */
export function dueGrants(
  { grants, keyring }: Snapshot,
  deviceId: string,
  now: number,
): readonly string[] {
  const ofOthers = isOwner(keyring.directory, deviceId) ? OWNERS_END_AFTER_MS : Infinity
  return [...grants].flatMap(([id, { granter, notAfter }]) => {
    return notAfter + (granter === deviceId ? ENDS_AFTER_MS : ofOthers) < now ? [id] : []
  })
}

/** Ends the grants whose time is over, as `dueGrants` has them. Returns their ids. */
export async function endDueGrants(
  session: StoreSession,
  author: Author,
): Promise<readonly string[]> {
  const due = (snapshot: Snapshot): readonly string[] => {
    return dueGrants(snapshot, session.identity.deviceId, session.clock.now()).slice(
      0,
      grantRowsMax,
    )
  }
  const isDue = await session.reading((snapshot) => due(snapshot).length > 0)
  if (!isDue) return []
  return (await endSome(session, ({ snapshot }) => due(snapshot), author)).grantIds
}

function endSome(
  session: StoreSession,
  choose: (session: StoreSession) => readonly string[],
  author: Author,
): Promise<EndedHere> {
  return session.writing(async () => {
    const chosen = choose(session)
    if (chosen.length === 0) return { built: undefined, result: nothingEnded }
    const rows = chosen.map((grantId): GrantRow => ({ grantId, begins: undefined }))
    const built = await commitRows(session, rows, author)
    const grantIds = chosen.map((grantId) => formatId('device', grantId))
    return { built, result: { grantIds, commit: built.snapshot.head.commit } }
  }, true)
}

const nothingEnded: EndedHere = { grantIds: [], commit: undefined }

/** The active ones of these grants. Throws `not_found` or `permission_denied`. */
function getLive(
  { identity }: StoreSession,
  snapshot: Snapshot,
  begun: ReadonlyMap<string, BegunHere>,
  ids: readonly string[],
): readonly string[] {
  const { deviceId } = identity
  checkMayWrite(snapshot, identity, 'grants')
  const mayEndAll = isOwner(snapshot.keyring.directory, deviceId)
  for (const id of ids) {
    const granter = (snapshot.grants.get(id) ?? begun.get(id))?.granter
    if (granter === undefined) {
      throw new StoreError('not_found', `There is no grant ${formatId('device', id)} in this store`)
    }
    if (mayEndAll || granter === deviceId) continue
    throw new StoreError(
      'permission_denied',
      'Only the device that gave a grant and owners can end it',
    )
  }
  return ids.filter((id) => snapshot.grants.has(id))
}

async function commitRows(
  session: StoreSession,
  rows: readonly GrantRow[],
  author: Author,
): Promise<BuiltCommit> {
  const { snapshot } = session
  const { directory } = snapshot.keyring
  const past = {
    directory,
    grantOf: (id: string) => snapshot.grants.get(id),
    activeGrants: () => snapshot.grants.values(),
    deviceOf: (id: string) => snapshot.devices.get(id),
  }
  const context = await session.commitContext(session.nextTime(), author)
  const apply = (record: Parameters<typeof applyGrants>[0]) => applyGrants(record, past)
  return buildGrants(context, snapshot, { rows, apply }, author)
}

/** A grant as the records of a history have it. Times are ms since 1970. */
interface BegunHere extends Omit<GrantState, 'key'> {
  /** When a row ended it that its last begin did not know of. */
  readonly endedAt: number | undefined
}

/** The records of one grant, in the order of the history. */
interface GrantRecords {
  /** As the last record that begins it has it. */
  readonly state: Omit<GrantState, 'key'>
  readonly begins: readonly CommitEntry[]
  readonly ends: readonly CommitEntry[]
}

/** Every grant that the history begins, in its order. */
function begunGrants(session: StoreSession, history: History): ReadonlyMap<string, BegunHere> {
  const found = new Map<string, GrantRecords>()
  for (const commit of history.commits) {
    const { kind, oid, time: began, deviceId: granter } = commit
    if (kind !== 'grants') continue
    for (const row of decodeAt(session, oid).record.grants) {
      if (row.begins !== undefined) {
        const id = grantIdOf(granter, row.key)
        const { begins = [], ends = [] } = found.get(id) ?? {}
        const state = { ...row.begins, granter, began }
        found.set(id, { state, begins: [...begins, commit], ends })
        continue
      }
      const known = found.get(row.grantId)
      if (known !== undefined) found.set(row.grantId, { ...known, ends: [...known.ends, commit] })
    }
  }
  return new Map(
    Array.from(found, ([id, records]) => {
      return [id, { ...records.state, endedAt: firstEnd(history, records)?.time }]
    }),
  )
}

/** The first row that ended a grant and that its last begin did not know of. */
function firstEnd(history: History, { begins, ends }: GrantRecords): CommitEntry | undefined {
  const last = begins.at(-1)
  // Nothing can end a grant before it begins.
  if (begins.length < 2 || last === undefined) return ends[0]
  const isKnown = history.pastOf(last)
  return ends.find(({ position }) => !isKnown(position))
}

/** Every grant of the store, in the order in which they were given. */
export async function listGrants(
  session: StoreSession,
  history: History,
): Promise<readonly Grant[]> {
  return session.planning(async () => {
    const { snapshot, identity } = session
    const begun = begunGrants(session, history)
    // A clone that began with a grant knows active ones from before its history.
    const older = [...snapshot.grants].filter(([id]) => !begun.has(id))
    if (begun.size + older.length === 0) return []
    const labels = new Map((await readNotes(session)).given.map(({ id, label }) => [id, label]))
    const all = older.map(([id, state]) => [id, { ...state, endedAt: undefined }] as const)
    return [...all, ...begun].map(([id, known]): Grant => {
      const state = snapshot.grants.get(id)
      const { role, granter, notAfter, began } = state ?? known
      const isOwn = granter === identity.deviceId
      const now = session.clock.now()
      const isOver = known.endedAt === undefined ? 'granter_inactive' : 'ended'
      return {
        grantId: formatId('device', id),
        label: isOwn ? (labels.get(id) ?? '') : undefined,
        role,
        grantedBy: formatId('device', granter),
        isOwn,
        givenAt: began,
        expiresAt: notAfter,
        endedAt: state === undefined ? known.endedAt : undefined,
        status: state === undefined ? isOver : now > notAfter ? 'expired' : 'active',
      }
    })
  })
}
