// A strip on the page of a memory whose text a merge of clones has made, until it is reviewed.

import { addressOf } from '../../core/address.ts'
import { pending } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { outcomeOf, Reviewed } from './merges-page.tsx'

export function MergeStrip({ memoryId }: { readonly memoryId: string }) {
  // The newest one: it has the text that is shown.
  const found = pending.value?.merges.find((merge) => merge.memoryId === memoryId)
  const versionId = found?.versionId
  const { data } = useAsk('merges.show', versionId === undefined ? undefined : { versionId })
  if (versionId === undefined || data === undefined) return null
  const names = [...new Set(data.merge.deviceNames.filter((name) => name !== ''))]
  return (
    <div class="banner" role="status">
      <span>
        <b>{names.length > 1 ? names.join(' and ') : 'Two devices'}</b> changed this memory.{' '}
        {outcomeOf(data.merge)}.
      </span>
      <span class="sp" />
      <a class="button" href={addressOf.merge(versionId)}>
        Review the merge
      </a>
      <Reviewed
        versionIds={[versionId]}
        verb="Keep as it is"
        onDone={() => document.getElementById('content')?.focus()}
      />
    </div>
  )
}
