// Plans the merge of two clones: the rows of the merge commit (FORMAT §6.4) and the outcomes that a
// user should know. Pure; must not write conflict markers or wait for a user. The plan is the same
// on every machine, whichever side it calls ours, except where one side has to give way.

import { utf8 } from '../../bytes.ts'
import { sha256OfText } from '../../crypto/digest.ts'
import { checkRowCount } from '../changes/change-refusals.ts'
import type { MergeRow } from '../commits/new-rows.ts'
import { mergeContents } from './content-merge.ts'
import {
  byPrecedence,
  contentLimit,
  type Draft,
  readNothing,
  openDraft,
  type OutcomeKind,
  settledDraft,
} from './draft.ts'
import { inOrder, type MergeInput } from './merge-input.ts'
import { placeApart } from './placement.ts'

/** One decision; a memory can have several. Ids are hex digits. */
export interface MergeOutcome {
  readonly kind: OutcomeKind
  readonly memoryId: string
  /** Where the memory is after the merge. */
  readonly path: string
  /** The versions that were merged, older first; for joined memories, those of both. */
  readonly inputs: readonly string[]
}

export interface PlannedMerge {
  /** Rows of every open memory and of others that changed, ascending by memory id. */
  readonly rows: readonly MergeRow[]
  /** Ascending by path. */
  readonly outcomes: readonly MergeOutcome[]
}

/**
 * The cost grows with what diverged. The result may exceed the store's limit of memories. Throws
 * `change_too_large` if the merge needs more rows than one commit can hold.
 */
export function planMerge(input: MergeInput): PlannedMerge {
  const { rows: limit } = input.limits
  checkRowCount(input.open.length, limit)
  const drafts = [
    ...input.open.map((memory) => openDraft(input, memory)),
    ...input.changed.map((memory) => settledDraft(input, memory)),
  ].toSorted((a, b) => compare(a.memoryId, b.memoryId))
  joinSamePaths(input, drafts)
  placeApart(input, drafts)
  const rows = drafts.flatMap((draft) => rowsOf(draft))
  checkRowCount(rows.length, limit)
  return { rows, outcomes: outcomesOf(drafts) }
}

function rowsOf(draft: Draft): readonly MergeRow[] {
  const { memoryId, base, secondBase, path, created } = draft
  if (isUnchanged(draft)) return []
  const row = { memoryId, base, secondBase, path, created }
  if (!draft.isLive) {
    return [{ ...row, operation: 'deleted', content: undefined, size: 0, sha256: '' }]
  }
  const content = draft.read()
  const { length: size } = utf8(content)
  return [{ ...row, operation: 'modified', content, size, sha256: sha256OfText(content) }]
}

/** Whether a draft needs no row, as only a settled memory can. */
function isUnchanged({ settled, isLive, path, outcomes, read }: Draft): boolean {
  if (!isLive || settled?.path !== path) return false
  return outcomes.length === 0 || settled.sha256 === sha256OfText(read())
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

/** Afterwards no two live drafts have the same path, except that of a fixed one. */
function joinSamePaths(input: MergeInput, drafts: readonly Draft[]): void {
  const byPath = new Map<string, Draft>()
  for (const draft of drafts.filter(({ isLive }) => isLive).toSorted(byPrecedence)) {
    const older = byPath.get(draft.path)
    if (older === undefined) byPath.set(draft.path, draft)
    else join(input, older, draft)
  }
}

function join(input: MergeInput, into: Draft, other: Draft): void {
  const [first, second] = [
    { versionId: into.newest.versionId, draft: into },
    { versionId: other.newest.versionId, draft: other },
  ]
  const [older, newer] = inOrder(first, second, input.isLater)
  // No common base: neither side can have deleted lines of the other.
  const sides = { base: '', older: older.draft.read(), newer: newer.draft.read() }
  const { content, how } = mergeContents(sides, contentLimit(input))
  if (into.isFixed && into.settled?.sha256 !== sha256OfText(content)) return
  into.read = () => content
  into.inputs = [...older.draft.inputs, ...newer.draft.inputs]
  into.outcomes.push('joined')
  if (how === 'newer_kept') into.outcomes.push(how)
  other.isLive = false
  other.read = readNothing
  other.outcomes.length = 0
}
