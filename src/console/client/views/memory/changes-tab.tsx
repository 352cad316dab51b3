// Any two versions of a memory, compared: they are chosen in the history at the right.

import type { JSX } from 'preact'
import type { MemoryView } from '../../../../api/console/contract.ts'
import type { FullVersion } from '../../../../store/history/versions.ts'
import { useAsk } from '../../core/use-ask.ts'
import { DiffTable } from '../../parts/diff-table.tsx'
import { Failure } from '../../parts/failure.tsx'
import { absoluteTime } from '../../parts/times.ts'

interface ChangesTabProps {
  readonly view: MemoryView
  /** Versions; the one before `to`, and that of the moment, if left out. */
  readonly from: string | undefined
  readonly to: string | undefined
}

export function ChangesTab({ view, from, to }: ChangesTabProps): JSX.Element {
  const shown = to ?? view.version?.versionId
  const right = useAsk('version.show', shown === undefined ? undefined : { versionId: shown })
  const earlier = from ?? right.data?.baseVersionId
  const left = useAsk('version.show', earlier === undefined ? undefined : { versionId: earlier })
  const failure = left.failure ?? right.failure
  if (failure !== undefined) return <Failure failure={failure} />
  if (shown === undefined) return <p>It did not exist yet.</p>
  if (right.data === undefined || left.isAsking) return <p role="status">Reading…</p>
  const redacted = [left.data, right.data].find((one) => one?.redactedAt !== undefined)
  return (
    <>
      <p class="pick">
        {left.data === undefined ? 'Nothing' : nameOf(left.data)} → {nameOf(right.data)}
        {to === undefined && ', the one that is shown'}
      </p>
      {redacted === undefined ? (
        <DiffTable before={left.data?.content} after={right.data.content} label="Both versions" />
      ) : (
        <p>A text is redacted: there is nothing to compare. Who wrote it and when stays known.</p>
      )}
    </>
  )
}

function nameOf({ createdAt, session, createdBy }: FullVersion): string {
  return `${absoluteTime(createdAt)}, ${session ?? createdBy?.id ?? 'unknown'}`
}
