// Work on the whole history below the head of an open store, from git alone and outside of turns,
// while other processes may redact and erase the history below that head.

import { hasCode } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { StoreSession } from './session.ts'

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
