// `conflicts`: lists what merges have combined, and from which versions.

import type { Conflict } from '../../store/history/conflicts.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { withStore } from '../open-store.ts'
import { visible } from '../output.ts'
import { pageJson, type Wire, wire } from '../wire.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 10_000

export function conflicts(context: Context, input: Input): Promise<Answer> {
  const limit = input.integer('limit', 1, LIMIT_MAX) ?? LIMIT_DEFAULT
  return withStore(context, async (store) => {
    const found = await store.history.conflicts({ limit })
    const text = found.map((conflict) => conflictText(conflict)).join('\n')
    const note = found.length === 0 ? 'No merge has had to combine anything' : undefined
    return { text, json: pageJson(found.map(conflictJson)), ...(note !== undefined && { note }) }
  })
}

function conflictText(conflict: Conflict): string {
  const { path, versionId, inputs, time, joined, movedFrom } = conflict
  const when = new Date(time).toISOString()
  const lines = [
    `${visible(path ?? '(redacted)')}  ${when}`,
    `  ${resultText(conflict)}: ${versionId}`,
    ...(joined === undefined ? [] : [`  ${joined} had the same path and is a part of it now`]),
    ...(movedFrom === undefined
      ? []
      : [`  moved aside from ${visible(movedFrom)}: another memory is there, or above or below`]),
    ...inputs.map((input) => `  from ${input}`),
  ]
  return `${lines.join('\n')}\n`
}

function resultText({ combination, kept }: Conflict): string {
  if (combination === 'combined') return 'Both sides are in it'
  if (combination === 'kept') return `The text of ${kept ?? 'one side'} was kept`
  return combination === 'deleted' ? 'Deleted' : 'Redacted since'
}

function conflictJson(conflict: Conflict): Wire {
  const { time, joined, ...fields } = conflict
  const { versionId, memoryId, path, inputs, combination, kept, movedFrom, commit } = fields
  const what = { versionId, memoryId, path, inputs, combination, kept, joinedMemoryId: joined }
  return wire({ type: 'conflict', ...what, movedFrom, commit, createdAt: time })
}
