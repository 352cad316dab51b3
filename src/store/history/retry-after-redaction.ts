// Questions that read many old contents, one after another. Another process may redact meanwhile:
// commits then have other names, and the old ones are erased. Such a question is asked again, of
// the history as it is then. Must not change anything.

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import { atOnce, TimeSlice } from '../../time-slice.ts'
import type { ContentSource } from './contents.ts'
import type { History } from './history.ts'

/** What questions are asked of. */
export interface PastSource {
  loadHistory(options?: WorkOptions): Promise<History>
  readonly contents: ContentSource
}

/** Throws what `ask` throws, but `object_missing` only if nothing explains it. */
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

/** After so many tries it is asked at once: others may ask, and so fill it, all the time. */
const TRIES = 3

/**
 * Asks what goes through much of the history in slices, and from the start again if it has changed
 * meanwhile: the answer is of one state. Throws what `ask` throws, or `cancelled`.
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
