// What cards and the page of one writer share: sums of lines, reasons, and the way into the editor.

import { useLocation } from 'preact-iso'
import type { TimelineGroup } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { mayWrite } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Failure } from '../../parts/labels.tsx'
import { drafts, keepDraft } from '../memory/drafts.ts'

interface Sum {
  readonly added: number
  readonly removed: number
}

/** Undefined if the lines of a memory were not counted, or if a text of it was erased. */
export function sumOf(memories: readonly Partial<Sum>[]): Sum | undefined {
  let [added, removed] = [0, 0]
  for (const memory of memories) {
    if (memory.added === undefined || memory.removed === undefined) return undefined
    added += memory.added
    removed += memory.removed
  }
  return { added, removed }
}

export function LineSum({ sum }: { readonly sum: Sum | undefined }) {
  if (sum === undefined) return null
  return (
    <span class="sum">
      <ins>+{sum.added.toLocaleString()}</ins> <del>−{sum.removed.toLocaleString()}</del>
    </span>
  )
}

/** Why something was written, the newest reason first. */
export function ReasonList({ reasons }: { readonly reasons: readonly string[] }) {
  if (reasons.length === 0) return null
  return (
    <p class="reasons">
      {reasons.map((reason) => (
        <q key={reason}>{reason}</q>
      ))}
    </p>
  )
}

interface EditedMemory {
  readonly memoryId: string
  readonly path: string | undefined
  readonly operation?: 'created' | 'modified' | 'deleted'
}

/** Opens the memory with its editor; nothing for a memory that was deleted. */
export function EditMemory({ memory }: { readonly memory: EditedMemory }) {
  const { route } = useLocation()
  const { run, failure } = useAction<void>()
  const { memoryId, operation, path } = memory
  if (!mayWrite.value || operation === 'deleted') return null
  const edit = async (): Promise<void> => {
    const now = await ask('memory.show', { memoryId })
    if (now.state === 'live' && !drafts.peek().has(memoryId)) {
      const { content: text, sha256: expectedSha256 } = now
      keepDraft(memoryId, { text, isChanged: false, base: text, expectedSha256 })
    }
    route(addressOf.memory(memoryId, { at: null }))
  }
  return (
    <>
      <button type="button" aria-label={`Edit ${path ?? memoryId}`} onClick={() => void run(edit)}>
        Edit
      </button>
      <Failure failure={failure} />
    </>
  )
}

/** Undoes the shown changes alone: those that were reviewed before are kept. */
export function undoAddress({ versionId, session, since }: TimelineGroup): string {
  return session === undefined
    ? addressOf.actor(versionId, since)
    : addressOf.session(versionId, since)
}
