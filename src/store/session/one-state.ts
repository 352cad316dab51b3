// Long reads over several turns in a store that others change concurrently. New commits on top do
// no harm. After a redaction or merge by others, commits have new ids or positions, and results so
// far are of no single state. Must change nothing.

import { hasCode, StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { StoreSession } from './session.ts'

/**
 * Throws `ref_conflict` if the history below the head was rewritten; otherwise what
 * `work` throws.
 */
export async function onOneState<T>(
  session: StoreSession,
  work: () => Promise<T>,
): Promise<Awaited<T>> {
  const { rewrites } = session
  const [done] = await Promise.allSettled([work()])
  await checkNotRewritten(session, rewrites)
  if (done.status === 'rejected') throw done.reason
  return done.value
}

/** Throws `ref_conflict` if the history was rewritten since `rewrites` was read. */
export async function checkNotRewritten(session: StoreSession, rewrites: number): Promise<void> {
  if (!(await wasRewritten(session, rewrites))) return
  throw new StoreError(
    'ref_conflict',
    'The history was redacted or merged elsewhere while it was read: try again',
  )
}

/** Whether the history was rewritten since `rewrites` was read, also by another process. */
function wasRewritten(session: StoreSession, rewrites: number): Promise<boolean> {
  return session.reading(() => session.rewrites !== rewrites)
}

/** The state of a store when long work begins. */
interface Beginning {
  readonly rewrites: number
  readonly erasures: number
}

export function beginningOf({ rewrites, objects }: StoreSession): Beginning {
  return { rewrites, erasures: objects.erasures }
}

/**
 * Whether an error comes from a concurrent change: another clone was faster, or the history was
 * rewritten since the beginning, and parts of the old one may be erased; or a purge has erased what
 * a sync had brought, which the next attempt brings again.
 */
export async function hasMoved(
  session: StoreSession,
  { rewrites, erasures }: Beginning,
  error: unknown,
): Promise<boolean> {
  if (hasCode(error, 'remote_moved', 'remote_locked', 'ref_conflict')) return true
  if (await wasRewritten(session, rewrites)) return true
  const { objects } = session
  const mayBeErased = objects.erasures !== erasures || objects.status().purgePending > 0
  return mayBeErased && hasCode(error, 'object_missing')
}

/** Attempts before the error is thrown. */
const ATTEMPTS = 3

/** Runs `work` again, with the newer head, if an object is missing and the head has moved. */
export async function onCurrentHead<T>(
  session: StoreSession,
  work: (head: Oid) => Promise<T>,
): Promise<T> {
  const findHead = (): Promise<Oid> => session.reading(({ head }) => head.commit)
  for (let head = await findHead(), attempt = 1; ; attempt += 1) {
    try {
      return await work(head)
    } catch (error) {
      const now = await findHead()
      // Perhaps another process has redacted, and erased the earlier history.
      const moved = hasCode(error, 'object_missing') && now !== head
      if (!moved || attempt === ATTEMPTS) throw error
      head = now
    }
  }
}
