// What a removed member can still read in any copy: exactly what the keys open that were ever
// sealed to it (FORMAT §4, §7). An auditor holds A and not C; a device that had another role before
// keeps the C of that time. Reads the keyrings of the history; must not change anything.

import { findDevice } from '../../format/directory.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import { zeroHash } from '../../format/record.ts'
import { findKeyring, readKeyringState } from '../access/authority.ts'
import type { ContentSource } from '../history/contents.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { KeyringState, Snapshot } from '../snapshot/snapshot.ts'

export interface ResidualAccess {
  /** The number of commits whose records can be opened: author, time and ids. */
  readonly commits: number
  /** The number of commits whose contents and paths can be opened too: fewer for an auditor. */
  readonly commitsWithContents: number
  /** The number of live memories that were not written again since. */
  readonly memories: number
}

/** A commit that brought a keyring. */
export interface KeyringEvent extends Pick<KeyringState, 'kid' | 'archived' | 'directory'> {
  readonly commit: CommitEntry
  /** In the order of the history. */
  readonly position: number
}

/** The kids of the epochs whose keys are held. */
export interface HeldKeys {
  /** The epochs whose A is held. */
  readonly records: ReadonlySet<string>
  /** The epochs whose C is held too. */
  readonly contents: ReadonlySet<string>
}

/** Reads all keyrings, in the order of the history. */
export function readKeyrings(source: ContentSource, history: History): readonly KeyringEvent[] {
  const { objects } = source
  const events: KeyringEvent[] = []
  for (const commit of history.commits) {
    if (!bringsKeyring(commit.kind)) continue
    const blob = findKeyring(objects, commit.oid)
    const { position } = commit
    events.push({ ...readKeyringState(source, blob, zeroHash), commit, position })
  }
  return events
}

/** The keys that were ever given to any of these devices. */
export function keysOfDevices(
  deviceIds: readonly string[],
  keyrings: readonly KeyringEvent[],
): HeldKeys {
  const records = new Set<string>()
  const contents = new Set<string>()
  for (const { directory, kid, archived } of keyrings) {
    for (const deviceId of deviceIds) {
      const device = findDevice(directory, deviceId)
      if (device === undefined) continue
      for (const epoch of [...archived, kid]) {
        records.add(epoch)
        if (device.role !== 'auditor') contents.add(epoch)
      }
    }
  }
  return { records, contents }
}

/** The keys of a member, a passphrase or a recovery key of a keyring. */
export function keysOfMember({ archived, kid }: Pick<KeyringState, 'archived' | 'kid'>): HeldKeys {
  const all = new Set([...archived, kid])
  return { records: all, contents: all }
}

/** Counts what these keys open. */
export function readableWith(
  { records, contents }: HeldKeys,
  snapshot: Snapshot,
  history: History,
  keyrings: readonly KeyringEvent[],
): ResidualAccess {
  const versions = [...snapshot.current.live()]
  return {
    commits: countSealedUnder(records, history, keyrings),
    commitsWithContents: countSealedUnder(contents, history, keyrings),
    memories: versions.filter(({ live }) => contents.has(live.kid)).length,
  }
}

/**
 * Counts the commits that are sealed under these epochs. A keyring record is sealed under the epoch
 * before its own, genesis under its own (FORMAT §7.1). The keys of an epoch include those of all
 * before it, so that every descendant of a closed commit is closed.
 */
function countSealedUnder(
  kids: ReadonlySet<string>,
  history: History,
  keyrings: readonly KeyringEvent[],
): number {
  const begins = new Set(keyrings.filter(({ kid }) => !kids.has(kid)).map((one) => one.position))
  const closed = new Set<number>()
  for (const commit of history.commits) {
    const { position, kind } = commit
    const isOwn = begins.has(position) && kind === 'genesis'
    const parents = isOwn ? [] : history.parentsOf(commit)
    if (isOwn || parents.some(({ position: at }) => begins.has(at) || closed.has(at))) {
      closed.add(position)
    }
  }
  return history.commits.length - closed.size
}
