// Who else has not shown to have the redactions that a sync took over. Asked only then: each costs
// a look through the history.

import type { AwaitedDevice } from '../adoption.ts'
import { listDevices } from '../devices.ts'
import type { StoreSession } from '../session.ts'

/** `before` is how many versions were redacted here before the sync. */
export async function findAwaited(
  session: StoreSession,
  before: number,
): Promise<readonly AwaitedDevice[]> {
  if (session.snapshot.redacted.size === before) return []
  const history = await session.loadHistory()
  return listDevices(session, session.snapshot, history)
    .filter(({ unadopted }) => unadopted.length > 0)
    .map(({ deviceId, role, lastRecord, canShowAdoption }) => {
      return { deviceId, role, lastRecord, canShow: canShowAdoption }
    })
}
