// Retries queries that read many old contents. Another process may redact in the meantime: commits
// then have new ids and the old objects are erased. Such a query runs again on the new history.
// Must not change anything.

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import { atOnce, TimeSlice } from '../../time-slice.ts'
import type { ContentSource } from './contents.ts'
import type { History } from './history.ts'

/** The history and contents that a query reads. */
export interface PastSource {
  loadHistory(options?: WorkOptions): Promise<History>
  readonly contents: ContentSource
}

/** Throws what `ask` throws; `object_missing` only if no redaction explains it. */
export async function retryAfterRedaction<T>(
  source: PastSource,
  ask: (history: History) => Promise<T>,
  options: WorkOptions,
): Promise<T> {
  for (;;) {
    const history = await source.loadHistory(options)
    const { head } = history
    const oid = head?.oid
    try {
      return await ask(history)
    } catch (error) {
      if (head === undefined || !hasCode(error, 'object_missing')) throw error
      const now = await source.loadHistory(options)
      if (oid === undefined || now.findCommit(oid, head.height) !== undefined) throw error
    }
  }
}

/** After this many tries the query runs in one piece: others may extend the history each time. */
const TRIES = 3

/**
 * Runs a long query in time slices, and again from the start if the history has changed in the
 * meantime, so that the result is of one state. Throws what `ask` throws, or `cancelled`.
 */
export async function askInSlices<T>(
  history: History,
  ask: () => Generator<undefined, T>,
  signal?: AbortSignal,
): Promise<T> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const head = history.head?.oid
    const slice = new TimeSlice(signal)
    const work = ask()
    for (let step = work.next(); ; step = work.next()) {
      if (step.done === true) return step.value
      if (!slice.isOver()) continue
      await slice.next()
      if (history.head?.oid !== head) break
    }
  }
  return atOnce(ask())
}
