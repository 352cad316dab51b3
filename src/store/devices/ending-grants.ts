// The grants that a change of rights ends (FORMAT §12): those of devices that may give none after
// it. Told before the change is made, and with its result.

import type { GrantRole } from '../../format/change-record.ts'
import { mayGive } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import { type RightsChanges, withRights } from '../../keys/membership.ts'
import type { StoreSession } from '../session/session.ts'
import type { GrantState, Snapshot } from '../snapshot/snapshot.ts'

export interface EndingGrant {
  /** As the author of its holder's changes is shown: `dev_…`. */
  readonly grantId: string
  /** Known to the device that gave it alone; may be empty. */
  readonly label: string | undefined
  readonly role: GrantRole
  /** The device that gave it, `dev_…`. */
  readonly grantedBy: string
  /** ms since 1970: when it would end by itself. */
  readonly expiresAt: number
}

/** The active grants that a keyring with these changes ends, in the order of their begins. */
function grantsEndedBy(
  { grants, keyring }: Pick<Snapshot, 'grants' | 'keyring'>,
  changes: RightsChanges,
): readonly (readonly [grantId: string, state: GrantState])[] {
  const after = withRights(keyring.directory, changes)
  return [...grants]
    .filter(([, { granter }]) => !mayGive(after, granter))
    .toSorted(([, one], [, other]) => one.began - other.began)
}

/** The same, for people. Call while planning or writing. */
export async function endingGrants(
  { snapshot, identity, grantNotes }: StoreSession,
  changes: RightsChanges,
): Promise<readonly EndingGrant[]> {
  const ending = grantsEndedBy(snapshot, changes)
  const isOwn = ending.some(([, { granter }]) => granter === identity.deviceId)
  const given = isOwn ? ((await grantNotes.read())?.given ?? []) : []
  const labels = new Map(given.map(({ id, label }) => [id, label]))
  return ending.map(([id, { role, granter, notAfter }]) => ({
    grantId: formatId('device', id),
    label: granter === identity.deviceId ? (labels.get(id) ?? '') : undefined,
    role,
    grantedBy: formatId('device', granter),
    expiresAt: notAfter,
  }))
}
