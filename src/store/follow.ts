// Brings a verified snapshot to a newer head of the same store: by the commits that came since, or,
// where another process or clone redacted, by verifying what was rewritten (FORMAT §8.1, §10).

import { equalBytes } from '../bytes.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { Oid } from '../git/object.ts'
import type { History, HistorySource } from './history.ts'
import type { Snapshot } from './snapshot.ts'
import { verifyDescent, verifyHistory } from './verify.ts'
import { verifyRewritten } from './verify-rewritten.ts'
import type { VerifyOptions } from './verify.ts'

/**
 * Returns the snapshot to go on with: `snapshot`, moved, or another one. Throws `rolled_back` if
 * the head does not hold what was known, or what verification refuses; nothing has moved then.
 */
export async function followHead(
  source: HistorySource,
  snapshot: Snapshot,
  head: Oid,
  history: History,
  fill: () => Promise<unknown>,
): Promise<Snapshot> {
  const filled = await tryToFill(fill)
  if (!filled) return replace(snapshot, (options) => verifyHistory(source, head, options))
  if (await verifyDescent(source, snapshot, head, history)) return snapshot
  return replace(snapshot, (options) => verifyRewritten(source, history, head, options))
}

/** False if the known head is gone: what it led to was redacted and erased. */
async function tryToFill(fill: () => Promise<unknown>): Promise<boolean> {
  try {
    await fill()
    return true
  } catch (error) {
    if (hasCode(error, 'object_missing')) return false
    throw error
  }
}

/** Accepts another history as a whole, if it still holds all that was known. */
async function replace(
  { head: known }: Snapshot,
  verify: (options: VerifyOptions) => Promise<{ readonly snapshot: Snapshot }>,
): Promise<Snapshot> {
  let contained = false
  const { snapshot } = await verify({
    onCommit: ({ record, hash }) => {
      contained ||= record.height === known.height && equalBytes(hash, known.record)
    },
  })
  if (contained) return snapshot
  throw new StoreError('rolled_back', 'The store was put back to a state before the newest known')
}
