// The answer of a command that changed memories, and lines of one as the memory tool shows them.

import { renderSnippet } from '../../memory-tool/render.ts'
import type { NumberedLines } from '../../operations/actions.ts'
import type { Applied } from '../../store/changes/apply.ts'
import type { Answer } from '../call/command.ts'

export function changedAnswer(done: string, path: string, applied: Applied): Answer {
  const { commit, versionIds } = applied
  const text = commit === undefined ? 'Nothing changed' : done
  const json = { path, changed: commit !== undefined, commit: commit ?? null }
  return { text: `${text}\n`, json: { ...json, memory_version_ids: versionIds } }
}

/** The answer of a command after which nothing had to change. */
export function unchangedAnswer(path: string): Answer {
  return changedAnswer('', path, { commit: undefined, versionIds: [] })
}

export function numbered(lines: NumberedLines): string {
  return lines.lines.length === 0 ? '' : `${renderSnippet(lines)}\n`
}
