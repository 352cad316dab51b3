// Questions that read many old contents, one after another. Another process may redact meanwhile:
// commits then have other names, and the old ones are erased. Such a question is asked again, of
// the history as it is then. Must not change anything.

import { hasCode } from '../errors.ts'
import type { History } from './history.ts'
import type { ContentSource } from './contents.ts'
import type { VerifyOptions } from './verify.ts'

/** What questions are asked of. */
export interface PastSource {
  loadHistory(options?: VerifyOptions): Promise<History>
  readonly contents: ContentSource
}

/** Throws what `ask` throws, but `object_missing` only if nothing explains it. */
export async function askHistory<T>(
  source: PastSource,
  ask: (history: History) => Promise<T>,
  options: VerifyOptions,
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
