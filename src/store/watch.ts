// `store.watch`: what this and other processes write, and what syncs bring, as it comes. Holds the
// head that was told last and nothing else: a caller who falls far behind is told to read anew.

import { hasCode, StoreError } from '../errors.ts'
import type { Operation } from '../format/change-record.ts'
import { formatId } from '../format/id.ts'
import { writesVersions } from '../format/record-rules.ts'
import { sleep } from '../platform/timers.ts'
import { decodeAt } from './access/post-revocation.ts'
import { findDivergence } from './commits/divergence.ts'
import type { StoreSession } from './session/session.ts'
import type { Head } from './snapshot/snapshot.ts'

/** A new version, or a notice that there are too many: read the store again. */
export type StoreChange =
  | {
      readonly type: 'version'
      readonly operation: Operation
      readonly memoryId: string
      readonly versionId: string
      /** Undefined once redacted, and only then. */
      readonly path: string | undefined
    }
  | { readonly type: 'resync' }

export interface WatchOptions {
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined
  /** How often it is looked for what other processes wrote; 250 ms if left out. */
  readonly intervalMs?: number | undefined
}

/**
 * Commits that are reported one by one; a reader further behind is told to read the store again.
 */
const COMMITS_MAX = 1000
const INTERVAL_MS = 250
const INTERVAL_MS_MAX = 86_400_000

/** From the newest state on; ends when the store is closed, or by the signal. */
export function watchStore(
  session: StoreSession,
  { signal, intervalMs = INTERVAL_MS }: WatchOptions,
): AsyncIterable<StoreChange, void> {
  if (!Number.isInteger(intervalMs) || intervalMs < 1 || intervalMs > INTERVAL_MS_MAX) {
    const right = `an integer from 1 to ${INTERVAL_MS_MAX} ms`
    throw new StoreError('invalid_input', `The interval must be ${right}`)
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new StoreError('invalid_input', 'The signal must be an AbortSignal')
  }
  // At once: a write that is asked for after this call is told.
  const start = session.newestHead
  return {
    [Symbol.asyncIterator]: () => {
      const ending = new AbortController()
      const signals = signal === undefined ? [ending.signal] : [ending.signal, signal]
      const both = AbortSignal.any(signals)
      const told = changesSince(session, start, { signal: both, intervalMs })
      return {
        next: () => told.next(),
        // A generator would first wait for the change that is asked for already.
        return: () => {
          ending.abort()
          return told.return()
        },
      }
    },
  }
}

async function* changesSince(
  session: StoreSession,
  start: Head,
  { signal, intervalMs }: { readonly signal: AbortSignal; readonly intervalMs: number },
): AsyncGenerator<StoreChange, void> {
  try {
    for (let told = start; ;) {
      signal.throwIfAborted()
      const head = await readHead(session)
      if (head.commit === told.commit) {
        await sleep(intervalMs, signal)
        continue
      }
      const versionIds = await findNewVersions(session, told, head, signal)
      if (versionIds === undefined) yield { type: 'resync' }
      else yield* describeAll(session, versionIds, signal)
      told = head
    }
  } catch (error) {
    if (!signal.aborted && !hasCode(error, 'store_closed')) throw error
  }
}

function readHead(session: StoreSession): Promise<Head> {
  return session.reading(({ head }) => head)
}

/** Oldest first; undefined if the history below was made again, or if there are too many. */
async function findNewVersions(
  session: StoreSession,
  told: Head,
  head: Head,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  if (head.height - told.height > COMMITS_MAX) return undefined
  try {
    const { ours, theirs } = await findDivergence(session, told.commit, head.commit, signal)
    if (ours.commits.length > 0 || theirs.commits.length > COMMITS_MAX) return undefined
    return theirs.commits.toReversed().flatMap((oid) => rowsOf(session, oid))
  } catch (error) {
    // The last reported version, or a later one, has been redacted and erased.
    if (hasCode(error, 'object_missing')) return undefined
    throw error
  }
}

function rowsOf(session: StoreSession, oid: string): readonly string[] {
  const { record } = decodeAt(session, oid)
  return writesVersions(record) ? record.rows.map(({ versionId }) => versionId) : []
}

/** Each in its current state: a version redacted since arrives redacted. */
async function* describeAll(
  session: StoreSession,
  versionIds: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<StoreChange, void> {
  for (const id of versionIds) {
    signal.throwIfAborted()
    const entry = (await session.loadHistory()).find(id)
    if (entry === undefined) continue
    yield {
      type: 'version',
      operation: entry.operation,
      memoryId: formatId('memory', entry.memoryId),
      versionId: formatId('version', entry.versionId),
      path: entry.path,
    }
  }
}
