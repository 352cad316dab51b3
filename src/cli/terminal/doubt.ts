// The doubtful times of an answer, as JSON.

import type { DoubtfulRecord, DoubtfulTimes } from '../../errors.ts'
import { timestamp } from '../../operations/wire.ts'

/** The member `doubtful`, if there is anything to say. */
export function doubtFacts(doubtful: DoubtfulTimes | undefined): { readonly doubtful?: object } {
  if (doubtful === undefined) return {}
  const { stampedLater, datedBack, leftOut, newest, causes } = doubtful
  const counts = { stamped_later: stampedLater, dated_back: datedBack, left_out: leftOut }
  const records = { newest: newest.map(recordJson), causes: causes.map(recordJson) }
  return { doubtful: { ...counts, ...records } }
}

function recordJson({ versionId, deviceId, byGrant, session, time }: DoubtfulRecord): object {
  return {
    memory_version_id: versionId ?? null,
    device_id: deviceId,
    by_grant: byGrant,
    session: session ?? null,
    stamped_at: timestamp(time),
  }
}
