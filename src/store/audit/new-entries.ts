// What an open store has recorded since a position: for an export that continues where it ended. A
// position names a record, which keeps its hash when a redaction rewrites the history. Reads only
// the commits after it, which the session has verified. Must not need paths or contents.

import { fromHex } from '../../bytes.ts'
import { hasCode } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { findRecord } from '../commits/ancestors.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { findOutgoing } from '../commits/outgoing.ts'
import type { StoreSession } from '../session/session.ts'
import type { GrantState, Snapshot } from '../snapshot/snapshot.ts'
import { factsOf } from '../verify/checked-commit.ts'
import { type AuditedGrant, type AuditEntry, entryOf } from './audit-trail.ts'

/** All records in the past of this one, and itself, are known. */
export interface TrailPosition {
  readonly height: number
  /** Its hash, 64 hex digits. */
  readonly record: string
}

export interface TrailStep {
  readonly entry: AuditEntry
  /** Whether all steps so far are in its past, so that another reading can continue at it. */
  readonly isPosition: boolean
}

/**
 * First the entry of the position itself, then those that are new, parents before children. If the
 * history lacks the position now, `replaced` is the first step, and all entries follow. Entries may
 * come twice if a redaction rewrites the history in the meantime.
 */
export async function* newEntries(
  session: StoreSession,
  since: TrailPosition | undefined,
  signal?: AbortSignal,
): AsyncGenerator<TrailStep | 'replaced', void> {
  for (let position = since; ;) {
    const { rewrites } = session
    try {
      for await (const step of stepsSince(session, position, signal)) {
        yield step
        if (step === 'replaced') position = undefined
        else if (step.isPosition) position = step.entry
      }
      return
    } catch (error) {
      if (!hasCode(error, 'object_missing')) throw error
      await session.reading(() => undefined)
      // Unless a redaction has erased commits that this had not read yet.
      if (session.rewrites === rewrites) throw error
    }
  }
}

async function* stepsSince(
  session: StoreSession,
  since: TrailPosition | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<TrailStep | 'replaced', void> {
  const { objects } = session
  const { head, grants } = await session.reading(({ head: now, grants: begun }) => {
    return { head: now.commit, grants: begun }
  })
  const stepAt = (oid: Oid, isPosition: boolean): TrailStep => {
    return { entry: readEntry(session, oid, grants), isPosition }
  }
  const from = since && (await find(session, head, since, signal))
  if (since !== undefined && from === undefined) yield 'replaced'
  if (from !== undefined) yield stepAt(from, true)
  const known = from === undefined ? [] : [from]
  // The commits so far that are in the past of no other one.
  const tips = new Set(known)
  for (const { oid, parents } of await findOutgoing(objects, head, known)) {
    for (const parent of parents) tips.delete(parent)
    tips.add(oid)
    yield stepAt(oid, tips.size === 1)
  }
}

function find(
  session: StoreSession,
  head: Oid,
  { height, record }: TrailPosition,
  signal: AbortSignal | undefined,
): Promise<Oid | undefined> {
  return inSlices(findRecord(session, head, { height, record: fromHex(record) }), signal)
}

function readEntry(session: StoreSession, oid: Oid, grants: Snapshot['grants']): AuditEntry {
  const { objects, storeId, epochs } = session
  const commit = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
  return entryOf(session, factsOf(commit), (id) => grantOf(id, grants.get(id)))
}

function grantOf(grantId: string, state: GrantState | undefined): AuditedGrant | undefined {
  if (state === undefined) return undefined
  const { granter, role, notAfter: expiresAt } = state
  const grantedBy = formatId('device', granter)
  return { grantId: formatId('device', grantId), grantedBy, role, expiresAt, isEnd: false }
}
