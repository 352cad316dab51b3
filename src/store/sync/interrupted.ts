// Heads that were fetched by a sync that did not come to its end. What they brought is here and
// reachable from nothing: a redaction that others made of it meanwhile, and that comes with a later
// head, would not reach it there.

import type { Oid } from '../../git/objects/object.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { SyncOptions } from './options.ts'
import { eraseBroughtBack } from './reconcile.ts'
import { isVerdict } from './rejected-head.ts'
import { findKnown, type RemoteHead, verifyRemoteHead } from './remote-head.ts'

/** Durable before anything of the head is here. */
export function noteFetch({ objects, seenRemotes }: StoreSession, head: Oid): Promise<void> {
  return objects.exclusive(() => seenRemotes.noteFetch(head))
}

/**
 * Once a sync has taken over what it came for: erases what earlier heads have of versions that are
 * redacted by now, and forgets the heads that are in our own history, gone or refused.
 */
export async function settleFetches(session: StoreSession, options: SyncOptions): Promise<void> {
  const { objects, seenRemotes } = session
  const heads = seenRemotes.fetches()
  if (heads.length === 0) return
  const history = await session.loadHistory(options)
  let left = heads.filter((head) => isLeft(session, history, head))
  if (left.length > 0 && (await session.reading(({ redacted }) => redacted.size > 0))) {
    const verified = await verifyAll(session, history, left, options)
    await eraseBroughtBack(session, [...verified.values()], options)
    left = [...verified.keys()].filter((head) => objects.read(head) !== undefined)
  }
  const settled = heads.filter((head) => !left.includes(head))
  if (settled.length > 0) await objects.exclusive(() => seenRemotes.forgetFetches(settled))
}

function isLeft({ objects }: StoreSession, history: History, head: Oid): boolean {
  return objects.read(head) !== undefined && findKnown(objects, history, head) === undefined
}

/** Without those that are refused. */
async function verifyAll(
  session: StoreSession,
  history: History,
  heads: readonly Oid[],
  options: SyncOptions,
): Promise<ReadonlyMap<Oid, RemoteHead>> {
  const verified = new Map<Oid, RemoteHead>()
  for (const head of heads) {
    try {
      verified.set(head, await verifyRemoteHead(session, history, head, options))
    } catch (error) {
      if (!isVerdict(error)) throw error
    }
  }
  return verified
}
