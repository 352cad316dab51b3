// A revert as text and as JSON: its changes, the memories that it left unchanged with the reason,
// and how to go on.

import type { Revert } from '../../store/revert/restore.ts'
import type { LeftAlone, RevertStep } from '../../store/revert/revert-plan.ts'
import type { Answer, Context } from '../call/command.ts'
import { doubtFacts } from '../terminal/doubt.ts'
import type { Ink } from '../terminal/ink.ts'
import { changeJson, nameOf, patchesText } from './patch-text.ts'
import { type Column, tableText } from './table.ts'
import { operationColours } from './versions-text.ts'
import { wire } from './wire.ts'
import { countText } from './words.ts'

/** The exit code if some memories could not be changed back. */
const LEFT_ALONE = 4

export function revertAnswer(context: Context, ink: Ink, revert: Revert, dryRun: boolean): Answer {
  const { steps, left, commit, versionIds, doubtful } = revert
  const patch = dryRun && steps.length > 0 ? `\n${patchesText(ink, steps)}` : ''
  return {
    text: [
      revertHead(revert, dryRun),
      tableText(context, ink, steps, stepColumns(ink)),
      leftSection(context, ink, left, steps.length > 0),
      patch,
    ].join(''),
    json: {
      dry_run: dryRun,
      changed: commit !== undefined,
      commit: commit ?? null,
      memory_version_ids: versionIds,
      steps: steps.map((step) => changeJson(step, { operation: step.operation })),
      left: left.map(({ memoryId, path, reason }) => wire({ memoryId, path, reason })),
      ...doubtFacts(doubtful),
    },
    inked: true,
    ...(dryRun ? { paged: true } : {}),
    exitCode: left.length === 0 ? 0 : LEFT_ALONE,
  }
}

function revertHead({ steps, left }: Revert, dryRun: boolean): string {
  if (steps.length === 0) return left.length === 0 ? 'Nothing has to change\n' : ''
  return `${dryRun ? 'Would change' : 'Changed'} ${countText(steps.length, 'memory', 'memories')}\n`
}

export function stepColumns(ink: Ink): readonly Column<RevertStep>[] {
  return [
    { head: 'PATH', cell: nameOf, cut: 'beginning', weight: 2 },
    {
      head: 'CHANGE',
      cell: ({ operation }) => operation,
      paint: (shown, { operation }) => ink.paint(operationColours[operation], shown),
    },
  ]
}

/** What could not be changed back, why, and how to go on. */
function leftSection(
  context: Context,
  ink: Ink,
  left: readonly LeftAlone[],
  isSecond: boolean,
): string {
  if (left.length === 0) return ''
  const count = countText(left.length, 'memory', 'memories')
  const steps = Object.entries(nextSteps).flatMap(([reason, step]) => {
    const first = left.find((one) => one.reason === reason)
    return first === undefined ? [] : [`${step(first.path ?? first.memoryId)}\n`]
  })
  return [
    `${isSecond ? '\n' : ''}Left ${count} unchanged\n`,
    tableText(context, ink, left, leftColumns),
    ink.plain(steps.join('')),
  ].join('')
}

export const leftColumns: readonly Column<LeftAlone>[] = [
  { head: 'PATH', cell: ({ memoryId, path }) => path ?? memoryId, cut: 'beginning' },
  { head: 'LEFT BECAUSE', cell: ({ reason }) => leftReasons[reason], cut: 'end', weight: 2 },
]

const leftReasons: Readonly<Record<LeftAlone['reason'], string>> = {
  overlap: 'later edits by others touch the same lines',
  redacted: 'the text that is needed was redacted',
  path_taken: 'another memory is at, above or below its path',
}

/** How to go on, for the first memory of each reason. */
const nextSteps: Readonly<Record<LeftAlone['reason'], (memory: string) => string>> = {
  overlap: (memory) =>
    `Next: \`gitlocket blame ${memory}\` shows who wrote which line; edit the memory, or restore ` +
    'an earlier version of it',
  redacted: (memory) =>
    `Next: \`gitlocket log ${memory}\` shows the versions that are left, which \`restore\` takes`,
  path_taken: () => 'Next: move the memory in the way with `gitlocket mv`, and run this again',
}
