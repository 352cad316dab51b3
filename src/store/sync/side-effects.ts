// Finds the effects of a sync that no merge of memories shows: replaced settings, and changes in
// other clones that started from a redacted version and may repeat it (FORMAT §0, §6.4).

import { compareBytes } from '../../bytes.ts'
import { zeroId } from '../../format/record.ts'
import { findRecord } from '../history/find-record.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { includesRecord } from './remote-head.ts'
import type { RemoteHead } from './remote-history.ts'
import type { SettingsOutcome } from './report.ts'

/** Compares the settings of both heads before they are reconciled. */
export function compareSettings(
  source: HistorySource,
  history: History,
  { settings: ours }: Pick<Snapshot, 'settings'>,
  theirs: RemoteHead,
): SettingsOutcome | undefined {
  const { settings: other } = theirs.snapshot
  if (findRecord(source, history, other) !== undefined) return undefined
  if (includesRecord(source, history, theirs, ours)) return 'replaced'
  const order = ours.height - other.height || compareBytes(ours.record, other.record)
  return order > 0 ? 'kept' : 'replaced'
}

/**
 * Whether one side wrote versions without knowing that the other one has redacted their base: they
 * may repeat its text (`built-on.ts`).
 */
export function builtOnRedacted(
  history: History,
  { redacted }: Pick<Snapshot, 'redacted'>,
  theirs: RemoteHead,
): boolean {
  const isNew = (versionId: string): boolean => history.find(versionId) === undefined
  if (theirs.versions.haveNewOn(redacted, isNew)) return true
  const redactedByThem = new Set([...theirs.snapshot.redacted].filter((id) => !redacted.has(id)))
  if (redactedByThem.size === 0) return false
  const common = theirs.base?.height ?? -1
  for (const entry of history.versions.reversed()) {
    if (entry.commit.height <= common) break
    const isUnknown = !theirs.versions.has(entry.versionId)
    const bases = [entry.base, entry.secondBase].filter((id) => id !== zeroId)
    if (isUnknown && bases.some((id) => redactedByThem.has(id))) return true
  }
  return false
}
