// Long reads over several turns in a store that others change meanwhile. New commits on top do no
// harm. After a redaction or merge by others, commits have new ids or positions, and results so far
// are of no single state. Must change nothing.

import { hasCode, StoreError } from '../../errors.ts'
import type { StoreSession } from './session.ts'

/**
 * Throws `ref_conflict` if the history below the head was rewritten meanwhile; otherwise what
 * `work` throws.
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

/** Whether the history was rewritten since `rewrites` was read, also by another process. */
function wasRewritten(session: StoreSession, rewrites: number): Promise<boolean> {
  return session.reading(() => session.rewrites !== rewrites)
}

/**
 * Whether an error comes from a concurrent change: another clone was faster, or the history was
 * rewritten since `rewrites` was read, and parts of the old one may be erased.
 */
export async function hasMoved(
  session: StoreSession,
  rewrites: number,
  error: unknown,
): Promise<boolean> {
  return hasCode(error, 'remote_moved', 'ref_conflict') || wasRewritten(session, rewrites)
}
