// Heads that an interrupted sync has accepted and not taken over. Their objects are in the store
// and unreachable, so that a redaction made elsewhere meanwhile, which arrives with a later head,
// would not erase them. They are noted before they are accepted and settled by a later sync.

import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { containsCommit } from '../commits/ancestors.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import { eraseBroughtBack } from './brought-back.ts'
import type { SyncOptions } from './options.ts'
import { isVerdict } from './rejected-head.ts'
import { type RemoteHead, verifyRemoteHead } from './remote-head.ts'

/** Notes heads durably, before any of their objects becomes part of the store. */
export function noteFetches(
  { objects, seenRemotes }: StoreSession,
  heads: readonly Oid[],
): Promise<void> {
  return objects.exclusive(() => seenRemotes.noteFetches(heads))
}

/**
 * Runs after a sync has taken over the remote's head: erases the redacted versions that noted heads
 * still hold, and returns the heads that are in our own history, missing or refused. Most of them
 * are missing soon: the merge with a head that held redacted versions has marked it dead, and a
 * purge may take it, or what it builds on, while it is verified here.
 */
export async function findSettled(
  session: StoreSession,
  options: SyncOptions,
): Promise<readonly Oid[]> {
  const { objects, seenRemotes } = session
  const heads = seenRemotes.fetches()
  const found: Oid[] = []
  for (const head of heads) if (await isUnsettled(session, head, options)) found.push(head)
  let unsettled: readonly Oid[] = found
  if (unsettled.length > 0 && (await session.reading(({ redacted }) => redacted.size > 0))) {
    const history = await session.loadHistory(options)
    const verified = await verifyAll(session, history, unsettled, options)
    const refused = unsettled.filter((head) => !verified.has(head))
    await eraseBroughtBack(session, [...verified.values()], options, refused)
    unsettled = [...verified.keys()].filter((head) => objects.read(head) !== undefined)
  }
  return heads.filter((head) => !unsettled.includes(head))
}

async function isUnsettled(
  session: StoreSession,
  head: Oid,
  { signal }: SyncOptions,
): Promise<boolean> {
  const { objects } = session
  const { commit } = await session.reading((now) => now.head)
  // Looked for last: a purge may take it between two turns.
  if (objects.read(head) === undefined) return false
  return !(await inSlices(containsCommit(objects, commit, head), signal))
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
