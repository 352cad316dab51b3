// The patch between two points in time: `git apply` turns the files that `export --at` writes for
// one into those that it writes for the other. Pure.

import type { Difference, PointDifference } from '../store/history/history-diff.ts'
import type { Ink } from './ink.ts'
import { exportProblem } from './memory-files.ts'
import { patchesText } from './patch-text.ts'

type Side = PointDifference['before']

/** Before the patches, where git ignores text, come lines on what they cannot show faithfully. */
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
  return `${path} appears ${seems}: the content of ${memoryId} at --${at} is redacted`
}

function unsafePaths(changes: readonly PointDifference[]): readonly string[] {
  const paths = changes.flatMap(({ before, after }) => [before?.path ?? [], after?.path ?? []])
  return [...new Set(paths.flat())].filter((path) => exportProblem(path) !== undefined)
}

function unsafeLine(path: string): string {
  return `${path} is left out: it ${exportProblem(path)}`
}

/** Undefined also for a path that no file can have. */
function exported(side: Side): Side {
  return side === undefined || exportProblem(side.path) !== undefined ? undefined : side
}
