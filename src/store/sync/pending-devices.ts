// Finds the devices that have not acknowledged the redactions that a sync brought. Must be asked
// only after such a sync, since it reads the whole history for each device.

import { type Device, listDevices } from '../devices/devices.ts'
import type { History } from '../history/history.ts'
import { retryAfterRedaction } from '../history/retry-after-redaction.ts'
import type { PendingDevice } from '../redaction/acknowledgement.ts'
import type { StoreSession } from '../session/session.ts'

/** `before` is the number of versions that were redacted here before the sync. */
export async function findPendingDevices(
  session: StoreSession,
  before: number,
): Promise<readonly PendingDevice[]> {
  if ((await session.reading(({ redacted }) => redacted.size)) === before) return []
  const list = (history: History): Promise<readonly Device[]> =>
    session.reading((snapshot) => listDevices(session, snapshot, history))
  const devices = await retryAfterRedaction(session, list, {})
  return devices
    .filter(({ unacknowledged }) => unacknowledged.length > 0)
    .map(({ deviceId, name, role, lastRecord, canAcknowledge }) => {
      return { deviceId, name, role, lastRecord, canAcknowledge }
    })
}
