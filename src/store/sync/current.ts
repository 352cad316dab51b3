// Whether the head of a remote is new enough for a holder that limits its age (FORMAT §13): by what
// session/shown-age.ts judges, and before a refusal by the granter's newest baseline, which is
// fetched only then. Must not take over or send anything.

import { hasCode, StoreError } from '../../errors.ts'
import type { Start } from '../../format/start.ts'
import type { HeldAccess } from '../../keys/identity.ts'
import { MEBIBYTE, startBytesMax } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import { connectFetch } from '../../transport/fetch.ts'
import { containsCommit } from '../commits/ancestors.ts'
import { readStart } from '../session/granted.ts'
import type { StoreSession } from '../session/session.ts'
import { checkAge, isTooOld, shownAt } from '../session/shown-age.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { accessOf, type Peer } from './remote-state.ts'

/** Whether what this clone has is too old already: then nothing is sent before it was asked. */
export function isOld(session: StoreSession): Promise<boolean> {
  return session.reading((snapshot) => {
    const { identity, beginning, clock } = session
    const held = identity.grant
    if (held?.maxAgeMs === undefined) return false
    return isTooOld(held, shownAt({ snapshot, beginning, held }), clock.now())
  })
}

/** By default, the state of the head is ours. Throws `baseline_old`, and remote codes. */
export async function checkIsCurrent(
  peer: Peer,
  theirs?: Snapshot,
  objects: ObjectSource = peer.session.objects,
): Promise<void> {
  const { session } = peer
  const { identity, beginning, clock } = session
  const held = identity.grant
  if (held?.maxAgeMs === undefined) return
  const snapshot = theirs ?? (await session.reading((now) => now))
  const state = { snapshot, beginning, held }
  if (!isTooOld(held, shownAt(state), clock.now())) return
  const start = await fetchStart(peer, held)
  if (start !== undefined && (await isBelow(objects, snapshot, start))) {
    held.signedAt = Math.max(held.signedAt, start.time)
  }
  checkAge(held, shownAt(state), clock.now())
}

/** Undefined if the remote shows none, or one that the granter has not signed. */
async function fetchStart(peer: Peer, held: HeldAccess): Promise<Start | undefined> {
  const { session, known } = peer
  const { start: oid } = held.blobsAmong(known.named)
  if (oid === undefined) return undefined
  const incoming = session.objects.exchange.incoming()
  const connection = await connectFetch(accessOf(peer))
  try {
    const limits = { bytes: startBytesMax + MEBIBYTE }
    // The blob alone: it describes paths, and does not become a part of this store.
    await connection.fetch({ want: oid, haves: [], into: incoming, limits })
    const object = incoming.read(oid)
    return object?.type === 'blob' ? openStart(session, object.body, held) : undefined
  } finally {
    await connection.close()
    incoming.drop()
  }
}

function openStart(session: StoreSession, bytes: Uint8Array, held: HeldAccess): Start | undefined {
  try {
    return readStart(session, bytes, held)
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

/** A newer baseline proves nothing about a head that lacks what it describes. */
async function isBelow(
  objects: ObjectSource,
  { head }: Pick<Snapshot, 'head'>,
  { state }: Start,
): Promise<boolean> {
  try {
    return await inSlices(containsCommit(objects, head.commit, state.commit))
  } catch (error) {
    // It is below where this clone begins, and no newer than that.
    if (hasCode(error, 'object_missing')) return false
    throw error
  }
}
