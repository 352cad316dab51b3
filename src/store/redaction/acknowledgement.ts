// Finds the devices that have not acknowledged a redaction. A device acknowledges it by writing a
// record that has the redact record in its past; one that was added later never had the erased
// objects. A device that writes nothing cannot acknowledge, so its copy may still hold them.

import type { Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** An active device that has not acknowledged a redaction. */
export interface PendingDevice {
  /** `dev_…` */
  readonly deviceId: string
  /** FORMAT §1.5: for people, may be empty. */
  readonly name: string
  readonly role: Role
  /** The time of its newest record, ms since 1970; undefined if it has written none. */
  readonly lastRecord: number | undefined
  /** False for a device that may not write: whether it has the redaction cannot be known. */
  readonly canAcknowledge: boolean
}

/** Every other active device: the pending ones right after a redaction. */
export function otherDevices(
  { keyring, devices }: Snapshot,
  thisDevice: string,
): readonly PendingDevice[] {
  return keyring.directory.devices
    .filter(({ deviceId }) => deviceId !== thisDevice)
    .map(({ deviceId, name, role }) => {
      const state = devices.get(deviceId)
      return {
        deviceId: formatId('device', deviceId),
        name,
        role,
        lastRecord: state?.time,
        canAcknowledge: mayStillWrite(role, state?.forked ?? false),
      }
    })
}

/** Whether a device with this state may write further records. */
export function mayStillWrite(role: Role, isForked: boolean): boolean {
  return !isForked && (role === 'owner' || role === 'writer')
}

/** The redact records that a device has not acknowledged, oldest first. */
export function findUnacknowledged(
  history: History,
  deviceId: string,
  added: CommitEntry,
): readonly CommitEntry[] {
  const redactions: CommitEntry[] = []
  let newest: CommitEntry | undefined
  for (const commit of history.commits) {
    if (commit.kind === 'redact') redactions.push(commit)
    if (commit.deviceId === deviceId) newest = commit
  }
  const isKnown = history.pastOf(added, ...(newest === undefined ? [] : [newest]))
  return redactions.filter(({ position }) => !isKnown(position))
}
