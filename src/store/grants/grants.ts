// Begins, ends and lists grants (FORMAT §12): each change is a record of kind 6. What holders need
// at a remote is made elsewhere (publish.ts). Labels are this device's own, and in no record.

import { StoreError } from '../../errors.ts'
import type { GrantRole, GrantRow } from '../../format/change-record.ts'
import { formatId, grantIdOf, parseId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import { formatGrant, grantKeysOf, grantOf } from '../../keys/wraps.ts'
import { grantRowsMax, wrapsMax } from '../../limits.ts'
import { checkMayWrite } from '../access/authority.ts'
import { applyGrants } from '../access/grants.ts'
import { isInForce, isOwner } from '../access/lateness.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildGrants, type BuiltCommit } from '../commits/commit.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { GrantState, Snapshot } from '../snapshot/snapshot.ts'
import { liveGrants, readNotes, reserveGrant } from './own-grants.ts'

/** After its end by time a grant is ended by a record, which leaves time for a last push. */
const ENDS_AFTER_MS = 24 * 60 * 60 * 1000

/**
 * `expired`: its time is over, and the next sync of its granter ends it. `granter_inactive`: the
 * device that gave it was removed, lost its role, or was cloned.
 */
export type GrantStatus = 'active' | 'expired' | 'ended' | 'granter_inactive'

/** Times are ms since 1970. */
export interface Grant {
  /** As the author of its holder's changes is shown: `dev_…`. */
  readonly grantId: string
  /** Known to the device that gave it alone; may be empty. */
  readonly label: string | undefined
  readonly role: GrantRole
  /** The device that gave it, `dev_…`. */
  readonly grantedBy: string
  /** Whether this device gave it. */
  readonly isOwn: boolean
  readonly givenAt: number
  readonly expiresAt: number
  /** When a record ended it. */
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
  return session.writing(async () => {
    const { snapshot, identity, storeId } = session
    checkMayWrite(snapshot, identity.deviceId, 'grants')
    if (liveGrants(snapshot, identity.deviceId).length >= wrapsMax) {
      throw new StoreError(
        'change_too_large',
        `A device keeps at most ${wrapsMax} grants: end some first`,
      )
    }
    const expiresAt = session.nextTime() + lastsMs
    const { number } = await reserveGrant(session, label)
    const grant = grantOf(identity, storeId, number)
    const { signing, grantId } = grantKeysOf(grant)
    const row = { key: signing.publicKey, begins: { role, notAfter: expiresAt } }
    const built = await commitRows(session, [row], author)
    const { commit } = built.snapshot.head
    return {
      built,
      result: { grantId: formatId('device', grantId), text: formatGrant(grant), expiresAt, commit },
    }
  })
}

/** The grants that were ended now, and the commit that did it. */
interface EndedHere {
  /** Without those that had ended before. */
  readonly grantIds: readonly string[]
  readonly commit: Oid | undefined
}

/** At most `grantRowsMax` of them, in one commit. */
export function endGrants(
  session: StoreSession,
  grantIds: readonly string[],
  author: Author,
): Promise<EndedHere> {
  const ids = grantIds.map((id) => parseId('device', id))
  return endSome(session, ({ snapshot }) => getLive(session, snapshot, ids), author)
}

/** The ids of the grants of a device whose time was over a day ago, and which have not ended. */
export function dueGrants(snapshot: Snapshot, deviceId: string, now: number): readonly string[] {
  return liveGrants(snapshot, deviceId).filter((id) => {
    const { notAfter = now } = snapshot.grants.get(id) ?? {}
    return notAfter + ENDS_AFTER_MS < now
  })
}

/** Ends the grants of this device whose time was over a day ago. Returns their ids. */
export async function endDueGrants(
  session: StoreSession,
  author: Author,
): Promise<readonly string[]> {
  const due = (snapshot: Snapshot): readonly GrantState[] => {
    return dueGrants(snapshot, session.identity.deviceId, session.clock.now())
      .flatMap((id) => snapshot.grants.get(id) ?? [])
      .slice(0, grantRowsMax)
  }
  const isDue = await session.reading((snapshot) => due(snapshot).length > 0)
  if (!isDue) return []
  return (await endSome(session, ({ snapshot }) => due(snapshot), author)).grantIds
}

function endSome(
  session: StoreSession,
  choose: (session: StoreSession) => readonly GrantState[],
  author: Author,
): Promise<EndedHere> {
  return session.writing(async () => {
    const chosen = choose(session)
    if (chosen.length === 0) return { built: undefined, result: nothingEnded }
    const rows = chosen.map(({ key }): GrantRow => ({ key, begins: undefined }))
    const built = await commitRows(session, rows, author)
    const grantIds = chosen.map(({ key }) => formatId('device', grantIdOf(key)))
    return { built, result: { grantIds, commit: built.snapshot.head.commit } }
  }, true)
}

const nothingEnded: EndedHere = { grantIds: [], commit: undefined }

/** Throws `not_found` or `permission_denied`. */
function getLive(
  { identity }: StoreSession,
  snapshot: Snapshot,
  ids: readonly string[],
): readonly GrantState[] {
  const { deviceId } = identity
  checkMayWrite(snapshot, deviceId, 'grants')
  const states = ids.map((id) => {
    const state = snapshot.grants.get(id)
    if (state !== undefined) return state
    throw new StoreError('not_found', `There is no grant ${formatId('device', id)} in this store`)
  })
  const mayEndAll = isOwner(snapshot.keyring.directory, deviceId)
  if (!mayEndAll && states.some(({ granter }) => granter !== deviceId)) {
    throw new StoreError(
      'permission_denied',
      'Only the device that gave a grant and owners can end it',
    )
  }
  return states.filter(({ ended }) => !ended)
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
    deviceOf: (id: string) => snapshot.devices.get(id),
  }
  const context = await session.commitContext(session.nextTime(), author)
  const apply = (record: Parameters<typeof applyGrants>[0]) => applyGrants(record, past)
  return buildGrants(context, snapshot, { rows, apply }, author)
}

