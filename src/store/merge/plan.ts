// Plans what a merge of two clones makes of their memories: the rows of the merge commit (FORMAT
// §6.4) and what a person should know of it. Pure, never blocks, never writes markers; the same on
// every machine whichever side it calls ours, but for the random version ids.

import { utf8 } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import { newId } from '../../format/id.ts'
import { checkRowCount } from '../changes/change-refusals.ts'
import { digestOf } from '../changes/changes.ts'
import type { MergeRow } from '../commits/new-rows.ts'
import { type Draft, openDraft, type OutcomeKind, settledDraft } from './draft.ts'
import { joinSamePaths } from './joining.ts'
import type { MergeInput } from './merge-input.ts'
import { placeApart } from './placement.ts'

/** One decision; a memory can have several. Ids are hex digits. */
export interface MergeOutcome {
  readonly kind: OutcomeKind
  readonly memoryId: string
  /** Where the memory is after the merge. */
  readonly path: string
  /** Versions that it was made of, older first; of a joined one, those of both memories. */
  readonly inputs: readonly string[]
}

export interface PlannedMerge {
  /** Ascending by memory id: of every open memory, and of others that had to become different. */
  readonly rows: readonly MergeRow[]
  /** By path. */
  readonly outcomes: readonly MergeOutcome[]
}

/**
 * Costs what diverged. May exceed the number of memories that the store's settings allow. Throws
 * `change_too_large` if more memories are open than one commit can hold rows of.
 */
export function planMerge(input: MergeInput): PlannedMerge {
  checkRowCount(input.open.length)
  const drafts = [
    ...input.open.map((memory) => openDraft(input, memory)),
    ...input.changed.map((memory) => settledDraft(input, memory)),
  ].toSorted((a, b) => compare(a.memoryId, b.memoryId))
  joinSamePaths(input, drafts)
  placeApart(input, drafts)
  const rows = drafts.flatMap((draft) => rowsOf(input.random, draft))
  checkRowCount(rows.length)
  return { rows, outcomes: outcomesOf(drafts) }
}

function rowsOf(random: Random, draft: Draft): readonly MergeRow[] {
  const { memoryId, base, secondBase, path, created } = draft
  if (isUnchanged(draft)) return []
  const row = { memoryId, versionId: newId(random), base, secondBase, path, created }
  if (!draft.isLive) {
    return [{ ...row, operation: 'deleted', content: undefined, size: 0, sha256: '' }]
  }
  const content = draft.read()
  const { length: size } = utf8(content)
  return [{ ...row, operation: 'modified', content, size, sha256: digestOf(content) }]
}

/** Only a settled memory can do without a row. */
function isUnchanged({ settled, isLive, path, outcomes, read }: Draft): boolean {
  if (!isLive || settled?.path !== path) return false
  return outcomes.length === 0 || settled.sha256 === digestOf(read())
}

function outcomesOf(drafts: readonly Draft[]): readonly MergeOutcome[] {
  return drafts
    .flatMap(({ memoryId, path, inputs, outcomes }) => {
      return outcomes.map((kind) => ({ kind, memoryId, path, inputs }))
    })
    .toSorted((a, b) => compare(a.path, b.path))
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
