// The devices of a store, for people: who is one, since when, in which role, what it has shown to
// have taken over, and what it still reads if it was removed (FORMAT §7.1, §7.3). Reads the
// directory and the keyrings of the history, changes nothing.

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

/** The commit that brought a device, or took its access. */
export interface DeviceEvent {
  /** 40 hex digits. */
  readonly commit: string
  /** ms since 1970, by the clock of who did it. */
  readonly time: number
}

export interface Device {
  /** `dev_…`, the fingerprint. */
  readonly deviceId: string
  /** What it is, or was when it was removed. */
  readonly role: Role
  readonly added: DeviceEvent
  /** Undefined for an active device. */
  readonly removed: DeviceEvent | undefined
  /** The time of its newest record; undefined if it has written nothing. */
  readonly lastRecord: number | undefined
  /** Whether two machines write in its name: it is refused until it is removed (FORMAT §8.2). */
  readonly isForked: boolean
  /** Whether it is the one that asks. */
  readonly isThis: boolean
  /** Redactions that an active device has not shown to have taken over, oldest first. */
  readonly unacknowledged: readonly DeviceEvent[]
  /** False for one that may write nothing: `unacknowledged` cannot become empty then. */
  readonly canAcknowledge: boolean
  /** Of a removed device only. */
  readonly residualAccess: ResidualAccess | undefined
}

interface DeviceSource {
  readonly contents: ContentSource
  readonly identity: { readonly deviceId: string }
}

/** In the order in which they came, removed ones too. */
export function listDevices(
  source: DeviceSource,
  snapshot: Snapshot,
  history: History,
): readonly Device[] {
  const keyrings = readKeyrings(source.contents, history)
  // Not the snapshot's: another process may have added to that since.
  const newest = keyrings.at(-1)?.directory.devices ?? []
  return newest
    .flatMap((entry) => {
      const added = findEvent(keyrings, entry, () => true)
      return added === undefined ? [] : [{ entry, added }]
    })
    .toSorted((a, b) => a.added.position - b.added.position)
    .map(({ entry, added }) => {
      const removed = findEvent(keyrings, entry, (then) => then.removed !== 0)
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

/** The first keyring in which a device is, and is so. */
function findEvent(
  keyrings: readonly KeyringEvent[],
  { deviceId }: DeviceEntry,
  isSo: (then: DeviceEntry) => boolean,
): KeyringEvent | undefined {
  return keyrings.find(({ directory }) => {
    const then = findDevice(directory, deviceId)
    return then !== undefined && isSo(then)
  })
}

function eventOf({ commit }: Pick<KeyringEvent, 'commit'>): DeviceEvent {
  return { commit: commit.oid, time: commit.time }
}