/** Every grant of the store, in the order in which they were given. */
export async function listGrants(
  session: StoreSession,
  history: History,
): Promise<readonly Grant[]> {
  return session.planning(async () => {
    const { snapshot, contents, storeId, epochs, identity } = session
    if (snapshot.grants.size === 0) return []
    const labels = new Map((await readNotes(session)).given.map(({ id, label }) => [id, label]))
    const times = new Map<string, { given: number; ended: number | undefined }>()
    for (const { kind, oid, time } of history.commits) {
      if (kind !== 'grants') continue
      const bytes = readCommitBytes(contents.objects, oid)
      for (const { key, begins } of decodeCommit(storeId, epochs, oid, bytes).record.grants) {
        const id = grantIdOf(key)
        const known = times.get(id)
        if (known === undefined) times.set(id, { given: time, ended: undefined })
        else if (begins === undefined) known.ended ??= time
      }
    }
    return [...times].flatMap(([id, { given, ended }]): readonly Grant[] => {
      const state = snapshot.grants.get(id)
      if (state === undefined) return []
      const { role, granter, notAfter } = state
      const isOwn = granter === identity.deviceId
      return [
        {
          grantId: formatId('device', id),
          label: isOwn ? (labels.get(id) ?? '') : undefined,
          role,
          grantedBy: formatId('device', granter),
          isOwn,
          givenAt: given,
          expiresAt: notAfter,
          endedAt: ended,
          status: statusOf(snapshot, state, session.clock.now()),
        },
      ]
    })
  })
}

function statusOf(
  { keyring, devices }: Snapshot,
  { ended, granter, notAfter }: GrantState,
  now: number,
): GrantStatus {
  if (ended) return 'ended'
  const isActive = isInForce(keyring.directory, granter) && devices.get(granter)?.forked !== true
  if (!isActive) return 'granter_inactive'
  return now > notAfter ? 'expired' : 'active'
}
