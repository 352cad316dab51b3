// Brings a verified snapshot to a newer head of the same store: by the new commits, or, if another
// process or clone redacted or merged, by verifying the part that differs (FORMAT §8.1, §10).

import { equalBytes } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import { areLostCommitsLate } from '../access/post-revocation.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { RecordAt } from '../local/remote-state-file.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import { verifyRewritten } from '../verify/verify-rewritten.ts'
import { verifyDescent, verifyHistory, type VerifyOptions } from '../verify/verify.ts'

/** What this device knows of the previous head. */
interface Known {
  /** Reads the history up to that head. */
  readonly fill: () => Promise<History>
  /** The head for which another process of this device dropped a late record (FORMAT §7.4). */
  readonly findLeftFor: (record: Uint8Array) => RecordAt | undefined
}

/**
 * Returns the snapshot at `head`, and whether the history below the known head was rewritten.
 * Throws `rolled_back` if the head does not contain the known head, or what verification throws.
 */
export async function followHead(
  source: HistorySource,
  snapshot: Snapshot,
  head: Oid,
  { fill, findLeftFor }: Known,
): Promise<{ readonly snapshot: Snapshot; readonly isRewritten: boolean }> {
  const descended = await verifyDescent(source, snapshot, head)
  if (descended !== undefined) return { snapshot: descended, isRewritten: false }
  const filled = await tryToFill(fill)
  const known = { head: snapshot.head, leftFor: findLeftFor(snapshot.head.record) }
  const replaced = await replace(source, known, filled, (options) => {
    if (filled === undefined) return verifyHistory(source, head, options)
    return verifyRewritten(source, filled, head, options)
  })
  return { snapshot: replaced, isRewritten: true }
}

/** Undefined if a redaction has erased the known head. */
async function tryToFill(fill: () => Promise<History>): Promise<History | undefined> {
  try {
    return await fill()
  } catch (error) {
    if (hasCode(error, 'object_missing')) return undefined
    throw error
  }
}

/**
 * Accepts a new history as a whole if it contains the known head, unless that is late. Up to the
 * position `base` the known history is unchanged.
 */
async function replace(
  source: HistorySource,
  { head: known, leftFor }: { readonly head: Head; readonly leftFor: RecordAt | undefined },
  history: History | undefined,
  verify: (
    options: VerifyOptions,
  ) => Promise<{ readonly snapshot: Snapshot; readonly base?: number }>,
): Promise<Snapshot> {
  // If a redaction has erased a dropped record, the head that it was dropped for proves it late.
  const expected = leftFor === undefined ? [known] : [known, leftFor]
  let contained = false
  const { snapshot, base = -1 } = await verify({
    onCommit: ({ record, hash }) => {
      const isIt = (one: RecordAt): boolean => {
        return one.height === record.height && equalBytes(one.record, hash)
      }
      contained ||= expected.some(isIt)
    },
  })
  // All up to the base is in the past of both heads: only later commits were rewritten.
  const position = history?.findCommit(known.commit, known.height)?.position
  if (contained || (position !== undefined && position <= base)) return snapshot
  // Another process may have dropped the rest as late, in a sync (FORMAT §7.4).
  if (await areLostCommitsLate(source, known.commit, snapshot.head.commit)) return snapshot
  throw new StoreError(
    'rolled_back',
    'The store was rolled back to a state before the newest known one',
  )
}
