// The facts of an open store by which doubtful times are judged (history/doubtful-times.ts).

import type { DoubtScope } from '../history/doubtful-times.ts'
import type { StoreSession } from './session.ts'

export async function doubtScope(session: StoreSession): Promise<DoubtScope> {
  const grants = await session.reading((snapshot) => snapshot.grants)
  return { isGrant: (deviceId) => grants.has(deviceId), now: session.clock.now() }
}
