// The devices of a store, for people: who is one, since when, in which role, and what those who
// were removed can read for ever (FORMAT §7.1, §7.3). Reads the directory and the keyrings of the
// history, changes nothing.

import type { DeviceEntry, Directory, Role } from '../format/directory.ts'
import { findDevice } from '../format/directory.ts'
import { formatId } from '../format/id.ts'
import { openDirectory } from '../keys/keyring.ts'
import { findKeyring } from './authority.ts'
import type { ContentSource } from './contents.ts'
import { getBlob } from './git-reads.ts'
import type { CommitEntry, History } from './history.ts'
import type { Snapshot } from './snapshot.ts'

/** The commit that brought a device, or took its access. */
export interface DeviceEvent {
  /** 40 hex digits. */
  readonly commit: string
  /** ms since 1970, by the clock of who did it. */
  readonly time: number
}

/** What somebody who had the keys can read for ever, in any copy that has it. */
export interface StillReadable {
  /** How many there were until then: an auditor reads their records, others contents and paths. */
  readonly commits: number
  /** Live memories that have not been written again since. */
  readonly memories: number
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
  /** Of a removed device only. */
  readonly stillReadable: StillReadable | undefined
}

interface DeviceSource {
  readonly contents: ContentSource
  readonly identity: { readonly deviceId: string }
}

/** A commit that brought a keyring. */
interface KeyringEvent {
  readonly commit: CommitEntry
  /** In the order of the history. */
  readonly position: number
  readonly kid: string
  readonly directory: Directory
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
      return {
        deviceId: formatId('device', deviceId),
        role,
        added: eventOf(added),
        removed: removed && eventOf(removed),
        lastRecord: state?.time,
        isForked: state?.forked ?? false,
        isThis: deviceId === source.identity.deviceId,
        stillReadable: removed && stillReadableBy(role, snapshot, keyrings, removed),
      }
    })
}

function readKeyrings(source: ContentSource, history: History): readonly KeyringEvent[] {
  const { objects, storeId, epochs } = source
  return history.commits.flatMap((commit, position) => {
    if (commit.kind !== 'genesis' && commit.kind !== 'keyring') return []
    const bytes = getBlob(objects, findKeyring(objects, commit.oid), 'keyring_mismatch')
    return [{ commit, position, ...openDirectory(bytes, storeId, epochs) }]
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

function eventOf({ commit }: KeyringEvent): DeviceEvent {
  return { commit: commit.oid, time: commit.time }
}

function stillReadableBy(
  role: Role,
  snapshot: Snapshot,
  keyrings: readonly KeyringEvent[],
  removed: KeyringEvent,
): StillReadable {
  const commits = removed.position + 1
  if (role === 'auditor') return { commits, memories: 0 }
  const before = keyrings.filter(({ position }) => position < removed.position)
  const kids = new Set(before.map(({ kid }) => kid))
  const versions = [...snapshot.current.values()]
  return { commits, memories: versions.filter(({ live }) => live && kids.has(live.kid)).length }
}
