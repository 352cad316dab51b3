// The patch between two points in time: `git apply` turns the files that `export --at` writes for
// one into those that it writes for the other. Pure.

import type { Difference, PointDifference } from '../../store/history/history-diff.ts'
import { judgeFiles, type Verdict } from '../machine/file-rule.ts'
import type { Ink } from '../terminal/ink.ts'
import { patchesText } from '../text/patch-text.ts'

type Side = PointDifference['before']

/** Before the patches, where git ignores text, come lines on what they cannot show faithfully. */
export function pointPatch(
  ink: Ink,
  { changes, halfRedacted }: Pick<Difference, 'changes' | 'halfRedacted'>,
): string {
  const files = [...changes, ...halfRedacted]
  const verdicts = judgeSides(files)
  const lines = [
    ...halfRedacted.map(redactedLine),
    ...Array.from(verdicts, ([path, verdict]) => verdictLine(path, verdict)),
  ]
  const written = (side: Side): Side =>
    side === undefined || verdicts.get(side.path)?.kind === 'unsafe' ? undefined : side
  const patches = patchesText(
    ink,
    files.map(({ before, after }) => ({ before: written(before), after: written(after) })),
  )
  return lines.map((line) => `${ink.plain(`# ${line}`)}\n`).join('') + patches
}

/** What `git apply` must not write, as by an export, though it applies the patch elsewhere. */
function judgeSides(changes: readonly PointDifference[]): ReadonlyMap<string, Verdict> {
  const paths = changes.flatMap(({ before, after }) => [before?.path ?? [], after?.path ?? []])
  return judgeFiles({ directory: '', paths: [...new Set(paths.flat())], existing: [] })
}

function verdictLine(path: string, { kind, reason }: Verdict): string {
  return kind === 'unsafe' ? `${path} is left out: it ${reason}` : `${path} ${reason}`
}

function redactedLine({ memoryId, before, after }: PointDifference): string {
  const at = after === undefined ? 'to' : 'from'
  const seems = after === undefined ? 'deleted' : 'new'
  const path = (after ?? before)?.path ?? ''
  return `${path} appears ${seems}: the content of ${memoryId} at --${at} is redacted`
}
