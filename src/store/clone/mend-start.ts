// Fetches the start of a grant's holder again if the clone's own copy is damaged or missing. It is
// believed as at the beginning: the granter has signed it, it must describe a commit of our branch,
// and everything after that is verified (FORMAT §13). Changes nothing but that file.

import { hasCode, StoreError } from '../../errors.ts'
import type { HeldAccess, Identity } from '../../keys/identity.ts'
import { startBytesMax, wrapsBytesMax } from '../../limits.ts'
import type { RemoteAccess } from '../../transport/remote-access.ts'
import { type GrantedFiles, isInBranch, readStart } from '../session/granted.ts'
import type { StoreSession } from '../session/session.ts'
import type { StoreSource } from '../session/store-id.ts'
import type { Build } from '../session/writer.ts'
import { StartFetch } from './start-fetch.ts'

/** A clone of a grant's holder, as far as it opens without a start. */
export interface HeldClone extends StoreSource {
  readonly identity: Identity
  readonly granted: GrantedFiles
}

/**
 * Whether the start was damaged, and is replaced. Throws a remote code, or what refuses the start
 * that the remote shows.
 */
export async function mendStart(clone: HeldClone, access: RemoteAccess): Promise<boolean> {
  const { objects, granted, identity } = clone
  const held = identity.grant
  if (held === undefined || !granted.isDamaged(clone, held)) return false
  const bytes = await fetchStart(clone, held, access)
  if (!isInBranch(clone, readStart(clone, bytes, held))) {
    throw new StoreError('history_needed', 'The start at the remote is not of this history')
  }
  await objects.exclusive(() => granted.keepStart(bytes))
  return true
}

async function fetchStart(
  { objects, storeId, identity }: HeldClone,
  held: HeldAccess,
  access: RemoteAccess,
): Promise<Uint8Array> {
  const incoming = objects.exchange.incoming()
  try {
    const fetch = new StartFetch(
      held,
      { storeId, identity, access },
      {
        objects: incoming,
        shallow: () => [],
        async receive(from) {
          await from(incoming)
        },
      },
    )
    const { wraps, start = '' } = await fetch.fetchFirst()
    held.learn(fetch.readBlob(wraps, wrapsBytesMax))
    return fetch.readBlob(start, startBytesMax)
  } finally {
    incoming.drop()
  }
}

/** Whether the start opens that this handle has read; it is opened once. */
function opens({ beginning }: StoreSession): boolean {
  try {
    return beginning === undefined || beginning.snapshot.head.height >= 0
  } catch (error) {
    if (hasCode(error, 'baseline_malformed', 'object_missing')) return false
    throw error
  }
}

/**
 * The same for an open store, whose history then begins there. A failure is left to whatever needs
 * the start: it may not be needed.
 */
export async function mendStartOf(session: StoreSession, access: RemoteAccess): Promise<void> {
  const { objects, storeId, epochs, identity, granted } = session
  if (granted === undefined || identity.grant === undefined || opens(session)) return
  const held = identity.grant
  const source = { objects, storeId, epochs }
  try {
    // Another process may have been faster.
    await mendStart({ ...source, identity, granted }, access)
  } catch (error) {
    if (error instanceof StoreError && error.code !== 'cancelled') return
    throw error
  }
  const write: Build<void> = async () => {
    const beginning = granted.findBeginning({ ...source, epochs: session.epochs }, held)
    if (beginning !== undefined) session.beginAt(beginning)
    return { built: undefined, result: undefined }
  }
  await session.writing(write, true)
}
