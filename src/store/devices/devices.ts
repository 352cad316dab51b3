// Lists the devices of a store for users: role, time added and removed, unacknowledged redactions,
// and the residual access of removed ones (FORMAT §7.1, §7.3); counts the secrets that open a store
// without a device. Must not change anything.

import { equalBytes } from '../../bytes.ts'
import {
  type AdmittedBy,
  type DeviceEntry,
  findRemoved,
  type Role,
  type RecoveryEntry,
} from '../../format/directory.ts'
import type { Seeded } from '../../format/envelope.ts'
import { formatId } from '../../format/id.ts'
import { operatorSigningKeys } from '../../keys/recovery.ts'
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
  /** FORMAT §1.5: for people, may be empty; identifies nothing. */
  readonly name: string
  readonly admittedBy: AdmittedBy
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

/** All devices, including removed ones, in the order in which they were added. */
export function listDevices(
  source: { readonly contents: ContentSource; readonly identity: { readonly deviceId: string } },
  snapshot: Snapshot,
  history: History,
): readonly Device[] {
  const keyrings = readKeyrings(source.contents, history)
  // Not from the snapshot, which may be newer than the history.
  return everyDevice(keyrings)
    .toSorted((a, b) => a.added.position - b.added.position)
    .map(({ entry, added }) => {
      const { deviceId, role, name, admittedBy } = entry
      const removed = findRemoval(keyrings, deviceId)
      const state = snapshot.devices.get(deviceId)
      const isThis = deviceId === source.identity.deviceId
      const isPending = removed === undefined && !isThis
      const unacknowledged = isPending ? findUnacknowledged(history, deviceId, added.commit) : []
      return {
        deviceId: formatId('device', deviceId),
        name,
        admittedBy,
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

/** The keyring that removed a device. */
function findRemoval(
  keyrings: readonly KeyringEvent[],
  deviceId: string,
): KeyringEvent | undefined {
  return keyrings.find(({ directory }) => findRemoved(directory, deviceId))
}

/** The name of each device that was ever added, `dev_…`; of a removed one the last. */
export function namesEver(source: ContentSource, history: History): ReadonlyMap<string, string> {
  return namesIn(everyDevice(readKeyrings(source, history)).map(({ entry }) => entry))
}

/** The names of active devices, `dev_…`. */
export function namesIn(devices: readonly DeviceEntry[]): ReadonlyMap<string, string> {
  return new Map(devices.map(({ deviceId, name }) => [formatId('device', deviceId), name]))
}

/** The newest entry of each device that was ever added, and the keyring that added it. */
function everyDevice(
  keyrings: readonly KeyringEvent[],
): readonly { readonly entry: DeviceEntry; readonly added: KeyringEvent }[] {
  const found = new Map<string, { readonly entry: DeviceEntry; readonly added: KeyringEvent }>()
  for (const keyring of keyrings) {
    for (const entry of keyring.directory.devices) {
      const { added = keyring } = found.get(entry.deviceId) ?? {}
      found.set(entry.deviceId, { entry, added })
    }
  }
  return [...found.values()]
}

function eventOf({ commit }: Pick<KeyringEvent, 'commit'>): DeviceEvent {
  return { commit: commit.oid, time: commit.time }
}

/** The number of passphrases and recovery keys. */
export interface Secrets {
  readonly passphrases: number
  readonly recoveryKeys: number
}

export function countSecrets({ keyring }: Pick<Snapshot, 'keyring'>): Secrets {
  const count = (type: RecoveryEntry['type']): number => {
    return keyring.directory.recovery.filter((entry) => entry.type === type).length
  }
  return { passphrases: count('passphrase'), recoveryKeys: count('recovery') }
}

/** Whether there are recovery keys, and all of them follow from an operator secret. */
export function isRecoveredBy(
  store: Seeded,
  { keyring }: Pick<Snapshot, 'keyring'>,
  operatorSecret: Uint8Array,
): boolean {
  const entries = keyring.directory.recovery.filter(({ type }) => type === 'recovery')
  const own = operatorSigningKeys(store, operatorSecret)
  const follows = ({ signingKey }: RecoveryEntry): boolean => {
    return own.some((key) => equalBytes(key, signingKey))
  }
  return entries.length > 0 && entries.every(follows)
}
