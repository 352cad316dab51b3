// How old the state is that a grant's holder was shown. Each holder that begins empty trusts its
// remote afresh (docs/THREAT-MODEL.md, limit 5), and an older state is consistent too: only what a
// device has signed tells when it was current. The granter signs a baseline at least once a day on
// which it syncs, so that its time has a meaning even if no one writes. Decision: a clone begins by
// that time alone, since a device that was removed later could write new records on an older state.
// After that, newer records of devices in force have the same effect, since a clone fetches no
// baseline again and continues from a state that it has seen. Those of grants do not, since their
// holders date them.

import { spanText } from '../../duration.ts'
import { StoreError } from '../../errors.ts'
import { isInForce } from '../../format/directory.ts'
import { deviceIdOf, formatId } from '../../format/id.ts'
import type { HeldAccess } from '../../keys/identity.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CloneBeginning } from '../verify/beginning.ts'

/** What an age follows from. */
export interface ShownState {
  readonly snapshot: Pick<Snapshot, 'devices' | 'keyring'>
  readonly beginning: Pick<CloneBeginning, 'time'> | undefined
  readonly held: HeldAccess
}

/** When the newest state was current that a holder was shown, at the latest; ms since 1970. */
export function shownAt({ snapshot, beginning, held }: ShownState): number {
  const { devices, keyring } = snapshot
  let newest = Math.max(held.signedAt, beginning?.time ?? 0)
  for (const [deviceId, { time }] of devices) {
    if (isInForce(keyring.directory, deviceId)) newest = Math.max(newest, time)
  }
  return newest
}

/** Throws `baseline_old` for a state that is older than its holder accepts. */
export function checkAge(held: HeldAccess, time: number, now: number): void {
  // A clock that is behind tells no age.
  if (!isTooOld(held, time, now)) return
  const granter = formatId('device', deviceIdOf(held.granterKey))
  throw new StoreError(
    'baseline_old',
    `The newest state that the remote shows is ${spanText(now - time)} old, and at most ` +
      `${spanText(held.maxAgeMs ?? 0)} are accepted here: ${granter}, which gave the grant, has ` +
      'not synced since, or the remote shows an older state. Sync that device, and then this ' +
      'one again; if it does sync, do not trust the remote. Changes that were not sent are kept',
  )
}

export function isTooOld({ maxAgeMs }: HeldAccess, time: number, now: number): boolean {
  return maxAgeMs !== undefined && now - time > maxAgeMs
}
