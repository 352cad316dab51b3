// The devices of a store, for people: who is one, since when, in which role, and what those who
// were removed can read for ever (FORMAT §7.1, §7.3). Reads the directory and the keyrings of the
// history, changes nothing.

import type { DeviceEntry, Role } from '../format/directory.ts'
import { findDevice } from '../format/directory.ts'
import { formatId } from '../format/id.ts'
import { zeroHash } from '../format/record.ts'
import { canShowAdoption, findUnadopted } from './adoption.ts'
import { findKeyring, readKeyringState } from './authority.ts'
import type { ContentSource } from './contents.ts'
import type { CommitEntry, History } from './history.ts'
import type { KeyringState, Snapshot } from './snapshot.ts'

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
  /** Redactions that an active device has not shown to have taken over, oldest first. */
  readonly unadopted: readonly DeviceEvent[]
  /** False for one that may write nothing: `unadopted` cannot become empty then. */
  readonly canShowAdoption: boolean
  /** Of a removed device only. */
  readonly stillReadable: StillReadable | undefined
}

interface DeviceSource {
  readonly contents: ContentSource
  readonly identity: { readonly deviceId: string }
}

/** A commit that brought a keyring. */
interface KeyringEvent extends Pick<KeyringState, 'kid' | 'archived' | 'directory'> {
  readonly commit: CommitEntry
  /** In the order of the history. */
  readonly position: number
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
      const isAwaited = removed === undefined && !isThis
      const unadopted = isAwaited ? findUnadopted(history, deviceId, added.commit) : []
      return {
        deviceId: formatId('device', deviceId),
        role,
        added: eventOf(added),
        removed: removed && eventOf(removed),
        lastRecord: state?.time,
        isForked: state?.forked ?? false,
        isThis,
        unadopted: unadopted.map((commit) => eventOf({ commit })),
        canShowAdoption: removed === undefined && canShowAdoption(role, state?.forked ?? false),
        stillReadable: removed && stillReadableBy(entry, snapshot, history, keyrings),
      }
    })
}

function readKeyrings(source: ContentSource, history: History): readonly KeyringEvent[] {
  const { objects } = source
  return history.commits.flatMap((commit, position) => {
    if (commit.kind !== 'genesis' && commit.kind !== 'keyring') return []
    const blob = findKeyring(objects, commit.oid)
    return [{ ...readKeyringState(source, blob, zeroHash), commit, position }]
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

function stillReadableBy(
  { deviceId, role }: DeviceEntry,
  snapshot: Snapshot,
  history: History,
  keyrings: readonly KeyringEvent[],
): StillReadable {
  const kids = new Set<string>()
  const without = new Set<number>()
  for (const { kid, archived, directory, position } of keyrings) {
    const then = findDevice(directory, deviceId)
    if (then?.removed === 0) for (const one of [...archived, kid]) kids.add(one)
    else if (then !== undefined) without.add(position)
  }
  const commits = countOutside(history, without)
  if (role === 'auditor') return { commits, memories: 0 }
  const versions = [...snapshot.current.values()]
  return { commits, memories: versions.filter(({ live }) => live && kids.has(live.kid)).length }
}

/** How many commits do not descend from some; those that remove a device it reads, too. */
function countOutside(history: History, positions: ReadonlySet<number>): number {
  const after = new Set<number>()
  for (const commit of history.commits) {
    const parents = history.parentsOf(commit)
    if (parents.some(({ position: at }) => positions.has(at) || after.has(at))) {
      after.add(commit.position)
    }
  }
  return history.commits.length - after.size
}
