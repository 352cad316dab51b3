// The public ids of a host's keys, workspaces and sessions, in the form of FORMAT §1.1: a prefix
// and 26 digits of base32, so that one can be the actor of a record (FORMAT §1.2).

import type { Random } from '../crypto/random.ts'
import { encodeBase32 } from '../format/base32.ts'

const ID_BYTES = 16
/** 26 digits have 130 bits: the first two are zero. */
const LEADING_ZEROS = 2

export type HostingPrefix = 'wrkspc_' | 'apikey_' | 'sesn_'

export function newHostingId(prefix: HostingPrefix, random: Random): string {
  return prefix + encodeBase32(random(ID_BYTES), LEADING_ZEROS)
}
