// The user's unsaved texts and reasons: in RAM alone. Texts are kept while other views are shown.

import { signal } from '@preact/signals'
import { forgetAtEnd } from '../../core/session.ts'

export interface EditDraft {
  readonly text: string
  /** Whether something was typed. */
  readonly isChanged: boolean
  /** The text that the edit began from, or was merged with last. */
  readonly base: string
  /** Its hash: a memory with another text is not overwritten. */
  readonly expectedSha256: string
}

/** By memory; the one of a new memory by an empty id. */
export const drafts = signal<ReadonlyMap<string, EditDraft>>(new Map())

export function keepDraft(memoryId: string, draft: EditDraft | undefined): void {
  const next = new Map(drafts.peek())
  if (draft === undefined) next.delete(memoryId)
  else next.set(memoryId, draft)
  drafts.value = next
}

forgetAtEnd(() => {
  drafts.value = new Map()
})

// The browser asks before the page and unsaved texts are lost.
addEventListener('beforeunload', (event) => {
  if ([...drafts.peek().values()].some(({ isChanged }) => isChanged)) event.preventDefault()
})

/** The reason of a change, if one was typed. */
export function reasonIn(text: string): { readonly reason?: string } {
  const reason = text.trim()
  return reason === '' ? {} : { reason }
}
