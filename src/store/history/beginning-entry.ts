// The first entry of a history that begins with the start of a device (FORMAT §8.3): it stands for
// all earlier commits, as if its own had written the versions that are current there. Their authors
// are not known here, so no answer may show its author, reason or time.

import { StoreError } from '../../errors.ts'
import { zeroId } from '../../format/record.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { NewCommit, VersionEntry, VersionRow } from './history-rows.ts'

/** A history, as far as these questions need it. */
interface PartialHistory {
  readonly beginning: Snapshot | undefined
  isBeginning(position: number): boolean
  firstOf(memoryId: string): VersionEntry | undefined
}

export function firstEntryOf({
  head,
  current,
}: Snapshot): readonly [commit: NewCommit, rows: readonly VersionRow[]] {
  const rows = Array.from(current, ([memoryId, { versionId, operation, live }]): VersionRow => {
    const { path, size, sha256 } = live ?? {}
    const bases = { base: zeroId, secondBase: zeroId }
    return { versionId, memoryId, operation, ...bases, path, size, sha256 }
  })
  return [{ ...unknownCommit, oid: head.commit, height: head.height }, rows]
}

const unknownCommit: Omit<NewCommit, 'oid' | 'height'> = {
  kind: 'change',
  time: 0,
  deviceId: zeroId,
  actor: undefined,
  session: undefined,
  reason: undefined,
  redacts: [],
  note: undefined,
}

/** When the first version of a memory was written. */
export function createdOf(history: PartialHistory, memoryId: string): number | undefined {
  const known = history.beginning?.current.get(memoryId)?.created
  return known ?? history.firstOf(memoryId)?.commit.time
}

/** When a version was written. */
export function writtenOf(history: PartialHistory, { memoryId, commit }: VersionEntry): number {
  if (!history.isBeginning(commit.position)) return commit.time
  return history.beginning?.current.get(memoryId)?.live?.updated ?? commit.time
}

/** For a question about earlier commits. */
export function beforeBeginning(cause?: unknown): StoreError {
  return new StoreError(
    'history_needed',
    'This needs changes from before the state that this clone began with',
    { cause },
  )
}
