// The last step of a clone that begins anew (decision 0066), after a crash too: drops the
// notes for the branch where it was, or for where it would have moved.

import type { StoreSession } from './session.ts'
import type { Build } from './writer.ts'

export async function finishAnew(session: StoreSession): Promise<void> {
  const { granted, identity } = session
  const { grant } = identity
  if (grant === undefined || granted?.hasNextStart !== true) return
  const settle: Build<void> = async () => {
    const { objects, storeId, epochs, seenRemotes, newestHead } = session
    const hasMoved = granted.hasMoved({ objects, storeId, epochs }, grant)
    const { anchor } = session.local
    await anchor.refresh()
    const head = hasMoved ? newestHead : anchor.verified
    // Another process may have been faster.
    if (granted.hasNextStart && head !== undefined) await anchor.accept(head)
    await seenRemotes.settleAnew(hasMoved)
    // Last: as long as it waits, this is not done.
    await granted.settleNextStart(hasMoved)
    return { built: undefined, result: undefined }
  }
  await session.writing(settle, true)
}
