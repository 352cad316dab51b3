// Restores one memory to one of its versions, to its state at a commit, or, if it was deleted, to
// the state that it had last.

import type { JSX } from 'preact'
import { useLocation } from 'preact-iso'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { useAsk } from '../../core/use-ask.ts'
import { RevertView } from './revert-view.tsx'

export function RestorePage({ memoryId }: { readonly memoryId: string }): JSX.Element {
  const { versionId, commit } = useLocation().query
  const { data } = useAsk('memory.show', { memoryId })
  const input = { memoryId, versionId, commit }
  return (
    <>
      <div class="crumbs">
        <h1>Restore a memory</h1>
        <div class="acts">
          <a class="button" href={addressOf.memory(memoryId)}>
            Back to the memory
          </a>
        </div>
      </div>
      <p class="meta">
        <b>{data?.path ?? memoryId}</b> gets the text and the path that it had then, in a new
        version. No other memory is changed, and what it is now stays in its history.
      </p>
      <RevertView
        questions={{
          key: JSON.stringify(input),
          plan: (options) => ask('restore.plan', input, options),
          run: (confirmed, options) => ask('restore.run', { ...input, ...confirmed }, options),
        }}
        verb="Restore"
        nothing="There is nothing to restore: the memory is as it was then."
      />
    </>
  )
}
