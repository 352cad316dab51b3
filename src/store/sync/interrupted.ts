// Heads that an interrupted sync has accepted and not taken over. Their objects are in the store
// and unreachable, so that a redaction made elsewhere meanwhile, which arrives with a later head,
// would not erase them. They are noted before they are accepted and settled by a later sync.

import type { Oid } from '../../git/objects/object.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { SyncOptions } from './options.ts'
import { eraseBroughtBack } from './reconcile.ts'
import { isVerdict } from './rejected-head.ts'
import { findKnown, type RemoteHead, verifyRemoteHead } from './remote-head.ts'

/** Notes heads durably, before any of their objects becomes part of the store. */
export function noteFetches(
  { objects, seenRemotes }: StoreSession,
  heads: readonly Oid[],
): Promise<void> {
  return objects.exclusive(() => seenRemotes.noteFetches(heads))
}

/**
 * Runs after a sync has taken over the remote's head: erases the redacted versions that noted heads
 * still hold, and forgets the heads that are in our own history, missing or refused.
 */
export async function settleFetches(session: StoreSession, options: SyncOptions): Promise<void> {
  const { objects, seenRemotes } = session
  const heads = seenRemotes.fetches()
  if (heads.length === 0) return
  const history = await session.loadHistory(options)
  let unsettled = heads.filter((head) => isUnsettled(session, history, head))
  if (unsettled.length > 0 && (await session.reading(({ redacted }) => redacted.size > 0))) {
    const verified = await verifyAll(session, history, unsettled, options)
    await eraseBroughtBack(session, [...verified.values()], options)
    unsettled = [...verified.keys()].filter((head) => objects.read(head) !== undefined)
  }
  const settled = heads.filter((head) => !unsettled.includes(head))
  if (settled.length > 0) await objects.exclusive(() => seenRemotes.forgetFetches(settled))
}

function isUnsettled({ objects }: StoreSession, history: History, head: Oid): boolean {
  return objects.read(head) !== undefined && findKnown(objects, history, head) === undefined
}

/** Verifies each head; those that are refused are not in the result. */
async function verifyAll(
  session: StoreSession,
  history: History,
  heads: readonly Oid[],
  options: SyncOptions,
): Promise<ReadonlyMap<Oid, RemoteHead>> {
  const verified = new Map<Oid, RemoteHead>()
  const from = { session, objects: session.objects }
  for (const head of heads) {
    try {
      verified.set(head, await verifyRemoteHead(from, history, head, options))
    } catch (error) {
      if (!isVerdict(error)) throw error
    }
  }
  return verified
}
