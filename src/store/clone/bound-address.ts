// A clone that exists opens with its own verified state. Once a user gives its remote by an address
// that names another one (FORMAT §1.8), syncs with it are refused until one of both has that state.
// Must not contact a remote.

import type { WorkOptions } from '../../async.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import { lineOf } from '../../format/start.ts'
import type { Remote } from '../../git/exchange.ts'
import { decodeAt } from '../access/post-revocation.ts'
import type { RecordSource } from '../commits/ancestors.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import { RemoteAddress } from './remote-address.ts'

/** The address, if a user has given this remote by one that names a state. */
export async function findBound(
  { seenRemotes, storeId }: StoreSession,
  { name, url }: Remote,
): Promise<RemoteAddress | undefined> {
  const bound = await seenRemotes.findBound(name, url)
  return bound && new RemoteAddress(url, storeId, bound.state)
}

/** The same while neither a sync nor this call has found the state in the history here. */
export async function findUnmet(
  session: StoreSession,
  remote: Remote,
  options: WorkOptions,
): Promise<RemoteAddress | undefined> {
  const { seenRemotes, objects } = session
  const bound = await seenRemotes.findBound(remote.name, remote.url)
  if (bound === undefined || bound.isMet) return undefined
  const address = await findBound(session, remote)
  if (address === undefined) return undefined
  const newest = await session.reading(({ keyring }) => keyring.record)
  const isMet =
    (await address.isMetBy([newest])) ||
    (await address.isMetBy(
      keyringsHere(session, await session.loadHistory(options)),
      options.signal,
    ))
  if (!isMet) return address
  await objects.exclusive(() => seenRemotes.noteMet(remote.name, bound))
  return undefined
}

/** The hashes of the keyring records of a history, oldest first. */
export function* keyringsOf(source: RecordSource, history: History): Generator<Uint8Array> {
  for (const { kind, oid } of history.commits) {
    if (bringsKeyring(kind)) yield decodeAt(source, oid).hash
  }
}

/** Those of the history here and, in a clone that lacks the earlier one, of the start's line. */
function* keyringsHere(session: StoreSession, history: History): Generator<Uint8Array> {
  yield* keyringsOf(session, history)
  const { granted, identity, beginning } = session
  if (granted === undefined || identity.grant === undefined || beginning === undefined) return
  yield* lineOf(granted.readStart(session, identity.grant))
}
