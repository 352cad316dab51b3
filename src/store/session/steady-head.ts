// Work on a repository without a session, an auditor's or one that is being opened, whose head
// another process may move meanwhile. New commits on top are no matter; a redaction erases what
// lies below the head that was read, and whatever goes wrong then says nothing about the
// repository.

import { hasCode, StoreError } from '../../errors.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'

/** Others may be faster so often. */
const ATTEMPTS = 8

/**
 * Throws what `work` throws; but does it again if the head, or that of the remote, is elsewhere
 * then. It reads the head itself, after the anchor.
 */
export async function onSteadyHead<T>(objects: ObjectStore, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    objects.refresh()
    const { head } = objects
    try {
      return await work()
    } catch (error) {
      objects.refresh()
      const hasMoved = objects.head !== head || hasCode(error, 'remote_moved', 'ref_conflict')
      if (!hasMoved || attempt === ATTEMPTS) throw error
    }
  }
}

/** Inside `exclusive`. Throws `ref_conflict` if the head is another one by now. */
export function checkIsHead(objects: ObjectStore, head: Oid): void {
  if (objects.head === head) return
  throw new StoreError('ref_conflict', 'Another process has moved the head meanwhile: try again')
}
