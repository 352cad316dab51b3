// The difference of two versions of a memory; redacted versions are named, and never compared.

import type { JSX } from 'preact'
import type { ResultOf } from '../../../../api/console/contract.ts'
import { useAsk } from '../../core/use-ask.ts'
import { DiffTable } from '../../parts/diff-table.tsx'
import { Failure } from '../../parts/failure.tsx'

interface VersionsDiffProps {
  /** `memver_…`; undefined for the first version. */
  readonly before: string | undefined
  readonly after: string
  readonly label: string
}

export function VersionsDiff({ before, after, label }: VersionsDiffProps): JSX.Element {
  const from = useAsk('version.show', before === undefined ? undefined : { versionId: before })
  const to = useAsk('version.show', { versionId: after })
  const failure = from.failure ?? to.failure
  if (failure !== undefined) return <Failure failure={failure} />
  if (to.data === undefined || from.isAsking) return <p class="dim">Reading…</p>
  const redacted = [from.data, to.data].find(isRedacted)
  if (redacted !== undefined) {
    return (
      <p>A text is redacted: there is nothing to compare. Who wrote it and when stays known.</p>
    )
  }
  return (
    <DiffTable
      before={from.data?.content}
      after={to.data.content}
      label={`${label}, before and after`}
    />
  )
}

function isRedacted(version: ResultOf<'version.show'> | undefined): boolean {
  return version?.redactedAt !== undefined
}
