// Work on a repository without a session, for an auditor or during opening, while another process
// may move the head. A redaction may erase what is below the head that was read; an error then says
// nothing about the repository.

import { hasCode, StoreError } from '../../errors.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'

/** Attempts before the error is thrown. */
const ATTEMPTS = 8

/**
 * Runs `work` again if it throws and the head, or the remote's head, has moved. `work` reads the
 * head itself, after the anchor.
 */
export async function onSteadyHead<T>(objects: ObjectStore, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    await objects.renew?.()
    objects.refresh()
    const { head } = objects
    try {
      return await work()
    } catch (error) {
      await objects.renew?.()
      objects.refresh()
      const hasMoved = objects.head !== head || hasCode(error, 'remote_moved', 'ref_conflict')
      if (!hasMoved || attempt === ATTEMPTS) throw error
    }
  }
}

/** Call inside `exclusive`. Throws `ref_conflict` if the head has moved. */
export function checkIsHead(objects: ObjectStore, head: Oid): void {
  if (objects.head === head) return
  throw new StoreError(
    'ref_conflict',
    'Another process has moved the head in the meantime: try again',
  )
}
