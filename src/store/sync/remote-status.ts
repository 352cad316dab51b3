// What a store knows of its remotes without contacting them: how many commits they lack, and which
// refused head is kept as evidence. Must not change anything.

import { hasCode } from '../../errors.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { findOutgoing } from '../commits/outgoing.ts'
import type { StoreSession } from '../session/session.ts'
import { RemoteState } from './remote-state.ts'

export interface RemoteStatus extends Remote {
  /**
   * The number of our commits that it lacked when it was last seen; undefined for a remote on which
   * this device has never seen this store.
   */
  readonly unsent: number | undefined
  /** Where its refused head is kept: a bare repository, as a path from the store's directory. */
  readonly evidence: string | undefined
}

/** In the order of the repository's config. */
export async function readRemoteStatus(session: StoreSession): Promise<readonly RemoteStatus[]> {
  const remotes: RemoteStatus[] = []
  for (const remote of session.objects.exchange.remotes()) {
    const unsent = (await findUnsent(session, remote))?.length
    remotes.push({ ...remote, unsent, evidence: findEvidence(session, remote) })
  }
  return remotes
}

function findEvidence({ objects }: StoreSession, { name }: Remote): string | undefined {
  try {
    return objects.exchange.refused(name)
  } catch (error) {
    // git allows the name, but a sync does not.
    if (hasCode(error, 'invalid_input')) return undefined
    throw error
  }
}

/**
 * Our commits that a remote lacked when it was last seen; undefined for one on which this device
 * has never seen this store.
 */
export async function findUnsent(
  session: StoreSession,
  remote: Remote,
): Promise<readonly Oid[] | undefined> {
  const known = new RemoteState(session, remote)
  const seen = known.seen()
  if (seen === undefined) return undefined
  const { commit } = await session.reading(({ head }) => head)
  if (seen.oid === commit) return []
  const there = await known.commitsBehind(seen.oid, {})
  return (await findOutgoing(session.objects, commit, there)).map(({ oid }) => oid)
}
