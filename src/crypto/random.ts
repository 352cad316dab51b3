// Random bytes, passed in wherever they are needed, so that tests control them. Nothing is pooled:
// if a snapshot of a running process is started twice, no bytes drawn in advance repeat.

import { randomBytes } from '../platform/crypto.ts'

/** Returns `length` unpredictable bytes that no later call returns again. */
export type Random = (length: number) => Uint8Array

export const systemRandom: Random = randomBytes
