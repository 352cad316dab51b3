// Which devices have taken over a redaction, as far as the history tells: a device shows it by a
// record of its own that has the redact record in its past, and one that came later never had what
// was erased. Who writes nothing shows nothing, so that its copy may hold the old objects unseen.

import type { Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** An active device that has not shown yet that it took over a redaction. */
export interface PendingDevice {
  /** `dev_…` */
  readonly deviceId: string
  readonly role: Role
  /** When it was last seen: the time of its newest record, undefined if it has written nothing. */
  readonly lastRecord: number | undefined
  /** False for one that may write nothing: whether it took over a redaction cannot be known. */
  readonly canAcknowledge: boolean
}

/** Right after a redaction: every other active device. */
export function otherDevices(
  { keyring, devices }: Snapshot,
  thisDevice: string,
): readonly PendingDevice[] {
  return keyring.directory.devices
    .filter(({ deviceId, removed }) => removed === 0 && deviceId !== thisDevice)
    .map(({ deviceId, role }) => {
      const state = devices.get(deviceId)
      return {
        deviceId: formatId('device', deviceId),
        role,
        lastRecord: state?.time,
        canAcknowledge: mayStillWrite(role, state?.forked ?? false),
      }
    })
}

/** Whether a record of such a device may still come. */
export function mayStillWrite(role: Role, isForked: boolean): boolean {
  return !isForked && (role === 'owner' || role === 'writer')
}

/** The redact records, oldest first, that a device has not shown to have taken over. */
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
