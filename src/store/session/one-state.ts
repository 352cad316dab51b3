// Work that reads for long between turns, in a store that others change meanwhile. New commits on
// top are no matter: what was there stays. After a redaction or a merge by others, commits have
// other names or places, and what was found out so far is of no one state. Must change nothing.

import { hasCode, StoreError } from '../../errors.ts'
import type { StoreSession } from './session.ts'

/**
 * Throws what `work` throws; but `ref_conflict`, whatever came of it, if the history below the head
 * was made again meanwhile.
 */
export async function onOneState<T>(
  session: StoreSession,
  work: () => Promise<T>,
): Promise<Awaited<T>> {
  const { rewrites } = session
  const [done] = await Promise.allSettled([work()])
  if (await wasRewritten(session, rewrites)) {
    throw new StoreError(
      'ref_conflict',
      'The history was redacted or merged elsewhere while it was read: try again',
    )
  }
  if (done.status === 'rejected') throw done.reason
  return done.value
}

/** Whether it happened since `rewrites` was read off the session, also by another process. */
function wasRewritten(session: StoreSession, rewrites: number): Promise<boolean> {
  return session.reading(() => session.rewrites !== rewrites)
}

/**
 * Whether an error is that of somebody who was overtaken: another clone was faster, or the history
 * was made again since `rewrites` was read, and parts of the one of before may be erased.
 */
export async function hasMoved(
  session: StoreSession,
  rewrites: number,
  error: unknown,
): Promise<boolean> {
  return hasCode(error, 'remote_moved', 'ref_conflict') || wasRewritten(session, rewrites)
}
