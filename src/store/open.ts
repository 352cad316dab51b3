// Opening a store. What it reads is in session/open-session.ts.

import { enrolDevice } from './devices/administration.ts'
import { MemoryStore } from './memory-store.ts'
import { checkPlaces } from './request-check.ts'
import { openObjects } from './session/objects-of.ts'
import type { OpenOptions } from './session/open-options.ts'
import { openSession } from './session/open-session.ts'
import { onSteadyHead } from './session/steady-head.ts'

/**
 * Opens a store. Throws `not_a_store`, `unsupported_repository`, `upgrade_required`, `wrong_key`,
 * `rolled_back`, a storage code, or the code of whatever verification refused.
 */
export async function openStore(options: OpenOptions): Promise<MemoryStore> {
  const { directory } = checkPlaces(options)
  const objects = await openObjects({ ...options, directory })
  try {
    // A redaction of another process erases what lies below the head that was read.
    const { session, opened } = await onSteadyHead(objects, () => openSession(objects, options))
    await session.keepVerified()
    // The holder of a grant writes as the grant.
    if (options.identity.grant === undefined) {
      await enrolDevice(session, opened, options.deviceName ?? '')
    }
    return new MemoryStore(session)
  } catch (error) {
    await objects.close().catch(() => undefined)
    throw error
  }
}
