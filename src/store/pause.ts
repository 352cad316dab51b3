// Long work gives way, now and then.

import { TimeSlice } from '../time-slice.ts'

/** Lets timers and input run, and ends the work if the caller wants that. */
export function pause(signal: AbortSignal | undefined): Promise<void> {
  return new TimeSlice(signal).next()
}
