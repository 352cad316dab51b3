// The patch between two points in time: `git apply` makes of what `export --at` writes at the one
// what it writes at the other. Pure.

import type { Difference, PointDifference } from '../store/history/history-diff.ts'
import type { Ink } from './ink.ts'
import { exportProblem } from './memory-files.ts'
import { patchesText } from './patch-text.ts'

type Side = PointDifference['before']

/** In front of the patches, where git takes any text, stands what they do not show as it was. */
export function pointPatch(
  ink: Ink,
  { changes, halfRedacted }: Pick<Difference, 'changes' | 'halfRedacted'>,
): string {
  const files = [...changes, ...halfRedacted]
  const lines = [...halfRedacted.map(redactedLine), ...unsafePaths(files).map(unsafeLine)]
  const patches = patchesText(
    ink,
    files.map(({ before, after }) => ({ before: exported(before), after: exported(after) })),
  )
  return lines.map((line) => `${ink.plain(`# ${line}`)}\n`).join('') + patches
}

function redactedLine({ memoryId, before, after }: PointDifference): string {
  const at = after === undefined ? 'to' : 'from'
  const seems = after === undefined ? 'deleted' : 'new'
  const path = (after ?? before)?.path ?? ''
  return `${path} seems ${seems}: what ${memoryId} was at --${at} is redacted`
}

function unsafePaths(changes: readonly PointDifference[]): readonly string[] {
  const paths = changes.flatMap(({ before, after }) => [before?.path ?? [], after?.path ?? []])
  return [...new Set(paths.flat())].filter((path) => exportProblem(path) !== undefined)
}

function unsafeLine(path: string): string {
  return `${path} is left out: it ${exportProblem(path)}`
}

/** No file is made of some paths. */
function exported(side: Side): Side {
  return side === undefined || exportProblem(side.path) !== undefined ? undefined : side
}
