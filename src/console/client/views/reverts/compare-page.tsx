// What differs between a moment of the past and now, memory by memory.

import type { MomentChange } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { mayWrite } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { ChangeTree } from '../../parts/change-tree.tsx'
import { DiffTable } from '../../parts/diff-table.tsx'
import { Failure, Heading } from '../../parts/labels.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'

export function ComparePage({ commit }: { readonly commit: string }) {
  const found = useAsk('moment.find', { commit })
  const { data, failure } = useAsk('moment.compare', { from: commit })
  const time = found.data === undefined ? 'then' : absoluteTime(found.data.time)
  return (
    <>
      <Heading title="Compared with now">
        <a class="button" href={addressOf.view('memories', { at: commit })}>
          Show that moment
        </a>
        {mayWrite.value && (
          <a class="button" href={addressOf.rollback(commit)}>
            Roll everything back to here…
          </a>
        )}
      </Heading>
      <p class="meta" role="status">
        From <b>{time}</b> to now.{' '}
        {data !== undefined && `${countOf(data.changes.length, 'memory')} differ.`}
        {data !== undefined &&
          data.redacted > 0 &&
          ` ${countOf(data.redacted, 'memory')} cannot be compared: a text is redacted.`}
        {data === undefined && failure === undefined && 'Comparing…'}
      </p>
      <Failure failure={failure} />
      {data !== undefined && data.changes.length > 0 && (
        <ChangeTree label="What differs" changes={data.changes.map(asTreeChange)}>
          {({ memoryId }) => <MomentDiff memoryId={memoryId} commit={commit} />}
        </ChangeTree>
      )}
    </>
  )
}

function asTreeChange({ memoryId, before, after, textDiffers }: MomentChange) {
  if (before === undefined) return { memoryId, path: after, operation: 'created' } as const
  if (after === undefined) return { memoryId, path: before, operation: 'deleted' } as const
  const isMoved = before !== after
  return {
    memoryId,
    path: after,
    movedFrom: isMoved ? before : undefined,
    operation: 'modified',
    note: isMoved && !textDiffers ? 'same text' : undefined,
  } as const
}

function MomentDiff({ memoryId, commit }: { readonly memoryId: string; readonly commit: string }) {
  const then = useAsk('memory.show', { memoryId, at: commit })
  const now = useAsk('memory.show', { memoryId })
  const failure = then.failure ?? now.failure
  if (failure !== undefined) return <Failure failure={failure} />
  if (then.data === undefined || now.data === undefined) return <p class="dim">Reading…</p>
  return (
    <>
      {mayWrite.value && then.data.state === 'live' && (
        <p>
          <a class="button" href={addressOf.restore(memoryId, { commit })}>
            Restore this memory…
          </a>
        </p>
      )}
      <DiffTable
        before={then.data.state === 'live' ? then.data.content : undefined}
        after={now.data.state === 'live' ? now.data.content : undefined}
        label={`${now.data.path ?? memoryId}, then and now`}
      />
    </>
  )
}
