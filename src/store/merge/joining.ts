// Joins two memories at one path: the older memory gets the lines of both, the other is deleted and
// keeps its history. A fixed memory gets no lines: another one at its path that has more is left to
// placement.ts. Must not change paths.

import { sha256OfText } from '../../crypto/digest.ts'
import { mergeContents } from './content-merge.ts'
import { byPrecedence, contentLimit, type Draft, readNothing } from './draft.ts'
import { inOrder, type MergeInput } from './merge-input.ts'

/** Afterwards no two live drafts have the same path, except that of a fixed one. */
export function joinSamePaths(input: MergeInput, drafts: readonly Draft[]): void {
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
