// Brings a verified snapshot to a newer head of the same store: by the commits that came since, or,
// where another process or clone redacted or merged, by verifying what differs (FORMAT §8.1, §10).

import { equalBytes } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import { areLostCommitsLate } from '../access/post-revocation.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { VersionsBelow } from '../local/version-ids.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import { verifyRewritten } from '../verify/verify-rewritten.ts'
import { verifyDescent, verifyHistory, type VerifyOptions } from '../verify/verify.ts'

type RecordAt = Pick<Head, 'height' | 'record'>

/** What is known of the head of before, and what of this device's own decides. */
interface Known {
  /** Reads the history up to that head. */
  readonly fill: () => Promise<History>
  readonly below: VersionsBelow
  /** The head that another process of it has left a record for, as late (FORMAT §7.4). */
  readonly findLeftFor: (record: Uint8Array) => RecordAt | undefined
}

/**
 * Returns the snapshot to go on with: `snapshot`,
 * moved, or another one. Throws `rolled_back` if the head does not hold what was known, or what
 * verification refuses; nothing has moved then.
 */
export async function followHead(
  source: HistorySource,
  snapshot: Snapshot,
  head: Oid,
  { fill, below, findLeftFor }: Known,
): Promise<Snapshot> {
  if (await verifyDescent(source, snapshot, head, below)) return snapshot
  const filled = await tryToFill(fill)
  const known = { head: snapshot.head, leftFor: findLeftFor(snapshot.head.record) }
  return replace(source, known, filled, (options) => {
    if (filled === undefined) return verifyHistory(source, head, options)
    return verifyRewritten(source, filled, head, options)
  })
}

/** Undefined if the known head is gone: what it led to was redacted and erased. */
async function tryToFill(fill: () => Promise<History>): Promise<History | undefined> {
  try {
    return await fill()
  } catch (error) {
    if (hasCode(error, 'object_missing')) return undefined
    throw error
  }
}

interface Verified {
  readonly snapshot: Snapshot
  /** Up to this position nothing differs from what was known. */
  readonly base?: number
}

interface LastHead {
  readonly head: Head
  readonly leftFor: RecordAt | undefined
}

/** Accepts another history as a whole, if it holds all that was known, but for what is late. */
async function replace(
  source: HistorySource,
  { head: known, leftFor }: LastHead,
  history: History | undefined,
  verify: (options: VerifyOptions) => Promise<Verified>,
): Promise<Snapshot> {
  // Where a redaction has erased what was left, what it was left for says that this was right.
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
  // What stands up to the base is in the past of both heads: only later commits were made again.
  const position = history?.findCommit(known.commit, known.height)?.position
  if (contained || (position !== undefined && position <= base)) return snapshot
  // Another process was right to leave the rest, in a sync (FORMAT §7.4).
  if (await areLostCommitsLate(source, known.commit, snapshot.head.commit)) return snapshot
  throw new StoreError('rolled_back', 'The store was put back to a state before the newest known')
}
