// One merge: its inputs and its result next to each other, and that the user has looked at it.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { MergeView } from '../../../../api/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask, type AskFailure } from '../../core/ask.ts'
import { changed } from '../../core/events.ts'
import { asFailure, useAsk } from '../../core/use-ask.ts'
import { Failure } from '../../parts/failure.tsx'
import { absoluteTime } from '../../parts/times.ts'
import { MergeTable } from './merge-table.tsx'
import { outcomeOf } from './outcome.ts'

interface MergePageProps {
  readonly versionId: string
  /** Another one that was not looked at. */
  readonly next: string | undefined
}

export function MergePage({ versionId, next }: MergePageProps): JSX.Element {
  const { data, failure } = useAsk('merges.show', { versionId })
  return (
    <>
      <nav aria-label="Where this is">
        <a class="up" href={addressOf.view('merges')}>
          ‹ Merges
        </a>
      </nav>
      <div class="crumbs">
        <h1>{data?.merge.path ?? 'A merge'}</h1>
        <div class="acts">
          {data !== undefined && <LookedAt versionId={versionId} isSeen={data.merge.isSeen} />}
          {next !== undefined && (
            <a class="button" href={addressOf.merge(next)}>
              Next one
            </a>
          )}
        </div>
      </div>
      {failure !== undefined && <Failure failure={failure} />}
      {data === undefined && failure === undefined && <p role="status">Reading…</p>}
      {data !== undefined && <Texts view={data} />}
    </>
  )
}

interface LookedAtProps {
  readonly versionId: string
  readonly isSeen: boolean
}

function LookedAt({ versionId, isSeen }: LookedAtProps): JSX.Element {
  const [failure, setFailure] = useState<AskFailure>()
  const look = (): void => {
    if (isSeen) return
    setFailure(undefined)
    ask('merges.looked', { versionIds: [versionId] }).then(changed, (error: unknown) =>
      setFailure(asFailure(error)),
    )
  }
  return (
    <>
      <button type="button" class="pri" aria-disabled={isSeen} onClick={look}>
        {isSeen ? 'Looked at' : 'I have looked at it'}
      </button>
      {failure !== undefined && <Failure failure={failure} />}
    </>
  )
}

function Texts({ view }: { readonly view: MergeView }): JSX.Element {
  const { merge, inputs, result } = view
  const names = inputs.map((input, index) => {
    const device = merge.deviceNames[index] ?? ''
    const name = device === '' ? `Input ${index + 1}` : `Input ${index + 1}, ${device}`
    const isKept = input.versionId === merge.kept
    return `${name}${isKept ? ', kept' : ''}${lackOf(input)}`
  })
  return (
    <>
      <p class="meta">
        {outcomeOf(merge)} · {absoluteTime(merge.time)} ·{' '}
        <a href={addressOf.memory(merge.memoryId)}>Open the memory</a>
        {merge.joined !== undefined && (
          <>
            {' · '}
            <a href={addressOf.memory(merge.joined)}>Open the one that was joined</a>
          </>
        )}
      </p>
      {result.redactedAt === undefined ? (
        <MergeTable names={names} view={view} />
      ) : (
        <p>The result is redacted: there is nothing to compare.</p>
      )}
    </>
  )
}

/** Why an input has no text. */
function lackOf({ redactedAt, content }: MergeView['inputs'][number]): string {
  if (redactedAt !== undefined) return ', redacted'
  return content === undefined ? ', deleted' : ''
}
