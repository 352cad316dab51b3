// FORMAT §6.5: which times of records are doubtful, and where their descendants place them. By the
// definition: every record is held against each of its descendants.

export interface TimedRecord {
  readonly time: number
  /** Indexes of earlier records. */
  readonly parents: readonly number[]
}

/** By index, the placed time of every record. Parents come before their children. */
export function placedTimes(records: readonly TimedRecord[]): readonly number[] {
  return records.map(({ time }, index) => {
    const times = descendantsOf(records, index).map((later) => later.time)
    const isDoubtful = times.some((later) => time - later > 24 * 60 * 60 * 1000)
    return isDoubtful ? Math.min(...times) : time
  })
}

function descendantsOf(records: readonly TimedRecord[], index: number): readonly TimedRecord[] {
  const family = new Set([index])
  for (const [child, { parents }] of records.entries()) {
    if (parents.some((parent) => family.has(parent))) family.add(child)
  }
  return records.filter((_, place) => place !== index && family.has(place))
}
