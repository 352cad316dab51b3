// Lists the devices of a store for users: role, time added and removed, unacknowledged redactions,
// and the residual access of removed ones (FORMAT §7.1, §7.3). Must not change anything.

import { type DeviceEntry, findDevice, type Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import type { ContentSource } from '../history/contents.ts'
import type { History } from '../history/history.ts'
import { findUnacknowledged, mayStillWrite } from '../redaction/acknowledgement.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import {
  type KeyringEvent,
  keysOfDevices,
  readableWith,
  readKeyrings,
  type ResidualAccess,
} from './residual-access.ts'

/** The commit that added a device, removed it, or redacted versions. */
export interface DeviceEvent {
  /** 40 hex digits. */
  readonly commit: string
  /** ms since 1970, by the clock of the author. */
  readonly time: number
}

export interface Device {
  /** `dev_…`, the fingerprint. */
  readonly deviceId: string
  /** Its current role, or the role that it had when it was removed. */
  readonly role: Role
  readonly added: DeviceEvent
  /** Undefined for an active device. */
  readonly removed: DeviceEvent | undefined
  /** The time of its newest record; undefined if it has written none. */
  readonly lastRecord: number | undefined
  /** Whether two machines write as this device, whose records are refused then (FORMAT §8.2). */
  readonly isForked: boolean
  /** Whether it is the device of this session. */
  readonly isThis: boolean
  /** Redactions that an active device has not acknowledged by a record, oldest first. */
  readonly unacknowledged: readonly DeviceEvent[]
  /** False for a device that may not write: `unacknowledged` cannot become empty then. */
  readonly canAcknowledge: boolean
  /** Defined for a removed device only. */
  readonly residualAccess: ResidualAccess | undefined
}

interface DeviceSource {
  readonly contents: ContentSource
  readonly identity: { readonly deviceId: string }
}

/** All devices, including removed ones, in the order in which they were added. */
export function listDevices(
  source: DeviceSource,
  snapshot: Snapshot,
  history: History,
): readonly Device[] {
  const keyrings = readKeyrings(source.contents, history)
  // Not from the snapshot, which may be newer than the history.
  const newest = keyrings.at(-1)?.directory.devices ?? []
  return newest
    .flatMap((entry) => {
      const added = findEvent(keyrings, entry, () => true)
      return added === undefined ? [] : [{ entry, added }]
    })
    .toSorted((a, b) => a.added.position - b.added.position)
    .map(({ entry, added }) => {
      const removed = findEvent(keyrings, entry, (earlier) => earlier.removed !== 0)
      const { deviceId, role } = entry
      const state = snapshot.devices.get(deviceId)
      const isThis = deviceId === source.identity.deviceId
      const isPending = removed === undefined && !isThis
      const unacknowledged = isPending ? findUnacknowledged(history, deviceId, added.commit) : []
      return {
        deviceId: formatId('device', deviceId),
        role,
        added: eventOf(added),
        removed: removed && eventOf(removed),
        lastRecord: state?.time,
        isForked: state?.forked ?? false,
        isThis,
        unacknowledged: unacknowledged.map((commit) => eventOf({ commit })),
        canAcknowledge: removed === undefined && mayStillWrite(role, state?.forked ?? false),
        residualAccess:
          removed && readableWith(keysOfDevices([deviceId], keyrings), snapshot, history, keyrings),
      }
    })
}

/** The first keyring that lists a device with an entry for which `isMatch` holds. */
function findEvent(
  keyrings: readonly KeyringEvent[],
  { deviceId }: DeviceEntry,
  isMatch: (entry: DeviceEntry) => boolean,
): KeyringEvent | undefined {
  return keyrings.find(({ directory }) => {
    const entry = findDevice(directory, deviceId)
    return entry !== undefined && isMatch(entry)
  })
}

function eventOf({ commit }: Pick<KeyringEvent, 'commit'>): DeviceEvent {
  return { commit: commit.oid, time: commit.time }
}
