// What somebody who lost the keys can read for ever, in any copy that has it: exactly what the keys
// open that were ever sealed to them (FORMAT §4, §7). An auditor holds A and not C; whoever was
// more than that at any time keeps the C of then. Reads keyrings of the history, changes nothing.

import { findDevice } from '../../format/directory.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import { zeroHash } from '../../format/record.ts'
import { findKeyring, readKeyringState } from '../access/authority.ts'
import type { ContentSource } from '../history/contents.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { KeyringState, Snapshot } from '../snapshot/snapshot.ts'

export interface ResidualAccess {
  /** Whose records it opens: who did what when. */
  readonly commits: number
  /** Whose contents and paths it opens, too: fewer where it was an auditor. */
  readonly commitsWithContents: number
  /** Live memories that have not been written again since. */
  readonly memories: number
}

/** A commit that brought a keyring. */
export interface KeyringEvent extends Pick<KeyringState, 'kid' | 'archived' | 'directory'> {
  readonly commit: CommitEntry
  /** In the order of the history. */
  readonly position: number
}

/** Epochs by kid. */
export interface HeldKeys {
  /** Those whose A was held. */
  readonly records: ReadonlySet<string>
  /** Those whose C was held, too. */
  readonly contents: ReadonlySet<string>
}

/** In the order of the history. */
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

/** What some devices together were ever given. */
export function keysOfDevices(
  deviceIds: readonly string[],
  keyrings: readonly KeyringEvent[],
): HeldKeys {
  const records = new Set<string>()
  const contents = new Set<string>()
  for (const { directory, kid, archived } of keyrings) {
    for (const deviceId of deviceIds) {
      const then = findDevice(directory, deviceId)
      if (then?.removed !== 0) continue
      for (const each of [...archived, kid]) {
        records.add(each)
        if (then.role !== 'auditor') contents.add(each)
      }
    }
  }
  return { records, contents }
}

/** What a member, a passphrase or a recovery key of a keyring has. */
export function keysOfMember({ archived, kid }: Pick<KeyringState, 'archived' | 'kid'>): HeldKeys {
  const all = new Set([...archived, kid])
  return { records: all, contents: all }
}

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
 * How many commits are sealed under some epochs. A keyring record is sealed under the epoch before
 * its own, genesis and what joins two under its own (FORMAT §7.1, §7.2). Who has the keys of an
 * epoch has those of all before it: what descends from a closed one is closed.
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
    const isOwn = begins.has(position) && (kind === 'genesis' || history.isMerge(commit))
    const parents = isOwn ? [] : history.parentsOf(commit)
    if (isOwn || parents.some(({ position: at }) => begins.has(at) || closed.has(at))) {
      closed.add(position)
    }
  }
  return history.commits.length - closed.size
}
