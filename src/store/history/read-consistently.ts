// Questions about the past while others write. A new commit on top changes no answer; a redaction
// or a merge gives commits other ids or positions, and old objects are erased. The question is then
// asked again of the new history. Must not change anything.

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import { checkNotCancelled, TimeSlice } from '../../time-slice.ts'
import type { ContentSource } from './contents.ts'
import type { History } from './history.ts'

/** The history and contents that a question reads. */
export interface PastSource {
  loadHistory(options?: WorkOptions): Promise<History>
  readonly contents: ContentSource
}

/**
 * Asks in time slices, if the question is a generator. Throws what it throws, or `cancelled`;
 * `object_missing` only if no redaction explains it.
 */
export async function readConsistently<T>(
  source: PastSource,
  ask: (history: History) => Generator<undefined, T> | Promise<T>,
  options: WorkOptions = {},
): Promise<T> {
  for (;;) {
    checkNotCancelled(options.signal)
    const history = await source.loadHistory(options)
    const { oid, height = 0, position = -1 } = history.head ?? {}
    const isCurrent = (): boolean => history.commits.at(position)?.oid === oid
    try {
      const found = ask(history)
      const answer = 'next' in found ? await stepThrough(found, isCurrent, options) : [await found]
      if (answer !== undefined) return answer[0]
    } catch (error) {
      if (oid === undefined || !hasCode(error, 'object_missing')) throw error
      const now = await source.loadHistory(options)
      if (now.findCommit(oid, height) !== undefined) throw error
    }
  }
}

/** Undefined if the history was rewritten between two slices. */
async function stepThrough<T>(
  work: Generator<undefined, T>,
  isCurrent: () => boolean,
  { signal }: WorkOptions,
): Promise<readonly [T] | undefined> {
  const slice = new TimeSlice(signal)
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return [step.value]
    if (!slice.isOver()) continue
    await slice.next()
    if (!isCurrent()) return undefined
  }
}
