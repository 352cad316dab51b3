// Random bytes, passed in wherever they are needed so that tests can own them. The system's
// generator is asked each time: nothing is pooled, so a snapshot of a running process that is
// started twice does not repeat bytes that were drawn before they were needed.

import { randomFillSync } from 'node:crypto'

/** Returns `length` unpredictable bytes that no later call returns again. */
export type Random = (length: number) => Uint8Array

export const systemRandom: Random = (length) => randomFillSync(new Uint8Array(length))
