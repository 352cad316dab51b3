// Takes changes back that were committed here and that no remote has: the branch returns to the
// head that the remote has shown. For a store whose writes count only once the remote has them.

import { inSlices } from '../../time-slice.ts'
import { containsCommit } from '../commits/ancestors.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { verifyDescent } from '../verify/verify.ts'
import { RemoteState } from './remote-state.ts'

export type TakenBack =
  /** The remote has all changes. */
  | 'sent'
  | 'taken back'
  /** The history was rewritten since: the next sync sends them. */
  | 'kept'

/**
 * Undoes all that was written since `before`, whose head the remote had, unless the remote has it
 * by now.
 */
export async function takeBack(session: StoreSession, before: Snapshot): Promise<TakenBack> {
  const { objects, storeId, epochs } = session
  const [remote] = objects.exchange.remotes()
  if (remote === undefined) return 'kept'
  const seen = await new RemoteState(session, remote).seen()
  const write: Build<TakenBack> = async () => {
    const { head } = session.snapshot
    if (seen === undefined) return { built: undefined, result: 'kept' }
    if (await inSlices(containsCommit(objects, seen.oid, head.commit))) {
      return { built: undefined, result: 'sent' }
    }
    const isBefore = seen.oid === before.head.commit
    const source = { objects, storeId, epochs }
    const snapshot = isBefore ? before : await verifyDescent(source, before, seen.oid)
    if (snapshot === undefined) return { built: undefined, result: 'kept' }
    const { commit: oid, height, record } = snapshot.head
    const common = { oid, height, record }
    await session.noteLeft({ records: [head.record], common, head: snapshot.head })
    return { built: { snapshot, objects: [] }, result: 'taken back' }
  }
  return session.writing(write, true)
}
