// Random bytes, passed in wherever they are needed, so that tests control them. Nothing is pooled:
// if a snapshot of a running process is started twice, no bytes drawn in advance repeat.

import { randomFillSync } from 'node:crypto'

/** Returns `length` unpredictable bytes that no later call returns again. */
export type Random = (length: number) => Uint8Array

export const systemRandom: Random = (length) => randomFillSync(new Uint8Array(length))
